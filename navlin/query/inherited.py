"""Inheritance of user-written tags and properties ("words"): an entity inherits the words of every entity whose data it
carries.

Inheritance is computed from the lineage on each request, with the path. `navlin.service.inheriting` also stores the
inherited tags, for searches, in a separate field; user-written fields stay as users wrote them. Users can end
inheritance with the property ``notInherited``, which names the tag (or is ``*``). An entity with this property, and
each column of a table or sub-operation of a job with this property, neither inherits the tag nor passes it on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson

from navlin.index.graph.entity import ANNOTATED, OWNED, StoredEntity
from navlin.index.graph.graph import Graph
from navlin.index.graph.remembered import answered, epochs_now
from navlin.index.people.inheritance import annotated_entities, reaching
from navlin.index.schema.fields import USER_FIELDS, USER_PROPERTY, solr_date
from navlin.index.search.query_fields import field_names
from navlin.index.search.searching import MOST_S
from navlin.index.solr.solr import Solr
from navlin.index.solr.solr_query import phrase
from navlin.model.batches import in_batches
from navlin.model.keys import RelationType
from navlin.query.answer import CutNode, Node
from navlin.query.closure import MARKS, Closure, Stops, closure_in, ids_of, steps_of
from navlin.query.data_flows import STATEMENTS, statements_of
from navlin.query.scanner import QueryError
from navlin.query.search import explained
from navlin.query.statement_names import names_of_statements
from navlin.query.syntax import parse

PATHS_SHOWN: Final = 5
WALKS: Final = 4
"""Number of walks run in parallel; a walk spends most of its time waiting for Solr."""
COLUMNS: Final = (
    "name",
    "type",
    "owner",
    "word",
    "fromName",
    "path",
    "decision",
    "inferred",
    "parsed",
    "incomplete",
    "since",
    "truncated",
    "id",
    "fromId",
)
"""Columns of the CSV output."""
_KEY: Final = re.compile(r"[\w.-]+")
_PHRASE: Final = re.compile(r'"(?:[^"\\]|\\.)*"')


@dataclass(frozen=True, slots=True)
class TagOrProperty:
    """A tag, which may contain a colon, or a property: ``NAMESPACE.KEY:VALUE``, or ``up_KEY:VALUE`` for a user
    property."""

    text: str

    @property
    def is_tag(self) -> bool:
        """Whether the word is a tag. A word that does not name a field is a tag."""
        key, colon, _ = self.text.partition(":")
        if not colon or not _KEY.fullmatch(key):
            return True
        return "." not in key and not key.startswith(USER_PROPERTY) and key not in field_names()

    @property
    def query(self) -> str:
        """Query for the entities that have the word in a user-written field. Any other field is refused, because all
        results are held in memory at once. Raises `QueryError`."""
        key, _, value = self.text.partition(":")
        if self.is_tag:
            return f"tags:{phrase(self.text)}"
        if key not in USER_FIELDS and key in field_names():
            raise QueryError(
                f"{key!r:.60} is not a property that people set: give a tag, or NAMESPACE.KEY:VALUE", 0
            )
        return f"{key}:{value if _PHRASE.fullmatch(value) else phrase(value)}"

    def is_on(self, entity: StoredEntity) -> bool:
        """Whether a user wrote the word on this entity. This must be checked, because a search for a tag also finds
        longer tags that contain it."""
        return not self.is_tag or self.text.casefold() in map(str.casefold, entity.tags)


@dataclass(frozen=True, slots=True)
class Inherited:
    """An entity that inherits a word, and the path from ``origin``: the most certain path and, among equally certain
    ones, the shortest. ``decision``: every path contains control flow, so the entity carries none of the data.

    ``since_ms`` is the time at which the newest element of the path was first seen (epoch ms; 0: unknown).
    """

    word: TagOrProperty
    node: Node
    owner: str
    origin: StoredEntity
    steps: tuple[Node, ...]
    decision: bool
    inferred: bool
    parsed: bool
    incomplete: bool
    since_ms: int

    @property
    def between(self) -> tuple[Node, ...]:
        """The path without its ends."""
        return self.steps[1:-1]

    def to_json(self) -> dict[str, Any]:
        """JSON keys: id, name, type, owner (for a column, its table's), word, fromId, fromName, path (names), decision,
        inferred, parsed, incomplete, since (null if not known)."""
        return {
            "id": self.node.id,
            "name": self.node.name,
            "type": self.node.type,
            "owner": self.owner,
            "word": self.word.text,
            "fromId": self.origin.id,
            "fromName": self.origin.name,
            "path": [step.title for step in self.steps],
            "decision": self.decision,
            "inferred": self.inferred,
            "parsed": self.parsed,
            "incomplete": self.incomplete,
            "since": solr_date(self.since_ms) if self.since_ms else None,
        }


@dataclass(frozen=True, slots=True)
class Origin:
    """An entity that has the word, the entities that inherit it, and the nodes at which the walk was cut."""

    entity: StoredEntity
    inherited: tuple[Inherited, ...]
    truncated_at: tuple[CutNode, ...]

    def rows(self, word: TagOrProperty) -> Iterator[dict[str, Any]]:
        """Yield a row per entity that inherits the word, and a row per node at which the walk was cut. `COLUMNS` are
        the columns."""
        origin = {"word": word.text, "fromId": self.entity.id, "fromName": self.entity.name}
        yield from (each.to_json() for each in self.inherited)
        for cut in self.truncated_at:
            yield {**origin, "id": cut.id, "name": cut.name, "truncated": cut.reason.words}


def inherited(
    solr: Solr,
    word: TagOrProperty,
    *,
    control_flow: bool = False,
    since_ms: int = 0,
    progress: Callable[[int, int], None] = lambda done, every: None,
) -> Iterator[Origin]:
    """Yield each entity that has the word, with the entities that inherit the word from there. With ``control_flow``,
    include entities that the data only controls. With ``since_ms``, include only entities whose path has an element
    first seen since then. Raises `QueryError` immediately for an unknown property, and for a query that Solr refuses.

    An entity that has the word itself does not inherit it, but passes it on. ``progress`` is called with the number of
    origins done and the total.
    """
    parsed = parse(word.query)
    epochs = epochs_now(solr)
    with explained(parsed, MOST_S):
        origins = {each.id: each for each in annotated_entities(solr, parsed.query) if word.is_on(each)}
    stops = Stops.read(solr).of(word.text)

    def walk(origin: StoredEntity) -> Origin:
        reached = answered(
            solr, lambda graph: inherited_from(graph, word, origin, stops, control_flow=control_flow), epochs
        )
        found = (
            each for each in reached.inherited if each.node.id not in origins and each.since_ms >= since_ms
        )
        return replace(reached, inherited=tuple(found))

    return _walked(origins.values(), walk, progress)


def _walked(
    origins: Collection[StoredEntity],
    walk: Callable[[StoredEntity], Origin],
    progress: Callable[[int, int], None],
) -> Iterator[Origin]:
    done = 0
    with ThreadPoolExecutor(WALKS, "inherited") as walks:
        # Batch by batch, so that results that are not requested yet are not held in memory.
        for batch in in_batches(origins, WALKS * 4):
            for each in walks.map(walk, batch):
                yield each
                done += 1
                progress(done, len(origins))


def inherited_by(solr: Solr, entity: StoredEntity) -> tuple[Inherited, ...]:
    """Return the paths by which an entity has its inherited tags: one path per tag, for at most `PATHS_SHOWN` tags. A tag
    changed a moment ago may be missing, until the stored tags are updated."""
    if not entity.inherited_tags:
        return ()
    epochs = epochs_now(solr)
    origins, stops = reaching(solr, entity.id, 1), Stops.read(solr)

    def ask(graph: Graph) -> tuple[Inherited, ...]:
        found: list[Inherited] = []
        for tag in entity.inherited_tags[:PATHS_SHOWN]:
            for tagged in graph.entities_of(origins.get(tag, ()), ANNOTATED).values():
                reached = closure_in(graph, tagged.id, stops.of(tag))
                if entity.id in reached.ways:
                    only = reached._replace(ways={entity.id: reached.ways[entity.id]})
                    found.extend(_inherited_in(graph, TagOrProperty(tag), tagged, only))
        return tuple(found)

    return answered(solr, ask, epochs)


def inherited_from(
    graph: Graph,
    word: TagOrProperty,
    origin: StoredEntity,
    stops: frozenset[str],
    *,
    control_flow: bool = False,
) -> Origin:
    """Return all entities that inherit a word from one that has it, up to ``stops``. Raises `UnknownEntity`."""
    reached = closure_in(graph, origin.id, stops, control_flow=control_flow)
    return Origin(origin, tuple(_inherited_in(graph, word, origin, reached)), reached.walked.truncated_at)


def _inherited_in(
    graph: Graph, word: TagOrProperty, origin: StoredEntity, reached: Closure
) -> Iterator[Inherited]:
    nodes = {node.id: node for node in reached.walked.nodes}
    on_ways = {each for way in reached.ways.values() for edge in way for each in ids_of(edge)}
    known = graph.entities_of(on_ways, ANNOTATED)
    owners = _owners(graph, {each: nodes[each] for each in reached.ways})
    steps = {each: list(steps_of(nodes, way)) for each, way in reached.ways.items()}
    kinds = {step.id: step.type for path in steps.values() for step in path if step.type in STATEMENTS}
    named = names_of_statements(graph, kinds)
    for each in reached.ways:
        if each == origin.id:
            continue
        way = reached.ways[each]
        marks = {mark: any(getattr(edge, mark) for edge in way) for mark in MARKS}
        seen = [known[one].first_seen_ms for edge in way for one in ids_of(edge) if one in known]
        yield Inherited(
            word,
            nodes[each],
            owners.get(nodes[each].parent if nodes[each].type == "FIELD" else each, ""),
            origin,
            statements_of(steps[each], named),
            any(edge.type == RelationType.CONTROL_FLOW for edge in way),
            since_ms=max(seen, default=0),
            **marks,
        )


def _owners(graph: Graph, nodes: Mapping[str, Node]) -> dict[str, str]:
    boxes = {node.parent if node.type == "FIELD" else node.id for node in nodes.values()}
    return {each: entity.owner for each, entity in graph.entities_of(boxes, OWNED).items()}


def json_pieces(word: TagOrProperty, origins: Iterator[Origin]) -> Iterator[bytes]:
    """The answer as pieces of one JSON text: word, inherited (a list), origins (number of entities that bear the word),
    truncatedAt (where there is more: fromName, and the keys as in lineage)."""
    yield orjson.dumps({"word": word.text})[:-1] + b',"inherited":['
    between, count, cuts = b"\n", 0, []
    for origin in origins:
        count += 1
        cuts += [{"fromName": origin.entity.name, **cut.to_json()} for cut in origin.truncated_at]
        for each in origin.inherited:
            yield between + orjson.dumps(each.to_json())
            between = b",\n"
    yield b"\n]," + orjson.dumps({"origins": count, "truncatedAt": cuts})[1:] + b"\n"
