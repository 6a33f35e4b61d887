"""Writes that lose no concurrent edits, because every write carries the `_version_` that was read.

A document has several owners (`navlin.index.schema.fields`). A writer reads it, changes its own fields, and writes it back.
After a concurrent write, Solr reports a conflict, and the document is read and changed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from navlin.index.schema.stamp import Stamp
from navlin.index.schema.stored_form import Document
from navlin.index.solr.solr import Solr
from navlin.model.batches import in_batches

WRITE_BATCH: Final = 1_000
ATTEMPTS: Final = 8
"""Maximum number of attempts to read and write a document that other processes keep changing."""


class TooManyConflicts(Exception):
    """The same documents kept changing during all attempts to write them."""


def rewrite(
    solr: Solr, core: str, ids: Iterable[str], change: Callable[[Document], Document | None]
) -> Iterator[Document]:
    """Read documents, let ``change`` alter each, and write them back; yield those that were written.

    ``change`` returns the document to write (it may alter its argument), or None to leave it. It is called again after
    a concurrent write. Absent ids are ignored.
    """
    for batch in in_batches(ids, WRITE_BATCH):
        todo = batch
        for _ in range(ATTEMPTS):
            changed = [new for document in solr.get(core, todo) if (new := change(document)) is not None]
            if not changed:
                break
            answer = solr.add_all(core, changed)
            yield from (document for document in changed if document["identity"] not in answer.conflicts)
            todo = answer.conflicts
            if not todo:
                break
        else:
            raise TooManyConflicts(
                f"{len(todo)} documents of {core} kept changing during {ATTEMPTS} attempts"
            )


def flag_deleted(document: Document, stamp: Stamp, as_of_ms: int) -> Document | None:
    """Flag a document deleted as of a time, for `rewrite`. Return None if the document is already flagged, or newer."""
    if document.get("deleted") or stamp.counted(int(document.get("asOf", 0))) > as_of_ms:
        return None
    document.update(deleted=True, deleteTime=stamp.now_ms, asOf=as_of_ms, extractorRunId=stamp.run_id)
    return document
