"""Relations that programs own. Each end is identified by its id, or by names in a source."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from navlin.edit.entity_resolver import EntityResolver
from navlin.edit.own import ID_CHARS
from navlin.edit.values import BadValue
from navlin.index.graph.filters import RelationFilter
from navlin.index.graph.graph import Graph
from navlin.index.graph.graph import end_of as end_of_entity
from navlin.index.graph.relation import End
from navlin.index.journal.inheritance_due import note_due
from navlin.index.people.user_entities import NOT_THERE, SDK_SOURCE, write_relations
from navlin.index.schema.stamp import Stamp
from navlin.index.solr.solr import Solr
from navlin.index.write.documents import end_of
from navlin.index.write.graph_changes import GraphChanges
from navlin.index.write.rewriting import ATTEMPTS, TooManyConflicts
from navlin.model.identity import run_id
from navlin.model.keys import EntityType, Key, RelationType

MOST_PAIRS: Final = 10_000
"""Maximum number of relations (pairs of ends) that one object in a request may create."""
_TYPES: Final = tuple(each.value for each in EntityType)


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a relation: its ends, with the data that the request contains."""

    ends: tuple[End, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(end.id for end in self.ends)


@dataclass(frozen=True, slots=True)
class Drawn:
    """One object of a request: relations from each end of the first side to each end of the second."""

    position: int
    type: RelationType
    sides: tuple[Side, Side]
    namespace: str
    user_specified: bool

    @property
    def pairs(self) -> int:
        """Number of pairs of ends; each pair becomes a relation."""
        return len(self.sides[0].ends) * len(self.sides[1].ends)


def count_ends(given: Any) -> int:
    """Count the ends that a relation in the SDK's JSON names; 0 if it is not an object."""
    if not isinstance(given, Mapping):
        return 0
    named = (given.get(key) for key in ("endpoint1Ids", "endpoint2Ids", "ep1Attributes", "ep2Attributes"))
    return sum(len(each) for each in named if isinstance(each, list))


def drawn_of(names: EntityResolver, position: int, given: Any) -> Drawn:
    """Parse a relation in the SDK's JSON. Raises `BadValue`."""
    if not isinstance(given, Mapping):
        raise BadValue("it is not an object")
    try:
        kind = RelationType(str(given.get("type")))
    except ValueError:
        allowed = ", ".join(RelationType)
        raise BadValue(f"type {given.get('type')!s:.40} is not one of [{allowed}]") from None
    namespace = given.get("namespace") or ""
    if not isinstance(namespace, str):
        raise BadValue(f"namespace must be a text, not {namespace!r:.40}")
    sides = _side(names, given, 1), _side(names, given, 2)
    if len(sides[0].ends) * len(sides[1].ends) > MOST_PAIRS:
        raise BadValue(f"it has more than {MOST_PAIRS:,} pairs of ends")
    return Drawn(position, kind, sides, namespace, given.get("userSpecified") is True)


def draw(solr: Solr, drawn: Sequence[Drawn], now_ms: int) -> None:
    """Write relations. A relation is linked if the index has all its ends."""
    left = list(drawn)
    for _ in range(ATTEMPTS):
        left = _draw(solr, left, now_ms)
        if not left:
            return
    raise TooManyConflicts(f"{len(left)} relations kept changing during {ATTEMPTS} attempts to write them")


def _draw(solr: Solr, drawn: Sequence[Drawn], now_ms: int) -> list[Drawn]:
    """Write relations. Return those to be written again, because another writer changed one of them meanwhile, or
    because a missing end has arrived whose writer may not have seen the relation."""
    graph = Graph(solr)
    ids = {end for each in drawn for side in each.sides for end in side.ids}
    there = graph.entities_now(ids) if ids else {}
    missing = dict.fromkeys(ids - there.keys(), NOT_THERE)
    again = []
    for each in drawn:
        known = [
            tuple(end_of_entity(there[end.id]) if end.id in there else end for end in side.ends)
            for side in each.sides
        ]
        pairs = [(ep1, ep2) for ep1 in known[0] for ep2 in known[1]]
        written = write_relations(
            solr,
            each.type,
            pairs,
            namespace=each.namespace,
            user_specified=each.user_specified,
            missing=missing,
            now_ms=now_ms,
        )
        if not written:
            again.append(each)
    if arrived := graph.present_now(missing):
        again += [
            each
            for each in drawn
            if each not in again and not arrived.isdisjoint((*each.sides[0].ids, *each.sides[1].ids))
        ]
    return again


def link_arrived(solr: Solr, ids: Collection[str], now_ms: int) -> None:
    """Link the relations that waited only for these entities. Extracted entities are linked by the pass after their
    extraction."""
    graph, stamp = Graph(solr), Stamp(run_id(SDK_SOURCE, 0), now_ms)
    waiting = {each.id: each.claims for each in graph.relations(RelationFilter(unlinked=True), of=ids)}
    there = graph.present_now({end for claims in waiting.values() for end in claims})
    due = [identity for identity, claims in waiting.items() if claims and there.issuperset(claims)]
    GraphChanges(solr).change_relations(
        due, lambda relations: [each.linked(None, stamp) for each in relations]
    )
    if arrived := {end for each in due for end in waiting[each]}:
        note_due(solr, ids=arrived)


def _side(names: EntityResolver, given: Mapping[str, Any], number: int) -> Side:
    ids, attributes = given.get(f"endpoint{number}Ids") or (), given.get(f"ep{number}Attributes") or ()
    about = {
        key: given.get(f"endpoint{number}{key[0].upper()}{key[1:]}")
        for key in ("type", "sourceType", "sourceId")
    }
    for what, value in ((f"endpoint{number}Ids", ids), (f"ep{number}Attributes", attributes)):
        if not isinstance(value, list | tuple):
            raise BadValue(f"{what} must be a list")
    kind, source_type, source = (str(about[key] or "") for key in ("type", "sourceType", "sourceId"))
    if kind and kind not in _TYPES:
        raise BadValue(f"endpoint{number}Type {kind:.40} is not one of [{', '.join(_TYPES)}]")
    ends = [End(_id(each), "", kind, source_type, source) for each in ids]
    for each in attributes:
        if not isinstance(each, Mapping):
            raise BadValue(f"ep{number}Attributes must be a list of objects")
        meant = names.meant({**about, **each})
        ends.append(end_of(meant) if isinstance(meant, Key) else End(meant, "", kind, source_type, source))
    if not ends:
        raise BadValue(f"it has no end {number}: neither endpoint{number}Ids nor ep{number}Attributes")
    return Side(tuple({end.id: end for end in ends}.values()))


def _id(value: Any) -> str:
    if not isinstance(value, str) or not value or len(value) > ID_CHARS or not value.isprintable():
        raise BadValue(f"{value!r:.60} is not an identity")
    return value
