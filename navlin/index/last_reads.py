"""When tables and paths were last read, as far as purge has left it on them; and on what a read of something can be left."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final

from navlin.index import solr_query as q
from navlin.index.entity import CORE, LAST_READ, LastRead, StoredEntity
from navlin.index.fields import ELEMENTS
from navlin.index.graph import Graph
from navlin.index.readers import Place, above, same_table
from navlin.index.state import in_batches
from navlin.model.tree import upward

PATHS_A_QUERY: Final = 1_000


def paths_there(graph: Graph, paths: Iterable[str]) -> dict[str, list[StoredEntity]]:
    """For each path what the index has there, in any file system; flagged deleted or not."""
    return _by_path(graph, sorted(set(paths)), "type:(DIRECTORY FILE S3BUCKET)")


def nearest_directories(
    graph: Graph, paths: Collection[str], but: Collection[str]
) -> dict[str, list[StoredEntity]]:
    """For each path the nearest directories above it that the index has, in any file system; none of the ids ``but``. One
    that is flagged deleted counts: it may be the place of a table."""
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
    # s3a://bucket/key, and the like
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


def any_last_read(graph: Graph) -> bool:
    """Whether purge has left one on anything."""
    return graph.solr.count(ELEMENTS, f"{q.present('lastRead')} {q.present('lastReadBelow')}") > 0


def last_reads(
    graph: Graph, read: Sequence[tuple[Sequence[StoredEntity], Sequence[Place]]], metastores: Sequence[str]
) -> list[LastRead]:
    """What is left of the last read of each: of some entities (a table, and the views of it), and of what lies at, below or
    around some places; by whatever address it was read. ``metastores`` as `navlin.index.readers.metastores` has them."""
    searches: list[dict[str, Any]] = []
    for entities, places in read:
        own = [one for each in entities for one in same_table(each.database, each.own_name, metastores)]
        own += [each.id for each in entities]
        inside = " ".join(q.at_or_below("fileSystemPath", place.path) for place in places)
        around = " ".join(f"fileSystemPath:{q.literal(up)}" for place in places for up in above(place))
        at = f"{' '.join(f'identity:{q.phrase(each)}' for each in own)} {inside} {around}"
        searches.append(_latest("lastRead", at))
        searches.append(_latest("lastReadBelow", inside or f"-{q.EVERYTHING}"))
    answers = graph.solr.select_each(ELEMENTS, searches)
    found = [
        next((StoredEntity.of(each).last_read for each in answer["response"]["docs"]), LastRead())
        for answer in answers
    ]
    return [
        LastRead(direct.ms, direct.principal, beneath.below_ms)
        for direct, beneath in zip(found[::2], found[1::2], strict=True)
    ]


def _latest(field: str, query: str) -> dict[str, Any]:
    return {"q": query, "fq": q.present(field), "fl": LAST_READ, "sort": f"{field} desc", "rows": 1}
