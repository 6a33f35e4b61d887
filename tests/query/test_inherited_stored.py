"""Stored inheritance: after any event, the tags in the index equal those that `navlin inherited` computes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from navlin.cli.invocation import Exit
from navlin.edit.annotation_changes import AnnotationChanges, Properties, Tags, edit_annotations
from navlin.index.admin.cores import CORES
from navlin.index.graph.entity import readable_name
from navlin.index.graph.graph import Graph
from navlin.index.journal.inheritance_due import count_due, note_due
from navlin.index.people.editing import Author
from navlin.index.schema.fields import ELEMENTS, INHERITED_TAG, RELATIONS, RUNS
from navlin.index.schema.stamp import Stamp
from navlin.index.solr.solr import Solr, SolrError
from navlin.index.write.documents import relation_envelope
from navlin.index.write.graph_changes import GraphChanges
from navlin.model.identity import run_id
from navlin.model.keys import Key
from navlin.model.records import Entity, Relation
from navlin.model.source import Source
from navlin.query.closure import closure_of
from navlin.query.inherited import TagOrProperty, inherited
from navlin.service.inheriting import keep_inherited
from navlin.solr_server.embedded import EmbeddedSolr
from tests.cli.test_cli import configuration, run
from tests.support.indexed_estate import World
from tests.support.pipeline_estate import FIRST_MS, SmallEstate
from tests.support.solr_proxy import Call, SolrProxy
from tests.support.web import running_web

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TAGS = ("PII", "gdpr")
ANN = Author("ann", 1_790_000_000_000)
Parts = Mapping[str, Iterable[str]]
Inherits = dict[str, set[str]]
"""Entity name → inherited tags, in lowercase."""


@dataclass
class Estate:
    """Tables a to e of one database, each with columns x and y, and pending changes to them. `happen` writes the
    changes, as linked runs of each source and as user edits.
    """

    world: World
    database: str
    statements: dict[str, tuple[Key, list[Relation]]] = field(default_factory=dict)
    locations: dict[str, Relation] = field(default_factory=dict)
    put: list[tuple[Source, Entity | Relation]] = field(default_factory=list)
    gone: list[tuple[Source, Key | Relation]] = field(default_factory=list)
    purged: list[Relation] = field(default_factory=list)
    edits: dict[str, AnnotationChanges] = field(default_factory=dict)

    def key(self, name: str) -> Key:
        """The key of ``a``, a table; ``a.x``, its column; ``/p``, a path; or any other name, a statement."""
        if name.startswith("/"):
            return self.world.path(f"/{self.database}{name}")
        if name in self.statements:
            return self.statements[name][0]
        full = f"{self.database}.{name}"
        return self.world.column(full) if "." in name else self.world.table(full)

    # -- Events --------------------------------------------------------------------------------------------------------

    def create(self, *tables: str) -> None:
        for name in (each for table in tables for each in (table, f"{table}.x", f"{table}.y")):
            self.put.append((self.world.hive, self.world.entity(self.key(name))))

    def drop(self, table: str) -> None:
        self.gone += [(self.world.hive, self.key(name)) for name in (table, f"{table}.x", f"{table}.y")]

    def run(self, text: str, reads: str, writes: str, parts: Parts | None = None) -> None:
        """Add a statement; ``parts`` maps output columns to their source columns."""
        world = self.world
        operation = world.operation(f"{self.database} {text}")
        flows = [world.flow(self.key(each), operation) for each in reads.split()]
        flows += [world.flow(operation, self.key(each)) for each in writes.split()]
        made = [operation]
        for output, inputs in (parts or {}).items():
            part = world.part(operation, output)
            made.append(part)
            flows += [world.flow(self.key(each), part) for each in inputs]
            flows.append(world.flow(part, self.key(output)))
        self.statements[text] = operation, flows
        self.put += [(world.impala, world.entity(each)) for each in made]
        self.put += [(world.impala, each) for each in flows]

    def forget(self, text: str) -> None:
        self.gone += [(self.world.impala, each) for each in self.statements[text][1]]

    def purge(self, text: str) -> None:
        self.purged += self.statements[text][1]

    def lies(self, table: str, path: str) -> None:
        self.moves_away(table)
        relation = self.locations[table] = self.world.location(self.key(table), self.key(path))
        self.put += [(self.world.hdfs, self.world.entity(self.key(path))), (self.world.hive, relation)]

    def moves_away(self, table: str) -> None:
        if relation := self.locations.pop(table, None):
            self.gone.append((self.world.hive, relation))

    def tag(self, name: str, *tags: str) -> None:
        self.edits[self.key(name).identity] = AnnotationChanges(tags=Tags(add=tags))

    def untag(self, name: str, *tags: str) -> None:
        self.edits[self.key(name).identity] = AnnotationChanges(tags=Tags(remove=tags))

    def stop(self, name: str, said: str = "*") -> None:
        self.edits[self.key(name).identity] = AnnotationChanges(
            properties=Properties(add={"notInherited": said})
        )

    def go_on(self, name: str) -> None:
        self.edits[self.key(name).identity] = AnnotationChanges(
            properties=Properties(remove=("notInherited",))
        )


def nothing(*_: int) -> None:
    """Ignore the progress."""


def happen(*estates: Estate, progress: Callable[[int, int], None] = nothing) -> None:
    """Write the pending changes of estates in the same world, then compute the inheritance that is due."""
    world = estates[0].world
    put, gone = (
        defaultdict[Source, list[Entity | Relation]](list),
        defaultdict[Source, list[Key | Relation]](list),
    )
    edits: dict[str, AnnotationChanges] = {}
    for estate in estates:
        for source, thing in estate.put:
            put[source].append(thing)
        for source, lost in estate.gone:
            gone[source].append(lost)
        edits |= estate.edits
    runs = [world.put(source, *things) for source, things in put.items()]
    runs += [world.drop(source, *things) for source, things in gone.items()]
    if runs:
        world.link(*runs)
    list(edit_annotations(world.solr, edits, ANN))
    purge(world, [relation for estate in estates for relation in estate.purged])
    for estate in estates:
        for pending in (estate.put, estate.gone, estate.purged, estate.edits):
            pending.clear()
    keep_inherited(world.solr, progress=progress)
    assert count_due(world.solr) == 0


def purge(world: World, relations: Sequence[Relation]) -> None:
    graph = Graph(world.solr)
    ids = [relation_envelope(each, world.impala.id).identity for each in relations]
    versions = {each: found.version for each, found in graph.relations_now(ids).items()}
    assert not GraphChanges(world.solr).remove_relations(versions, Stamp("purge##1", world.now_ms))
    world.solr.commit(RELATIONS, soft=True)


def stored(solr: Solr) -> Inherits:
    """Inherited tags as stored in the index."""
    solr.commit(ELEMENTS, soft=True)
    found = solr.cursor(ELEMENTS, f"{INHERITED_TAG}:[* TO *]", "*")
    return {readable_name(each): {tag.casefold() for tag in each[INHERITED_TAG]} for each in found}


def asked(solr: Solr) -> Inherits:
    """Inherited tags as `navlin inherited` computes them."""
    answer: Inherits = {}
    for tag in TAGS:
        for origin in inherited(solr, TagOrProperty(tag)):
            for each in origin.inherited:
                answer.setdefault(each.node.name, set()).add(tag.casefold())
    return answer


def of(estate: Estate, everything: Inherits) -> Inherits:
    """The entries for one estate, with the database removed from their names."""
    start = f"{estate.database}."
    return {name.removeprefix(start): tags for name, tags in everything.items() if name.startswith(start)}


def emptied(solr: Solr) -> Solr:
    """Empty the index, and mark its inheritance as computed."""
    for core in CORES:
        solr.client(core).delete(q="*:*")
        solr.commit(core, soft=True)
    keep_inherited(solr)
    return solr


# -- One case at a time --------------------------------------------------------------------------------------------------

BC: Inherits = {"b.x": {"pii"}, "c.x": {"pii"}}
Happens = Callable[[Estate], None]


def c_from_b(estate: Estate) -> None:
    estate.run("c from b", "b", "c", {"c.x": ["b.x"]})


def chain(estate: Estate) -> None:
    """Create a.x → b.x → c.x."""
    estate.create(*"abcde")
    estate.run("b from a", "a", "b", {"b.x": ["a.x"]})
    c_from_b(estate)


TRUTHS: dict[str, tuple[tuple[Happens, ...], Inherits]] = {
    "nothing else happens": ((), BC),
    "the tag is taken away": ((lambda e: e.untag("a.x", "PII"),), {}),
    "another one is put beside it": (
        (lambda e: e.tag("a.x", "gdpr"),),
        {"b.x": {"pii", "gdpr"}, "c.x": {"pii", "gdpr"}},
    ),
    "it is spelled otherwise": ((lambda e: e.untag("a.x", "PII"), lambda e: e.tag("a.x", "Pii")), BC),
    "a middle one bears it itself": ((lambda e: e.tag("b.x", "PII"),), {"c.x": {"pii"}}),
    "a middle one bore it itself": ((lambda e: e.tag("b.x", "PII"), lambda e: e.untag("b.x", "PII")), BC),
    "a path is cut": ((lambda e: e.forget("c from b"),), {"b.x": {"pii"}}),
    "a path is cut near the origin": ((lambda e: e.forget("b from a"),), {}),
    "a path is purged": ((lambda e: e.purge("b from a"),), {}),
    "a path is cut, and is there again": ((lambda e: e.forget("c from b"), c_from_b), BC),
    "of a diamond one side is cut": (
        (lambda e: e.run("c from a", "a", "c", {"c.x": ["a.x"]}), lambda e: e.forget("b from a")),
        {"c.x": {"pii"}},
    ),
    "of a cycle the way in is cut": (
        (lambda e: e.run("b from c", "c", "b", {"b.x": ["c.x"]}), lambda e: e.forget("b from a")),
        {},
    ),
    "a cycle leads back to the origin": ((lambda e: e.run("a from c", "c", "a", {"a.x": ["c.x"]}),), BC),
    "of two sources one is untagged": (
        (
            lambda e: e.run("c from d", "d", "c", {"c.x": ["d.x"]}),
            lambda e: e.tag("d.x", "PII"),
            lambda e: e.untag("a.x", "PII"),
        ),
        {"c.x": {"pii"}},
    ),
    "a person said that a column does not inherit": ((lambda e: e.stop("b.x", "PII"),), {}),
    "a person said so of its table": ((lambda e: e.stop("b"),), {}),
    "a person said so of the job": ((lambda e: e.stop("c from b"),), {"b.x": {"pii"}}),
    "a person meant another tag": ((lambda e: e.stop("b.x", "gdpr"),), BC),
    "a person said so and took it back": ((lambda e: e.stop("b.x"), lambda e: e.go_on("b.x")), BC),
    "a person said so of a table and took it back": ((lambda e: e.stop("b"), lambda e: e.go_on("b")), BC),
    "a person said so of a job and took it back": (
        (lambda e: e.stop("b from a"), lambda e: e.go_on("b from a")),
        BC,
    ),
    "a tagged table passes it to tables, and not to columns": (
        (lambda e: e.untag("a.x", "PII"), lambda e: e.tag("a", "PII")),
        {"b": {"pii"}, "c": {"pii"}},
    ),
    "what is in the middle is dropped": ((lambda e: e.drop("b"),), {"c.x": {"pii"}}),
    "what bears it is dropped": ((lambda e: e.drop("a"),), {}),
    "what bore it comes back": ((lambda e: e.drop("a"), lambda e: e.create("a")), BC),
    "what inherited comes back": ((lambda e: e.drop("c"), lambda e: e.create("c")), BC),
    "one of two jobs between the same two masks it": (
        (lambda e: e.run("b again", "a", "b", {"b.x": ["a.x"]}), lambda e: e.stop("b from a")),
        BC,
    ),
    "a new job carries it on": (
        (lambda e: e.run("d from c", "c", "d", {"d.y": ["c.x"]}),),
        {**BC, "d.y": {"pii"}},
    ),
    "a job of which no columns are known carries it to the table": (
        (lambda e: e.run("d from c", "c", "d"),),
        {**BC, "d": {"pii"}},
    ),
    "a job reads the files of the table": (
        (lambda e: e.lies("c", "/c"), lambda e: e.run("d from files", "/c", "d")),
        {**BC, "d": {"pii"}},
    ),
    "a job reads the files of a table that moved away": (
        (
            lambda e: e.lies("c", "/c"),
            lambda e: e.run("d from files", "/c", "d"),
            lambda e: e.moves_away("c"),
        ),
        BC,
    ),
}
"""Case → (changes to a.x → b.x → c.x with a.x tagged PII, expected inheritance)."""


@pytest.fixture(scope="module")
def followed(private_server: EmbeddedSolr) -> dict[str, tuple[Inherits, Inherits]]:
    """Case → (stored inheritance, inheritance that `navlin inherited` computes). All cases run together, each in its
    own database.
    """
    with Solr(private_server.start()) as solr:
        world = World(emptied(solr), "stored")
        estates = {what: Estate(world, f"db{number}") for number, what in enumerate(TRUTHS)}
        for estate in estates.values():
            chain(estate)
        happen(*estates.values())
        for estate in estates.values():
            estate.tag("a.x", "PII")
        happen(*estates.values())
        for step in range(max(len(happens) for happens, _ in TRUTHS.values())):
            for what, estate in estates.items():
                for happens in TRUTHS[what][0][step : step + 1]:
                    happens(estate)
            happen(*estates.values())
        everything = stored(solr), asked(solr)
        return {what: (of(each, everything[0]), of(each, everything[1])) for what, each in estates.items()}


@pytest.mark.parametrize("what", TRUTHS)
def test_stored_inheritance_follows_each_change(
    followed: dict[str, tuple[Inherits, Inherits]], what: str
) -> None:
    _, expected = TRUTHS[what]
    assert followed[what] == (expected, expected)


# -- Random changes ------------------------------------------------------------------------------------------------------

tables, columns = st.sampled_from("abcde"), st.sampled_from([f"{each}.{x}" for each in "abcde" for x in "xy"])
paths = st.sampled_from(["/p", "/p/q", "/r"])
statements = st.sampled_from([f"statement {number}" for number in range(1, 6)])
tags = st.sampled_from(["PII", "gdpr", "Pii"])
anything = st.one_of(tables, columns, paths, statements)


@st.composite
def running(draw: st.DrawFn) -> Happens:
    """A statement that reads a table or path and writes a table or path, with or without column lineage."""
    text, reads, writes = draw(statements), draw(st.one_of(tables, paths)), draw(st.one_of(tables, paths))
    parts: dict[str, list[str]] = {}
    if len(reads + writes) == 2 and draw(st.booleans()):
        made = draw(st.sampled_from(["x", "y"]))
        parts = {f"{writes}.{made}": [f"{reads}.{draw(st.sampled_from(['x', 'y']))}"]}
    return lambda estate: estate.run(text, reads, writes, parts)


def named(what: str, *arguments: st.SearchStrategy[str]) -> st.SearchStrategy[Happens]:
    """A strategy for calls of the estate's method ``what`` with these arguments."""
    return st.tuples(*arguments).map(lambda given: lambda estate: getattr(estate, what)(*given))


happenings = st.one_of(
    running(),
    running(),
    named("tag", anything, tags),
    named("tag", columns, tags),
    named("untag", anything, tags),
    named("stop", anything, st.sampled_from(["*", "PII", "other, gdpr"])),
    named("go_on", anything),
    named("forget", statements),
    named("purge", statements),
    named("drop", tables),
    named("create", tables),
    named("lies", tables, paths),
    named("moves_away", tables),
)
steps = st.lists(st.lists(happenings, min_size=1, max_size=4), min_size=3, max_size=6)


def whatever_happens(solr: Solr, happened: list[list[Happens]], then: Happens = lambda _: None) -> None:
    estate = Estate(World(emptied(solr), "chance"), "db")
    for number in range(1, 6):
        estate.run(f"statement {number}", "abcde"[number - 1], "bcdea"[number - 1])
    chain(estate)
    estate.put += [
        (estate.world.hdfs, estate.world.entity(estate.key(path))) for path in ("/p", "/p/q", "/r")
    ]
    happen(estate)
    estate.tag("a.x", "PII")
    for at_once in happened:
        for each in at_once:
            each(estate)
        happen(estate)
        assert stored(solr) == asked(solr)
        then(estate)
    before = stored(solr)
    note_due(solr, everything=True)
    assert keep_inherited(solr) == 0, "computed anew it is the same, document by document"
    assert stored(solr) == before


once = settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.soak
@once
@given(happened=steps)
def test_stored_inheritance_equals_the_answer_after_random_operations(
    private_solr: Solr, happened: list[list[Happens]]
) -> None:
    whatever_happens(private_solr, happened)


@pytest.mark.soak
@settings(once, max_examples=60)
@given(happened=steps)
def test_stored_inheritance_equals_the_answer_after_many_random_operations(
    private_solr: Solr, happened: list[list[Happens]]
) -> None:
    whatever_happens(private_solr, happened)


@pytest.mark.services
@settings(once, max_examples=3)
@given(happened=steps)
def test_stored_inheritance_equals_the_answer_on_solrcloud(
    cloud: Solr, happened: list[list[Happens]]
) -> None:
    whatever_happens(cloud, happened)


# -- Amount of work ------------------------------------------------------------------------------------------------------


def test_an_origin_with_unreadable_lineage_keeps_its_reach_and_blocks_no_other(
    private_solr: Solr, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(emptied(private_solr), "broken")
    one, other = Estate(world, "one"), Estate(world, "other")
    for estate in (one, other):
        chain(estate)
    one.tag("a.x", "PII")
    happen(one, other)
    assert of(one, stored(private_solr)) == BC
    broken = one.key("a.x").identity

    def breaks(solr: Solr, start: str, stops: frozenset[str]) -> object:
        if start == broken:
            raise KeyError(start)
        return closure_of(solr, start, stops)

    monkeypatch.setattr("navlin.service.inheriting.closure_of", breaks)
    other.tag("a.x", "PII")
    note_due(private_solr, everything=True)
    happen(one, other)

    assert of(one, stored(private_solr)) == of(other, stored(private_solr)) == BC

    monkeypatch.undo()
    one.run("d from b", "b", "d", {"d.x": ["b.x"]})
    happen(one, other)
    assert of(one, stored(private_solr)) == {**BC, "d.x": {"pii"}}


def test_tags_unrelated_to_a_change_are_not_recomputed(private_solr: Solr) -> None:
    """The cost depends only on the changed chain: one of two chains is extended."""
    world = World(emptied(private_solr), "cost")
    one, other = Estate(world, "one"), Estate(world, "other")
    for estate in (one, other):
        chain(estate)
    happen(one, other)
    for estate in (one, other):
        estate.tag("a.x", "PII")
    happen(one, other)
    followed: list[tuple[int, int]] = []
    one.run("d from c", "c", "d", {"d.x": ["c.x"]})
    happen(one, other, progress=lambda *counts: followed.append(counts))
    assert followed == [(1, 1)]
    assert of(one, stored(private_solr)) == {**BC, "d.x": {"pii"}}
    before = world.versions()
    list(
        edit_annotations(
            world.solr, {one.key("b").identity: AnnotationChanges(texts={"description": "daily"})}, ANN
        )
    )
    assert count_due(world.solr) == 0, "of a description nothing follows"
    world.link(run_id(world.impala.id, world.runs[world.impala.id]))
    assert keep_inherited(world.solr) == 0, "linking twice changes nothing"
    assert {each for each, version in world.versions().items() if version != before[each]} == {
        one.key("b").identity
    }


@pytest.mark.parametrize("core", [ELEMENTS, RUNS])
def test_an_interrupted_update_is_completed_by_the_next(private_solr: Solr, core: str) -> None:
    """The update is interrupted before it writes entities, or before it stores the ids that a tag reaches."""
    estate = Estate(World(emptied(private_solr), "cut"), "db")
    chain(estate)
    happen(estate)
    list(
        edit_annotations(
            private_solr, {estate.key("a.x").identity: AnnotationChanges(tags=Tags(add=("PII",)))}, ANN
        )
    )

    def passes(call: Call) -> bool:
        return not (
            call.core == core and any("reaches" in each or INHERITED_TAG in each for each in call.documents)
        )

    with (
        SolrProxy(private_solr.address, passes) as proxy,
        Solr(proxy.address) as cut,
        pytest.raises(SolrError),
    ):
        keep_inherited(cut)
    assert count_due(private_solr) == 1
    happen(estate)
    assert stored(private_solr) == {f"db.{name}": tags for name, tags in BC.items()}


def test_a_stopped_update_is_left_to_the_next(private_solr: Solr) -> None:
    estate = Estate(World(emptied(private_solr), "ends"), "db")
    chain(estate)
    happen(estate)
    list(
        edit_annotations(
            private_solr, {estate.key("a.x").identity: AnnotationChanges(tags=Tags(add=("PII",)))}, ANN
        )
    )
    asked_to_stop = iter([False])
    assert keep_inherited(private_solr, stop=lambda: next(asked_to_stop, True)) == 0
    assert (stored(private_solr), count_due(private_solr)) == ({}, 1)


def test_an_update_between_noting_an_edit_and_writing_it_loses_nothing(private_solr: Solr) -> None:
    estate = Estate(World(emptied(private_solr), "between"), "db")
    chain(estate)
    happen(estate)

    def passes(call: Call) -> bool:
        if call.core == ELEMENTS and call.documents and not call.answered:
            keep_inherited(private_solr)
        return True

    with SolrProxy(private_solr.address, passes) as proxy, Solr(proxy.address) as between:
        list(
            edit_annotations(
                between, {estate.key("a.x").identity: AnnotationChanges(tags=Tags(add=("PII",)))}, ANN
            )
        )
    happen(estate)
    assert stored(private_solr) == {f"db.{name}": tags for name, tags in BC.items()}


def test_an_edit_during_the_computation_is_due_again(private_solr: Solr) -> None:
    estate = Estate(World(emptied(private_solr), "meanwhile"), "db")
    chain(estate)
    happen(estate)
    estate.tag("a.x", "PII")
    untagged: list[bool] = []

    def untag(*_: int) -> None:
        if not untagged:
            untagged.append(True)
            identity = estate.key("a.x").identity
            list(
                edit_annotations(private_solr, {identity: AnnotationChanges(tags=Tags(remove=("PII",)))}, ANN)
            )

    happen(estate, progress=untag)
    assert untagged
    assert stored(private_solr) == {}


# -- Command, API and page -----------------------------------------------------------------------------------------------


@pytest.mark.services
def test_changes_by_edits_and_extractions_are_searchable_counted_and_shown(
    private_solr: Solr, spark: Callable[[], SparkSession], tmp_path: Path
) -> None:
    solr = emptied(private_solr)
    estate = SmallEstate(solr, spark, tmp_path, cluster="doors")
    estate.tables({f"db.{each}": {"columns": ["x"]} for each in "abc"})
    estate.pull()
    estate.happen("b from a", ["db.a"], ["db.b"], at_ms=FIRST_MS)
    estate.follow()
    toml = configuration(solr, tmp_path)
    run(toml, "edit", "db.a", "--tag", "PII")
    found = "inheritedTag:PII AND type:TABLE"
    assert run(toml, "search", found).exit_code == Exit.NOTHING
    assert json.loads(run(toml, "link", "--json").stdout)["inherited"] == 1
    assert "b" in run(toml, "search", found, "--field", "originalName").stdout

    estate.happen("c from b", ["db.b"], ["db.c"], at_ms=FIRST_MS + 1)
    estate.follow()
    estate.tables({f"db.{each}": {"columns": ["x"], "owner": "ann"} for each in "abc"})
    estate.pull()
    assert "PII" in run(toml, "show", "db.b").stdout, "a table that is read anew goes on inheriting"
    assert json.loads(run(toml, "link", "--json").stdout)["inherited"] == 1
    counted = json.loads(run(toml, "search", found, "--facet", "inheritedTag", "--json").stdout)
    assert counted["facets"] == {"inheritedTag": {"PII": 2}}
    assert json.loads(run(toml, "search", "tags:PII", "--json").stdout)["total"] == 1, (
        "people's words stay people's"
    )
    (way,) = json.loads(run(toml, "show", "db.c", "--json").stdout)["inherited"]
    assert (way["word"], way["fromName"], "db.b" in way["path"]) == ("PII", "db.a", True)
    assert "Inherited: PII, from db.a, via" in " ".join(run(toml, "show", "db.c").stdout.split())

    (tmp_path / "web").mkdir()
    with running_web(solr.address, tmp_path / "web") as web:
        body = {"query": "inheritedTag:pii", "facetFields": ["inheritedTag"], "filterQueries": []}
        answer = web.send("POST", "/api/v9/interactive/entities", json=body).json()
        assert (answer["totalMatched"], answer["facets"]) == (2, {"inheritedTag": {"PII": 2}})
        assert not any("inheritedTag" in each for each in answer["results"]), (
            "Navigator's keys stay Navigator's"
        )
        edited = web.send(
            "PUT", f"/api/v9/entities/{estate.key('db.a').identity}", "editor", json={"tags": []}
        )
        assert edited.status_code == 200, edited.text
    assert json.loads(run(toml, "link", "--json").stdout)["inherited"] == 2
    assert run(toml, "search", "inheritedTag:*").exit_code == Exit.NOTHING
