"""Readers of a table: the operations that read any of its data, under any name or location of the table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from navlin.index.graph.entity import StoredEntity
from navlin.index.graph.filters import EntityFilter, RelationFilter
from navlin.index.graph.graph import Graph, end_of, entity_of
from navlin.index.graph.relation import ENDS, NAMED, SEEN, End
from navlin.index.graph.sources import known_sources
from navlin.index.people.user_entities import SDK_SOURCE
from navlin.index.schema.fields import RELATIONS
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr
from navlin.model.batches import in_batches
from navlin.model.identity import identify
from navlin.model.keys import RelationType, column_id
from navlin.model.source import HIVE

MOST_READERS: Final = 1_000
"""Maximum number of operations reading one table whose run times are looked up."""
MOST_COLUMNS: Final = 100_000
"""Maximum number of columns examined, over all tables of one request."""
COUNTED_A_QUERY: Final = 100
NEVER_MS: Final = 1 << 62
"""A time later than that of any record."""
_COLUMNS: Final = EntityFilter(("FIELD",))
_FLOWS: Final = (RelationType.DATA_FLOW.value, RelationType.CONTROL_FLOW.value)
# A program that states its own relations may name anything as a reader, for example an execution.
_READ: Final = (
    *RelationFilter(_FLOWS, deleted=False).filters(),
    f"{q.one_of('endpoint2Type', ('OPERATION', 'SUB_OPERATION'))} OR writer:{q.phrase(SDK_SOURCE)}",
)
# A dropped view may have been read before.
_INTO_VIEWS: Final = RelationFilter((RelationType.DATA_FLOW,), ep2_types=("VIEW",))
_INTO_OPERATIONS: Final = RelationFilter(_FLOWS, deleted=False, ep2_types=("OPERATION",))
_LOCATED: Final = RelationFilter((RelationType.LOGICAL_PHYSICAL,), deleted=False)
_TABLES_LOCATED: Final = tuple(
    RelationFilter((RelationType.LOGICAL_PHYSICAL,), deleted=False, ep1_types=("TABLE",)).filters()
)


@dataclass(frozen=True, slots=True)
class LocationPath:
    """A path on a file system: the location of a table or partition. ``since_ms`` is the time at which the location was
    first seen (epoch ms; 0: unknown, or the location of a partition)."""

    source_id: str
    path: str
    since_ms: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Readers:
    """The operations that read one table. ``newest_ms`` is the time of the newest record of a read (0: none); ``cut``:
    whether there may be more operations than are listed."""

    newest_ms: int
    operations: tuple[str, ...]
    cut: bool


def metastores(solr: Solr) -> tuple[str, ...]:
    """Return the ids of all sources that may have tables, including those that were only claimed."""
    return tuple(source.id for source in known_sources(solr) if source.type == HIVE)


def same_table(database: str, table: str, metastores: Iterable[str]) -> list[str]:
    """Return the ids that a table with this name (ignoring case) has in each metastore, whether or not the table
    exists."""
    return [identify(each, database.upper(), table.upper()) for each in metastores]


def readers_of(
    graph: Graph,
    read: Sequence[tuple[Sequence[StoredEntity], Sequence[LocationPath]]],
    metastores: Sequence[str],
    *,
    enough_ms: int = NEVER_MS,
) -> list[Readers]:
    """Return the readers of each item. An item consists of entities (a table and its views), with their columns and
    partitions, and of places, with everything at, below or around them. Operations are omitted for an item with a
    record of ``enough_ms`` (epoch ms) or later.

    Entities with the same names (ignoring case) count too, whichever source claims them, because an engine may know a
    metastore or a file system by an address that is not configured.
    """
    tables = {each.id for entities, _ in read for each in entities}
    columns: dict[str, list[StoredEntity]] = defaultdict(list)
    children, more = graph.children(tables, _COLUMNS, MOST_COLUMNS)
    for child in children:
        columns[child.parent_id].append(child)
    asked = [_At.of(entities, columns, places, metastores) for entities, places in read]
    newest = _newest(graph, asked)
    listed = [at for at, (count, newest_ms) in enumerate(newest) if count and newest_ms < enough_ms]
    answers = [
        answer["response"]
        for answer in graph.solr.select_each(RELATIONS, [_listing(asked[at]) for at in listed])
    ]
    parts = {
        each
        for answer in answers
        for document in answer["docs"]
        if document["endpoint2Type"] == "SUB_OPERATION"
        for each in document["endpoint2Ids"]
    }
    operation_of = {part.id: part.parent_id for part in graph.entities_of(parts).values()}
    found = [Readers(newest_ms, (), more) for _, newest_ms in newest]
    for at, answer in zip(listed, answers, strict=True):
        ids = [each for document in answer["docs"] for each in document["endpoint2Ids"]]
        operations = dict.fromkeys(operation_of.get(each, each) for each in ids)
        cut = more or int(answer["numFound"]) > len(answer["docs"])
        found[at] = Readers(newest[at][1], tuple(operations), cut)
    return found


def _newest(graph: Graph, asked: Sequence[_At]) -> list[tuple[int, int]]:
    """Return (number of relations, time of the newest in epoch ms) for each item. Many items share a request, because
    only the few without a recent reader need a request of their own."""
    answers = graph.solr.select_each(
        RELATIONS, [_counting(batch) for batch in in_batches(asked, COUNTED_A_QUERY)]
    )
    facets = [answer["facets"] for answer in answers]
    found = (facets[at // COUNTED_A_QUERY].get(f"of{at % COUNTED_A_QUERY}", {}) for at in range(len(asked)))
    return [(int(each.get("count", 0)), int(each.get("newest", 0))) for each in found]


def _counting(asked: Sequence[_At]) -> dict[str, Any]:
    # Do not cache these queries. They are sent only once, and would evict entries that are needed again.
    facets = {
        f"of{at}": {
            "type": "query",
            "q": f"{{!cache=false}}{each.query(f'ids{at}')}",
            "facet": {"newest": "max(asOf)"},
        }
        for at, each in enumerate(asked)
    }
    ids = {f"ids{at}": q.joined(each.ids) for at, each in enumerate(asked)}
    return {"q": q.EVERYTHING, "fq": _READ, "rows": 0, "json.facet": orjson.dumps(facets).decode(), **ids}


def _listing(asked: _At) -> dict[str, Any]:
    fields = {"fl": "endpoint2Ids,endpoint2Type,asOf", "sort": "asOf desc,identity asc", "rows": MOST_READERS}
    return {"q": asked.query("ids0"), "ids0": q.joined(asked.ids), "fq": _READ, **fields}


@dataclass(frozen=True, slots=True)
class _At:
    """Condition for endpoint 1 of the relations that read an item: one of these ids, or a match of one of these
    clauses."""

    ids: tuple[str, ...]
    clauses: tuple[str, ...]

    @classmethod
    def of(
        cls,
        entities: Iterable[StoredEntity],
        columns: Mapping[str, Sequence[StoredEntity]],
        places: Iterable[LocationPath],
        metastores: Sequence[str],
    ) -> _At:
        """Collect the ids and names of the entities and their columns, and of everything at, below or around the
        places."""
        ids: dict[str, None] = {}
        clauses: dict[str, None] = {}
        for each in entities:
            ids |= dict.fromkeys([each.id, *same_table(each.database, each.own_name, metastores)])
            for column in columns[each.id]:
                ids[column.id] = None
                for one in metastores:
                    ids[column_id(one, each.database, each.own_name, column.own_name)] = None
            for name in (each.name, each.name.lower(), each.name.upper()):
                clauses[f"endpoint1Name:{q.literal(name)}"] = None
                clauses[q.starting("endpoint1Name", name + ".")] = None
        for place in places:
            # A column of the data at a path is named by the path, a dot and the column's own name.
            clauses[q.at_or_below("endpoint1Name", place.path)] = None
            clauses[q.starting("endpoint1Name", place.path + ".")] = None
            # A reader of a directory may read everything in it.
            clauses |= dict.fromkeys(f"endpoint1Name:{q.literal(each)}" for each in above(place))
        return cls(tuple(ids), tuple(clauses))

    def query(self, parameter: str) -> str:
        """Return the query. The request must have the ids in the parameter with this name."""
        return " ".join((q.terms_given("endpoint1Ids", parameter), *self.clauses))


def views_of(graph: Graph) -> dict[str, set[str]]:
    """Return id of a table or view → ids of the views derived from it, according to engines or to the texts of the
    views. All views of the index are held in memory."""
    views: dict[str, set[str]] = defaultdict(set)
    made_by: dict[str, set[str]] = defaultdict(set)
    for relation in graph.relations(_INTO_VIEWS):
        (made_by if relation.ep1.type == "OPERATION" else views)[relation.ep1.id].add(relation.ep2.id)
    for relation in graph.relations(_INTO_OPERATIONS, of=made_by, sides=(2,), fields=ENDS):
        views[relation.ep1.id] |= made_by[relation.ep2.id]
    return views


def places_of(
    graph: Graph, tables: Sequence[StoredEntity], limit: int
) -> tuple[dict[str, list[LocationPath]], set[str]]:
    """Return table id → locations of the table and its partitions, without locations inside other locations. Also
    return the ids of tables whose partitions are in more than ``limit`` places."""
    ends: dict[str, list[End]] = defaultdict(list)
    since_ms: dict[str, int] = {}
    for relation in graph.relations(_LOCATED, of=[each.id for each in tables], sides=(1,), fields=SEEN):
        ends[relation.ep1.id].append(relation.ep2)
        since_ms[relation.ep2.id] = relation.first_seen_ms
    scattered = set()
    for table in tables:
        if table.partitioned:
            outside = graph.partitions_outside([(table, map(entity_of, ends[table.id]))], limit + 1)
            if len(outside) > limit:
                scattered.add(table.id)
            ends[table.id] += map(end_of, graph.entities_of(outside).values())
    return {table: _outermost(found, since_ms) for table, found in ends.items()}, scattered


def _outermost(ends: Iterable[End], since_ms: Mapping[str, int]) -> list[LocationPath]:
    outermost: list[LocationPath] = []
    for end in sorted(ends, key=lambda each: len(each.name)):
        inside = any(
            each.source_id == end.source_id and f"{end.name}/".startswith(each.path.rstrip("/") + "/")
            for each in outermost
        )
        if not inside:
            outermost.append(LocationPath(end.source_id, end.name, since_ms.get(end.id, 0)))
    return outermost


def table_places(graph: Graph) -> set[tuple[str, str]]:
    """Return the locations of all tables, as (file system's id, path), held in memory."""
    located = RelationFilter((RelationType.LOGICAL_PHYSICAL,), deleted=False, ep1_types=("TABLE",))
    return {(each.ep2.source_id, each.ep2.name) for each in graph.relations(located, fields=NAMED)}


def tables_near(graph: Graph, places: Sequence[LocationPath]) -> list[list[str]]:
    """Return for each place the names of a few tables and partitions located at, below or around it."""
    of_tables = tuple(
        RelationFilter(
            (RelationType.LOGICAL_PHYSICAL,), deleted=False, ep1_types=("TABLE", "PARTITION")
        ).filters()
    )
    searches = [
        {"q": _around([place]), "fq": of_tables, "fl": "endpoint1Name,endpoint1Ids", "rows": 10}
        for place in places
    ]
    return list(map(_names, graph.solr.select_each(RELATIONS, searches)))


def sharing(graph: Graph, of: Sequence[tuple[str, Sequence[LocationPath]]]) -> list[list[str]]:
    """Return the names of some other tables located at, below or around the places of each table, which is given as
    (id, places)."""
    shared: list[list[str]] = [[] for _ in of]
    located = [(at, table, _around(places)) for at, (table, places) in enumerate(of) if places]
    batches = list(in_batches(located, COUNTED_A_QUERY))
    answers = graph.solr.select_each(RELATIONS, [_counting_others(batch) for batch in batches])
    # Most tables share no place, so names are requested only for the rest.
    crowded = [
        (at, table, around)
        for batch, answer in zip(batches, answers, strict=True)
        for at, table, around in batch
        if answer["facets"].get(f"of{at}", {}).get("count")
    ]
    searches = [
        {
            "q": around,
            "fq": (*_TABLES_LOCATED, f"{q.EVERYTHING} -endpoint1Ids:{q.phrase(table)}"),
            "fl": "endpoint1Name,endpoint1Ids",
            "rows": 10,
        }
        for _, table, around in crowded
    ]
    for (at, _, _), answer in zip(crowded, graph.solr.select_each(RELATIONS, searches), strict=True):
        shared[at] = _names(answer)
    return shared


def _counting_others(located: Sequence[tuple[int, str, str]]) -> dict[str, Any]:
    facets = {
        f"of{at}": {"type": "query", "q": f"{{!cache=false}}+({around}) -endpoint1Ids:{q.phrase(table)}"}
        for at, table, around in located
    }
    asked = {"q": q.EVERYTHING, "fq": _TABLES_LOCATED, "rows": 0}
    return {**asked, "json.facet": orjson.dumps(facets).decode()}


def _names(answer: Mapping[str, Any]) -> list[str]:
    documents = answer["response"]["docs"]
    return sorted({str(each.get("endpoint1Name", each["endpoint1Ids"][0])) for each in documents})


def above(place: LocationPath) -> Iterator[str]:
    """Yield the paths of the directories around a place, the root first."""
    names = place.path.rstrip("/").split("/")
    yield from ("/".join(names[:depth]) or "/" for depth in range(1, len(names)))


def _around(places: Iterable[LocationPath]) -> str:
    """Build a query for everything at, below or above these places. Each ancestor directory is listed only once;
    otherwise a thousand places would need more clauses than Solr accepts."""
    of_sources: dict[str, list[LocationPath]] = defaultdict(list)
    for place in places:
        of_sources[place.source_id].append(place)
    clauses = []
    for source_id, of_source in of_sources.items():
        around = dict.fromkeys(each for place in of_source for each in above(place))
        at = [q.at_or_below("endpoint2Name", place.path) for place in of_source]
        at += [f"endpoint2Name:{q.literal(each)}" for each in around]
        clauses.append(f"(+endpoint2SourceId:{q.phrase(source_id)} +({' '.join(at)}))")
    return " ".join(clauses)
