"""navlin never queries a field that is not indexed, because in a large index Solr would have to read every document.

The test checks the requests that navlin sends while it searches, traverses, links, purges and reports, and the query
texts in the code. The definitions of fields come from Solr itself, not from the schema file.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest
import requests

from linker.purge import purge
from navlin.index.graph.sources import known_sources
from navlin.index.graph.state import stored_below, stored_in_range
from navlin.index.graph.unlinked import unlinked_counts
from navlin.index.journal.holder import Holder
from navlin.index.journal.overview import blocked_run, source_overview
from navlin.index.journal.runs import Status, last_run, load_positions, runs_to_link
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS
from navlin.index.solr.connection import SolrSession
from navlin.index.solr.solr import Solr
from navlin.model.keys import EntityType, partition_key
from navlin.query.lineage import lineage
from navlin.query.names import AmbiguousName, UnknownName, entity_named
from navlin.query.options import WalkOptions
from navlin.query.search import search
from navlin.query.show import show
from tests.support.indexed_estate import World as Linked
from tests.support.query_estate import World

REPOSITORY = Path(__file__).parents[2]
CHECKED_ONE_BY_ONE = frozenset({"asOf"})
"""Fields that have only docValues: they are updated in place, so they cannot be indexed. Purge compares them only in
documents that match an indexed clause.
"""
_IN_QUERY = re.compile(r"(?<![\\\w.])([A-Za-z_][\w.]*):")
_IN_LOCAL_PARAMS = re.compile(r"\{![^}]*?\bf=['\"]?([A-Za-z_]\w*)")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")


# -- Requests ----------------------------------------------------------------------------------------------------------


@dataclass
class Asked:
    """(core, field) pairs used in requests, by kind of use."""

    searched: set[tuple[str, str]] = field(default_factory=set)
    sorted_or_counted: set[tuple[str, str]] = field(default_factory=set)

    def add(self, url: str, form: dict[str, list[str]]) -> None:
        core = urlsplit(url).path.split("/")[2]
        for query in (*form.get("q", ()), *form.get("fq", ())):
            self.searched.update((core, name) for name in fields_of(query))
        for sort in form.get("sort", ()):
            self._ordered(core, (order.split()[0] for order in sort.split(",")))
        self._ordered(core, form.get("facet.field", ()))
        for facet in form.get("json.facet", ()):
            self._add_facet(core, orjson.loads(facet))

    def _ordered(self, core: str, names: Any) -> None:
        self.sorted_or_counted.update((core, name) for name in names if name not in ("score", "_docid_"))

    def _add_facet(self, core: str, facet: Any) -> None:
        match facet:
            case {"q": str(query)}:
                self.searched.update((core, name) for name in fields_of(query))
            case str(function) if "(" in function:
                self._ordered(core, re.findall(r"[A-Za-z_]\w*(?=\))", function))
            case dict():
                if isinstance(name := facet.get("field"), str):
                    self._ordered(core, [name])
                for inner in facet.values():
                    self._add_facet(core, inner)


def fields_of(query: str) -> set[str]:
    """The fields that a query names. A colon inside quotation marks is ignored."""
    parsers = set(_IN_LOCAL_PARAMS.findall(query))
    if query.startswith(("{!term ", "{!terms ")):
        return parsers  # the rest are values
    plain = re.sub(r"\{![^}]*\}", " ", _QUOTED.sub('""', query))
    named = set(_IN_QUERY.findall(re.sub(r"\[[^\]}]*[\]}]", "[]", plain)))
    return (parsers | named) - {"*"}


def _listed(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list | tuple) else [str(value)]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    """Record all queries that this process sends to Solr."""
    asking = Asked()
    ask = SolrSession.request

    def request(self: SolrSession, method: Any, url: Any, *args: Any, **kwargs: Any) -> requests.Response:
        where = url.decode() if isinstance(url, bytes) else url
        form = kwargs.get("data")
        if urlsplit(where).path.endswith(("/select", "/export")):
            if isinstance(form, bytes):
                form = orjson.loads(form)["params"]
            if isinstance(form, dict):
                asking.add(where, {key: _listed(value) for key, value in form.items()})
            else:
                asking.add(where, parse_qs(urlsplit(where).query))
        return ask(self, method, url, *args, **kwargs)

    monkeypatch.setattr(SolrSession, "request", request)
    yield asking


# -- Definitions of fields -----------------------------------------------------------------------------------------------


def definition(solr: Solr, name: str) -> dict[str, Any]:
    """Solr's definition of a field, static or dynamic; {} if the field does not exist."""
    url = f"{solr.address.url}/{ELEMENTS}/schema/fields"
    answer = orjson.loads(
        solr.session.get(url, params={"fl": name, "showDefaults": "true", "includeDynamic": "true"}).content
    )
    return dict(answer["fields"][0]) if answer["fields"] else {}


def not_for_searching(solr: Solr, names: set[str]) -> set[str]:
    return {name for name in names if not definition(solr, name).get("indexed")} - CHECKED_ONE_BY_ONE


def not_for_ordering(solr: Solr, names: set[str]) -> set[str]:
    return {name for name in names if not definition(solr, name).get("docValues")}


def test_the_check_detects_an_unindexed_field(solr: Solr) -> None:
    assert not_for_searching(solr, {"queryTextFull", "asOf", "digest", "no_such_field", "identity"}) == {
        "queryTextFull",
        "digest",
        "no_such_field",
    }
    assert not_for_ordering(solr, {"queryTextFull", "queryText", "asOf", "identity"}) == {
        "queryTextFull",
        "queryText",
    }
    assert fields_of(
        '+a:(x OR b:y) -c:"d:e" {!terms f=g}h:i {!frange l=0}z AND k:[l TO 2026-01-01T00:00:00Z] m\\:n'
    ) == {
        "a",
        "b",
        "c",
        "g",
        "h",
        "k",
    }


# -- Requests that navlin sends -------------------------------------------------------------------------------------------


def assert_all_indexed(solr: Solr, asked: Asked) -> None:
    searched = {name for _, name in asked.searched}
    ordered = {name for _, name in asked.sorted_or_counted}
    assert not not_for_searching(solr, searched)
    assert not not_for_ordering(solr, ordered)


def test_user_queries_use_only_indexed_fields(solr: Solr, asked: Asked) -> None:
    world = World(solr, "indexed-questions")
    t, c = world.table("t", "a", partitionColNames=["ds"]), world.table("c", "b")
    gone = world.table("gone", deleted=True)
    world.located(t, world.path("/indexed/t"))
    world.located(world.entity(partition_key(t, "ds=1")), world.path("/indexed/t/ds=1"))
    world.operation("write", [world.path("/indexed/in")], [world.path("/indexed/t/ds=1")], engine="SPARK")
    operation = world.operation("c from t", [t, gone], [c], parts={"c.b": ["t.a"]})
    execution = world.execution(operation, "run")
    world.operation("ghostly", [world.named("ghost")], [c])
    world.table("v", kind=EntityType.VIEW)
    world.index()
    for start in (t, c, operation, execution, world.column("c.b"), world.path("/indexed/t")):
        lineage(solr, start.identity)
        everything = WalkOptions(
            columns=True, operations=True, deleted=True, control_flow=True, unlinked=True
        )
        lineage(solr, start.identity, everything)
        show(solr, start.identity)
    for name in ("db.t", "db.t.a", "/indexed/t", "hdfs://indexed-questions/indexed/t", "gone"):
        with contextlib.suppress(AmbiguousName):  # other tests have tables with that name
            entity_named(solr, name)
    for name in ("nothing_like_it", "/none/such"):
        with pytest.raises(UnknownName):
            entity_named(solr, name)
    search(solr, "anything", facets=["type"])
    assert {
        (RELATIONS, "endpoint1Ids"),
        (RELATIONS, "endpoint2Name"),
        (ELEMENTS, "firstClassParentId"),
    } <= asked.searched
    assert {(RELATIONS, "asOf"), (RELATIONS, "endpoint1Ids"), (ELEMENTS, "type")} <= asked.sorted_or_counted
    assert_all_indexed(solr, asked)


def test_navlins_own_work_uses_only_indexed_fields(solr: Solr, asked: Asked) -> None:
    world = Linked(solr, "indexed-work")
    table, path = world.table("db.t"), world.path("/indexed/work")
    operation = world.operation("op")
    run = world.put(world.hive, world.entity(table), world.location(table, path))
    world.put(world.spark, world.entity(operation), world.flow(operation, world.path("/indexed/jobs/x")))
    world.link(run)
    world.link(everything=True)
    world.drop(world.hive, table)
    world.link()
    for core in (ELEMENTS, RELATIONS):
        list(stored_below(solr, core, world.hive.id, ["/DB"]))
        list(stored_in_range(solr, core, world.hive.id))
    source_overview(solr, world.hive.id)
    blocked_run(solr, world.hive.id)
    unlinked_counts(solr, world.now_ms)
    known_sources(solr)
    last_run(solr, world.hive.id, Status.FINISHED)
    runs_to_link(solr, world.hive.id, 1)
    load_positions(solr, world.hive.id, "")
    holder = Holder("here", 1, "")
    purge(solr, 1, holder=holder, lives=lambda _: False, clock=lambda: 2, dry_run=True)
    assert {(ELEMENTS, "treePath"), (RELATIONS, "writer"), (RUNS, "kind")} <= asked.searched
    assert_all_indexed(solr, asked)


# -- Requests in the code -------------------------------------------------------------


def texts_of(module: Path) -> Iterator[str]:
    """Yield the strings in a module except docstrings. An f-string is yielded with `0` for each placeholder."""
    tree = ast.parse(module.read_text())
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts = {
        id(value) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for value in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for side in "12":
                yield "".join(
                    str(value.value) if isinstance(value, ast.Constant) else side for value in node.values
                )
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in statements | parts
        ):
            yield node.value


def test_no_query_text_in_the_code_uses_an_unindexed_field(solr: Solr) -> None:
    """A word before a colon that is not a field of the schema is skipped, because Solr itself refuses a query for a
    field that does not exist.
    """
    url = f"{solr.address.url}/{ELEMENTS}/schema/fields"
    fields = {
        each["name"]: each
        for each in orjson.loads(solr.session.get(url, params={"showDefaults": "true"}).content)["fields"]
    }
    modules = [
        path for folder in ("navlin", "linker") for path in sorted((REPOSITORY / folder).rglob("*.py"))
    ]
    found = {
        (str(path.relative_to(REPOSITORY)), name)
        for path in modules
        for text in texts_of(path)
        for name in fields_of(text)
        if name in fields
    }
    assert {
        ("navlin/index/graph/graph.py", "fileSystemPath"),
        ("navlin/index/journal/runs.py", "kind"),
    } <= found
    assert not {(path, name) for path, name in found if not fields[name]["indexed"]}
