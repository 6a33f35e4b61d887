"""Reads the items of an export in order, in batches. Each batch has the position after its items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Final

from navlin.export.choosing import Chosen, Selection, choose
from navlin.export.id_set import IdSet
from navlin.export.names import EntityNames, databases_of
from navlin.export.reading import ItemReader
from navlin.export.renaming import renames
from navlin.export.values import (
    ColumnName,
    DatasetName,
    ExportedColumn,
    ExportedDataset,
    ExportedOperation,
    ExportedRun,
    Item,
    Renamed,
)
from navlin.index.graph.details import Annotations, ColumnDetails
from navlin.index.graph.entity import WHOLE, StoredEntity
from navlin.index.graph.filters import EntityFilter
from navlin.index.graph.graph import Graph
from navlin.index.solr.solr import Solr
from navlin.model.batches import in_batches

STAGES: Final = ("renames", "databases", "datasets", "operations", "derived", "removed")
"""Stages of an export. In this order, each item comes before the items that refer to it."""
BATCH: Final = {
    "renames": 200,
    "databases": 500,
    "datasets": 200,
    "operations": 200,
    "derived": 500,
    "removed": 1_000,
}
"""Stage → number of entities that are read together."""
_PASSED: Final = {
    "databases": ("DATABASE",),
    "datasets": ("TABLE", "VIEW", "DATASET"),
    "operations": ("OPERATION",),
}
"""Stage → types of the entities, for the stages that may read all entities of a type. Paths are missing because a file
system has tens of millions of them. Only the paths that operations name are exported."""


@dataclass(frozen=True, slots=True)
class StagePosition:
    """The position of an export: the stage, and the last id exported in that stage."""

    stage: str = STAGES[0]
    after: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """Some items, and the position after them, from which an export can be resumed."""

    items: Sequence[Item]
    place: StagePosition


def read(solr: Solr, selection: Selection, after: StagePosition | None = None) -> Iterator[Batch]:
    """Yield the items of a selection in batches, in the order of `STAGES`. ``after`` is the position from which to
    resume.

    Memory is bounded by a batch. Changes made meanwhile may or may not be included. Raises `QueryError`,
    `NotExportable`, and `UnknownRun` for a run whose record no longer exists.
    """
    graph = Graph(solr)
    reader = ItemReader(
        graph,
        EntityNames.read(graph),
        columns=not selection.tables_only,
        texts=selection.texts,
        placeholders=selection.placeholders,
    )
    place = after or StagePosition()
    with ExitStack() as open_sets:
        chosen = choose(graph, selection, open_sets)
        if chosen.edited is not None:
            reader = replace(reader, edited=chosen.edited)
        export = _StagedExport(reader, selection, chosen, open_sets.enter_context(IdSet()))
        if place.stage != STAGES[0]:
            # The renames must be known, though they are not exported again.
            list(export.stage(STAGES[0], ""))
        for stage in STAGES[STAGES.index(place.stage) :]:
            yield from export.stage(stage, place.after if stage == place.stage else "")


@dataclass(slots=True)
class _StagedExport:
    """One run through the stages. ``sent`` are the ids of the datasets already yielded; ``renamed`` maps the id of a
    table under its first name to the rename."""

    reader: ItemReader
    selection: Selection
    chosen: Chosen
    sent: IdSet
    renamed: Mapping[str, Renamed] = field(default_factory=dict)

    def stage(self, stage: str, after: str) -> Iterator[Batch]:
        if stage == "renames":
            yield from self._renames()
            return
        if stage == "removed":
            for removed in in_batches(self.chosen.removed, BATCH[stage]):
                yield Batch(removed, StagePosition(stage))
            return
        for entities in self._entities(stage, after):
            before, place = after, StagePosition(stage, entities[-1].id)
            after = place.after
            items = (
                self._datasets(self._wanted(entities))
                if stage in ("databases", "datasets")
                else self._operations(stage, self._wanted(entities))
            )
            if stage == "operations" and self.selection.all_executions:
                yield from self._with_runs(items, before, place)
            else:
                yield Batch([*items], place)

    def _renames(self) -> Iterator[Batch]:
        ids = self.chosen.of("renames")
        if ids is None or not self.selection.follows:
            return
        graph = self.reader.graph
        operations = [
            operation
            for batch in in_batches(ids.after(), BATCH["renames"])
            for operation in self.reader.operations([*graph.entities(ids=batch, fields=WHOLE)])
        ]
        self.renamed = renames(graph, operations)
        if self.renamed:
            yield Batch([*self.renamed.values()], StagePosition("renames"))

    def _entities(self, stage: str, after: str) -> Iterator[Sequence[StoredEntity]]:
        graph, size = self.reader.graph, BATCH[stage]
        kind = "datasets" if stage == "derived" else stage
        ids = self.chosen.of(kind)
        if ids is None:
            where = EntityFilter(_PASSED[kind], deleted=False, after_id=after)
            yield from in_batches(graph.entities(where, fields=WHOLE, rows=size), size)
            return
        for batch in in_batches(ids.after(after), size):
            if found := [*graph.entities(ids=batch, fields=WHOLE)]:
                yield found

    def _wanted(self, entities: Sequence[StoredEntity]) -> list[StoredEntity]:
        """Return the live entities, and the entities deleted since the last export unless they were renamed. So a
        deletion is exported only once."""
        gone = self.chosen.gone
        return [
            each
            for each in entities
            if not each.deleted or (gone is not None and each.id in gone and each.id not in self.renamed)
        ]

    def _datasets(self, entities: Sequence[StoredEntity]) -> Iterator[ExportedDataset]:
        """Yield the databases that contain the datasets, then the datasets themselves."""
        self.sent.add(each.id for each in entities)
        yield from self._databases(self.reader.names.dataset(each) for each in entities if not each.deleted)
        yield from self.reader.datasets(entities, self.chosen.gone or ())

    def _databases(self, tables: Iterable[DatasetName]) -> Iterator[ExportedDataset]:
        """Yield the databases that contain tables, unless already yielded. A database that is not in the index becomes
        a placeholder with only a name."""
        databases = databases_of(tables)
        missing = self.sent.without(databases)
        self.sent.add(missing)
        found = self.reader.graph.entities_of(missing, WHOLE)
        live = [each for each in found.values() if not each.deleted]
        yield from self.reader.datasets(live)
        for each in {*missing} - {entity.id for entity in live}:
            yield ExportedDataset(databases[each], placeholder=True)

    def _operations(self, stage: str, entities: Sequence[StoredEntity]) -> Iterator[Item]:
        if stage == "derived":
            operations = [*self.reader.derived([each for each in entities if not each.deleted])]
        else:
            operations = [*self.reader.operations(entities)]
        yield from self._named_by(operations)
        for operation in operations:
            yield operation
            if operation.latest is not None and not self.selection.all_executions:
                yield ExportedRun(operation, operation.latest)

    def _with_runs(self, items: Iterable[Item], before: str, place: StagePosition) -> Iterator[Batch]:
        """Yield the items, and the runs of each operation in separate batches, because an operation may have run a
        million times. Until the last run of an operation is yielded, the position stays before that operation."""
        ready: list[Item] = []
        for item in items:
            ready.append(item)
            if isinstance(item, ExportedOperation) and not item.deleted:
                for runs in in_batches(self.reader.runs(item), BATCH["operations"]):
                    yield Batch([*ready, *runs], StagePosition(place.stage, before))
                    ready = []
                before = item.id
        yield Batch(ready, place)

    def _named_by(self, operations: Sequence[ExportedOperation]) -> Iterator[ExportedDataset]:
        """Yield the datasets that operations refer to and that were not yielded before."""
        named = (end for each in operations if not each.deleted for end in (*each.inputs, *each.outputs))
        ends = [end for end in named if not end.deleted or self.selection.placeholders]
        ends += [table for end in ends for table in end.tables]
        missing = self.sent.without(end.dataset.id for end in ends)
        entities = self.reader.graph.entities_of(missing, WHOLE)
        yield from self._datasets([each for each in entities.values() if not each.deleted])
        if self.selection.placeholders:
            live = {identity for identity, each in entities.items() if not each.deleted}
            unseen = {end.dataset.id: end.dataset for end in ends if end.dataset.id in {*missing} - live}
            yield from self._databases(unseen.values())
            yield from _placeholders(unseen, operations)
            self.sent.add(unseen)


def _placeholders(
    unseen: Mapping[str, DatasetName], operations: Sequence[ExportedOperation]
) -> Iterator[ExportedDataset]:
    """Yield placeholders for datasets that only operations mention, with the columns that the operations mention."""
    columns: dict[str, dict[str, ColumnName]] = {each: {} for each in unseen}
    for part in (part for each in operations for part in each.columns):
        for column in (*part.outputs, *(end.column for end in part.inputs)):
            if column.name and column.dataset.id in unseen:
                columns[column.dataset.id].setdefault(column.name.upper(), column)
    for identity, name in unseen.items():
        named = (ExportedColumn(each, ColumnDetails(), Annotations()) for each in columns[identity].values())
        yield ExportedDataset(name, columns=tuple(named), placeholder=True)
