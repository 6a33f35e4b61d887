"""SQLFlow's lineage model: elements as values, reduction to the table level, and end-to-end relations.

According to Gudu's "Data lineage model reference" 1.2, tables, views, paths and result sets have columns; a `ColumnRelation`
has one target column and any number of sources. ``fdd``: values of the sources reach the target; ``fdr``: the sources
determine which rows or groups there are. A pseudo column, `PSEUDO_ROWS`, represents all rows of an object.

Ids are derived from navlin's ids. So an object has the same id in every export, and references need no lookup.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

PSEUDO_ROWS: Final = "PseudoRows"
SYSTEM: Final = "system"
"""The ``source`` of a column that is not in the SQL text."""


class TextPosition(NamedTuple):
    """A place in a text: line and column, counted from 1. ``text`` is the hash of the text; "0" if there is only one
    text."""

    line: int
    column: int
    text: str = "0"


Coordinate = tuple[TextPosition, TextPosition]
"""Position of the beginning, and position after the end."""
NOWHERE: Final[Coordinate] = (TextPosition(-1, -1), TextPosition(-1, -1))
"""Coordinate of an element that does not occur in a text."""


class FlowType(StrEnum):
    """Type of a relation: values flow (FDD), or the sources determine the rows (FDR)."""

    FDD = "fdd"
    FDR = "fdr"


class ObjectKind(StrEnum):
    TABLE = "table"
    VIEW = "view"
    RESULTSET = "resultset"
    VARIABLE = "variable"
    PATH = "path"

    @property
    def intermediate(self) -> bool:
        """Whether the object exists only while a statement runs."""
        return self in (ObjectKind.RESULTSET, ObjectKind.VARIABLE)


@lru_cache(maxsize=65_536)
def number(*parts: str) -> int:
    """Return an id derived from ``parts``. With 63 bits, collisions are unlikely among some hundred million ids."""
    digest = hashlib.md5("##".join(parts).encode("utf-8", "replace"), usedforsecurity=False).digest()
    return int.from_bytes(digest[:8], "big") >> 1 or 1


@dataclass(frozen=True, slots=True)
class ObjectColumn:
    """A column. ``source`` is `SYSTEM` for a column that is not in the SQL text."""

    id: int
    name: str
    source: str = ""
    coordinate: Coordinate = NOWHERE


@dataclass(frozen=True, slots=True)
class DbObject:
    """A table, view, path, result set or variable. ``processes`` are the ids of the processes that write the object;
    ``database`` is the catalog, ``schema`` is Hive's database; only a path has a ``uri``."""

    kind: ObjectKind
    id: int
    name: str
    type: str
    columns: tuple[ObjectColumn, ...] = ()
    sub_type: str = ""
    alias: str = ""
    database: str = ""
    schema: str = ""
    uri: str = ""
    processes: tuple[int, ...] = ()
    coordinate: Coordinate = NOWHERE


@dataclass(frozen=True, slots=True)
class Process:
    """A statement that moves data."""

    id: int
    name: str
    type: str
    coordinate: Coordinate = NOWHERE


@dataclass(frozen=True, slots=True)
class RelationEnd:
    """A column at one end of a relation, with the object (parent) that contains it. ``clause`` is the clause of the
    statement that uses the column, for example ``where``."""

    id: int
    column: str
    parent_id: int
    parent_name: str
    source: str = ""
    clause: str = ""
    coordinate: Coordinate = NOWHERE


@dataclass(frozen=True, slots=True)
class ColumnRelation:
    """One target column and its sources. ``effect`` is the kind of statement; ``process`` is the id of the statement's
    process, 0 if unknown."""

    id: int
    type: FlowType
    effect: str
    target: RelationEnd
    sources: tuple[RelationEnd, ...]
    process: int = 0


class TableEnd(NamedTuple):
    """An object or process (``of_id``, ``of_name``) at one end of a relation at the table level. ``id`` identifies the
    end itself."""

    id: int
    of_id: int
    of_name: str


@dataclass(frozen=True, slots=True)
class TableRelation:
    """A relation at the table level, from one object or process to another."""

    id: int
    type: FlowType
    target: TableEnd
    source: TableEnd


Element = Process | DbObject | ColumnRelation | TableRelation


@dataclass(frozen=True, slots=True)
class Dlineage:
    """Elements that belong together: one or more statements with the objects that they read and write."""

    processes: tuple[Process, ...] = ()
    objects: tuple[DbObject, ...] = ()
    relations: tuple[ColumnRelation, ...] = ()


# -- End to end ----------------------------------------------------------------------------------------------------------


def end_to_end(lineage: Dlineage) -> list[ColumnRelation]:
    """Return relations that skip the intermediate result sets and variables. They lead from permanent objects to
    permanent objects and to result sets without outgoing relations. A chain that contains an ``fdr`` is ``fdr``; if
    there are several chains, ``fdd`` wins."""
    between = _between(lineage)
    into: dict[int, list[ColumnRelation]] = {}
    for relation in lineage.relations:
        into.setdefault(relation.target.id, []).append(relation)
    found: list[ColumnRelation] = []
    for target_id, relations in into.items():
        if relations[0].target.parent_id in between:
            continue
        by_process: dict[int, list[ColumnRelation]] = {}
        for relation in relations:
            by_process.setdefault(relation.process, []).append(relation)
        for last_hops in by_process.values():
            flows = _reached(last_hops, into, between)
            found.extend(_relations_of(target_id, last_hops[0], flows))
    return found


def _between(lineage: Dlineage) -> set[int]:
    """Return the ids of the result sets and variables that are sources of a relation."""
    intermediate = {each.id for each in lineage.objects if each.kind.intermediate}
    flowing = {source.parent_id for relation in lineage.relations for source in relation.sources}
    return intermediate & flowing


def _reached(
    last_hops: Iterable[ColumnRelation], into: Mapping[int, list[ColumnRelation]], between: set[int]
) -> dict[int, tuple[FlowType, RelationEnd]]:
    """Return column id → (type of the chain, end) for the columns at the beginning of all chains."""
    flows: dict[int, tuple[FlowType, RelationEnd]] = {}
    seen: set[tuple[int, FlowType]] = set()
    waiting = [(relation, relation.type) for relation in last_hops]
    while waiting:
        relation, flow = waiting.pop()
        for source in relation.sources:
            if source.parent_id not in between:
                if source.id not in flows or flow is FlowType.FDD:
                    flows[source.id] = (flow, source)
            elif (source.id, flow) not in seen:
                seen.add((source.id, flow))
                waiting.extend(
                    (hop, FlowType.FDR if FlowType.FDR in (flow, hop.type) else FlowType.FDD)
                    for hop in into.get(source.id, ())
                )
    return flows


def _relations_of(
    target_id: int, last: ColumnRelation, flows: Mapping[int, tuple[FlowType, RelationEnd]]
) -> Iterator[ColumnRelation]:
    for flow in FlowType:
        sources = tuple(flows[each][1] for each in sorted(flows) if flows[each][0] is flow)
        if sources:
            number_of = number("end to end", flow, str(target_id), str(last.process))
            yield replace(last, id=number_of, type=flow, sources=sources)


# -- The table level -----------------------------------------------------------------------------------------------------


def table_level(lineage: Dlineage) -> list[TableRelation]:
    """Return the relations between objects and processes: object → process → object. Without a known process, object →
    object.

    For an operation whose result is not stored, only object → process is returned; for an operation without inputs,
    only process → object.
    """
    written_by = {each.id: each.processes for each in lineage.objects}
    intermediate = {each.id for each in lineage.objects if each.kind.intermediate}
    named = {each.id: each.name for each in lineage.processes}
    named |= {each.id: each.name for each in lineage.objects}
    flows: dict[tuple[int, int], FlowType] = {}
    for relation in end_to_end(lineage):
        target = relation.target.parent_id
        processes = (relation.process,) if relation.process else written_by.get(target, ())
        named[target] = relation.target.parent_name
        for source in relation.sources:
            named[source.parent_id] = source.parent_name
            for process in processes:
                _note(flows, source.parent_id, process, relation.type)
                if target not in intermediate:
                    _note(flows, process, target, FlowType.FDD)
            if not processes and target not in intermediate:
                _note(flows, source.parent_id, target, relation.type)
    for target, processes in written_by.items():
        for process in processes:
            _note(flows, process, target, FlowType.FDD)
    return [table_relation(flow, one, other, named) for (one, other), flow in flows.items()]


def table_relation(flow: FlowType, source: int, target: int, named: Mapping[int, str]) -> TableRelation:
    """Return the relation between two objects or processes; ``named`` maps their ids to names."""
    key = (str(source), str(target))
    return TableRelation(
        number("table relation", *key),
        flow,
        TableEnd(number("target", *key), target, named.get(target, "")),
        TableEnd(number("source", *key), source, named.get(source, "")),
    )


def _note(flows: dict[tuple[int, int], FlowType], source: int, target: int, flow: FlowType) -> None:
    if flows.get((source, target)) is not FlowType.FDD:
        flows[source, target] = flow
