"""Data at both ends of relations, for people: the inputs or outputs of a statement replace the statement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from navlin.index.graph.graph import Graph
from navlin.index.graph.neighbours import Wanted
from navlin.index.graph.relation import End, Side, StoredRelation
from navlin.query.data_flows import FLOWS, STATEMENTS
from navlin.query.statement_names import names_of_statements

READ: Final = 20
"""Maximum number of inputs or outputs named per statement."""


class NamedEntity(NamedTuple):
    """An entity that a page names. ``known``: the entity has its own page."""

    id: str
    name: str
    known: bool = True


@dataclass(frozen=True, slots=True)
class FlowEnds:
    """Sources and targets of a flow, and the statement between them, if any."""

    sources: tuple[NamedEntity, ...]
    targets: tuple[NamedEntity, ...]
    through: NamedEntity | None = None


def data_ends(graph: Graph, relations: Sequence[StoredRelation]) -> list[FlowEnds]:
    """Return the ends of each relation. A statement is itself an end if it reads or writes nothing, or if the relation
    is not a flow."""
    ends = {end.id: end.type for each in relations for end in (each.ep1, each.ep2)}
    statements = {
        each: NamedEntity(*named)
        for each, named in names_of_statements(
            graph, {each: kind for each, kind in ends.items() if kind in STATEMENTS}
        ).items()
    }
    sides: tuple[Side, Side] = (2, 1)
    before, after = graph.neighbours([Wanted(list(statements), side, tuple(FLOWS), READ) for side in sides])
    beyond = {
        1: {each: [one.ep1 for one in found] for each, found in before.relations.items()},
        2: {each: [one.ep2 for one in found] for each, found in after.relations.items()},
    }
    known = graph.present(
        {*ends, *(end.id for of_side in beyond.values() for found in of_side.values() for end in found)}
    )
    return [_ends(each, statements, beyond, known) for each in relations]


def _ends(
    relation: StoredRelation,
    statements: Mapping[str, NamedEntity],
    beyond: Mapping[int, Mapping[str, Sequence[End]]],
    known: Iterable[str],
) -> FlowEnds:
    through = None
    sides: list[tuple[NamedEntity, ...]] = []
    for side in (1, 2):
        end = relation.end(side)
        named: tuple[NamedEntity, ...] = (NamedEntity(end.id, end.name, end.id in known),)
        if end.id in statements:
            data = [each for each in beyond[side].get(end.id, ()) if each.type not in STATEMENTS]
            named = tuple(dict.fromkeys(NamedEntity(each.id, each.name, each.id in known) for each in data))
            if named and relation.type in FLOWS:
                through = statements[end.id]
            else:
                named = (statements[end.id],)
        sides.append(named)
    return FlowEnds(sides[0], sides[1], through)
