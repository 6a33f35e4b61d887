"""Writing documents so that nobody's words are lost: every write bears the `_version_` it read.

A document has several owners (`navlin.index.fields`). Whoever writes reads it, changes what is his, and writes it back; if
somebody else was quicker, Solr answers with a conflict, and the document is read and changed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum

from navlin.index.documents import (
    AGES,
    GRANTED,
    IMPLIED,
    RENAMED_FROM,
    VOLATILE,
    WHERE_CLAIMED,
    Document,
    Envelope,
    implied_relation,
)
from navlin.index.fields import ELEMENTS, RELATIONS, SOURCE_WORDS, kept_on_rewrite, peoples, solr_date
from navlin.index.relation import placed
from navlin.index.solr import Refused, Solr
from navlin.index.stamp import Stamp
from navlin.index.state import Held, in_batches

WRITE_BATCH = 1_000
ATTEMPTS = 8
"""How often a document is read and written again when others keep writing it in between."""


class Outcome(StrEnum):
    """What became of a record."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    SEEN = "seen"
    """Unchanged, but said anew by a later event: only its asOf moves, so that an older event stays older."""
    LATE = "late"
    """Older than what the index holds."""
    WITHDRAWN = "withdrawn"
    """Older than a newer reading of the same thing that no longer says it: written, but flagged deleted."""
    PURGED = "purged"
    """Of a time that a purge has removed."""
    UNCLAIMED = "unclaimed"
    """To be written only where a relation names it, and none does."""
    REFUSED = "refused"


class TooManyConflicts(Exception):
    """Somebody else keeps writing the same documents."""


def judge(
    envelope: Envelope,
    held: Held | None,
    *,
    covered_as_of_ms: int,
    follows_events: bool,
    ages: bool,
    purged_before_ms: int,
) -> Outcome:
    """What is to become of a record, given what the index holds of it.

    ``covered_as_of_ms`` is when what contains the record was last read whole (0: never): what an older event says of it
    is no longer so. ``follows_events`` says that as_of is an event's own time, not that of our reading.
    """
    if envelope.digest == GRANTED:
        return Outcome.NEW if held is None else Outcome.UNCHANGED
    if held is None:
        if ages and envelope.as_of < purged_before_ms:
            return Outcome.PURGED
        return Outcome.WITHDRAWN if envelope.as_of < covered_as_of_ms else Outcome.NEW
    if envelope.as_of < max(held.as_of_ms, covered_as_of_ms) and held.digest != GRANTED:
        return Outcome.LATE
    if held.deleted or held.digest != envelope.digest:
        return Outcome.CHANGED
    return Outcome.SEEN if follows_events and envelope.as_of > held.as_of_ms else Outcome.UNCHANGED


def write(
    solr: Solr, core: str, judged: Sequence[tuple[Envelope, Outcome]], stamp: Stamp
) -> Iterator[tuple[Envelope, Outcome, str]]:
    """Writes one batch of one core; yields what became of each, with Solr's reason where it was refused.

    Implied relations are written before their entities: a crash in between leaves the entity new, and both are written
    again.
    """
    seen = [(envelope, outcome) for envelope, outcome in judged if outcome is Outcome.SEEN]
    if seen:
        solr.add(core, [{"identity": e.identity, "asOf": {"set": e.as_of}, "_version_": 1} for e, _ in seen])
        yield from ((envelope, outcome, "") for envelope, outcome in seen)
    todo = {e.identity: (e, o) for e, o in judged if o in (Outcome.NEW, Outcome.CHANGED, Outcome.WITHDRAWN)}
    read = {identity: envelope.read() for identity, (envelope, _) in todo.items()}
    implied = {
        identity: (todo[identity][0], fields, fields.pop(IMPLIED))
        for identity, fields in read.items()
        if IMPLIED in fields
    }
    _write_implied(solr, [implied[i] for i in implied if todo[i][1] is not Outcome.CHANGED], stamp)
    look_at = [identity for identity, (_, outcome) in todo.items() if outcome is Outcome.CHANGED]
    for _ in range(ATTEMPTS):
        if not todo:
            return
        existing = {document["identity"]: document for document in solr.get(core, look_at)} if look_at else {}
        # Of what comes back, purge may have removed the relation to its parent; who claimed it knew of no parent.
        revived = [
            identity
            for identity, before in existing.items()
            if before.get("deleted") or before.get("granted")
        ]
        _write_implied(solr, [implied[i] for i in revived if i in implied], stamp)
        documents = []
        for identity, (envelope, outcome) in list(todo.items()):
            before = existing.get(identity)
            if before is not None and _overtaken(envelope, before):
                yield envelope, Outcome.UNCHANGED if envelope.digest == GRANTED else Outcome.LATE, ""
                del todo[identity]
                continue
            withdrawn = outcome is Outcome.WITHDRAWN
            documents.append(_document(solr, envelope, read[identity], before, stamp, withdrawn=withdrawn))
        answer = solr.add(core, documents)
        for refused in answer.refused:
            envelope, _ = todo.pop(refused.identity)
            yield envelope, Outcome.REFUSED, refused.reason
        look_at = list(answer.conflicts)
        for identity in [identity for identity in todo if identity not in answer.conflicts]:
            envelope, outcome = todo.pop(identity)
            yield envelope, outcome, ""
    raise TooManyConflicts(
        f"{len(todo)} documents of {core} kept changing under {ATTEMPTS} attempts to write them"
    )


def rewrite(
    solr: Solr, core: str, ids: Iterable[str], change: Callable[[Document], Document | None]
) -> Iterator[Document]:
    """Reads documents, lets ``change`` alter each, and writes them back; yields those that were written.

    ``change`` returns the document to write (it may alter its argument), or None to leave it. It is asked again when
    somebody else wrote the document in between. Ids that are not there are passed over.
    """
    for batch in in_batches(ids, WRITE_BATCH):
        todo = batch
        for _ in range(ATTEMPTS):
            changed = [new for document in solr.get(core, todo) if (new := change(document)) is not None]
            if not changed:
                break
            answer = solr.add(core, changed)
            _raise_refused(core, answer.refused)
            yield from (document for document in changed if document["identity"] not in answer.conflicts)
            todo = list(answer.conflicts)
            if not todo:
                break
        else:
            raise TooManyConflicts(f"{len(todo)} documents of {core} kept changing under {ATTEMPTS} attempts")


def flag_deleted(document: Document, stamp: Stamp, as_of_ms: int) -> Document | None:
    """Flags a document deleted as of a time, for `rewrite`; leaves what is flagged already, or newer than that."""
    if document.get("deleted") or int(document.get("asOf", 0)) > as_of_ms:
        return None
    document.update(deleted=True, deleteTime=stamp.now_ms, asOf=as_of_ms, extractorRunId=stamp.run_id)
    return document


def _overtaken(envelope: Envelope, before: Document) -> bool:
    if envelope.digest == GRANTED:
        return True
    return int(before.get("asOf", 0)) > envelope.as_of and before.get("digest") != GRANTED


def _document(
    solr: Solr, envelope: Envelope, read: Document, before: Document | None, stamp: Stamp, *, withdrawn: bool
) -> Document:
    fields = dict(read)
    fields.pop(AGES, None)
    fields.pop(WHERE_CLAIMED, None)
    fields.update(fields.pop(VOLATILE, {}))
    renamed_from = fields.pop(RENAMED_FROM, "")
    document = placed(fields, envelope.writer, envelope.tree_path)
    document.update(
        identity=envelope.identity, digest=envelope.digest, asOf=envelope.as_of, deleted=withdrawn
    )
    document.update(extractorRunId=stamp.run_id, firstSeen=solr_date(stamp.now_ms), _version_=-1)
    if withdrawn:
        document["deleteTime"] = stamp.now_ms
    said = {name for name in document if peoples(name)}
    if before is not None:
        kept = {name: value for name, value in _own_words(before).items() if kept_on_rewrite(name)}
        said -= kept.keys()
        document.update(kept)
        document["_version_"] = before["_version_"]
        if document["type"] in ("TABLE", "VIEW") and before.get("created") not in (
            None,
            document.get("created"),
        ):
            document["recreated"] = [
                *before.get("recreated", []),
                document.get("created", solr_date(stamp.now_ms)),
            ]
    if renamed_from:
        for old in solr.get(ELEMENTS, [renamed_from]):
            own = _own_words(old).items()
            document.update({name: value for name, value in own if peoples(name) and name not in document})
    if said:
        document[SOURCE_WORDS] = sorted(said)
    return document


def _own_words(document: Document) -> Document:
    """A document without the words that came from its source."""
    borrowed = document.get(SOURCE_WORDS, ())
    return {name: value for name, value in document.items() if name not in borrowed}


def _write_implied(
    solr: Solr, children: Iterable[tuple[Envelope, Document, Sequence[str]]], stamp: Stamp
) -> None:
    documents = []
    for envelope, child, implied in children:
        identity, document = implied_relation(
            envelope.identity, envelope.writer, envelope.tree_path, child, implied
        )
        document.update(identity=identity, implied=True, deleted=False, asOf=envelope.as_of)
        document.update(extractorRunId=stamp.run_id, firstSeen=solr_date(stamp.now_ms))
        documents.append(document)
    if documents:
        _raise_refused(RELATIONS, solr.add(RELATIONS, documents).refused)


def _raise_refused(core: str, refused: Iterable[Refused]) -> None:
    for each in refused:
        raise ValueError(f"Solr refused {each.identity} of {core}: {each.reason}")
