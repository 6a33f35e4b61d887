"""State of the index: (identity, digest, deleted, asOf) of documents, by ids or at and below paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any

from navlin.index.graph.filters import NOT_OF_USERS
from navlin.index.schema.envelope import PLACEHOLDER
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.schema.stored_form import tree_path_of
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr
from navlin.model.batches import in_batches
from navlin.model.tree import ROOT

_STATE_FIELDS = {
    ELEMENTS: "identity,digest,deleted,asOf,treePath,fileSystemPath",
    RELATIONS: "identity,digest,deleted,asOf,treePath",
}
_WRITER = {ELEMENTS: "sourceId", RELATIONS: "writer"}
"""Core → field with the id of the source that writes a document."""
LOOKUP_IDS = 1_000
"""Number of ids in one lookup, which takes 67 ms. More ids would only lengthen the response."""
LOOKUP_PATHS = 500
EXPORTED_PATHS = 2_000
"""Number of paths per export. Each needs four clauses, and Solr accepts 10,000 clauses."""
_NOT_IMPLIED = "-implied:true"


@dataclass(frozen=True, slots=True)
class StoredState:
    """The indexed state of one document."""

    identity: str
    digest: int
    deleted: bool
    as_of_ms: int
    tree_path: str

    @property
    def placeholder(self) -> bool:
        """Whether the document is a placeholder, written because a source claims the entity."""
        return self.digest == PLACEHOLDER


def look_up(solr: Solr, core: str, ids: Iterable[str]) -> dict[str, StoredState]:
    """Return id → state of the document; absent ids are left out."""
    found: dict[str, StoredState] = {}
    for batch in in_batches(ids, LOOKUP_IDS):
        among = "{!terms f=identity}" + ",".join(batch)
        for document in solr.page(core, among, _STATE_FIELDS[core], rows=len(batch))[0]:
            stored = _stored_state(document)
            found[stored.identity] = stored
    return found


def stored_below(solr: Solr, core: str, writer: str, paths: Iterable[str]) -> Iterator[StoredState]:
    """Yield the state of every document of ``writer`` at or below each path. Implied relations are left out, because
    their state is that of the child."""
    for batch in in_batches(paths, LOOKUP_PATHS):
        if ROOT in batch:
            yield from stored_in_range(solr, core, writer)
            return
        for document in solr.cursor(
            core, _below(core, batch), _STATE_FIELDS[core], filters=_of(core, writer)
        ):
            yield _stored_state(document)


def documents_below(solr: Solr, writer: str, paths: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (tree path, document) for each entity of ``writer`` at or below one of the paths, deleted or not."""
    for batch in in_batches(paths, LOOKUP_PATHS):
        found = solr.cursor(ELEMENTS, _below(ELEMENTS, batch), "identity", filters=_of(ELEMENTS, writer))
        # Read the current versions, not only committed ones.
        for document in solr.get(ELEMENTS, [each["identity"] for each in found]):
            yield tree_path_of(document), document


def stored_in_range(
    solr: Solr, core: str, writer: str, low: str = "", high: str = "", *, below: Iterable[str] = (ROOT,)
) -> Iterator[StoredState]:
    """Yield the state of every document of ``writer`` at or below these paths with ``low <= identity < high`` (""
    leaves that side open), sorted by identity."""
    paths = list(below)
    queries = (
        ["*:*"] if ROOT in paths else [_below(core, batch) for batch in in_batches(paths, EXPORTED_PATHS)]
    )
    exports = [
        solr.export(
            core,
            query,
            _STATE_FIELDS[core],
            filters=_of(core, writer),
            shards=[shard],
            first=low or None,
            before=high or None,
        )
        for shard in solr.shards(core)
        for query in queries
    ]
    # A path of one batch may be below a path of another, so documents may repeat.
    for _, same in groupby(merge(*exports, key=itemgetter("identity")), key=itemgetter("identity")):
        yield _stored_state(next(same))


def count_stored(
    solr: Solr, core: str, writer: str, *, live: bool = False, below: Iterable[str] = (ROOT,)
) -> int:
    """Count the documents of a writer at or below these paths. With many paths, documents below two of them may be
    counted twice."""
    paths = list(below)
    queries = ["*:*"] if ROOT in paths else [_below(core, batch) for batch in in_batches(paths, LOOKUP_PATHS)]
    filters = [*_of(core, writer), *(["deleted:false"] if live else [])]
    return sum(solr.count(core, query, *filters) for query in queries)


def claimed(solr: Solr, ids: Iterable[str]) -> set[str]:
    """Return the subset of ``ids`` that live relations claim. An id claimed by a million relations costs as much as one
    claimed by a thousand."""
    found: set[str] = set()
    for batch in in_batches(ids, LOOKUP_IDS):
        sought = set(batch)
        while sought:
            claims = "{!terms f=claimedIds}" + ",".join(sought)
            relations, _ = solr.page(
                RELATIONS, claims, "claimedIds", filters="deleted:false", rows=LOOKUP_IDS
            )
            for relation in relations:
                found.update(sought.intersection(relation["claimedIds"]))
            sought = sought - found if len(relations) == LOOKUP_IDS else set()
    return found


def _below(core: str, paths: Sequence[str]) -> str:
    clauses = [q.at_or_below("treePath", path) for path in paths]
    if core == ELEMENTS:  # a file's tree path is its path, which is stored only once
        clauses += [q.at_or_below("fileSystemPath", path.replace("%25", "%")) for path in paths]
    return " ".join(clauses)


def _of(core: str, writer: str) -> list[str]:
    # Exclude entities that a program registered before their source reported them. Such entities are not lost if the
    # source does not list them.
    return [q.term(_WRITER[core], writer), _NOT_IMPLIED if core == RELATIONS else NOT_OF_USERS]


def _stored_state(document: dict[str, Any]) -> StoredState:
    return StoredState(
        document["identity"],
        int(document.get("digest", PLACEHOLDER)),
        document.get("deleted", False),
        int(document.get("asOf", 0)),
        tree_path_of(document),
    )
