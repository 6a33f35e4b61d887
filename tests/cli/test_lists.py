"""Lists for users (unlinked relations, incomplete operations, rejects, runs), from the command line and over HTTP."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from navlin.cli import main
from navlin.cli.invocation import Exit
from navlin.index.journal.rejects import save_rejects
from navlin.index.journal.run_counts import RunCounts
from navlin.index.journal.runs import RunRecord, Status, save_run
from navlin.index.schema.fields import RUNS
from navlin.index.solr.solr import Solr
from navlin.model.identity import run_id
from navlin.model.records import Reject
from navlin.model.source import IMPALA, Source, source_id
from tests.support.indexed_estate import World
from tests.support.web import Web

AT_MS = 1_767_225_600_000
LISTS = ("unlinked", "incomplete", "rejects", "runs")


@dataclass(frozen=True)
class Asking:
    file: Path
    web: Web

    def command(self, *arguments: str) -> Result:
        return CliRunner().invoke(main, ["--config", str(self.file), *arguments])

    def both(self, name: str, **options: Any) -> Any:
        """Return the output of the command, after checking that it equals the HTTP response."""
        given = [
            word
            for option, value in options.items()
            for each in (value if isinstance(value, list) else [value])
            for word in (f"--{option}", str(each))
        ]
        printed = self.command(name, *given, "--json")
        assert printed.exit_code in (Exit.OK, Exit.NOTHING), printed.output
        answer = json.loads(printed.stdout)
        assert self.web.asked("/" + name, **options) == answer
        return answer


@pytest.fixture
def asking(web: Web) -> Asking:
    return Asking(web.file, web)


@pytest.fixture
def source(solr: Solr) -> str:
    """A source with three runs and two rejects."""
    name = "LISTED-1"
    identity = source_id("lists", name)
    for number, status, more in (
        (1, Status.FINISHED, {"counts": RunCounts(new=7)}),
        (2, Status.FAILED, {"error": "the host is away"}),
        (3, Status.HELD, {"note": "50 tables are gone"}),
    ):
        started_ms = AT_MS + number * 60_000
        save_run(solr, RunRecord(name, identity, number, status, started_ms, started_ms + 2_500, **more))
    first = Reject("/logs/one", "is no JSON", offset=17, sample="{", count=3)
    second = Reject("hdfs://a/b", "no such file")
    save_rejects(solr, name, identity, run_id(identity, 1), AT_MS, [first])
    save_rejects(solr, name, identity, run_id(identity, 2), AT_MS + 1, [second])
    solr.commit(RUNS, soft=True)
    return name


@pytest.fixture
def waiting(solr: Solr, request: pytest.FixtureRequest) -> World:
    """A flow from a table that was never extracted, and two incomplete operations."""
    world = World(solr, request.node.name)
    world.impala = Source(
        source_id(world.cluster, request.node.name), IMPALA, request.node.name, world.cluster
    )
    text = "INSERT INTO lists.b SELECT * FROM lists.a"
    operation, unknown = world.operation(text), world.operation("SELECT 1")
    a, b = world.table("lists.a"), world.table("lists.b")
    cut = {"queryText": text, "incomplete": True, "incompleteReasons": ["the list of paths was cut"]}
    world.put(world.hive, world.entity(b))
    world.link(
        world.put(
            world.impala,
            world.entity(operation, cut),
            world.entity(unknown, {"queryText": "SELECT 1", "incomplete": True}),
            world.flow(a, operation),
            world.flow(operation, b),
        )
    )
    return world


def test_unlinked_relations_are_listed_with_both_ends_and_the_reason(asking: Asking, waiting: World) -> None:
    answer = asking.both("unlinked", source=waiting.impala.name)

    [relation] = answer["results"]
    assert (answer["total"], answer["truncated"]) == (1, False)
    assert relation["source"]["name"] == "lists.a"
    assert relation["target"]["type"] == "OPERATION"
    assert relation["type"] == "DATA_FLOW"
    assert relation["statedBy"] == waiting.impala.name
    assert relation["since"]
    of_reason = asking.both("unlinked", source=waiting.impala.name, reason=relation["reason"])
    assert of_reason["results"] == [relation]
    assert asking.both("unlinked", source=waiting.impala.name, reason="another")["total"] == 0
    text = asking.command("unlinked", "--source", waiting.impala.name).stdout
    assert "lists.a" in text
    assert relation["reason"] in text


def test_relations_that_the_linker_has_not_seen_yet_are_listed_first(asking: Asking, waiting: World) -> None:
    late = waiting.operation("INSERT INTO lists.b SELECT * FROM lists.late")
    waiting.put(waiting.impala, waiting.entity(late), waiting.flow(waiting.table("lists.late"), late))

    results = asking.both("unlinked", source=waiting.impala.name)["results"]

    assert [each["source"]["name"] for each in results] == ["lists.late", "lists.a"]
    assert [bool(each["since"]) for each in results] == [False, True]


def test_incomplete_operations_are_listed_with_their_reasons(asking: Asking, waiting: World) -> None:
    answer = asking.both("incomplete", source=waiting.impala.name)

    assert {each["queryText"]: each["reasons"] for each in answer["results"]} == {
        "INSERT INTO lists.b SELECT * FROM lists.a": ["the list of paths was cut"],
        "SELECT 1": ["no reason given"],
    }
    for reason, text in (("the list of paths was cut", "INSERT"), ("no reason given", "SELECT 1")):
        [one] = asking.both("incomplete", source=waiting.impala.name, reason=reason)["results"]
        assert one["queryText"].startswith(text)
    text = asking.command("incomplete", "--source", waiting.impala.name).stdout
    assert "the list of paths was cut" in text


def test_rejects_are_listed_with_their_place_newest_first(asking: Asking, source: str) -> None:
    answer = asking.both("rejects", source=source)

    assert [(each["place"], each["offset"]) for each in answer["results"]] == [
        ("hdfs://a/b", None),
        ("/logs/one", 17),
    ]
    first = answer["results"][1]
    assert (first["reason"], first["count"], first["sample"]) == ("is no JSON", 3, "{")
    assert first["seen_ms"] == AT_MS
    text = asking.command("rejects", "--source", source).stdout
    assert "/logs/one:17" in text
    assert "2026-01-01 00:00:00Z" in text


def test_runs_are_listed_newest_first_with_their_status(asking: Asking, source: str) -> None:
    answer = asking.both("runs", source=source)

    assert [each["status"] for each in answer["results"]] == ["held", "failed", "finished"]
    assert answer["results"][1]["error"] == "the host is away"
    assert answer["results"][2]["counts"]["new"] == 7
    some = asking.both("runs", source=source, status=["failed", "finished"])
    assert [each["status"] for each in some["results"]] == ["failed", "finished"]
    text = asking.command("runs", "--source", source).stdout
    assert "50 tables are gone" in text
    assert "2.5 s" in text


def test_a_list_continues_at_the_given_offset(asking: Asking, source: str) -> None:
    pages = [asking.both("runs", source=source, limit=2, offset=offset) for offset in (0, 2, 4)]

    assert [len(page["results"]) for page in pages] == [2, 1, 0]
    assert [page["truncated"] for page in pages] == [True, False, False]
    assert "use --offset 2 for more" in asking.command("runs", "--source", source, "--limit", "2").stdout


@pytest.mark.parametrize("name", LISTS)
def test_an_unknown_source_is_reported(asking: Asking, waiting: World, name: str) -> None:
    known = waiting.impala.name
    result = asking.command(name, "--source", known + "x")

    assert result.exit_code == Exit.NOTHING
    assert f"did you mean {known}?" in result.stderr
    answer = asking.web.get(f"/api/navlin/v1/{name}", source="nowhere")
    assert answer.status_code == 404
    assert known in answer.json()["known"]


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(
    "options", [{"limit": 0}, {"limit": 10_001}, {"offset": -1}, {"offset": 1_000_001}], ids=str
)
def test_an_invalid_page_is_reported(asking: Asking, name: str, options: dict[str, Any]) -> None:
    [(option, value)] = options.items()
    result = asking.command(name, f"--{option}", str(value))

    assert result.exit_code == Exit.USAGE
    bounds = "from 1 to 10,000" if option == "limit" else "from 0 to 1,000,000"
    assert result.stderr == f"navlin: {option} must be {bounds}\n"
    answer = asking.web.get(f"/api/navlin/v1/{name}", **options)
    assert (answer.status_code, answer.json()["message"]) == (400, f"{option} must be {bounds}")


@pytest.mark.parametrize("name", ["rejects", "runs"])
def test_an_empty_list_is_reported_with_an_exit_code(asking: Asking, waiting: World, name: str) -> None:
    result = asking.command(name, "--source", waiting.impala.name)

    assert result.exit_code == Exit.NOTHING
    assert result.stdout.strip() in ("No rejects", "No runs")
