"""The output of each command, as text and as JSON, and its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from navlin.cli import COMMANDS, main
from navlin.cli.invocation import Exit
from navlin.index.admin.cores import CORES
from navlin.index.journal.rejects import save_rejects
from navlin.index.journal.run_counts import RunCounts
from navlin.index.journal.runs import RunRecord, Status, save_positions, save_run
from navlin.index.schema.fields import RELATIONS, RUNS, solr_date
from navlin.index.solr.solr import Solr
from navlin.model.identity import run_id
from navlin.model.keys import EntityType
from navlin.model.records import Position, Reject
from navlin.model.source import source_id
from navlin.render.status import span
from navlin.service.check import is_loopback
from tests.support.indexed_estate import World
from tests.support.leases import held_by

ROOT = Path(__file__).parents[2]
Navlin = Callable[..., Result]
CLUSTER = "cli"
WORLD = "cli-world"


def configuration(solr: Solr, tmp_path: Path, sources: str = "", cluster: str = CLUSTER) -> Path:
    """A configuration that treats the session's Solr as external."""
    assert solr.address.password is not None
    (tmp_path / "password").write_text(solr.address.password + "\n")
    file = tmp_path / "navlin.toml"
    file.write_text(
        f'[navlin]\ncluster = "{cluster}"\nstate_directory = "state"\n'
        f'[solr]\nurl = "{solr.address.url}"\nuser = "{solr.address.user}"\npassword_file = "password"\n{sources}'
    )
    return file


def run(file: Path, *arguments: str, typed: str = "") -> Result:
    return CliRunner().invoke(main, ["--config", str(file), *arguments], input=typed)


@pytest.fixture
def navlin(solr: Solr, tmp_path: Path) -> Navlin:
    """Function that runs ``navlin`` with a configuration without sources."""
    file = configuration(solr, tmp_path)
    return lambda *arguments, **options: run(file, *arguments, **options)


def json_of(result: Result) -> Any:
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return json.loads(result.stdout)


# -- Help and usage errors ------------------------------------------------------------------------


def test_root_is_refused_if_another_user_owns_the_state(
    navlin: Navlin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").mkdir()
    if os.geteuid() == 0:
        os.chown(tmp_path / "state", 54_321, -1)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    refused = navlin("status")
    assert refused.exit_code == Exit.USAGE
    assert f"{tmp_path}/state belongs to " in refused.stderr
    assert "run this as that user" in refused.stderr
    assert not any((tmp_path / "state").iterdir())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    first = {"index": "create", "annotations": "export", "user": "add", "token": "add", "host-token": "add"}
    first["saved"] = "add"
    group = [command, first[command]] if command in first else [command]
    shown = CliRunner().invoke(main, [*group, "--help"])

    assert shown.exit_code == 0
    assert f"navlin {' '.join(group)}" in shown.output.partition("Examples:")[2]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nonsense"], Exit.USAGE),
        (["search"], Exit.USAGE),
        (["purge"], Exit.USAGE),
        (["purge", "--before", "soon"], Exit.USAGE),
        (["purge", "--before", "2999-01-01"], Exit.USAGE),
        (["search", "type:(TABLE"], Exit.USAGE),
        (["extract", "HIVE-1"], Exit.NOTHING),
        (["forget", "HIVE-1"], Exit.NOTHING),
        (["lineage", "cli_nowhere.nothing"], Exit.NOTHING),
        (["show", "cli_nowhere.nothing"], Exit.NOTHING),
        (["search", "originalName:cli_nowhere"], Exit.NOTHING),
    ],
)
def test_a_failure_is_reported_by_a_message_and_an_exit_code(
    navlin: Navlin, arguments: list[str], code: Exit
) -> None:
    result = navlin(*arguments)

    assert result.exit_code == code, result.output
    assert isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output


def test_every_configuration_error_is_reported_with_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text('[navlin]\nclster = "x"\n[log]\nlevel = "loud"\n')

    result = run(file, "status")

    assert result.exit_code == Exit.USAGE
    assert f"{file}:2: [navlin] unknown setting" in result.stderr
    assert f"{file}:4: [log] level must be one of" in result.stderr


@pytest.mark.parametrize("command", [["serve"], ["extract", "HIVE-1"], ["check"], ["link"], ["status"]])
def test_an_incomplete_yarn_configuration_is_refused_by_every_command(
    tmp_path: Path, command: list[str]
) -> None:
    file = tmp_path / "yarn.toml"
    file.write_text('[navlin]\ncluster = "x"\n[spark]\nmaster = "yarn"\n')

    result = run(file, *command)

    assert result.exit_code == Exit.USAGE
    assert (
        f'{file}:4: [spark] master = "yarn" needs hadoop_configuration_directory'
        in result.stderr + result.stdout
    )


def source(extractor: str, settings: str) -> str:
    return f'[[source]]\nname = "one"\nextractor = "{extractor}"\n{settings}\n'


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ('[solr]\nurl = "http://[::1"\n', "url", "http://[::1"),
        ('[solr]\nurl = "http://h:99999/solr"\n', "url", "http://h:99999/solr"),
        ('[ldap]\nurls = ["ldaps://[::1"]\n', "urls", "ldaps://[::1"),
        ('[[export]]\nname = "one"\ntarget = "atlas"\nurl = "http://[::1"\n', "url", "http://[::1"),
        (source("yarn", 'urls = ["http://[::1"]'), "urls", "http://[::1"),
        (
            source("yarn", 'urls = ["http://rm:8088"]\nhistory_urls = ["http://[::1"]'),
            "history_urls",
            "http://[::1",
        ),
        (
            source("yarn", 'urls = ["http://rm:8088"]\ndefault_fs = "hdfs://[::1"'),
            "default_fs",
            "hdfs://[::1",
        ),
        (source("hms", 'uris = ["thrift://[::1"]'), "uris", "thrift://[::1"),
        (source("hms", 'uris = ["thrift://h"]\ndefault_fs = "hdfs://[::1"'), "default_fs", "hdfs://[::1"),
        (source("impala_events", 'default_fs = "hdfs://[::1"'), "default_fs", "hdfs://[::1"),
        (source("spark_lineage_events", 'default_fs = "hdfs://[::1"'), "default_fs", "hdfs://[::1"),
        (source("spark_events", 'directory = "file://[::1"'), "directory", "file://[::1"),
        (source("hdfs", 'url = "hdfs://[::1"'), "url", "hdfs://[::1"),
        (source("hdfs", 'url = "hdfs://nn:port"'), "url", "hdfs://nn:port"),
        ('[web]\nhue_url = "https://[::1"\n', "hue_url", "https://[::1"),
        ('[web]\nhue_url = "https://hue:99999/hue"\n', "hue_url", "https://hue:99999/hue"),
        ('[web]\npublic_origin = "https://[::1"\n', "public_origin", "https://[::1"),
    ],
)
def test_a_wrong_address_is_reported_with_its_key_and_value(
    tmp_path: Path, section: str, key: str, value: str
) -> None:
    file = tmp_path / "navlin.toml"
    file.write_text(f'[navlin]\ncluster = "x"\nstate_directory = "state"\n{section}')

    result = run(file, "check")

    assert result.exit_code == Exit.USAGE
    said = [line for line in (result.stderr + result.stdout).splitlines() if repr(value) in line]
    assert len(said) == 1
    assert f"] {key}" in said[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["blocked"],
            "navlin: source is missing: the name of a source\n"
            "Type `navlin blocked SOURCE`, as in `navlin blocked HIVE-1`.\n",
        ),
        (
            ["saved", "remove"],
            "navlin: name is missing: the name, unique among your searches\n"
            "Type `navlin saved remove NAME`, as in `navlin saved remove big`.\n",
        ),
        (
            ["unused"],
            "navlin: days is missing: period without a recorded read, in days\n"
            "Type `navlin unused --days DAYS`, as in `navlin unused --days 90`.\n",
        ),
    ],
)
def test_a_command_without_a_required_parameter_shows_its_usage(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    file = tmp_path / "navlin.toml"
    file.write_text('[navlin]\ncluster = "x"\nstate_directory = "state"\n')

    result = run(file, *arguments)

    assert (result.exit_code, result.stderr) == (Exit.USAGE, said)


@pytest.mark.parametrize(
    "section",
    [
        '[solr]\nurl = "http://ana:hunter7Zx@[::1"\n',
        '[solr]\nurl = "ftp://ana:hunter7Zx@solr"\n',
        '[ldap]\nurls = ["ldaps://ana:hunter7Zx@[::1"]\n',
        '[[export]]\nname = "one"\ntarget = "atlas"\nurl = "http://ana:hunter7Zx@[::1"\n',
        '[web]\nhue_url = "https://ana:hunter7Zx@hue"\n',
        '[web]\npublic_origin = "https://ana:hunter7Zx@hue"\n',
        source("yarn", 'urls = ["http://ana:hunter7Zx@rm:8088"]'),
        source("yarn", 'urls = ["http://:hunter7Zx@rm:8088"]'),
        source("yarn", 'urls = ["http://hunter7Zx@rm:8088"]'),
        source("yarn", 'urls = ["http://rm:8088"]\nhistory_urls = ["http://ana:hunter7Zx@rm:8088"]'),
        source("hms", 'uris = ["thrift://ana:hunter7Zx@[::1"]'),
        source("hms", 'uris = ["http://ana:my hunter7Zx@hms"]'),
        source("hdfs", 'url = "webhdfs://ana:hunter7Zx@nn"'),
        source("hdfs", 'url = "hdfs://nn"\ndefault_fs = "hdfs://ana:hunter7Zx@[::1"'),
        source("yarn", 'urls = ["http://ana:hun/ter7Zx@rm:8088"]'),
    ],
)
def test_no_error_of_the_configuration_shows_the_user_or_password_of_a_url(
    tmp_path: Path, section: str
) -> None:
    file = tmp_path / "navlin.toml"
    file.write_text(f'[navlin]\ncluster = "x"\nstate_directory = "state"\n{section}')

    result = run(file, "check")

    assert result.exit_code == Exit.USAGE
    assert "ter7Zx" not in result.stderr + result.stdout
    assert f"{file}:" in result.stderr + result.stdout


def test_an_unreachable_solr_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "navlin.toml"
    file.write_text('[navlin]\ncluster = "x"\n[solr]\nurl = "http://127.0.0.1:9/solr"\n')

    result = run(file, "status")

    assert result.exit_code == Exit.FAILED
    assert "navlin: Solr at 127.0.0.1:9" in result.stderr


# -- Queries ---------------------------------------------------------------------------


@pytest.fixture
def world(solr: Solr) -> World:
    """The table cli_shop.orders, written from cli_shop.raw by one operation."""
    world = World(solr, WORLD)
    operation = world.operation("INSERT INTO cli_shop.orders SELECT * FROM cli_shop.raw")
    raw, orders = world.table("cli_shop.raw"), world.table("cli_shop.orders")
    world.put(world.hive, world.entity(raw), world.entity(orders, {"owner": "cli_etl"}))
    run_ids = world.put(
        world.impala, world.entity(operation), world.flow(raw, operation), world.flow(operation, orders)
    )
    world.link(run_ids)
    return world


def test_search_prints_a_table_or_json(navlin: Navlin, world: World) -> None:
    query = "owner:cli_etl AND type:table"

    assert "orders" in navlin("search", query).stdout
    answer = json_of(navlin("search", query, "--json"))
    assert [each["identity"] for each in answer["results"]] == [world.table("cli_shop.orders").identity]


def test_lineage_names_the_sources_of_a_table(navlin: Navlin, world: World) -> None:
    assert "cli_shop.raw" in navlin("lineage", "cli_shop.orders").stdout
    answer = json_of(navlin("lineage", "cli_shop.orders", "--operations", "--json"))
    assert {node["type"] for node in answer["nodes"]} == {"TABLE", "OPERATION"}


def test_lineage_of_a_misspelt_table_suggests_the_right_one(navlin: Navlin, world: World) -> None:
    result = navlin("lineage", "cli_shop.order")

    assert result.exit_code == Exit.NOTHING
    assert "cli_shop.orders" in result.stderr


def test_show_prints_everything_about_an_entity(navlin: Navlin, world: World) -> None:
    assert "cli_etl" in navlin("show", "cli_shop.orders").stdout
    assert "cli_etl" in json.dumps(json_of(navlin("show", "cli_shop.orders", "--json")))


def test_the_index_can_be_queried_despite_a_misconfigured_source(
    solr: Solr, tmp_path: Path, world: World
) -> None:
    file = configuration(
        solr, tmp_path, '[[source]]\nname = "S"\nextractor = "impala_evnts"\nfile = "${NOT_SET}"\n'
    )

    assert "orders" in run(file, "search", "owner:cli_etl").stdout
    assert run(file, "status").exit_code == Exit.USAGE


HEAVY = {
    "pyspark", "py4j", "pandas", "pyarrow", "numpy", "sqlglot", "apscheduler", "watchdog", "structlog", "linker"
}  # fmt: skip
"""Modules that take a considerable part of a second to load and that queries do not need."""


@pytest.mark.parametrize(
    ("arguments", "not_loaded"),
    [
        pytest.param(["search", "orders"], HEAVY | {"extractors"}, marks=pytest.mark.services),
        (["search", "orders", "--json"], HEAVY | {"extractors", "rich"}),
        (["lineage", "cli_shop.orders"], HEAVY | {"extractors"}),
        pytest.param(["show", "cli_shop.orders"], HEAVY | {"extractors"}, marks=pytest.mark.services),
        pytest.param(["status"], HEAVY, marks=pytest.mark.services),
        (["status", "--json"], HEAVY | {"rich"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_imports_only_what_it_needs(
    solr: Solr, tmp_path: Path, world: World, arguments: list[str], not_loaded: set[str]
) -> None:
    file = configuration(solr, tmp_path)
    code = f"""
import sys
from navlin.cli import main
try:
    main({["--config", str(file), *arguments]!r}, standalone_mode=False)
finally:
    print(*{{name.split(".")[0] for name in sys.modules}}, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)

    loaded = set(done.stderr.splitlines()[-1].split())
    assert "pysolr" in loaded
    assert loaded & not_loaded == set()


# -- Status ----------------------------------------------------------------------------

IMPALA = '[[source]]\nname = "{name}"\nextractor = "impala_events"\ndirectory = "logs"\n'


def source_with(solr: Solr, tmp_path: Path, name: str, *runs: RunRecord) -> Path:
    """A configuration with one source whose ``runs`` are in the index."""
    for each in runs:
        save_run(solr, each)
    solr.commit(RUNS, soft=True)
    return configuration(solr, tmp_path, IMPALA.format(name=name))


def a_run(name: str, iteration: int, status: Status, **more: Any) -> RunRecord:
    return RunRecord(
        name, source_id(CLUSTER, name), iteration, status, 1_000_000_000_000, 1_000_000_002_500, **more
    )


def test_status_shows_a_source_that_never_ran(solr: Solr, tmp_path: Path) -> None:
    result = run(source_with(solr, tmp_path, "NEVER"), "status", "--json")

    [source] = json_of(result)["sources"]
    assert result.exit_code == 0
    assert (source["state"], source["lag_s"], source["last"]) == ("never", None, None)


def test_status_shows_runs_positions_and_rejects(solr: Solr, tmp_path: Path) -> None:
    name = "TOLD"
    identity = source_id(CLUSTER, name)
    finished = a_run(name, 7, Status.FINISHED, counts=RunCounts(new=1234), note="event ids have a gap")
    positions = [Position("/logs/one", {"offset": 17}), Position("/logs/two", {"offset": 4})]
    save_positions(solr, identity, "f", positions, {})
    reject = Reject("/logs/one", "is no JSON", offset=17, sample="{", count=3)
    again = Reject("/logs/one", "is no JSON", offset=20)
    save_rejects(solr, name, identity, run_id(identity, 7), 1_000_000_000_000, [reject, again])
    file = source_with(solr, tmp_path, name, finished)

    result = run(file, "status", "--json")
    [source] = json_of(result)["sources"]
    text = run(file, "status").stdout

    assert result.exit_code == 0
    assert source["state"] == "finished"
    assert source["last"]["run_id"] == run_id(identity, 7)
    assert source["index"]["position_count"] == 2
    assert source["index"]["reject_count"] == 4
    assert source["index"]["rejects"][0]["reason"] == "is no JSON"
    for words in (
        "not running",
        "2.5 s",
        "new: 1,234",
        "event ids have a gap",
        "position: /logs/one at byte 17; /logs/two at byte 4",
        "/logs/one:17: is no JSON (counts as 3)",
        "/logs/one:20: is no JSON\n",
    ):
        assert words in text


NOW_MS = time.time_ns() // 1_000_000
ABOUT_FIVE_HOURS_MS = 18_000_000 + 600_000
POSITIONS: list[tuple[str, Any, str]] = [
    ("event id", 1_234, "event 1,234"),
    ("complete_ms", NOW_MS - ABOUT_FIVE_HOURS_MS, "last full listing 5 h ago"),
    ("complete_ms", 0, "last full listing: never"),
    ("open", {"application_1_0001": {"state": "RUNNING"}}, "1 open"),
    ("rounds", [[5, 1_000], [6, 2_000]], "2 rounds"),
    (
        "host:66:17",
        {"path": "/logs/one", "head": "8c1f", "head_bytes": 20, "offset": 17, "size": 20, "mtime_ns": 5},
        "/logs/one at byte 17 of 20",
    ),
    ("host:66:18", {"path": "/logs/two", "offset": 16_777_216, "size": -1}, "/logs/two at byte 16,777,216"),
    ("/logs/app-1", {"mark": ["app-1", 0, 7], "size": 5_000, "state": {}}, "/logs/app-1, 5,000 bytes"),
    ("/logs/app-2", {"mark": ["app-2", 0, 7], "size": -1, "state": {}}, "/logs/app-2, read in part"),
    (
        "missing",
        {"once": [], "held_run": "", "shown": [], "most": 1_037, "at_ms": NOW_MS},
        "full listings had up to 1,037 entities in the last week",
    ),
    (
        "missing",
        {"once": ["/db/t", "/db/u"], "held_run": "", "shown": [], "most": 37, "at_ms": NOW_MS},
        "full listings had up to 37 entities in the last week, the last one missed 2 places",
    ),
    ("token", "a7", "token a7"),
]
"""Positions saved by extractors and the pipeline, and their readable text: (key, value, text)."""


@pytest.mark.parametrize(("key", "value", "words"), POSITIONS, ids=[words for _, _, words in POSITIONS])
def test_status_shows_positions_in_words_and_in_full_as_json(
    solr: Solr, tmp_path: Path, key: str, value: Any, words: str
) -> None:
    name = f"AT-{words[:20]}"
    save_positions(solr, source_id(CLUSTER, name), "f", [Position(key, value)], {})
    file = source_with(solr, tmp_path, name, a_run(name, 1, Status.FINISHED))

    [source] = json_of(run(file, "status", "--json"))["sources"]
    assert source["index"]["positions"] == {key: value}
    assert f"  position: {words}\n" in run(file, "status").stdout


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (
            {"times": 2, "until_ms": NOW_MS + ABOUT_FIVE_HOURS_MS, "error": "no such file", "settings": "f"},
            "/logs/three, failed 2 times, again in 5 h: no such file",
        ),
        (
            {"times": 1, "until_ms": 0, "error": "no such file"},
            "/logs/three, failed once, again in 0.0 s: no such file",
        ),
    ],
    ids=("several times", "once"),
)
def test_status_names_failed_splits_and_their_next_attempt(
    solr: Solr, tmp_path: Path, value: Any, words: str
) -> None:
    name = f"FAILED-{value['times']}"
    save_positions(solr, source_id(CLUSTER, name), "f", [Position("held back: /logs/three", value)], {})
    file = source_with(solr, tmp_path, name, a_run(name, 1, Status.FINISHED))

    [source] = json_of(run(file, "status", "--json"))["sources"]
    assert source["index"]["held_back"] == {"/logs/three": value}
    assert f"  not read: {words}\n" in run(file, "status").stdout


def test_status_fails_for_a_failed_source_and_shows_its_error(solr: Solr, tmp_path: Path) -> None:
    runs = (a_run("BROKEN", 1, Status.FINISHED), a_run("BROKEN", 2, Status.FAILED, error="the host is away"))
    result = run(source_with(solr, tmp_path, "BROKEN", *runs), "status")

    assert result.exit_code == Exit.FAILED
    assert "error: the host is away" in result.stdout


def test_an_interrupted_run_is_reported_as_such(solr: Solr, tmp_path: Path) -> None:
    result = run(source_with(solr, tmp_path, "CUT", a_run("CUT", 1, Status.RUNNING)), "status", "--json")

    assert json_of(result)["sources"][0]["state"] == "interrupted"


def test_a_blocked_run_is_reported_until_a_complete_listing_is_accepted(solr: Solr, tmp_path: Path) -> None:
    name = "HELD"
    held = run_id(source_id(CLUSTER, name), 3)
    runs = [a_run(name, 3, Status.HELD), a_run(name, 4, Status.FINISHED)]
    file = source_with(solr, tmp_path, name, *runs)

    result = run(file, "status")
    assert result.exit_code == Exit.FAILED
    assert f"navlin extract HELD --accept-loss '{held}'" in result.stdout

    accepted = a_run(name, 5, Status.FINISHED, counts=RunCounts(complete_listings=1))
    assert run(source_with(solr, tmp_path, name, accepted), "status").exit_code == 0


def test_status_counts_unlinked_relations_by_reason_and_age(solr: Solr, navlin: Navlin) -> None:
    now_ms = World(solr, "unlinked").now_ms
    dates = {"a": None, "b": solr_date(now_ms)}
    solr.add(
        RELATIONS,
        [
            {
                "identity": f"cli-unlinked-{name}",
                "type": "DATA_FLOW",
                "deleted": False,
                "unlinked": True,
                "unlinkedReason": "not in CLI yet",
                **({"unlinkedSince": date} if date else {}),
            }
            for name, date in dates.items()
        ],
    )
    solr.commit(RELATIONS, soft=True)

    answer = [
        each for each in json_of(navlin("status", "--json"))["unlinked"] if each["reason"] == "not in CLI yet"
    ]

    assert {(each["age"], each["relations"]) for each in answer} == {
        ("under an hour", 1),
        ("a week or more", 1),
    }
    assert "not in CLI yet" in navlin("status").stdout


def test_status_shows_views_with_an_unparsable_text(solr: Solr, navlin: Navlin) -> None:
    world = World(solr, "unparsed")
    view = world.table("s.v", EntityType.VIEW)
    world.link(world.put(world.hive, world.entity(view, {"queryText": "DROP TABLE x"})))
    reason = "it is not one query"

    assert reason in {each["reason"] for each in json_of(navlin("status", "--json"))["unparsed"]}
    assert reason in navlin("status").stdout


def test_status_counts_incomplete_operations_by_reason_and_names_the_setting(
    solr: Solr, navlin: Navlin
) -> None:
    world = World(solr, "incomplete")
    setting = "Spark cut lists of fields: raise spark.sql.debug.maxToStringFields"
    cut = {"incomplete": True, "incompleteReasons": [setting]}
    world.put(world.impala, *(world.entity(world.operation(f"select {each}"), cut) for each in range(2)))
    world.put(world.impala, world.entity(world.operation("select 3"), {"incomplete": True}))

    counted = {
        each["reason"]: each["operations"] for each in json_of(navlin("status", "--json"))["incomplete"]
    }
    assert counted[setting] == 2
    assert counted["no reason given"] >= 1
    assert "spark.sql.debug.maxToStringFields" in navlin("status").stdout


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.04, "0.0 s"), (9.96, "10.0 s"), (75, "75 s"), (600, "10 min"), (7_300, "2 h"), (864_000, "10 days")],
)
def test_a_duration_is_printed_in_a_readable_unit(seconds: float, words: str) -> None:
    assert span(seconds) == words


# -- Check ----------------------------------------------------------------------------


def test_check_shows_each_subject_and_the_remedy(solr: Solr, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    sources = "".join(
        f'[[source]]\nname = "{name}"\nextractor = "impala_events"\ndirectory = "{tmp_path / name}"\n'
        for name in ("there", "missing")
    )
    file = configuration(solr, tmp_path, sources)

    result = run(file, "check")
    findings = json_of(run(file, "check", "--json"))

    assert result.exit_code == Exit.FAILED
    wrong = [finding for finding in findings if not finding["fine"]]
    assert [finding["subject"] for finding in wrong] == ["source missing"]
    assert "missing does not exist: correct the setting, or create it" in wrong[0]["text"]
    assert {"configuration", "java", "state directory", "disk", "solr", "source there"} <= {
        finding["subject"] for finding in findings if finding["fine"]
    }


def test_check_shows_missing_settings_of_spark_on_yarn(solr: Solr, tmp_path: Path) -> None:
    hadoop = tmp_path / "hadoop"
    hadoop.mkdir()
    (hadoop / "core-site.xml").write_text("<configuration/>")
    spark = (
        f'[spark]\nmaster = "yarn"\nhadoop_configuration_directory = "{hadoop}"\n'
        f'principal = "navlin@A"\nkeytab = "{tmp_path}/navlin.keytab"\n'
    )
    file = configuration(solr, tmp_path, spark)

    found = [each for each in json_of(run(file, "check", "--json")) if each["subject"] == "spark"]

    assert [(each["fine"], each["needed"], each["text"]) for each in found] == [
        (
            False,
            True,
            f"{hadoop}/yarn-site.xml does not exist: correct hadoop_configuration_directory of [spark]",
        ),
        (False, True, f"{tmp_path}/navlin.keytab does not exist: correct keytab of [spark]"),
        (
            False,
            False,
            f"[solr] url = {solr.address.url} means the local machine on every machine, so executors on other machines do"
            " not find Solr: name the host as they know it",
        ),
    ]


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("localhost", True),
        ("a.localhost", True),
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("::1", True),
        ("10.0.0.1", False),
        ("solr.example.org", False),
        ("localhost.example.org", False),
        ("", False),
    ],
)
def test_loopback_hosts_are_recognized(host: str, *, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_an_unreachable_source_does_not_prevent_the_start(solr: Solr, tmp_path: Path) -> None:
    file = configuration(
        solr, tmp_path, '[[source]]\nname = "H"\nextractor = "hms"\nuris = ["thrift://127.0.0.1:9"]\n'
    )

    assert run(file, "check").exit_code == Exit.FAILED
    assert run(file, "check", "--start").exit_code == 0


def test_check_finds_a_solr_with_a_wrong_password(solr: Solr, tmp_path: Path) -> None:
    file = configuration(solr, tmp_path)
    (tmp_path / "password").write_text("wrong")

    result = run(file, "check", "--start")

    assert result.exit_code == Exit.FAILED
    assert "rejected the user or password" in result.stdout
    assert "wrong\n" not in result.stdout


# -- Forget, purge, link, index ----------------------------------------------------------------------------


@pytest.fixture
def left(solr: Solr, tmp_path: Path) -> tuple[World, Path]:
    """A metastore that is in the index but no longer in the configuration."""
    world = World(solr, f"cli-forget-{tmp_path.name}")
    world.put(
        world.hive,
        *(world.entity(world.table(name)) for name in ("kept.t", "staging.t", "staging_2.t")),
    )
    return world, configuration(solr, tmp_path, cluster=world.cluster)


def deleted(world: World, name: str) -> bool:
    document = world.entity_of(world.table(name))
    assert document is not None
    return bool(document["deleted"])


def test_forget_flags_only_entities_below_the_path(left: tuple[World, Path]) -> None:
    world, file = left

    result = run(file, "forget", "HIVE-1", "staging", "--yes", "--json")

    assert json_of(result)["flagged"] >= 1
    assert [deleted(world, name) for name in ("kept.t", "staging.t", "staging_2.t")] == [False, True, False]


def test_forget_asks_for_confirmation(left: tuple[World, Path]) -> None:
    world, file = left

    result = run(file, "forget", "HIVE-1", typed="n\n")

    assert result.exit_code == Exit.FAILED
    assert "3 entities" in result.stderr
    assert not deleted(world, "kept.t")


def test_a_completely_forgotten_source_is_unknown(solr: Solr, left: tuple[World, Path]) -> None:
    world, file = left
    assert "HIVE-1: no longer configured" in run(file, "status").stdout

    assert run(file, "forget", "HIVE-1", "--yes").exit_code == 0

    assert deleted(world, "kept.t")
    assert "HIVE-1" not in run(file, "status").stdout
    assert run(file, "forget", "HIVE-1", "--yes").exit_code == Exit.NOTHING


def test_forget_refuses_a_running_source(solr: Solr, left: tuple[World, Path]) -> None:
    world, file = left
    with held_by(solr, world.hive.id):
        result = run(file, "forget", "HIVE-1", "--yes")

    assert result.exit_code == Exit.BUSY
    assert "process 4711 on another-host" in result.stderr
    assert not deleted(world, "kept.t")


def test_purge_reports_each_rules_removals(navlin: Navlin) -> None:
    report = json_of(navlin("purge", "--before", "1990-01-01", "--dry-run", "--json"))

    assert report["dry_run"]
    assert {"directories", "files", "executions", "operations"} <= {rule["rule"] for rule in report["rules"]}
    text = navlin("purge", "--before", "1990-01-01", "--dry-run").stdout
    assert "would remove 0" in text
    assert "always kept:" in text


@pytest.mark.services
def test_index_create_keeps_existing_cores(navlin: Navlin, solr: Solr, world: World) -> None:
    answer = json_of(navlin("index", "create", "--json"))

    assert answer == {"made": [], "there": [*CORES]}
    assert world.entity_of(world.table("cli_shop.orders")) is not None


def test_files_written_by_a_command_are_private(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def mask() -> int:
        found = os.umask(0o022)
        os.umask(found)
        return found

    found: list[int] = []
    monkeypatch.setattr("navlin.cli.invocation.Invocation.configuration", lambda _: found.append(mask()))

    run(tmp_path / "navlin.toml", "check")

    assert (found, mask()) == ([0o077], 0o022)
