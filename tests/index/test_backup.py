"""Backup while navlin writes, and restore into another directory. A backup contains every document, and no position
that is ahead of its documents.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import pytest
import zstandard
from click.testing import Result

from navlin.cli.invocation import Exit
from navlin.index.admin import core_backup
from navlin.index.admin.collection_backup import NotBackedUp
from navlin.index.admin.cores import CORES, create
from navlin.index.admin.schema import VERSION, configset, save_schema
from navlin.index.admin.snapshots import ORDER, TooBusy, snapshots
from navlin.index.schema.fields import EDITS, ELEMENTS, RELATIONS, RUNS
from navlin.index.solr.solr import Solr
from navlin.service.maintenance.backup import back_up, restore
from navlin.service.maintenance.backup_file import (
    DamagedBackup,
    Header,
    NewerBackup,
    read_header,
    unpack_backup,
    write_backup,
)
from navlin.service.maintenance.opening import open_index
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr, running_solr
from tests.cli.test_cli import json_of, run
from tests.support import old_index
from tests.support.leases import held_by
from tests.support.pipeline_estate import unstamped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOW_MS = 1_800_000_000_000
Index = dict[tuple[str, str], dict[str, Any]]


def nothing(_done: int, _total: int) -> None:
    """Show no progress bar."""


def server_on(state: Path, jars: Path) -> EmbeddedSolr:
    return EmbeddedSolr(state, jars, CONF / "solr", cores=CORES, cache=jars.parent / "solr-launcher")


def configuration(state: Path, jars: Path) -> Path:
    file = state.parent / f"{state.name}.toml"
    file.write_text(
        f'[navlin]\ncluster = "kept"\nstate_directory = "{state}"\n[solr]\njars_directory = "{jars}"\n'
    )
    state.mkdir(exist_ok=True)
    if not (state / "solr-launcher").exists():
        (state / "solr-launcher").symlink_to(jars.parent / "solr-launcher")
    return file


def everything(solr: Solr, *, leases: bool = True) -> Index:
    """Map (core, identity) to each document in the index, including its version."""
    for core in CORES:
        solr.commit(core, soft=True)
    return {
        (core, document["identity"]): document
        for core in CORES
        for document in solr.cursor(core, "*:*", "*")
        if leases or document.get("kind") != "lease"
    }


def restored(file: Path, state: Path, jars: Path, **options: Any) -> Index:
    restore(file, state, overwrite=False, report=nothing, **options)
    with server_on(state, jars) as server, Solr(server.address) as solr:
        return everything(solr, leases=False)


def fill(solr: Solr, first: int, count: int) -> None:
    for core in CORES:
        extra = {"kind": "position"} if core == RUNS else {"tags": ["a", "b"], "asOf": 7}
        documents = [{"identity": f"d{number:05d}", **extra} for number in range(first, first + count)]
        assert not solr.add(core, documents).refused


# -- Backup and restore ------------------------------------------------------------------------------------------------


def test_every_document_is_restored_elsewhere(
    private_server: EmbeddedSolr, private_solr: Solr, tmp_path: Path, solr_jars: Path
) -> None:
    fill(private_solr, 0, 300)
    private_solr.commit(ELEMENTS, soft=False)
    fill(private_solr, 300, 20)
    private_solr.delete_ids(RELATIONS, ["d00001"])
    before = everything(private_solr, leases=False)
    seen: list[tuple[int, int]] = []

    done = back_up(
        private_solr, private_server.home, tmp_path / "kept.tar.zst", NOW_MS, lambda *at: seen.append(at)
    )
    fill(private_solr, 900, 5)
    private_solr.delete_ids(ELEMENTS, ["d00002"])

    assert done.header.documents == {RUNS: 321, ELEMENTS: 320, RELATIONS: 319, EDITS: 320}, (
        "and the lease of the backup itself"
    )
    assert done.size == done.file.stat().st_size
    assert done.file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["kept.tar.zst"]
    assert seen[-1] == (done.header.bytes, done.header.bytes)
    assert seen == sorted(seen)
    assert restored(done.file, tmp_path / "else" / "where", solr_jars) == before
    for core in CORES:
        assert private_solr.admin("cores", {"action": "LISTSNAPSHOTS", "core": core})["snapshots"] == {}


@pytest.mark.services
def test_a_backup_during_writes_has_all_durable_documents_and_no_dangling_ones(
    private_server: EmbeddedSolr, private_solr: Solr, tmp_path: Path, solr_jars: Path
) -> None:
    """The writer makes numbered documents in the order of the pipeline: implied relation, entity, hard commits,
    position.
    """
    stop, written = threading.Event(), []

    def write() -> None:
        with Solr(private_solr.address) as solr:
            number = 0
            while not stop.is_set():
                for core in (RELATIONS, ELEMENTS):
                    solr.add(core, [{"identity": f"n{number:05d}"}])
                if number % 5 == 4:
                    solr.commit(ELEMENTS, soft=False)
                    solr.commit(RELATIONS, soft=False)
                    body = orjson.dumps(number).decode()
                    solr.add(RUNS, [{"identity": "position", "kind": "position", "body": body}])
                    solr.commit(RUNS, soft=False)
                written.append(number)
                number += 1

    writer = threading.Thread(target=write)
    writer.start()
    durable = 0
    try:
        for round_number in range(4):
            while len(written) < 30 * (round_number + 1):
                time.sleep(0.01)
            file = tmp_path / f"{round_number}.tar.zst"
            durable = written[-1] // 5 * 5 - 1
            back_up(private_solr, private_server.home, file, NOW_MS, nothing)
    finally:
        stop.set()
        writer.join()

    for number in (0, 3):
        index = restored(tmp_path / f"{number}.tar.zst", tmp_path / f"state-{number}", solr_jars)
        entities = {identity for core, identity in index if core == ELEMENTS}
        relations = {identity for core, identity in index if core == RELATIONS}
        position = int(index[RUNS, "position"]["body"])
        assert {f"n{each:05d}" for each in range(position + 1)} <= entities, "no position is ahead"
        assert entities <= relations, "what an entity implies is there"
        if number == 3:
            assert position >= durable - 5


@pytest.mark.services
def test_an_extraction_after_a_restore_gives_the_same_index(
    private_server: EmbeddedSolr,
    private_solr: Solr,
    spark: Callable[[], SparkSession],
    tmp_path: Path,
    solr_jars: Path,
) -> None:
    from tests.support.pipeline_estate import SmallEstate

    def tables(*names: str) -> dict[str, Any]:
        return {f"shop.{name}": {"columns": ["a", "b"]} for name in names}

    def estate_on(solr: Solr) -> SmallEstate:
        estate = SmallEstate(solr, spark, tmp_path, cluster="restored")
        estate.tables(tables("raw", "orders"))
        return estate

    estate = estate_on(private_solr)
    estate.lines_file.write_text("")
    assert estate.pull().status == "finished"
    estate.happen("INSERT one", ["shop.raw"], ["shop.orders"], at_ms=NOW_MS + 1_000)
    assert estate.follow().status == "finished"
    file = tmp_path / "kept.tar.zst"
    back_up(private_solr, private_server.home, file, NOW_MS, nothing)
    estate.tables(tables("raw", "daily"))
    estate.happen("INSERT two", ["shop.orders"], ["shop.daily"], at_ms=NOW_MS + 2_000)
    for _ in range(3):
        estate.pull()
    estate.follow()
    undisturbed = without_reading_time(estate.index())

    restore(file, tmp_path / "state", overwrite=False, report=nothing)
    with server_on(tmp_path / "state", solr_jars) as server, Solr(server.address) as solr:
        again = estate_on(solr)
        again.now_ms = estate.now_ms
        again.tables(tables("raw", "daily"))
        for _ in range(3):
            assert again.pull().status == "finished"
        assert again.follow().status == "finished"
        assert without_reading_time(again.index()) == undisturbed
        assert again.flows() == estate.flows()
    assert {"shop.orders", "shop.daily"} <= {end for flow in estate.flows() for end in flow}


def without_reading_time(index: Index) -> Index:
    """Drop ``asOf``, which in a listing is the time of the read."""
    return {
        key: {name: value for name, value in document.items() if name != "asOf"}
        for key, document in index.items()
    }


@pytest.mark.services
def test_a_daemon_continuing_from_a_backup_loses_nothing(tmp_path: Path, solr_jars: Path) -> None:
    from tests.support.served_daemon import CONFIGURATION, Served, ready

    first, second = tmp_path / "first", tmp_path / "second"
    for each in (first, second):
        (each / "impala").mkdir(parents=True)
        (each / "navlin.toml").write_text(CONFIGURATION.format(home=first))
    names = [f"t{number:02d}" for number in range(24)]

    def complete(serving: Served) -> Index:
        serving.until(lambda: serving.find("originalName:t*"), "the tables")
        for name in names:
            serving.until(partial(serving.find, f"originalName:{name}"), name)
        serving.until(lambda: not serving.runs("IMPALA-1"), "the last run's end")
        address = running_solr(serving.state)
        assert address is not None
        with Solr(address) as solr:
            return {
                (core, document["identity"]): unstamped(document)
                for core in (ELEMENTS, RELATIONS)
                for document in solr.cursor(core, "*:*", "*")
            }

    served = ready(Served(first))
    try:
        made = []
        for number, name in enumerate(names):
            served.append(f"daemon.{name}")
            time.sleep(0.1)
            if number in (7, 15):
                file = tmp_path / f"{number}.tar.zst"
                asked = served.ask("backup", str(file), "--json")
                assert asked.returncode == 0, asked.stderr
                made.append((file, json.loads(asked.stdout)["documents"]))
        undisturbed = complete(served)
    finally:
        served.end()
    assert made[0][1][ELEMENTS] < made[1][1][ELEMENTS] < len(undisturbed)

    restore(made[0][0], second / "state", overwrite=False, report=nothing)
    served = ready(Served(second))
    try:
        assert complete(served) == undisturbed
        assert served.find("originalName:t00"), "what was in the backup"
    finally:
        served.end()


@pytest.mark.services
def test_an_index_of_an_earlier_version_is_upgraded_after_its_restore(
    tmp_path: Path, solr_jars: Path
) -> None:
    state, file = tmp_path / "old", tmp_path / "old.tar.zst"
    old_index.make_old_home(state, solr_jars)
    with server_on(state, solr_jars) as server, Solr(server.address) as solr:
        assert back_up(solr, server.home, file, NOW_MS, nothing).header.schema == 1
        open_index(solr, server)
        expected = old_index.everything(solr)
    restore(file, tmp_path / "new", overwrite=False, report=nothing)
    with server_on(tmp_path / "new", solr_jars) as server, Solr(server.address) as solr:
        open_index(solr, server)
        assert old_index.everything(solr) == expected


# -- Snapshots -----------------------------------------------------------------------------------------------------------


def test_cores_are_backed_up_positions_first_then_entities_relations_and_edits() -> None:
    assert ORDER == (RUNS, ELEMENTS, RELATIONS, EDITS)
    assert set(ORDER) == set(CORES)


@pytest.mark.services
def test_snapshots_are_retaken_if_a_run_finishes_meanwhile(
    private_solr: Solr, monkeypatch: pytest.MonkeyPatch
) -> None:
    from navlin.index.admin import snapshots as module

    taken: list[str] = []
    take = module._take

    def finishing(solr: Solr, core: str) -> Any:
        taken.append(core)
        if len(taken) == 2:
            solr.add(RUNS, [{"identity": "run:x", "kind": "run", "status": "finished"}])
        return take(solr, core)

    monkeypatch.setattr(module, "_take", finishing)
    with snapshots(private_solr) as found:
        assert [each.core for each in found] == list(ORDER)
        assert found[0].documents == 2, "the run that finished, and the lease"
    assert taken == [*ORDER, *ORDER]

    def always(solr: Solr, core: str) -> Any:
        taken.append(core)
        solr.add(RUNS, [{"identity": f"run:{len(taken)}", "kind": "run", "status": "finished"}])
        return take(solr, core)

    monkeypatch.setattr(module, "_take", always)
    with pytest.raises(TooBusy), snapshots(private_solr):
        pass
    for core in CORES:
        assert private_solr.admin("cores", {"action": "LISTSNAPSHOTS", "core": core})["snapshots"] == {}


def test_a_killed_backup_keeps_the_old_file_and_the_next_removes_its_snapshots(
    private_server: EmbeddedSolr, private_solr: Solr, tmp_path: Path
) -> None:
    file = tmp_path / "kept.tar.zst"
    file.write_bytes(b"before")
    fill(private_solr, 0, 10)
    program = (
        "import sys, time; from pathlib import Path; from navlin.index.solr.solr import Solr\n"
        "from navlin.service.maintenance import backup; from navlin.solr_server.embedded import running_solr\n"
        "def hang(*_): print('taken', flush=True); time.sleep(600)\n"
        "backup.write_backup = hang\n"
        "state, file = map(Path, sys.argv[1:])\n"
        "backup.back_up(Solr(running_solr(state)), state / 'solr', file, 1, lambda *_: None)"
    )
    arguments = [sys.executable, "-c", program, str(private_server.home.parent), str(file)]
    child = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=CONF.parent)
    assert child.stdout is not None
    assert child.stdout.readline() == "taken\n"
    asked = {"action": "LISTSNAPSHOTS", "core": ELEMENTS}
    assert private_solr.admin("cores", asked)["snapshots"] != {}
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert file.read_bytes() == b"before"

    back_up(private_solr, private_server.home, file, NOW_MS, nothing)
    assert private_solr.admin("cores", asked)["snapshots"] == {}
    assert read_header(file).documents[ELEMENTS] == 10


# -- The file ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A small backup with made-up members instead of a Solr index."""
    (tmp_path / "a").write_bytes(os.urandom(70_000))
    (tmp_path / "b").write_bytes(b"text")
    header = Header("0.1", VERSION, configset(), NOW_MS, {}, 70_004)
    members = {"nav_runs/a.cfs": tmp_path / "a", "configset/schema.xml": tmp_path / "b"}
    write_backup(tmp_path / "kept.tar.zst", header, members, nothing)
    return tmp_path / "kept.tar.zst"


def unpack(file: Path) -> dict[str, bytes]:
    out = file.parent / f"out-{time.monotonic_ns()}"
    unpack_backup(file, lambda name: out / name, nothing)
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_a_backup_file_is_unpacked_unchanged(kept: Path) -> None:
    assert unpack(kept) == {
        "nav_runs/a.cfs": (kept.parent / "a").read_bytes(),
        "configset/schema.xml": b"text",
    }


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.7, 0.99])
def test_a_truncated_file_is_refused(kept: Path, share: float) -> None:
    content = kept.read_bytes()
    kept.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(DamagedBackup, match=r"damaged|no backup"):
        unpack(kept)


@pytest.mark.parametrize("place", [0, 1_000, 40_000, 69_000, -5])
def test_a_file_with_one_wrong_byte_is_refused(kept: Path, place: int) -> None:
    content = bytearray(kept.read_bytes())
    content[place] ^= 0x55
    kept.write_bytes(content)
    with pytest.raises(DamagedBackup):
        unpack(kept)


def repacked(kept: Path, change: Callable[[bytes], bytes]) -> Path:
    """Apply ``change`` to the tar inside the backup, and compress the result into a valid zstandard file."""
    unpacked = zstandard.ZstdDecompressor().stream_reader(kept.read_bytes()).read()
    kept.write_bytes(zstandard.ZstdCompressor().compress(change(unpacked)))
    return kept


def test_a_changed_or_misplaced_member_is_refused(kept: Path) -> None:
    content = kept.read_bytes()
    with pytest.raises(DamagedBackup, match=r"configset/schema.xml differs from what was written"):
        unpack(repacked(kept, lambda tar: tar.replace(b"text", b"test")))
    for name in (b"../../../etc/x.xm", b"/configset/sch.xm", b"nav_runs/../a.xml"):
        kept.write_bytes(content)
        other = name + b"\0" * 3
        with pytest.raises(DamagedBackup):
            unpack(repacked(kept, partial(renamed, other)))


def renamed(name: bytes, tar: bytes) -> bytes:
    return tar.replace(b"configset/schema.xml", name)


def test_a_foreign_file_and_a_newer_backup_are_refused(kept: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("something else")
    with pytest.raises(DamagedBackup, match="not a backup of navlin's"):
        read_header(other)
    for header, words in (
        (Header("9.1", VERSION, configset(), NOW_MS, {}, 0, format=99), r"written by navlin 9\.1"),
        (Header("9.1", 99, "navlin-99", NOW_MS, {}, 0), r"an index of version 99, written by navlin 9\.1"),
    ):
        write_backup(kept, header, {}, nothing)
        with pytest.raises(NewerBackup, match=words):
            restore(kept, tmp_path / "state", overwrite=False, report=nothing)
    assert not (tmp_path / "state" / "solr").exists()


# -- Restoring over an existing index --------------------------------------------------------------------------------------


@pytest.fixture
def two(
    tmp_path: Path, private_server: EmbeddedSolr, private_solr: Solr, solr_jars: Path
) -> Iterator[tuple[Path, Path]]:
    """A backup of ten documents in each core, and a state directory that already has an index."""
    fill(private_solr, 0, 10)
    file = tmp_path / "kept.tar.zst"
    back_up(private_solr, private_server.home, file, NOW_MS, nothing)
    with server_on(tmp_path / "state", solr_jars) as server, Solr(server.address) as solr:
        solr.add(ELEMENTS, [{"identity": "own"}])
        solr.commit(ELEMENTS, soft=False)
    yield file, tmp_path / "state"


def elements(state: Path, jars: Path) -> int:
    with server_on(state, jars) as server, Solr(server.address) as solr:
        return solr.count(ELEMENTS)


@pytest.mark.services
def test_an_index_is_replaced_only_on_request_never_while_running_and_never_partly(
    two: tuple[Path, Path], solr_jars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, state = two
    toml = configuration(state, solr_jars)
    left = {path.name for path in state.iterdir()}

    refused = run(toml, "restore", str(file))
    assert refused.exit_code == Exit.FAILED
    assert f"{state / 'solr'} already holds an index: to replace it, add --overwrite" in refused.stderr
    with server_on(state, solr_jars):
        in_use = run(toml, "restore", str(file), "--overwrite")
        assert in_use.exit_code == Exit.BUSY
        assert "stop it first" in in_use.stderr
    damaged = file.with_name("damaged")
    damaged.write_bytes(file.read_bytes()[:-100])
    half = run(toml, "restore", str(damaged), "--overwrite")
    assert half.exit_code == Exit.FAILED
    assert "damaged" in half.stderr
    assert run(toml, "restore", str(file) + "-none").exit_code == Exit.FAILED
    assert {path.name for path in state.iterdir()} == left, "nothing is left behind"

    # Simulate a kill between the two renames: the next start must restore the previous index.
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        rename = Path.rename

        def once(self: Path, target: Path) -> Path:
            if self.name == "solr.restored":
                raise KeyboardInterrupt
            return rename(self, target)

        patch.setattr(Path, "rename", once)
        with pytest.raises(KeyboardInterrupt):
            restore(file, state, overwrite=True, report=nothing)
    assert not (state / "solr").exists()
    assert elements(state, solr_jars) == 1

    done = json_of(run(toml, "restore", str(file), "--overwrite", "--json"))
    assert done["documents"][ELEMENTS] == 10
    assert elements(state, solr_jars) == 10
    assert not [path.name for path in state.iterdir() if path.name in ("solr.restored", "solr.replaced")]


@pytest.mark.services
def test_the_commands_back_up_and_restore_into_a_separate_directory(
    two: tuple[Path, Path], solr_jars: Path, tmp_path: Path
) -> None:
    file, state = two
    toml = configuration(state, solr_jars)
    again = tmp_path / "again.tar.zst"

    def printed(result: Result) -> str:
        assert result.exit_code == Exit.OK, result.output
        return result.stdout

    with server_on(state, solr_jars) as server, Solr(server.address) as solr:
        assert "nav_elements: 1 document," in printed(run(toml, "backup", str(again)))
        with held_by(solr, "backup"):
            assert run(toml, "backup", str(again)).exit_code == Exit.BUSY
        away = run(toml, "backup", str(tmp_path / "nowhere" / "x"))
        assert away.exit_code == Exit.FAILED
        assert "cannot be written: No such file or directory" in away.stderr
    assert "nav_elements: 10 documents" in printed(
        run(toml, "restore", str(file), "--into", str(tmp_path / "copy"))
    )
    assert elements(tmp_path / "copy", solr_jars) == 10
    assert elements(state, solr_jars) == 1


# -- SolrCloud -------------------------------------------------------------------------------------------------------------


@pytest.mark.services
def test_a_solrcloud_is_backed_up_and_restored_by_solr(cloud: Solr, tmp_path: Path) -> None:
    for core in CORES:
        cloud.client(core).delete(q="*:*")
    fill(cloud, 0, 50)
    before = everything(cloud, leases=False)
    toml = of_an_external(cloud, tmp_path)
    location = Path(cloud.admin("info/system", {})["solr_home"]) / "backups"
    location.mkdir()

    done = json_of(run(toml, "backup", str(location / "monday"), "--json"))
    assert done["documents"][ELEMENTS] == 50
    assert sorted(path.name for path in location.iterdir()) == [f"monday.{core}" for core in sorted(CORES)]
    unseen = run(toml, "backup", "/proc/nowhere/monday")
    assert unseen.exit_code == Exit.FAILED
    assert "/proc/nowhere must be a directory that every node of the SolrCloud sees" in unseen.stderr

    fill(cloud, 100, 5)
    cloud.delete_ids(ELEMENTS, ["d00003"])
    assert "to replace it, add --overwrite" in run(toml, "restore", str(location / "monday")).stderr
    try:
        assert run(toml, "restore", str(location / "monday"), "--overwrite").exit_code == Exit.OK
        assert everything(cloud, leases=False).keys() == before.keys()
        for core in CORES:
            cloud.admin("collections", {"action": "DELETE", "name": core})
        again = run(toml, "restore", str(location / "monday"))
        assert again.exit_code == Exit.OK, again.stderr
        assert {key: text(document) for key, document in everything(cloud, leases=False).items()} == {
            key: text(document) for key, document in before.items()
        }
    finally:
        create(cloud, CONF / "solr", shards=2)


# -- A single external Solr ------------------------------------------------------------------------------------------------


@pytest.mark.services
def test_an_external_solr_is_backed_up_and_restored_by_replication(tmp_path: Path, solr_jars: Path) -> None:
    with server_on(tmp_path / "its-own", solr_jars) as server, Solr(server.address) as solr:
        location = server.home / "backups"
        location.mkdir()
        save_schema(solr)
        fill(solr, 0, 50)
        before = everything(solr, leases=False)
        file = of_an_external(solr, tmp_path)

        done = json_of(run(file, "backup", str(location / "monday"), "--json"))
        assert (done["documents"][ELEMENTS], done["documents"][RELATIONS]) == (50, 50)
        assert sorted(path.name for path in location.iterdir()) == [
            f"snapshot.monday.{each}" for each in sorted(CORES)
        ]
        again = run(file, "backup", str(location / "monday"))
        assert (again.exit_code, "already exists" in again.stderr) == (Exit.FAILED, True), again.stderr
        outside = run(file, "backup", str(tmp_path / "monday"))
        assert outside.exit_code == Exit.FAILED
        assert "its solr.allowPaths allows" in " ".join(outside.stderr.split())

        fill(solr, 100, 5)
        solr.delete_ids(ELEMENTS, ["d00003"])
        kept = run(file, "restore", str(location / "monday"))
        assert (kept.exit_code, "to replace it, add --overwrite" in kept.stderr) == (Exit.FAILED, True)
        absent = run(file, "restore", str(location / "tuesday"), "--overwrite")
        assert (absent.exit_code, "restore of nav_runs" in absent.stderr) == (Exit.FAILED, True), (
            absent.stderr
        )
        assert len(everything(solr, leases=False)) == len(before) + len(CORES) * 5 - 1

        assert run(file, "restore", str(location / "monday"), "--overwrite").exit_code == Exit.OK
        assert everything(solr, leases=False) == before
        open_index(solr, None)

        # Documents acknowledged after the backup must not be restored from an update log.
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        os.waitpid(server.pid, 0)
        server.start()
        assert everything(solr, leases=False) == before
        for core in CORES:
            solr.admin("cores", {"action": "UNLOAD", "core": core, "deleteInstanceDir": "true"})
        assert run(file, "restore", str(location / "monday")).exit_code == Exit.OK
        assert everything(solr, leases=False) == before


@pytest.mark.services
def test_a_backup_of_another_schema_version_is_refused(tmp_path: Path, solr_jars: Path) -> None:
    with server_on(tmp_path / "its-own", solr_jars) as server, Solr(server.address) as solr:
        location = server.home / "backups"
        location.mkdir()
        body = orjson.dumps({"version": 1, "navlin": "0.0.9"}).decode()
        solr.add(RUNS, [{"identity": "schema", "kind": "schema", "body": body}])
        core_backup.back_up(solr, str(location), "old", nothing)

        with pytest.raises(
            NotBackedUp, match=rf"of version 1, written by navlin 0\.0\.9, and the cores .* version {VERSION}"
        ):
            core_backup.restore(solr, CONF / "solr", str(location), "old", overwrite=True, report=nothing)


def of_an_external(solr: Solr, folder: Path) -> Path:
    """A configuration that treats this Solr as external."""
    assert solr.address.password is not None
    (folder / "password").write_text(solr.address.password)
    file = folder / "navlin.toml"
    file.write_text(
        f'[navlin]\ncluster = "kept"\nstate_directory = "state"\n[solr]\nurl = "{solr.address.url}"\n'
        f'user = "{solr.address.user}"\npassword_file = "password"\n'
    )
    return file


def text(document: dict[str, Any]) -> str:
    return json.dumps(document, sort_keys=True)
