"""Last reads of tables and paths, as far as purge recorded them, and the entities on which a read can be recorded."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final

from navlin.index.graph.entity import CORE, LAST_READ, LastRead, StoredEntity
from navlin.index.graph.graph import IDS_A_QUERY, Graph
from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr import solr_query as q
from navlin.index.usage.readers import LocationPath, above, same_table
from navlin.model.batches import in_batches
from navlin.model.tree import upward

PATHS_A_QUERY: Final = 1_000
PLACES_A_QUERY: Final = 500
"""Maximum number of places in a query. Each place makes several clauses, and Solr accepts 10,000."""


def paths_there(graph: Graph, paths: Iterable[str]) -> dict[str, list[StoredEntity]]:
    """Return path → entities at that path in any file system, deleted or not."""
    return _by_path(graph, sorted(set(paths)), "type:(DIRECTORY FILE S3BUCKET)")


def nearest_directories(
    graph: Graph, paths: Collection[str], but: Collection[str]
) -> dict[str, list[StoredEntity]]:
    """Return path → nearest known ancestor directories in any file system, except directories with the ids ``but``.
    Deleted directories count, because they may be the location of a table."""
    wanted = {up for path in paths for up in _above(path)}
    known = _by_path(graph, sorted(wanted), "type:(DIRECTORY S3BUCKET)")
    found: dict[str, list[StoredEntity]] = {}
    for path in paths:
        for up in _above(path):
            if there := [each for each in known.get(up, ()) if each.id not in but]:
                found[path] = there
                break
    return found


def _above(path: str) -> Iterator[str]:
    if path.startswith("/"):
        yield from (up for up in upward(path) if up != path)
        return
    # paths in object stores, such as s3a://bucket/key
    while "/" in path.partition("://")[2]:
        path = path.rpartition("/")[0]
        yield path


def _by_path(graph: Graph, paths: Sequence[str], kind: str) -> dict[str, list[StoredEntity]]:
    found: dict[str, list[StoredEntity]] = {}
    for batch in in_batches(paths, PATHS_A_QUERY):
        query = q.terms("fileSystemPath", batch)
        for document in graph.solr.cursor(ELEMENTS, query, CORE, filters=(kind,)):
            entity = StoredEntity.of(document)
            found.setdefault(entity.path, []).append(entity)
    return found


def last_reads(
    graph: Graph,
    read: Sequence[tuple[Sequence[StoredEntity], Sequence[LocationPath]]],
    metastores: Sequence[str],
) -> list[LastRead]:
    """Return the last recorded read of each item. An item consists of entities (a table and its views) and places;
    reads of everything at, below or around a place count, in any file system. ``metastores`` are those returned by
    `navlin.index.usage.readers.metastores`."""
    ids = {
        one: LastRead()
        for entities, _ in read
        for each in entities
        for one in (each.id, *same_table(each.database, each.own_name, metastores))
    }
    for batch in in_batches(ids, IDS_A_QUERY):
        among, with_reads = q.terms("identity", batch), q.present("lastRead")
        found, _ = graph.solr.page(ELEMENTS, among, LAST_READ, filters=with_reads, rows=IDS_A_QUERY)
        for document in found:
            ids[document["identity"]] = StoredEntity.of(document).last_read
    lasts = []
    for (entities, _), at_places in zip(read, _at_places(graph, [places for _, places in read]), strict=True):
        last = at_places
        for each in entities:
            for one in (each.id, *same_table(each.database, each.own_name, metastores)):
                last = last.or_later(ids[one]._replace(below_ms=0))
        lasts.append(last)
    return lasts


def _at_places(graph: Graph, of: Sequence[Sequence[LocationPath]]) -> list[LastRead]:
    """Return the last read at, below or around each group of places. If few entities there were read, one request finds
    all; otherwise each group is searched for."""
    every = [place for places in of for place in places]
    if not every:
        return [LastRead()] * len(of)
    if len(every) > PLACES_A_QUERY:
        return _of_each(graph, of)
    with_reads = f"{q.present('lastRead')} {q.present('lastReadBelow')}"
    found, total = graph.solr.page(ELEMENTS, _there(every), LAST_READ, filters=with_reads, rows=PATHS_A_QUERY)
    if total <= PATHS_A_QUERY:
        known = [(each.path, each.last_read) for each in map(StoredEntity.of, found)]
        return [_latest_of(known, places) for places in of]
    return _of_each(graph, of)


def _of_each(graph: Graph, of: Sequence[Sequence[LocationPath]]) -> list[LastRead]:
    searches: list[dict[str, Any]] = []
    for places in of:
        inside = " ".join(q.at_or_below("fileSystemPath", place.path) for place in places)
        searches.append(_latest("lastRead", _there(places)))
        searches.append(_latest("lastReadBelow", inside or f"-{q.EVERYTHING}"))
    found = [
        next((StoredEntity.of(each).last_read for each in answer["response"]["docs"]), LastRead())
        for answer in graph.solr.select_each(ELEMENTS, searches)
    ]
    return [
        LastRead(direct.ms, direct.principal, beneath.below_ms)
        for direct, beneath in zip(found[::2], found[1::2], strict=True)
    ]


def _latest_of(known: Iterable[tuple[str, LastRead]], places: Sequence[LocationPath]) -> LastRead:
    last = LastRead()
    for path, read in known:
        for place in places:
            if path == place.path or path.startswith(place.path.rstrip("/") + "/"):
                last = last.or_later(read)
            elif path in above(place):
                last = last.or_later(read._replace(below_ms=0))
    return last


def _there(places: Sequence[LocationPath]) -> str:
    """Return a query for everything at, below or around one of these places, in any file system."""
    inside = " ".join(q.at_or_below("fileSystemPath", place.path) for place in places)
    around = dict.fromkeys(up for place in places for up in above(place))
    return (
        f"{inside} {' '.join(f'fileSystemPath:{q.literal(up)}' for up in around)}"
        if places
        else f"-{q.EVERYTHING}"
    )


def _latest(field: str, query: str) -> dict[str, Any]:
    return {"q": query, "fq": q.present(field), "fl": LAST_READ, "sort": f"{field} desc", "rows": 1}
