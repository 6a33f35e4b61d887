"""navlin → OpenLineage → a second, empty navlin: the lineage of tables and columns is the same, edge by edge."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from extractors.hive_events import HiveEvents
from extractors.impala_events import ImpalaEvents
from extractors.openlineage import OpenLineageEvents
from navlin.export.batches import read
from navlin.export.choosing import Selection
from navlin.export.openlineage import Options, records
from navlin.export.values import (
    ColumnName,
    ExportedOperation,
    ExportedRun,
    FlowRole,
    Item,
)
from navlin.index.solr.solr import Solr
from navlin.model.extractor import Extractor
from navlin.model.records import Entity, Relation
from navlin.model.source import Estate, Source, source_id
from tests.support import indexed_estate
from tests.support.openlineage_schemas import Schemas
from tests.support.query_estate import World
from tests.support.record_edges import read_all

Edge = tuple[str, str, str, str]


class Lineage:
    """Edges of an index from each input of an operation to each output, by table and by column. The SQL text
    identifies the operation."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.tables: set[Edge] = set()
        self.columns: set[Edge] = set()
        self.executions = 0
        for item in items:
            if isinstance(item, ExportedRun):
                self.executions += 1
            if isinstance(item, ExportedOperation):
                text = item.statement.text
                for end in item.inputs:
                    for other in item.outputs or (None,):
                        self.tables.add(
                            (
                                text,
                                end.dataset.full_name,
                                end.flow,
                                other.dataset.full_name if other else "nothing",
                            )
                        )
                for each in item.columns:
                    for source in each.inputs:
                        for target in each.outputs:
                            # OpenLineage cannot express that data flow into a table if the column is unknown.
                            if target.name or source.flow is FlowRole.CONTROL:
                                self.columns.add((text, _column(source.column), source.flow, _column(target)))


def _column(column: ColumnName) -> str:
    name = column.dataset.full_name
    folded = name if column.dataset.is_path else name.lower()
    return f"{folded}.{column.name.lower()}"


def exported(solr: Solr, query: str) -> list[Item]:
    return [item for batch in read(solr, Selection(query)) for item in batch.items]


def brought_back(events: Iterable[bytes], into: Solr, folder: Path, name: str) -> Lineage:
    """Read events as a source of a second index. Return the lineage of that index."""
    folder.mkdir()
    (folder / "events.jsonl").write_bytes(b"".join(events))
    second = indexed_estate.World(into, f"second-{name}", configured=False)
    sdk = Source(
        source_id(second.cluster, "OPENLINEAGE-1"), "SDK", "OPENLINEAGE-1", second.cluster, claimable=False
    )
    read_again = read_all(OpenLineageEvents(sdk, Estate(second.cluster, (sdk,)), str(folder)))
    found = [each for each in read_again if isinstance(each, Entity | Relation)]
    second.link(second.put(sdk, *_newest(found)))
    return Lineage(exported(into, f"sourceId:{sdk.id}"))


def _newest(found: Iterable[Entity | Relation]) -> Iterator[Entity | Relation]:
    """Yield the newest records first, because they take precedence in the pipeline."""
    yield from sorted(found, key=lambda each: -each.as_of_ms)


def of_a_world(solr: Solr, corpora: Callable[[], Path], name: str) -> list[Item]:
    """Export a world with tables, paths, columns, control flow, a failed run, an S3 path, and an operation that
    only reads."""
    world = World(solr, f"there-{name}")
    orders, rates, daily = (world.table(each, "x", "day") for each in ("orders", "rates", "daily"))
    parts = {"daily.x": ["orders.x"], "daily.day": ["orders.day"]}
    query = world.operation(
        "insert into daily",
        [orders],
        [daily],
        steered_by=[rates],
        parts=parts,
        steering_columns=["rates.day"],
    )
    world.execution(
        query, "1", started=1_700_000_000_000, ended=1_700_000_009_000, status="SUCCEEDED", principal="ana"
    )
    landing, out = world.path("/landing"), world.path("/out")
    copy = world.operation("copy", [landing], [out], parts={"/out.x": ["/landing.x"]})
    world.execution(copy, "2", started=1_700_000_000_000, ended=1_700_000_001_000, status="FAILED")
    look = world.operation("select", [daily])
    world.execution(look, "3", ended=1_700_000_001_000)
    steered = world.operation("delete", [], [daily], steered_by=[rates])
    world.execution(steered, "4", ended=1_700_000_001_000, status="SUCCEEDED")
    world.index()
    sources = " ".join(source.id for source in world.sources.values())
    return exported(solr, f"type:OPERATION AND sourceId:({sources})")


def of_records(solr: Solr, name: str, make: Callable[[Source, Estate], Extractor]) -> list[Item]:
    """Index an extractor's records of a corpus. Return the exported items."""
    first = indexed_estate.World(solr, f"there-{name}", configured=False)
    source = first.impala
    found = read_all(make(source, Estate(first.cluster, (source,))))
    first.link(first.put(source, *_newest(each for each in found if isinstance(each, Entity | Relation))))
    return exported(solr, f"sourceId:{source.id}")


def of_impala(solr: Solr, corpora: Callable[[], Path], name: str) -> list[Item]:
    return of_records(
        solr, name, lambda source, estate: ImpalaEvents(source, estate, str(corpora() / "impala"))
    )


def of_hive(solr: Solr, corpora: Callable[[], Path], name: str) -> list[Item]:
    return of_records(
        solr, name, lambda source, estate: HiveEvents(source, estate, str(corpora() / "hive"), "*.log")
    )


WHERE = [of_a_world, *(pytest.param(each, marks=pytest.mark.services) for each in (of_impala, of_hive))]


def strangers(items: Iterable[Item]) -> Iterator[bytes]:
    """Yield the events without navlin's own facets, so that only the standard model remains."""
    for line in records(items, Options()):
        event = json.loads(line)
        places = [event[each] for each in ("run", "job", "dataset") if each in event]
        for place in (*places, *event.get("inputs", ()), *event.get("outputs", ())):
            for kind in ("facets", "inputFacets"):
                for name in [name for name in place.get(kind, {}) if name.startswith("navlin_")]:
                    del place[kind][name]
        yield json.dumps(event).encode() + b"\n"


@pytest.mark.parametrize("where", WHERE, ids=lambda each: each.__name__)
def test_exported_lineage_is_unchanged_when_read_back(
    where: Callable[[Solr, Callable[[], Path], str], list[Item]],
    solr: Solr,
    private_solr: Solr,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    name = where.__name__
    there = where(solr, lambda: request.getfixturevalue("corpora"), name)
    before = Lineage(there)
    assert before.tables
    assert before.columns
    back = brought_back(records(there, Options()), private_solr, tmp_path / "events", name)
    assert (before.tables - back.tables, back.tables - before.tables) == (set(), set())
    assert (before.columns - back.columns, back.columns - before.columns) == (set(), set())
    assert back.executions == before.executions
    schemas = Schemas(request.getfixturevalue("corpora") / "openlineage" / "spec")
    for line in records(there, Options(parent=True)):
        assert schemas.problems(json.loads(line)) == []
    # The standard model cannot say that an input only controls unless a column says so. Such an input is exported
    # as data, to be safe.
    other = brought_back(strangers(there), private_solr, tmp_path / "plain", f"{name}-plain")
    lost, gained = before.tables - other.tables, other.tables - before.tables
    assert {kind for _, _, kind, _ in lost} <= {FlowRole.CONTROL}
    assert gained == {(operation, table, FlowRole.DATA, target) for operation, table, _, target in lost}
    assert bool(lost) is True
    assert before.columns == other.columns
