"""Saved searches are named queries, private or shared with all users. Commands and HTTP read and write the same
searches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
import requests
from click.testing import CliRunner, Result

from navlin.api.own import ROOT
from navlin.cli import main
from navlin.cli.invocation import Exit
from navlin.edit.saved_searches import Asker, NameTaken, remove_search, save_search
from navlin.index.people.editing import Author
from navlin.index.people.saved_searches import (
    remove_saved_search,
    saved_search,
    saved_searches,
    write_saved_search,
)
from navlin.index.solr.solr import Solr
from navlin.query.saved import query_named
from tests.cli.test_remote import remote, token_file
from tests.support.query_estate import World
from tests.support.web import Web

__all__ = ["remote", "token_file"]


@pytest.fixture(autouse=True)
def nothing_stays(solr: Solr) -> Iterator[None]:
    yield
    for each in saved_searches(solr):
        remove_saved_search(solr, each)


@pytest.fixture
def world(solr: Solr) -> World:
    world = World(solr, f"saved{uuid4().hex[:8]}")
    world.table("orders", owner=world.name)
    world.table("returns")
    world.index()
    return world


def save(web: Web, user: str, name: str, query: str = "type:TABLE", **more: Any) -> requests.Response:
    return web.send("POST", ROOT + "/saved", user, json={"name": name, "query": query, **more})


def remove(web: Web, user: str, name: str, **more: Any) -> requests.Response:
    return web.send("DELETE", ROOT + "/saved", user, params={"name": name, **more})


def seen(web: Web, user: str) -> set[str]:
    answer = web.get(ROOT + "/saved", user).json()
    assert answer["total"] == len(answer["results"])
    return {f"{each['owner']}/{each['name']}" for each in answer["results"]}


def found(web: Web, user: str, name: str) -> requests.Response:
    return web.get(ROOT + "/search", user, saved=name)


def test_a_saved_search_is_run_by_name(web: Web, world: World) -> None:
    assert save(web, "viewer", "mine", f"owner:{world.name}").status_code == 200

    assert [each["originalName"] for each in found(web, "viewer", "mine").json()["results"]] == ["orders"]
    table = web.get(ROOT + "/search", saved="mine", csv="true", field="originalName").text
    assert table.splitlines()[1:] == ['"orders"']


def test_other_users_see_only_shared_searches(web: Web) -> None:
    save(web, "viewer", "own")
    save(web, "viewer", "for all", shared=True)
    save(web, "editor", "own", "type:VIEW")

    assert seen(web, "viewer") == {"viewer/own", "viewer/for all"}
    assert seen(web, "editor") == {"editor/own", "viewer/for all"}
    assert seen(web, "chief") == {"editor/own", "viewer/own", "viewer/for all"}, "an administrator sees all"
    assert found(web, "editor", "for all").status_code == 200
    assert found(web, "editor", "viewer/for all").status_code == 200
    assert found(web, "editor", "viewer/own").status_code == 404
    assert found(web, "editor", "own").json()["query"] == "type:VIEW", "one's own goes before"
    both = found(web, "chief", "own")
    assert both.status_code == 404
    assert "may be any of editor/own, viewer/own" in both.json()["message"]


def test_only_the_owner_or_an_administrator_may_change_or_remove_a_search(web: Web, solr: Solr) -> None:
    save(web, "viewer", "shared", shared=True)

    assert save(web, "editor", "shared", "type:VIEW", owner="viewer", replace=True).status_code == 403
    assert remove(web, "editor", "shared", owner="viewer").status_code == 403
    assert remove(web, "editor", "shared").status_code == 404, "without an owner it is the asking user's"
    kept = saved_search(solr, "viewer", "shared")
    assert kept is not None
    assert (kept.query, kept.changed_by) == ("type:TABLE", "viewer")

    changed = save(web, "chief", "shared", "type:FIELD", owner="viewer", replace=True)
    assert changed.json()["changedBy"] == "chief"
    assert found(web, "viewer", "shared").json()["query"] == "type:FIELD"
    assert remove(web, "chief", "shared", owner="viewer").status_code == 200
    assert seen(web, "viewer") == set()


def test_a_name_is_taken_until_it_is_replaced_or_removed(web: Web) -> None:
    save(web, "viewer", "once")
    again = save(web, "viewer", "once", "type:VIEW")
    assert again.status_code == 409
    assert "already" in again.json()["message"]
    assert save(web, "viewer", "once", "type:VIEW", replace=True).status_code == 200
    assert remove(web, "viewer", "once").status_code == 200
    assert save(web, "viewer", "once").status_code == 200


@pytest.mark.parametrize(
    "name", ["", " ", "a/b", ".hidden", "-x", "x ", "x" * 101, "a\nb", "a\x1b[31m", "<script>", "a'b", "*"]
)
def test_an_invalid_name_is_refused(web: Web, name: str) -> None:
    answer = save(web, "viewer", name)
    assert answer.status_code == 400, answer.text
    assert "name" in answer.json()["message"]


@pytest.mark.parametrize(
    "query", ["type:(TABLE", "{!join from=a to=b}x", "a AND", "nosuchfield:1", "size:big", " "]
)
def test_an_invalid_query_is_not_saved(web: Web, query: str) -> None:
    assert save(web, "viewer", "broken", query).status_code == 400
    assert seen(web, "viewer") == set()


def test_only_one_of_several_concurrent_saves_succeeds(web: Web) -> None:
    with ThreadPoolExecutor(4) as threads:
        answers = threads.map(lambda number: save(web, "viewer", "raced", f"size:{number}"), range(8))
        statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200] + [409] * 7


def test_a_stale_version_is_not_written_or_removed(web: Web, solr: Solr) -> None:
    save(web, "viewer", "kept")
    before = saved_search(solr, "viewer", "kept")
    assert before is not None
    save(web, "viewer", "kept", "type:VIEW", replace=True)

    assert not write_saved_search(solr, before)
    assert not remove_saved_search(solr, before)
    assert found(web, "viewer", "kept").json()["query"] == "type:VIEW"


def test_the_log_names_the_user_who_saved_or_removed(web: Web) -> None:
    save(web, "viewer", "noted")
    remove(web, "viewer", "noted")
    assert web.logged("edit requested", user="viewer", method="POST")
    assert web.logged("edit requested", user="viewer", method="DELETE")


# -- By command ----------------------------------------------------------------------------------------------------------


def test_commands_save_list_run_and_remove(web: Web, world: World) -> None:
    def navlin(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["--config", str(web.file), *arguments])

    assert navlin("saved", "list").exit_code == Exit.NOTHING
    assert navlin("saved", "add", "orders of mine", f"owner:{world.name}", "--shared").exit_code == 0
    assert navlin("saved", "add", "orders of mine", "type:VIEW").exit_code == Exit.USAGE
    assert navlin("saved", "add", "broken", "type:(").exit_code == Exit.USAGE
    assert "orders of mine" in navlin("saved", "list").stdout
    asked = navlin("search", "--saved", "orders of mine", "--json")
    assert [each["originalName"] for each in json.loads(asked.stdout)["results"]] == ["orders"]
    assert navlin("search", "--saved", "orders of mine", "--csv", "--field", "owner").stdout.count("\n") == 2
    unknown = navlin("search", "--saved", "orders of min")
    assert unknown.exit_code == Exit.NOTHING
    assert "did you mean orders of mine?" in unknown.stderr
    assert navlin("search").exit_code == Exit.USAGE
    assert navlin("search", "x", "--saved", "y").exit_code == Exit.USAGE
    assert navlin("saved", "remove", "orders of mine").exit_code == 0
    assert navlin("saved", "remove", "orders of mine").exit_code == Exit.NOTHING


def test_remote_commands_act_as_the_tokens_user(web: Web, world: World, remote: Any, solr: Solr) -> None:
    assert "saved: chief/there" in remote("saved", "add", "there", f"owner:{world.name}", "--shared").stdout
    assert saved_search(solr, "chief", "there") is not None
    [listed] = json.loads(remote("saved", "list", "--json").stdout)["results"]
    assert (listed["owner"], listed["shared"]) == ("chief", True)
    assert json.loads(remote("search", "--saved", "there", "--json").stdout)["total"] == 1
    assert remote("saved", "add", "there", "type:VIEW").exit_code == Exit.USAGE
    assert json.loads(remote("saved", "remove", "there", "--json").stdout)["name"] == "there"
    assert remote("saved", "remove", "there").exit_code == Exit.NOTHING
    assert remote("saved", "list").exit_code == Exit.NOTHING


@pytest.mark.services
def test_saved_searches_work_on_solrcloud(cloud: Solr) -> None:
    ann = Asker(Author("ann", 1_800_000_000_000), administrator=False)
    save_search(cloud, ann, "kept", "type:TABLE", shared=True, replace=False)
    with pytest.raises(NameTaken):
        save_search(cloud, ann, "kept", "type:VIEW", shared=True, replace=False)
    save_search(cloud, ann, "kept", "type:VIEW", shared=True, replace=True)
    assert query_named(cloud, "ann/kept", "bob", administrator=False) == "type:VIEW"
    remove_search(cloud, ann, "kept")
    assert saved_searches(cloud) == []
