"""Reconstruction of the edges in a lineage record from the extracted relations only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from navlin.model.extractor import Extractor
from navlin.model.keys import EntityType, Key, RelationType
from navlin.model.plan import Plan, Positions
from navlin.model.records import Covered, Entity, Position, Record, Reject, Relation, Split

Ends = frozenset[tuple[str, ...]]
ColumnEdge = tuple[str, Ends, Ends]
"""(edge type, source columns, target columns); a column is (database, table, column)."""


def read_all(extractor: Extractor, plan: Plan | None = None) -> list[Record]:
    """Return all records of ``plan``, or of a first plan without saved positions."""
    splits: list[Split] = list((plan or extractor.plan(Positions())).splits)
    records: list[Record] = []
    for split in splits:
        for record in extractor.read(split):
            if isinstance(record, Split):
                splits.append(record)
            else:
                records.append(record)
    return records


def by_operation(records: Iterable[Record]) -> dict[str, list[Relation]]:
    """Map the text of each operation to its relations."""
    texts = {
        record.key.tree_path: record.attributes["queryText"]
        for record in records
        if isinstance(record, Entity) and record.key.type is EntityType.OPERATION
    }
    relations: dict[str, list[Relation]] = defaultdict(list)
    for record in records:
        if isinstance(record, Relation) and record.type is not RelationType.LOGICAL_PHYSICAL:
            (path,) = [path for path in texts if record.tree_path.startswith(path + "/")]
            relations[texts[path]].append(record)
    return relations


def yielded_edges(relations: Iterable[Relation]) -> Iterator[ColumnEdge]:
    """Yield an edge for each sub-operation. The column of a whole table is ""."""
    sources: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    targets: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    kinds: dict[str, set[RelationType]] = defaultdict(set)
    for relation in relations:
        if relation.ep2.type is EntityType.SUB_OPERATION:
            kinds[relation.ep2.identity].add(relation.type)
            sources[relation.ep2.identity].add(_column(relation.ep1))
        elif relation.ep1.type is EntityType.SUB_OPERATION:
            assert relation.type is RelationType.DATA_FLOW
            targets[relation.ep1.identity].add(_column(relation.ep2))
    for part in sources.keys() | targets.keys():
        kind = "PREDICATE" if RelationType.CONTROL_FLOW in kinds[part] else "PROJECTION"
        assert len(kinds[part]) <= 1
        yield kind, frozenset(sources[part]), frozenset(targets[part])


def _column(key: Key) -> tuple[str, ...]:
    assert key.parent is not None
    if key.type is not EntityType.FIELD:
        return (key.parent.name, key.name, "")
    assert key.parent.parent is not None
    return (key.parent.parent.name, key.parent.name, key.name)


def yielded_tables(relations: Iterable[Relation]) -> set[tuple[str, str]]:
    """Return ("DATA_FLOW in", table), ("CONTROL_FLOW in", table) and ("DATA_FLOW out", table) for the relations of
    operations.
    """
    tables = set()
    for relation in relations:
        if relation.ep2.type is EntityType.OPERATION:
            tables.add((f"{relation.type} in", _table(relation.ep1)))
        elif relation.ep1.type is EntityType.OPERATION:
            tables.add((f"{relation.type} out", _table(relation.ep2)))
    return tables


def _table(key: Key) -> str:
    return f"{key.parent_path}.{key.name}".lstrip("/")


def folded(edges: Iterable[ColumnEdge]) -> set[tuple[str, str]]:
    """Return the table edges that column edges imply, as `yielded_tables` does. A table with both data flow and control
    flow counts as data flow.
    """
    edges = list(edges)
    read = {end[:2] for kind, sources, _ in edges for end in sources if kind == "PROJECTION"}
    looked_at = {end[:2] for kind, sources, _ in edges for end in sources if kind == "PREDICATE"} - read
    written = {end[:2] for _, _, targets in edges for end in targets}
    sides = (("DATA_FLOW in", read), ("CONTROL_FLOW in", looked_at), ("DATA_FLOW out", written))
    return {(side, ".".join(table)) for side, tables in sides for table in tables}


def parts(records: Iterable[Record]) -> list[Any]:
    return [
        record
        for record in records
        if isinstance(record, Entity) and record.key.type is EntityType.SUB_OPERATION
    ]


class Read:
    """Extracted records, with properties that present them as readable text."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records = [record for record in records if not isinstance(record, Position)]
        self.entities = [record for record in self.records if isinstance(record, Entity)]
        self.relations = [record for record in self.records if isinstance(record, Relation)]
        self.rejects = [record for record in self.records if isinstance(record, Reject)]
        self.covers = [record for record in self.records if isinstance(record, Covered)]

    def of(self, kind: EntityType) -> list[Entity]:
        return [entity for entity in self.entities if entity.key.type is kind]

    @property
    def operations(self) -> list[Entity]:
        return self.of(EntityType.OPERATION)

    @property
    def operation(self) -> Entity:
        (operation,) = self.operations
        return operation

    @property
    def execution(self) -> Entity:
        (execution,) = self.of(EntityType.OPERATION_EXECUTION)
        return execution

    @property
    def times_ms(self) -> set[int]:
        times = {record.as_of_ms for record in self.entities} | {record.as_of_ms for record in self.relations}
        return times | {record.as_of_ms for record in self.covers}

    @property
    def tables(self) -> set[str]:
        """Table lineage as ``DATA_FLOW a.b -> operation``."""
        return {flow(r) for r in self.relations if {r.ep1.type, r.ep2.type} <= TABLE_LEVEL}

    @property
    def columns(self) -> set[str]:
        """Column lineage as ``PROJECTION a.b.c, a.b.d -> e.f.g``, one for each sub-operation."""
        parts = set()
        # If a statement ran twice, its relations occur twice, but count once.
        relations = {relation.tree_path: relation for relation in self.relations}.values()
        for part in self.of(EntityType.SUB_OPERATION):
            sources = sorted(name(r.ep1) for r in relations if r.ep2 == part.key)
            targets = sorted(name(r.ep2) for r in relations if r.ep1 == part.key)
            types = {r.type for r in relations if r.ep2 == part.key}
            kind = part.attributes["edgeType"]
            expected = RelationType.DATA_FLOW if kind == "PROJECTION" else RelationType.CONTROL_FLOW
            assert types <= {expected}
            parts.add(f"{kind} {', '.join(sources)} -> {', '.join(targets)}")
        return parts


TABLE_LEVEL = {EntityType.TABLE, EntityType.VIEW, EntityType.OPERATION}


def name(key: Key) -> str:
    match key.type:
        case EntityType.OPERATION:
            return "operation"
        case EntityType.DIRECTORY:
            return key.file_system_path or ""
    return f"{name(key.parent)}.{key.name}" if key.parent else key.name


def flow(relation: Relation) -> str:
    return f"{relation.type} {name(relation.ep1)} -> {name(relation.ep2)}"
