"""All results of a search, as CSV and as JSON lines: by the local command, over HTTP, and by the command over HTTP."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from navlin.api.own import ROOT
from navlin.cli import main
from navlin.cli.invocation import Exit
from navlin.index.search import searching
from navlin.index.solr.solr import Solr
from navlin.query.whole_result import whole_result
from tests.support.query_estate import World
from tests.support.web import Web

TABLES = 120
QUERY = "owner:whole_result_owner"


@pytest.fixture
def world(solr: Solr) -> World:
    world = World(solr, "whole result", "whole")
    for number in range(TABLES):
        world.table(f"t{number}", owner="whole_result_owner", remark="=cmd()" if number else "a, b\nc")
    world.index()
    return world


def run(web: Web, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["--config", str(web.file), *arguments])


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))


@pytest.mark.services
def test_csv_lists_every_result_once_with_the_columns_of_entities(web: Web, world: World) -> None:
    printed = run(web, "search", QUERY, "--csv")

    found = rows(printed.stdout)
    assert printed.exit_code == Exit.OK
    assert len(found) == len({each["identity"] for each in found}) == TABLES
    assert {each["originalName"] for each in found} == {f"t{number}" for number in range(TABLES)}
    assert {each["parentPath"] for each in found} == {"/whole"}
    answer = web.get(f"{ROOT}/search", query=QUERY, csv="true")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.content.decode() == printed.stdout


def test_json_lines_list_every_result_once_with_all_fields(web: Web, world: World) -> None:
    printed = run(web, "search", QUERY, "--jsonl")

    documents = [json.loads(line) for line in printed.stdout.splitlines()]
    one = web.asked("/search", query=f'identity:"{documents[0]["identity"]}"')["results"][0]
    assert len({each["identity"] for each in documents}) == TABLES
    assert documents[0] == one
    answer = web.get(f"{ROOT}/search", query=QUERY, jsonl="true")
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    assert answer.text == printed.stdout


def test_requested_fields_are_the_columns_and_no_cell_is_a_formula(web: Web, world: World) -> None:
    given = ("--field", "originalName", "--field", "tp_remark", "--field", "description")
    found = rows(run(web, "search", QUERY, "--csv", *given, "--filter", "originalName:(t0 OR t1)").stdout)

    assert sorted(found, key=lambda each: each["originalName"]) == [
        {"originalName": "t0", "tp_remark": "a, b\nc", "description": ""},
        {"originalName": "t1", "tp_remark": "'=cmd()", "description": ""},
    ]
    lines = run(web, "search", QUERY, "--jsonl", *given, "--filter", "originalName:t1").stdout.splitlines()
    assert [json.loads(line) for line in lines] == [{"originalName": "t1", "tp_remark": ["=cmd()"]}]


def test_fields_are_named_as_in_a_query(web: Web, world: World) -> None:
    table = world.named("t0").identity
    world.elements[table].update({"cp_gov.level": ["high"], "cpl_gov.cost": [7]})
    world.index()
    given = ("--field", "id", "--field", "gov.level", "--field", "gov.cost", "--filter", "originalName:t0")
    found = rows(run(web, "search", QUERY, "--csv", *given).stdout)

    assert found == [{"id": table, "gov.level": "high", "gov.cost": "7"}]
    line = run(web, "search", QUERY, "--jsonl", *given).stdout
    assert json.loads(line) == {"id": table, "gov.level": ["high"], "gov.cost": [7]}


def test_relations_have_their_own_columns(web: Web, world: World) -> None:
    query = f'type:PARENT_CHILD AND endpoint2Ids:"{world.named("t0").identity}"'
    [found] = rows(run(web, "search", query, "--csv").stdout)

    assert found["endpoint2Name"] == "whole.t0"


def test_an_empty_result_is_a_heading_and_an_exit_code(web: Web) -> None:
    result = run(web, "search", "owner:nobody_at_all", "--csv")

    assert result.exit_code == Exit.NOTHING
    assert rows(result.stdout) == []
    assert "identity" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "parameters", "words"),
    [
        (["type:(TABLE", "--csv"], {"query": "type:(TABLE", "csv": "true"}, "character"),
        (["created:yesterday", "--jsonl"], {"query": "created:yesterday", "jsonl": "true"}, "yesterday"),
        (["x", "--csv", "--filter", ""], {"query": "x", "csv": "true", "filter": ""}, "query"),
        (["x", "--jsonl", "--filter", "a:("], {"query": "x", "jsonl": "true", "filter": "a:("}, "character"),
        (
            ["x", "--csv", "--field", "ownr"],
            {"query": "x", "csv": "true", "field": "ownr"},
            "no field ownr; did you mean owner?",
        ),
        (["x", "--csv", "--jsonl"], {"query": "x", "csv": "true", "jsonl": "true"}, "csv"),
        (["x", "--csv", "--offset", "3"], None, "whole result"),
        (["x", "--csv", "--sort", "owner asc"], None, "whole result"),
        (["x", "--jsonl", "--facet", "type"], None, "whole result"),
    ],
)
def test_an_invalid_request_is_refused_with_a_message(
    web: Web, arguments: list[str], parameters: dict[str, str] | None, words: str
) -> None:
    result = run(web, "search", *arguments)
    assert result.exit_code == Exit.USAGE
    assert words in result.stderr
    if parameters is not None:
        answer = web.get(f"{ROOT}/search", **parameters)
        assert answer.status_code == 400
        assert words in answer.json()["message"]


def test_only_one_page_is_held_in_memory(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    select = Solr.select

    def counted(solr: Solr, core: str, params: Any) -> Any:
        asked.append(params["rows"])
        return select(solr, core, params)

    monkeypatch.setattr(Solr, "select", counted)
    monkeypatch.setattr(searching, "STREAMED_ROWS", 50)
    _, documents = whole_result(world.solr, QUERY)

    assert first(documents, 50)
    assert asked == [50]
    assert len(list(documents)) == TABLES - 50
    assert set(asked) == {50}


def first(documents: Iterator[Any], count: int) -> list[Any]:
    return [next(documents) for _ in range(count)]


def test_the_remote_command_prints_the_same(web: Web, world: World, tmp_path: Path) -> None:
    from navlin.access.store import AccessFile

    token = tmp_path / "token"
    token.write_text(
        AccessFile(web.file.parent / "state").add_token("viewer", "x", None, 1_800_000_000_000, 0)
    )
    server = ["--url", web.url, "--token-file", str(token)]
    for form in ("--csv", "--jsonl"):
        assert run(web, *server, "search", QUERY, form).stdout == run(web, "search", QUERY, form).stdout
