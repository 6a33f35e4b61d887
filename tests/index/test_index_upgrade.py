"""Opening an index that an earlier navlin made, and one that a later navlin made."""

from __future__ import annotations

import copy
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from extractors.hdfs.image.contents import SUMS
from navlin.cli import main
from navlin.cli.invocation import Exit
from navlin.index.admin import schema_upgrade
from navlin.index.admin.cores import CONFIGSET, CORES, NotCreated, create
from navlin.index.admin.name_filling import fill_names, names_filled
from navlin.index.admin.schema import VERSION, Schema, UnusableIndex, save_schema, schema_of
from navlin.index.admin.schema_steps import UPGRADES, upgraded
from navlin.index.journal.inheritance_due import is_computed
from navlin.index.schema.fields import EDITS, ELEMENTS, RELATIONS, RUNS
from navlin.index.solr.solr import Solr, SolrError
from navlin.query.answer import Direction
from navlin.query.finding import find_for_people
from navlin.query.lineage import lineage
from navlin.query.options import WalkOptions
from navlin.service.inheriting import keep_inherited
from navlin.service.maintenance import opening
from navlin.service.maintenance.opening import open_index
from navlin.service.maintenance.upgrading import upgrade_index
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr
from tests.services.solrcloud import solr_cloud
from tests.support import old_index
from tests.support.leases import held_by
from tests.support.query_estate import World
from tests.support.solr_proxy import Call, SolrProxy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

THIS = Schema(VERSION, version("navlin"))
BEFORE_PIECES = Path(__file__).parents[1] / "data" / "index-3" / "conf"
NOW_MS = 1_900_000_000_000
REPOSITORY = Path(__file__).parents[2]


def clock() -> int:
    return NOW_MS


@pytest.fixture(scope="module")
def left_behind(tmp_path_factory: pytest.TempPathFactory, solr_jars: Path) -> Path:
    """The state directory of a stopped navlin that was too old to record a schema version."""
    state = tmp_path_factory.mktemp("old") / "state"
    old_index.make_old_home(state, solr_jars)
    return state


@pytest.fixture
def state(left_behind: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(left_behind, tmp_path / "state"))


def server_on(state: Path, jars: Path) -> EmbeddedSolr:
    return EmbeddedSolr(state, jars, CONF / "solr", cores=CORES, cache=jars.parent / "solr-launcher")


def configuration(state: Path, jars: Path) -> Path:
    file = state.parent / "navlin.toml"
    file.write_text(
        f'[navlin]\ncluster = "frozen"\nstate_directory = "{state}"\n[solr]\njars_directory = "{jars}"\n'
    )
    state.mkdir(exist_ok=True)
    launcher = state / "solr-launcher"
    if not launcher.exists():
        launcher.symlink_to(jars.parent / "solr-launcher")
    return file


def navlin(file: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["--config", str(file), *arguments])


def documents_now() -> old_index.Index:
    """The documents of the old index, as an upgrade to the present version must leave them."""
    made = {
        (core, document["identity"]): upgraded(core, document, 1)
        for core in CORES
        for document in old_index.kept(core)
    }
    return {key: document for key, document in made.items() if document is not None}


# -- Steps ---------------------------------------------------------------------------------------


def test_upgrade_steps_are_consecutive_up_to_the_current_version() -> None:
    assert [step.since for step in UPGRADES] == list(range(1, VERSION))


def test_an_upgrade_step_does_not_modify_its_input() -> None:
    for core in CORES:
        for document in old_index.kept(core):
            given = copy.deepcopy(document)
            upgraded(core, given, 1)
            assert given == document


def test_the_shipped_schema_has_the_version() -> None:
    assert [path.name for path in (CONF / "solr").iterdir() if path.is_dir()] == [CONFIGSET]
    assert ElementTree.parse(CONF / "solr" / CONFIGSET / "schema.xml").getroot().get("name") == CONFIGSET


# -- Opening -------------------------------------------------------------------------------------


@pytest.mark.services
def test_an_old_index_is_upgraded_on_opening_and_answers_as_before(
    state: Path, solr_jars: Path, tmp_path: Path
) -> None:
    with server_on(state, solr_jars) as server, Solr(server.address) as solr:
        assert schema_of(solr) is None
        open_index(solr, server)

        assert schema_of(solr) == THIS
        assert old_index.everything(solr) == documents_now()
        assert old_index.answers(solr, tmp_path) == json.loads(old_index.ANSWERS.read_text())
        assert solr.count(RUNS, "kind:(lease OR upgrade)") == 0
        assert_inheritance_is_computed(solr)
    left = {path.name for path in (state / "solr").iterdir()}
    assert not left & set(CORES), "what the old version had is gone"
    assert [path.name for path in (state / "solr" / "configsets").iterdir()] == [CONFIGSET]


def assert_inheritance_is_computed(solr: Solr) -> None:
    """Assert that inheritance is computed for the whole old index, although none of its documents is marked as due."""
    (report,) = solr.select(ELEMENTS, {"q": "+type:TABLE +originalName:board_report"})["response"]["docs"]
    origin = lineage(solr, report["identity"], WalkOptions(Direction.UPSTREAM)).nodes[-1]
    solr.add(ELEMENTS, [{"identity": origin.id, "tags": {"set": ["from before"]}}])
    assert not is_computed(solr)
    assert keep_inherited(solr) > 0
    solr.commit(ELEMENTS, soft=True)
    (now,) = solr.get(ELEMENTS, [report["identity"]])
    assert now["inheritedTag"] == ["from before"]
    assert is_computed(solr)


@pytest.mark.services
def test_a_new_index_has_its_version_and_a_later_one_is_refused(tmp_path: Path, solr_jars: Path) -> None:
    file = configuration(tmp_path / "state", solr_jars)
    made = navlin(file, "index", "create", "--json")
    assert json.loads(made.stdout) == {"made": list(CORES), "there": []}

    with server_on(tmp_path / "state", solr_jars) as server, Solr(server.address) as solr:
        assert schema_of(solr) == THIS
        later = json.dumps({"version": VERSION + 1, "navlin": "9.1.0"})
        solr.add(RUNS, [{"identity": "schema", "kind": "schema", "body": later}])
        for command in (["search", "type:TABLE"], ["index", "upgrade"]):
            refused = navlin(file, *command)
            assert refused.exit_code == Exit.FAILED
            assert f"version {VERSION + 1}, written by navlin 9.1.0" in refused.stderr
            assert f"supports versions up to {VERSION}: use navlin 9.1.0" in refused.stderr


@pytest.mark.services
def test_an_index_of_version_3_is_searchable_until_its_name_parts_are_filled(
    tmp_path: Path, solr_jars: Path
) -> None:
    def found(word: str) -> list[str]:
        return [each["originalName"] for each in find_for_people(solr, word).documents]

    state, cache = tmp_path / "state", solr_jars.parent / "solr-launcher"
    before = EmbeddedSolr(state, solr_jars, BEFORE_PIECES, cores=CORES, cache=cache)
    with before as server, Solr(server.address) as solr:
        save_schema(solr)
        world = World(solr, "before", database="db")
        world.table("daily_revenue", originalDescription="ตารางลูกค้า")
        described = world.elements[world.path("/data/orders").identity]
        described["description"] = "カスタマーテーブル"
        world.index()
        for core in CORES:
            solr.commit(core, soft=False)
        documents = old_index.everything(solr)

    with server_on(state, solr_jars) as server, Solr(server.address) as solr:
        open_index(solr, server)
        assert found("revenue") == ["daily_revenue"]
        assert found("reven") == found("ลูกค้า") == found("テーブル") == []
        assert fill_names(solr, stop=lambda: True) == 0
        assert not names_filled(solr)

        keep_inherited(solr)

        assert found("reven") == found("venue") == found("ลูกค้า") == ["daily_revenue"]
        assert found("テーブル") == ["orders"]
        kept = {key: document for key, document in old_index.everything(solr).items() if key in documents}
        assert kept == documents
        assert names_filled(solr)
        assert fill_names(solr) == 0


@pytest.mark.services
def test_an_index_without_edits_gets_their_core_on_opening(tmp_path: Path, solr_jars: Path) -> None:
    state, cache = tmp_path / "state", solr_jars.parent / "solr-launcher"
    before = EmbeddedSolr(state, solr_jars, CONF / "solr", cores=old_index.CORES_OF_THEN, cache=cache)
    with before as server, Solr(server.address) as solr:
        solr.add(ELEMENTS, [{"identity": "kept"}])
        solr.commit(ELEMENTS, soft=False)
        # Open the index without a server to manage, as navlin opens an external Solr.
        for _ in range(2):
            open_index(solr, None)
            assert solr.count(EDITS) == 0
        solr.admin("cores", {"action": "UNLOAD", "core": EDITS, "deleteInstanceDir": "true"})
        solr.admin("cores", {"action": "UNLOAD", "core": RELATIONS})
        with pytest.raises(
            NotCreated, match=f"no {RELATIONS}, {EDITS}: create them with `navlin index create`"
        ):
            open_index(solr, None)
    with server_on(state, solr_jars) as server, Solr(server.address) as solr:
        open_index(solr, server)
        assert (solr.count(ELEMENTS), solr.count(EDITS)) == (1, 0)


@pytest.mark.services
def test_a_solrcloud_gets_the_edits_collection_too(cloud: Solr) -> None:
    cloud.admin("collections", {"action": "DELETE", "name": EDITS})
    open_index(cloud, None)
    assert len(cloud.shards(EDITS)) == 1
    open_index(cloud, None)


@pytest.mark.services
def test_a_large_index_is_upgraded_only_by_the_command(
    state: Path, solr_jars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "AT_ONCE_DOCUMENTS", 600)
    file = configuration(state, solr_jars)

    refused = navlin(file, "search", "type:TABLE")
    assert refused.exit_code == Exit.FAILED
    assert "run `navlin index upgrade` (698 documents, some 1 min)" in refused.stderr

    documents = {core: len(old_index.kept(core)) for core in (ELEMENTS, RELATIONS)}
    done = json.loads(navlin(file, "index", "upgrade", "--json").stdout)
    assert (done["since"], done["version"]) == (1, VERSION)
    assert {core: done["documents"][core] for core in documents} == documents
    again = navlin(file, "index", "upgrade")
    assert again.stdout == f"the index already has version {VERSION}: nothing to do\n"
    assert navlin(file, "search", "type:TABLE").exit_code == Exit.OK


@pytest.mark.services
def test_the_index_is_not_upgraded_while_another_navlin_runs_it(state: Path, solr_jars: Path) -> None:
    file = configuration(state, solr_jars)
    with server_on(state, solr_jars) as server, Solr(server.address) as solr:
        before = old_index.everything(solr)
        for command in (["search", "type:TABLE"], ["index", "upgrade"]):
            refused = navlin(file, *command)
            assert refused.exit_code == Exit.FAILED
            assert "stop every navlin that uses it" in refused.stderr
        with held_by(solr, "somebody's source"):
            solr.commit(RUNS, soft=True)
            with pytest.raises(UnusableIndex, match=r"process 4711 on another-host.*stop every navlin"):
                upgrade_index(solr, server)
        solr.delete_ids(RUNS, ["lease:somebody's source"])
        solr.commit(RUNS, soft=True)
        assert old_index.everything(solr) == before


# -- Kills ---------------------------------------------------------------------------------------


@pytest.fixture
def external(tmp_path: Path, solr_jars: Path) -> Iterator[Solr]:
    """A single external Solr with the old index, where an administrator has installed the new schema."""
    cache = solr_jars.parent / "solr-launcher"
    conf = Path(shutil.copytree(old_index.CONFIGURATION, tmp_path / "conf"))
    with (
        EmbeddedSolr(tmp_path / "state", solr_jars, conf, cores=(), cache=cache) as server,
        Solr(server.address) as solr,
    ):
        for core in old_index.CORES_OF_THEN:
            solr.admin("cores", {"action": "CREATE", "name": core, "configSet": "navlin"})
        old_index.fill(solr)
        shutil.copytree(CONF / "solr" / CONFIGSET, server.home / "configsets" / CONFIGSET / "conf")
        yield solr


def cut_after(requests: int) -> Callable[[Call], bool]:
    """Return a filter that passes this many requests and responses, then blocks all others."""
    left = requests

    def passes(_: Call) -> bool:
        nonlocal left
        left -= 1
        return left >= 0

    return passes


def upgrade_with_cuts(solr: Solr) -> int:
    """Repeat the upgrade, each time cut off one request or response later, until it succeeds. Return the number of
    interrupted upgrades.
    """
    for cuts in range(400):
        with SolrProxy(solr.address, cut_after(cuts)) as between, Solr(between.address) as connected:
            try:
                upgrade_index(connected, None)
            except (SolrError, UnusableIndex):
                continue
        return cuts
    raise AssertionError("it never came through")


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Upgrade as if the index were large: in many batches and several ranges, with frequent hard commits."""
    monkeypatch.setattr(schema_upgrade, "BATCH", 50)
    monkeypatch.setattr(schema_upgrade, "DURABLE_EVERY", 50)
    monkeypatch.setattr(schema_upgrade, "ONE_RANGE_DOCUMENTS", 300)


@pytest.mark.soak
@pytest.mark.usefixtures("small_batches")
def test_an_upgrade_interrupted_at_any_request_is_resumed_without_loss(external: Solr) -> None:
    cuts = upgrade_with_cuts(external)
    assert cuts > 50, "it was cut off at many moments"
    external.commit(RUNS, soft=True)
    assert old_index.everything(external) == documents_now()
    assert schema_of(external) == THIS
    found = external.admin("cores", {"action": "STATUS", "indexInfo": "false"})["status"]
    assert set(found) == set(CORES), "the old cores are gone"


@pytest.mark.soak
def test_an_upgrade_killed_at_random_is_completed(state: Path, solr_jars: Path) -> None:
    file = configuration(state, solr_jars)
    command = [sys.executable, "-m", "navlin", "--config", str(file), "index", "upgrade"]
    rng, killed, longest_s = random.Random(9), 0, 2.0
    for _ in range(12):
        process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, start_new_session=True)
        try:
            process.communicate(timeout=rng.uniform(1, longest_s))
        except subprocess.TimeoutExpired:
            killed += 1
            # Every second time, kill Solr too, as systemd does. Otherwise Solr stops by itself when it notices that
            # navlin is gone.
            kill = os.killpg if killed % 2 else os.kill
            kill(process.pid, signal.SIGKILL)
            process.communicate()
            longest_s += 1.5
        else:
            break
    else:
        subprocess.run(command, cwd=REPOSITORY, check=True)
    assert killed, "none was quick enough to end before its kill"
    with server_on(state, solr_jars) as server, Solr(server.address) as solr:
        open_index(solr, server)
        assert old_index.everything(solr) == documents_now()


# -- SolrCloud -----------------------------------------------------------------------------------


@pytest.mark.services
def test_collections_are_replaced_through_aliases(
    tmp_path: Path, solr_jars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with solr_cloud(tmp_path, solr_jars) as server, Solr(server.address) as solr:
        with monkeypatch.context() as then:
            then.setattr("navlin.index.admin.cores.CONFIGSET", "navlin")
            create(solr, old_index.CONFIGURATION, shards=2)
        old_index.fill(solr)
        solr.delete_ids(RUNS, ["schema"])  # the old navlin did not write a schema version
        solr.commit(RUNS, soft=False)
        for cuts in (20, 60):
            with (
                SolrProxy(solr.address, cut_after(cuts)) as between,
                Solr(between.address) as connected,
                pytest.raises((SolrError, UnusableIndex)),
            ):
                upgrade_index(connected, None, shards=2)
        done = upgrade_index(solr, None, shards=2)

        assert (done.since, done.version) == (1, VERSION)
        assert old_index.everything(solr) == documents_now()
        assert len(solr.shards(RELATIONS)) == 2
        assert create(solr, CONF / "solr", shards=2) == ()
        open_index(solr, None)
        assert set(solr.admin("collections", {"action": "LIST"})["collections"]) == {
            f"{core}-{VERSION}" for core in CORES
        }


# -- Comparison with a new index of the same inputs -----------------------------------------------


@pytest.mark.services
def test_the_upgraded_index_equals_a_new_index_of_the_same_inputs(
    state: Path, solr_jars: Path, tmp_path: Path, spark: Callable[[], SparkSession]
) -> None:
    from tests.services.frozen import FrozenEstate
    from tests.support.known_inputs import Loader

    with FrozenEstate(tmp_path / "frozen", solr_jars.parent) as estate:
        with server_on(state, solr_jars) as server, Solr(server.address) as solr:
            open_index(solr, server)
            (tmp_path / "again").mkdir()
            # The readers have been fixed since the old index was made, so they read everything again.
            Loader(solr, spark, tmp_path / "again").load_frozen(estate)
            kept = old_index.unstamped_index(solr)
        with server_on(tmp_path / "new", solr_jars) as server, Solr(server.address) as solr:
            loader = Loader(solr, spark, tmp_path)
            loader.load_frozen(estate)
            loader.load_scripted()
            made = old_index.unstamped_index(solr)
    # Show at most five differences, to keep the failure readable.
    assert dict(list(differing(kept, made).items())[:5]) == {}


LATER = {*SUMS, "tp_executionId", "lastRead", "lastReadBy"}
"""Fields that the old index does not have. An upgraded index gets them from the next read of the source, or from the
next purge.
"""


READ_TWICE = {"sourceExtractIteration"}
"""Counters of runs, which in the upgraded index include the earlier runs."""


def differing(one: old_index.Index, other: old_index.Index) -> dict[Any, Any]:
    """Map each document that differs to its differing fields, as name → (value, other value). Ignores `READ_TWICE`, and
    fields in `LATER` that only ``other`` has.
    """
    found = {}
    for key in one.keys() | other.keys():
        left, right = one.get(key) or {}, other.get(key) or {}
        if later := {name for name in right.keys() - left.keys() if name in LATER}:
            right = {name: value for name, value in right.items() if name not in {*later, "digest"}}
            left = {name: value for name, value in left.items() if name != "digest"}
        names = (left.keys() | right.keys()) - READ_TWICE
        fields = {each: (left.get(each), right.get(each)) for each in names}
        if unlike := {each: values for each, values in fields.items() if values[0] != values[1]}:
            found[key] = unlike
    return found
