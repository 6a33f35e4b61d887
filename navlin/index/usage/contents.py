"""Contents of directories in the last complete image of a file system, and the weeks for which the image's access times
are reliable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from navlin.index.graph.entity import CORE, StoredEntity
from navlin.index.graph.graph import IDS_A_QUERY, Graph
from navlin.index.schema.fields import ELEMENTS, RUNS, date_ms, solr_date
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr
from navlin.index.usage.readers import LocationPath
from navlin.model.batches import in_batches
from navlin.model.identity import identify
from navlin.model.image_positions import ACCESSES, IMAGE
from navlin.model.tree import parent_of

WEEK_MS: Final = 604_800_000
_CONTENT: Final = "identity,contentFiles,contentSize,contentSpace,contentModified,contentAccessed"


@dataclass(frozen=True, slots=True)
class Content:
    """Totals for all files below a directory. ``space_bytes`` includes replicas. ``modified_ms`` and ``accessed_ms``
    are the latest modification and access of any of the files (epoch ms); ``accessed_ms`` is 0 unless access times are
    recorded for all files."""

    files: int = 0
    size_bytes: int = 0
    space_bytes: int = 0
    modified_ms: int = 0
    accessed_ms: int = 0


@dataclass(frozen=True, slots=True)
class Accesses:
    """Access-time coverage of a file system. ``as_of_ms`` is the earliest possible time of its last complete image
    (epoch ms; 0: unknown). ``weeks`` are the weeks (since 1970) in which some file was last accessed after it had been
    written, which proves that access times were recorded."""

    as_of_ms: int = 0
    weeks: frozenset[int] = frozenset()

    def kept_since(self, since_ms: int) -> bool:
        """Whether access times were recorded in every week from ``since_ms`` up to the image."""
        first, last = since_ms // WEEK_MS, self.as_of_ms // WEEK_MS
        # The image's own week may have only just begun, so it need not be covered.
        return self.as_of_ms > 0 and all(week in self.weeks for week in range(first, max(first + 1, last)))


def accesses_of(solr: Solr, source_id: str) -> Accesses:
    """Return the access-time coverage of a source's last complete image; empty if there is none, or if part of that
    image could not be read."""
    filters = ["kind:position", q.term("sourceId", source_id)]
    documents, _ = solr.page(RUNS, q.one_of("key", (ACCESSES, IMAGE)), "key,body", filters=filters, rows=2)
    positions = {document["key"]: orjson.loads(document["body"]) for document in documents}
    accesses = positions.get(ACCESSES)
    if accesses is None or accesses["image"] != positions.get(IMAGE):
        return Accesses()
    return Accesses(accesses["as_of_ms"], frozenset(accesses["weeks"]))


def contents_at(graph: Graph, places: Iterable[LocationPath]) -> dict[LocationPath, Content]:
    """Map each place to the totals of the files below it. Deleted directories, and places with unknown contents, are
    left out."""
    wanted = {identify(place.source_id, place.path): place for place in places}
    found: dict[LocationPath, Content] = {}
    for batch in in_batches(wanted, IDS_A_QUERY):
        among, filters = q.terms("identity", batch), (q.present("contentFiles"), "-deleted:true")
        for document in graph.solr.page(ELEMENTS, among, _CONTENT, filters=filters, rows=IDS_A_QUERY)[0]:
            found[wanted[document["identity"]]] = _of(document)
    return found


def quiet_directories(graph: Graph, source_id: str, before_ms: int) -> Iterator[tuple[StoredEntity, Content]]:
    """Yield (directory, contents), in id order, for each directory of a file system in which every file, at any depth,
    was last modified and last accessed before ``before_ms``."""
    fields = f"{CORE},owner,{_CONTENT.partition(',')[2]}"
    for document in graph.solr.cursor(
        ELEMENTS, "type:DIRECTORY", fields, filters=_quiet(source_id, before_ms)
    ):
        yield StoredEntity.of(document), _of(document)


def count_quiet(graph: Graph, source_id: str, before_ms: int) -> int:
    """Count the directories that `quiet_directories` yields."""
    return graph.solr.count(ELEMENTS, "type:DIRECTORY", *_quiet(source_id, before_ms))


def quiet_parents(graph: Graph, source_id: str, paths: Iterable[str], before_ms: int) -> set[str]:
    """Return the parent directories of ``paths`` that `quiet_directories` would yield."""
    above = {identify(source_id, up): up for up in map(parent_of, paths)}
    found: set[str] = set()
    for batch in in_batches(above, IDS_A_QUERY):
        among, filters = q.terms("identity", batch), _quiet(source_id, before_ms)
        quiet, _ = graph.solr.page(ELEMENTS, among, "identity", filters=filters, rows=IDS_A_QUERY)
        found.update(above[document["identity"]] for document in quiet)
    return found


def _quiet(source_id: str, before_ms: int) -> tuple[str, ...]:
    before = solr_date(before_ms)
    times = (q.in_range(name, "*", before) for name in ("contentModified", "contentAccessed"))
    return (q.term("sourceId", source_id), "-deleted:true", "contentFiles:[1 TO *]", *times)


def _of(document: Mapping[str, Any]) -> Content:
    get = document.get
    modified_ms, accessed_ms = (
        date_ms(document[name]) if name in document else 0 for name in ("contentModified", "contentAccessed")
    )
    return Content(
        int(get("contentFiles", 0)),
        int(get("contentSize", 0)),
        int(get("contentSpace", 0)),
        modified_ms,
        accessed_ms,
    )
