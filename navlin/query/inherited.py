"""What carries the data of something that bears a tag or a property of people's: it inherits them.

Inheritance is computed from the lineage whenever it is asked for, with the path that brought it, and written nowhere:
people's fields stay what people wrote. It ends where a person said so: an entity with the property ``notInherited`` that
names the tag (or ``*``), and each column of such a table or job, neither inherits it nor passes it on.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson

from navlin.index.entity import OWNED, WORDS, StoredEntity
from navlin.index.fields import USER_FIELDS, solr_date
from navlin.index.graph import Graph
from navlin.index.query_fields import field_names
from navlin.index.solr import Solr
from navlin.index.state import in_batches
from navlin.index.worded import worded
from navlin.model.keys import RelationType
from navlin.query.answer import Cut, Direction, Edge, Lineage, Node
from navlin.query.fold import CONTAINED
from navlin.query.lineage import lineage
from navlin.query.options import Options
from navlin.query.scanner import QueryError
from navlin.query.syntax import parse

STOP: Final = "up_notInherited"
"""The property of people's by which an entity does not inherit: names of tags, with commas between them, or an asterisk."""
EVERY: Final = "*"
WALKS: Final = 4
"""How many are walked from side by side: a walk waits for Solr most of the time."""
NODES: Final = 5_000
"""How many nodes are followed from one that bears the tag."""
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
"""The columns of the answer as CSV."""
_KEY: Final = re.compile(r"[\w.-]+")
_PHRASE: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_MARKS: Final = ("inferred", "parsed", "incomplete")


@dataclass(frozen=True, slots=True)
class Word:
    """A tag, or ``NAMESPACE.KEY:VALUE``, a property."""

    text: str

    @property
    def query(self) -> str:
        """The search for what bears it: of one field of people's. All that is found is held at once. Raises `QueryError`."""
        key, colon, value = self.text.partition(":")
        if not colon:
            return f"tags:{_quoted(self.text)}"
        if not _KEY.fullmatch(key) or (key not in USER_FIELDS and key in field_names()):
            raise QueryError(
                f"{key!r:.60} is no property of people's: ask for a tag, or NAMESPACE.KEY:VALUE", 0
            )
        return f"{key}:{value if _PHRASE.fullmatch(value) else _quoted(value)}"

    def borne_by(self, entity: StoredEntity) -> bool:
        """Whether a person wrote it there. A search for a tag finds longer ones that contain it."""
        return ":" in self.text or self.text.casefold() in _texts(entity.words.get("tags"))

    def stopped_at(self, entity: StoredEntity) -> bool:
        """Whether a person said that this entity does not inherit it."""
        stops = {each.strip() for text in _texts(entity.words.get(STOP)) for each in text.split(",")}
        return bool(stops & {EVERY, self.text.casefold()})


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _texts(value: Any) -> set[str]:
    values = value if isinstance(value, list) else [] if value is None else [value]
    return {str(each).casefold() for each in values}


@dataclass(frozen=True, slots=True)
class Inherited:
    """One entity that inherits, and the path by which: the most certain one, and of these the shortest, from ``origin``
    on. ``decision``: on every path it is only decided by the data, and none of it is carried.

    ``since_ms`` is when the youngest thing on that path was first seen (epoch ms; 0: not known).
    """

    word: Word
    node: Node
    owner: str
    origin: StoredEntity
    path: tuple[str, ...]
    decision: bool
    inferred: bool
    parsed: bool
    incomplete: bool
    since_ms: int

    def to_json(self) -> dict[str, Any]:
        """id, name, type, owner (its table's, of a column), word, fromId, fromName, path (names), decision, inferred,
        parsed, incomplete, since (null if not known)."""
        return {
            "id": self.node.id,
            "name": self.node.name,
            "type": self.node.type,
            "owner": self.owner,
            "word": self.word.text,
            "fromId": self.origin.id,
            "fromName": self.origin.name,
            "path": list(self.path),
            "decision": self.decision,
            "inferred": self.inferred,
            "parsed": self.parsed,
            "incomplete": self.incomplete,
            "since": solr_date(self.since_ms) if self.since_ms else None,
        }


@dataclass(frozen=True, slots=True)
class Origin:
    """Something that bears the word, and where the walk from it was cut."""

    entity: StoredEntity
    inherited: tuple[Inherited, ...]
    truncated_at: tuple[Cut, ...]

    def rows(self, word: Word) -> Iterator[dict[str, Any]]:
        """A row for each that inherits, and one for each place where there is more; `COLUMNS` are the columns."""
        origin = {"word": word.text, "fromId": self.entity.id, "fromName": self.entity.name}
        yield from (each.to_json() for each in self.inherited)
        for cut in self.truncated_at:
            yield {**origin, "id": cut.id, "name": cut.name, "truncated": cut.reason.words}


def inherited(
    solr: Solr,
    word: Word,
    *,
    control_flow: bool = False,
    since_ms: int = 0,
    progress: Callable[[int, int], None] = lambda done, every: None,
) -> Iterator[Origin]:
    """Everything that bears the word, one by one, with what inherits it from there. With ``control_flow`` also what
    it merely decides. With ``since_ms`` only what inherits by a path of which something was first seen since then. Raises
    `QueryError` for a property that is none.

    What bears the word itself inherits nothing, and passes it on. ``progress`` is told how many are done, of how many.
    """
    graph = Graph(solr)
    options = Options(Direction.DOWNSTREAM, control_flow=control_flow, max_nodes=NODES)
    origins = {each.id: each for each in worded(solr, parse(word.query).query) if word.borne_by(each)}

    def walk(origin: StoredEntity) -> Origin:
        walked = lineage(solr, origin.id, options)
        reached = _inherited(graph, word, origin, walked)
        found = (each for each in reached if each.node.id not in origins and each.since_ms >= since_ms)
        return Origin(origin, tuple(found), walked.truncated_at)

    done = 0
    with ThreadPoolExecutor(WALKS, "inherited") as walks:
        # Batch by batch: what nobody has asked for yet is not held.
        for batch in in_batches(origins.values(), WALKS * 4):
            for each in walks.map(walk, batch):
                yield each
                done += 1
                progress(done, len(origins))


def _inherited(graph: Graph, word: Word, origin: StoredEntity, walked: Lineage) -> Iterator[Inherited]:
    nodes = {node.id: node for node in walked.nodes}
    hops = {hop.id for edge in walked.edges for hop in edge.via}
    known = graph.entities_of({*nodes, *hops}, WORDS)
    above = {each: entity.parent_id for each, entity in known.items() if entity.type in CONTAINED}
    known |= graph.entities_of(set(above.values()) - known.keys(), WORDS)
    stops = {each for each, entity in known.items() if word.stopped_at(entity)}
    # What is said of a table or a job is said of its columns.
    stops |= {each for each, box in above.items() if box in stops}
    owners = _owners(graph, nodes)
    ways = _ways(walked, origin.id, stops)
    for each, way in ways.items():
        if each == origin.id:
            continue
        marks = {mark: any(getattr(edge, mark) for edge in way) for mark in _MARKS}
        seen = [known[one].first_seen_ms for edge in way for one in _ids_of(edge) if one in known]
        yield Inherited(
            word,
            nodes[each],
            owners.get(nodes[each].parent if nodes[each].type == "FIELD" else each, ""),
            origin,
            tuple(_path(nodes, way)),
            any(edge.type == RelationType.CONTROL_FLOW for edge in way),
            since_ms=max(seen, default=0),
            **marks,
        )


def _ids_of(edge: Edge) -> Iterator[str]:
    yield from (hop.id for hop in edge.via)
    yield edge.target


def _path(nodes: Mapping[str, Node], way: Collection[Edge]) -> Iterator[str]:
    for edge in way:
        yield nodes[edge.source].name
        yield from (hop.name for hop in edge.via)
    for edge in list(way)[-1:]:
        yield nodes[edge.target].name


def _ways(walked: Lineage, start: str, stops: Set[str]) -> dict[str, tuple[Edge, ...]]:
    """For each node that data flows to the way there that is the most certain, and of these the shortest."""
    onward: dict[str, list[Edge]] = {}
    for edge in walked.edges:
        if edge.type in (RelationType.DATA_FLOW, RelationType.CONTROL_FLOW):
            onward.setdefault(edge.source, []).append(edge)
        elif edge.type == RelationType.LOGICAL_PHYSICAL and edge.target == start:
            # The table that lies at a path is the same data.
            onward.setdefault(start, []).append(replace(edge, source=start, target=edge.source))
    ways: dict[str, tuple[Edge, ...]] = {}
    number = 0
    waiting: list[tuple[int, int, int, int, str, tuple[Edge, ...]]] = [(0, 0, 0, number, start, ())]
    while waiting:
        decided, doubtful, length, _, at, way = heapq.heappop(waiting)
        if at in ways:
            continue
        ways[at] = way
        for edge in onward.get(at, ()):
            if edge.target not in ways and stops.isdisjoint(_ids_of(edge)):
                number += 1
                steers = edge.type == RelationType.CONTROL_FLOW
                doubt = sum(getattr(edge, mark) for mark in _MARKS)
                cost = (decided + steers, doubtful + doubt, length + 1, number)
                heapq.heappush(waiting, (*cost, edge.target, (*way, edge)))
    return ways


def _owners(graph: Graph, nodes: Mapping[str, Node]) -> dict[str, str]:
    boxes = {node.parent if node.type == "FIELD" else node.id for node in nodes.values()}
    return {each: entity.owner for each, entity in graph.entities_of(boxes, OWNED).items()}


def json_pieces(word: Word, origins: Iterator[Origin]) -> Iterator[bytes]:
    """The answer as pieces of one JSON text: word, inherited (a list), origins (how many bear the word), truncatedAt (where
    there is more: fromName, and as of lineage)."""
    yield orjson.dumps({"word": word.text})[:-1] + b',"inherited":['
    between, count, cuts = b"\n", 0, []
    for origin in origins:
        count += 1
        cuts += [{"fromName": origin.entity.name, **cut.to_json()} for cut in origin.truncated_at]
        for each in origin.inherited:
            yield between + orjson.dumps(each.to_json())
            between = b",\n"
    yield b"\n]," + orjson.dumps({"origins": count, "truncatedAt": cuts})[1:] + b"\n"
