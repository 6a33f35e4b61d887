"""The commands ``navlin edit`` and ``navlin edits``, and their HTTP endpoints."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from click.testing import Result

from navlin.api.own import ROOT
from navlin.cli.invocation import Exit
from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import Solr
from tests.cli.test_cli import configuration, json_of, run
from tests.support.indexed_estate import World
from tests.support.web import Web

Navlin = Callable[..., Result]
ME = pwd.getpwuid(os.getuid()).pw_name


@pytest.fixture
def navlin(solr: Solr, tmp_path: Path) -> Navlin:
    file = configuration(solr, tmp_path)
    return lambda *arguments: run(file, *arguments)


@pytest.fixture
def database() -> str:
    return f"shop{uuid4().hex[:8]}"


@pytest.fixture
def world(solr: Solr, database: str) -> World:
    """Tables orders, raw and tmp in a database used by one test only."""
    world = World(solr, database)
    world.put(
        world.hive, *(world.entity(world.table(f"{database}.{name}")) for name in ("orders", "raw", "tmp"))
    )
    return world


def people(navlin: Navlin, table: str) -> dict[str, Any]:
    shown: dict[str, Any] = json_of(navlin("show", table, "--json"))["fields"]["people"]
    return shown


def test_an_edit_is_visible_at_once_and_the_history_names_the_user(
    navlin: Navlin, world: World, database: str
) -> None:
    table = f"{database}.orders"
    done = json_of(
        navlin(
            *(
                "edit",
                table,
                "--tag",
                "pii",
                "--tag",
                "gold",
                "--name",
                "Orders",
                "--description",
                "all of them",
            ),
            *(
                "--property",
                "steward=ann=1",
                "--managed",
                "gov.level=high",
                "--managed",
                "gov.level=low",
                "--json",
            ),
        )
    )
    assert (done["entities"], done["changed"], done["dry_run"]) == (1, 1, False)
    assert people(navlin, table) == {
        "name": "Orders",
        "description": "all of them",
        "tags": ["pii", "gold"],
        "up_steward": "ann=1",
        "cp_gov.level": ["high", "low"],
    }

    erased = navlin(
        "edit",
        table,
        "--remove-tag",
        "pii",
        "--name",
        "",
        "--property",
        "steward=",
        "--managed",
        "gov.level=",
    )
    assert erased.exit_code == Exit.OK
    assert people(navlin, table) == {"description": "all of them", "tags": ["gold"]}

    told = json_of(navlin("edits", table, "--json"))
    assert (told["name"], told["total"]) == (table, 2)
    assert [edit["who"] for edit in told["edits"]] == [ME, ME]
    assert {"field": "name", "old": "Orders", "new": None} in told["edits"][0]["changes"]
    assert {"field": "tags", "old": None, "new": ["pii", "gold"]} in told["edits"][1]["changes"]
    assert "tags: pii, gold → gold" in navlin("edits", table, "--limit", "1").stdout
    assert navlin("edits", f"{database}.raw").exit_code == Exit.NOTHING


def test_all_matches_of_a_query_are_edited_and_a_dry_run_reports_them(
    navlin: Navlin, world: World, database: str
) -> None:
    query = f'type:TABLE AND parentPath:"/{database}" AND -originalName:tmp'
    tried = json_of(navlin("edit", "--query", query, "--tag", "sales", "--dry-run", "--json"))
    assert (tried["entities"], tried["changed"], tried["dry_run"]) == (2, 2, True)
    assert {edit["name"] for edit in tried["edits"]} == {f"{database}.orders", f"{database}.raw"}
    assert people(navlin, f"{database}.raw") == {}

    done = navlin("edit", "--query", query, "--tag", "sales")
    assert done.exit_code == Exit.OK
    assert done.stdout.startswith("2 of 2 entities changed")
    tagged = json_of(navlin("search", f'tags:sales AND parentPath:"/{database}"', "--json"))
    assert tagged["total"] == 2
    again = json_of(navlin("edit", "--query", query, "--tag", "sales", "--json"))
    assert (again["entities"], again["changed"]) == (2, 0)
    assert navlin("edit", "--query", "originalName:nowhere_at_all", "--tag", "x").exit_code == Exit.NOTHING


def test_a_bulk_edit_of_any_size_answers_with_the_first_entities(
    navlin: Navlin, world: World, database: str
) -> None:
    world.put(world.hive, *(world.entity(world.table(f"{database}.t{number}")) for number in range(1_200)))
    query = f'type:TABLE AND parentPath:"/{database}" AND -tags:bulk'
    done = json_of(navlin("edit", "--query", query, "--tag", "bulk", "--json"))
    assert (done["entities"], done["changed"], len(done["edits"])) == (1_203, 1_203, 1_000)
    assert navlin("edit", "--query", query, "--tag", "bulk").exit_code == Exit.NOTHING
    last = navlin("edit", "--query", f'parentPath:"/{database}"', "--remove-tag", "bulk")
    assert "1,203 of 1,203 entities changed" in last.stdout
    assert "and 1,183 more" in last.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("orders",),
        ("--tag", "x"),
        ("orders", "--query", "orders", "--tag", "x"),
        ("--query", "(", "--tag", "x"),
        ("orders", "--tag", ""),
        ("orders", "--name", "x" * 501),
        ("orders", "--property", "steward"),
        ("orders", "--property", "=x"),
        ("orders", "--managed", "level=high"),
    ],
    ids=str,
)
def test_an_invalid_edit_is_refused_with_a_message(
    navlin: Navlin, world: World, database: str, arguments: tuple[str, ...]
) -> None:
    wanted = [f"{database}.orders" if each == "orders" else each for each in arguments]
    result = navlin("edit", *wanted)
    assert result.exit_code == Exit.USAGE, result.output
    assert result.stderr
    assert people(navlin, f"{database}.orders") == {}


def test_an_editor_may_edit_over_http_and_is_named(
    web: Web, navlin: Navlin, world: World, database: str
) -> None:
    body = {"entity": f"{database}.orders", "tag": ["pii"], "name": "Orders"}
    assert web.send("POST", ROOT + "/edit", "viewer", json=body).status_code == 403
    done = web.send("POST", ROOT + "/edit", "editor", json=body)
    assert (done.status_code, done.json()["changed"]) == (200, 1), done.text
    told = web.asked("/edits", entity=f"{database}.orders")
    assert told == json_of(navlin("edits", f"{database}.orders", "--json"))
    assert [edit["who"] for edit in told["edits"]] == ["editor"]
    assert web.logged("edit requested", user="editor", path=f"{ROOT}/edit")

    assert (
        web.send("POST", ROOT + "/edit", "editor", json={"entity": f"{database}.orders"}).status_code == 400
    )
    twice = web.send("POST", ROOT + "/edit", "editor", json={**body, "query": "*"})
    assert twice.status_code == 400
    unknown = web.send("POST", ROOT + "/edit", "editor", json={"entity": f"{database}.no", "tag": ["a"]})
    assert unknown.status_code == 404
    assert world.solr.count(ELEMENTS, "tags:pii", f"sourceId:{world.hive.id}") == 1
