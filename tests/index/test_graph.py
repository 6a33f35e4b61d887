"""The stored graph as an incremental client sees it: changes since a run, and removals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from linker.purge import purge
from navlin.index.admin.cores import CORES
from navlin.index.graph.entity import WHOLE
from navlin.index.graph.filters import EntityFilter, RelationFilter
from navlin.index.graph.graph import Graph
from navlin.index.journal.holder import Holder
from navlin.index.journal.removals import (
    KEPT_DAYS,
    Changes,
    UnknownRun,
    changed_since,
    changed_since_ms,
    expire_removals,
)
from navlin.index.journal.runs import RunRecord, Status, save_run
from navlin.index.schema.fields import RUNS
from navlin.index.schema.stamp import Stamp
from navlin.index.solr.solr import Solr
from navlin.index.write.graph_changes import GraphChanges
from navlin.model.identity import run_id
from navlin.model.keys import Key, RelationType
from navlin.model.source import HIVE, Source, source_id
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr
from tests.support.indexed_estate import DAY_MS, NOW_MS, World


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory, solr_jars: Path) -> Iterator[EmbeddedSolr]:
    """A Solr for this module only, because a purge affects the whole index."""
    state, cache = tmp_path_factory.mktemp("graph"), solr_jars.parent / "solr-launcher"
    with EmbeddedSolr(state, solr_jars, CONF / "solr", cores=CORES, cache=cache) as server:
        yield server


@pytest.fixture
def world(own_server: EmbeddedSolr, request: pytest.FixtureRequest) -> Iterator[World]:
    with Solr(own_server.start()) as solr:
        for core in CORES:
            solr.client(core).delete(q="*:*")
            solr.commit(core, soft=True)
        yield World(solr, request.node.name)


def finished(world: World, source: Source, *, run_id: str, started_ms: int) -> str:
    """Record a finished run, and return ``run_id``."""
    iteration = int(run_id.rpartition("##")[2])
    record = RunRecord("SOURCE-1", source.id, iteration, Status.FINISHED, started_ms, started_ms + 1_000)
    save_run(world.solr, record)
    world.solr.commit(RUNS, soft=True)
    return run_id


def changes(world: World, run_id: str) -> tuple[set[str], set[str], set[tuple[str, str]]]:
    """Changes since a run: the ids of entities, the ids of relations, and the removals as (kind, id)."""
    world.commit()
    world.solr.commit(RUNS, soft=True)
    found: Changes = changed_since(world.solr, run_id)
    return (
        {entity.id for entity in found.entities},
        {relation.id for relation in found.relations},
        {(removed.kind, removed.id) for removed in found.removed},
    )


def purge_before(world: World, before_ms: int) -> None:
    purge(
        world.solr,
        before_ms,
        holder=Holder("here", 1, "today"),
        lives=lambda _: True,
        clock=lambda: before_ms + DAY_MS,
    )


def old_file(world: World) -> tuple[Key, str]:
    """A file that was deleted long ago, and the id of the run that reported the deletion."""
    world.now_ms = NOW_MS - 2 * DAY_MS
    file = world.file("/old/file")
    world.put(world.hdfs, world.entity(file))
    run = world.drop(world.hdfs, file)
    return file, finished(world, world.hdfs, run_id=run, started_ms=world.now_ms)


def test_only_documents_written_by_later_runs_have_changed(world: World) -> None:
    before, after = world.table("d.before"), world.table("d.after")
    first = finished(world, world.hive, run_id=world.put(world.hive, world.entity(before)), started_ms=1_000)
    second = world.put(world.hive, world.entity(after))
    finished(world, world.hive, run_id=second, started_ms=9_000)

    entities, relations, removed = changes(world, first)

    assert after.identity in entities
    assert before.identity not in entities
    assert relations, "the new table has a relation to its database"
    assert removed == set()


def test_a_concurrent_run_counts(world: World) -> None:
    table = world.table("d.t")
    one = finished(world, world.hdfs, run_id=world.put(world.hdfs), started_ms=5_000)
    finished(world, world.hive, run_id=world.put(world.hive, world.entity(table)), started_ms=4_500)

    assert table.identity in changes(world, one)[0]


def test_purged_documents_are_listed_as_removed(world: World) -> None:
    file, run = old_file(world)
    contained = [relation.id for relation in Graph(world.solr).relations(of=[file.identity])]

    purge_before(world, NOW_MS)

    removed = changes(world, run)[2]
    assert ("entity", file.identity) in removed
    assert {("relation", each) for each in contained} <= removed


def test_a_removed_and_restored_document_is_not_listed_as_removed(world: World) -> None:
    file, run = old_file(world)
    purge_before(world, NOW_MS)

    world.put(world.hdfs, world.entity(file))

    assert ("entity", file.identity) not in changes(world, run)[2]


def test_removed_relations_of_the_linker_are_listed(world: World) -> None:
    table, place, path = world.table("d.t"), world.path("/w/t"), world.path("/w/t/day=1")
    operation = world.operation("insert")
    runs = [
        world.put(world.hive, world.entity(table), world.location(table, place)),
        world.put(world.impala, world.entity(operation), world.flow(operation, path)),
    ]
    world.link(*runs)
    (added,) = Graph(world.solr).relations(RelationFilter(rule="add_locations"), of=[path.identity])
    first = finished(world, world.hive, run_id=runs[0], started_ms=1_000)
    moved = world.drop(world.hive, world.location(table, place))
    finished(world, world.hive, run_id=moved, started_ms=9_000)

    world.link(moved)

    assert ("relation", added.id) in changes(world, first)[2]


def test_a_removal_is_listed_for_thirty_days(world: World) -> None:
    _, run = old_file(world)
    purge_before(world, NOW_MS)
    removed = changes(world, run)[2]

    expire_removals(world.solr, NOW_MS + (KEPT_DAYS - 1) * DAY_MS)
    assert changes(world, run)[2] == removed != set()

    expire_removals(world.solr, NOW_MS + (KEPT_DAYS + 2) * DAY_MS)
    assert changes(world, run)[2] == set()


def test_changes_since_an_unknown_run_are_an_error(world: World) -> None:
    with pytest.raises(UnknownRun, match="no record of the run nobody##7"):
        changed_since(world.solr, "nobody##7")


def test_changes_since_a_run_no_longer_kept_are_an_error(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("runs", "removals"):
        monkeypatch.setattr(f"navlin.index.journal.{module}.RUNS_KEPT", 3)
    slow, quick = (Source(source_id("c", name), HIVE, name, "c") for name in ("slow", "quick"))
    first = finished(world, slow, run_id=run_id(slow.id, 1), started_ms=NOW_MS)
    for number in range(1, 4):
        finished(world, quick, run_id=run_id(quick.id, number), started_ms=NOW_MS + number * 5_000)
    changes(world, first)

    finished(world, quick, run_id=run_id(quick.id, 4), started_ms=NOW_MS + 20_000)
    with pytest.raises(UnknownRun, match="SOURCE-1 had more than 3 runs since"):
        changes(world, first)
    with pytest.raises(UnknownRun):
        changed_since_ms(world.solr, NOW_MS)
    assert changes(world, run_id(quick.id, 2)) == (set(), set(), set())


def test_a_document_written_since_is_not_removed(world: World) -> None:
    table = world.table("d.t")
    world.put(world.hive, world.entity(table))
    graph = Graph(world.solr)
    versions = {table.identity: graph.entities_now([table.identity], WHOLE)[table.identity].version}
    world.put(world.hive, world.entity(table, {"owner": "alice"}))

    assert GraphChanges(world.solr).remove_entities(versions, Stamp("run##1", NOW_MS)) == {table.identity}
    assert graph.present_now([table.identity]) == {table.identity}


@pytest.mark.parametrize(
    "name", ["AND", "OR", "NOT", "a) OR (*:*", 'it\'s "quoted"', "a\\", "*", "a b\tc", "${q}", "${x}"]
)
def test_a_name_resembling_query_syntax_is_only_a_name(world: World, name: str) -> None:
    table, other = world.path(f"/w/{name}"), world.path("/w/other")
    operation = world.operation("insert")
    world.put(
        world.impala, world.entity(operation), world.flow(operation, table), world.flow(operation, other)
    )
    graph = Graph(world.solr)
    below = graph.relations_below(2, world.hdfs.id, [f"/w/{name}"], RelationFilter())

    assert [relation.ep2.name for relation in below] == [f"/w/{name}"]
    assert graph.count_entities(EntityFilter(types=(name,))) == 0
    assert (
        list(graph.relations(RelationFilter(types=(RelationType.DATA_FLOW,), but_reason=name), of=[name]))
        == []
    )


@pytest.mark.parametrize(
    "where",
    [
        RelationFilter(deleted=False, unlinked=False, runs=("1##1", "1##2")),
        RelationFilter(types=(RelationType.DATA_FLOW,), but_types=("PARENT_CHILD",), rule="", runs=("1##1",)),
        RelationFilter(claims_or_waits=True, but_reason="purged", end_types=("FILE",), runs=("1##1",)),
        EntityFilter(("TABLE",), deleted=True, runs=("1##1",)),
    ],
    ids=["flags", "types", "claims", "entities"],
)
def test_filters_for_one_run_are_not_cached(
    where: RelationFilter | EntityFilter,
) -> None:
    assert all("cache=false" in each for each in where.filters())
    assert any("cache=false" not in each for each in replace(where, runs=()).filters())
