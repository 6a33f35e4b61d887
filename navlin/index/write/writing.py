"""Writes of extracted records, which keep the fields that others own (`navlin.index.schema.fields`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

import orjson

from navlin.index.graph.state import StoredState
from navlin.index.schema.envelope import Envelope
from navlin.index.schema.fields import (
    CONTENT_FIELDS,
    ELEMENTS,
    RELATIONS,
    SOURCE_ANNOTATIONS,
    date_ms,
    is_user_field,
    kept_on_rewrite,
    solr_date,
)
from navlin.index.schema.stamp import Stamp
from navlin.index.solr.solr import Solr
from navlin.index.write.documents import Document, implied_relation
from navlin.index.write.renames import RenamedValues
from navlin.index.write.rewriting import ATTEMPTS, TooManyConflicts

NO_MARKS: Mapping[str, Document] = {}


class Outcome(StrEnum):
    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    SEEN = "seen"
    """Unchanged, but repeated by a later event. Only asOf is updated, so that older events are recognised as older."""
    LATE = "late"
    """Older than the indexed document."""
    WITHDRAWN = "withdrawn"
    """Older than a later read that no longer includes it; written, but flagged deleted."""
    PURGED = "purged"
    """From a period that a purge has removed."""
    UNCLAIMED = "unclaimed"
    """To be written only if a relation names the entity, and no relation does."""
    REFUSED = "refused"


def outcome_of(
    envelope: Envelope,
    stored: StoredState | None,
    *,
    covered_as_of_ms: int,
    follows_events: bool,
    purged_before_ms: int,
    stamp: Stamp,
) -> Outcome:
    """Decide the outcome of a record, given the indexed state.

    ``covered_as_of_ms`` is the time at which the record's container was last read completely (0: never). Events below
    the container that are older than that are obsolete. ``follows_events``: whether ``as_of`` is the time of an event,
    not the time at which navlin read the record.
    """
    if envelope.placeholder:
        return Outcome.NEW if stored is None else Outcome.UNCHANGED
    if stored is None:
        if envelope.ages and envelope.as_of < purged_before_ms:
            return Outcome.PURGED
        return Outcome.WITHDRAWN if envelope.as_of < covered_as_of_ms else Outcome.NEW
    stored_as_of_ms = stamp.counted(stored.as_of_ms)
    if envelope.as_of < max(stored_as_of_ms, covered_as_of_ms) and not stored.placeholder:
        return Outcome.LATE
    if stored.deleted or stored.digest != envelope.digest or stored_as_of_ms != stored.as_of_ms:
        return Outcome.CHANGED
    return Outcome.SEEN if follows_events and envelope.as_of > stored.as_of_ms else Outcome.UNCHANGED


def write(
    solr: Solr,
    core: str,
    records: Sequence[tuple[Envelope, Outcome]],
    stamp: Stamp,
    renamed: RenamedValues | None = None,
    marked: Mapping[str, Document] = NO_MARKS,
) -> Iterator[tuple[Envelope, Outcome, str]]:
    """Write one batch of one core; yield (envelope, outcome, Solr's reason) for each record whose outcome requires a
    write. The reason is "" unless Solr refused the record. ``renamed`` has the values for entities that their source
    renamed; ``marked`` maps ids of new relations to the documents that the linker made from these relations.

    Implied relations are written before their entities, so that after a crash in between the entity is still new, and
    both are written again.
    """
    seen = [envelope for envelope, outcome in records if outcome is Outcome.SEEN]
    if seen:
        updates = [{"identity": e.identity, "asOf": {"set": e.as_of}, "_version_": 1} for e in seen]
        reasons = {each.identity: each.reason for each in solr.add(core, updates).refused}
        for envelope in seen:
            reason = reasons.get(envelope.identity, "")
            yield envelope, Outcome.REFUSED if reason else Outcome.SEEN, reason
    todo = {e.identity: (e, o) for e, o in records if o in _WRITTEN}
    write_implied(solr, (e for e, outcome in todo.values() if outcome is not Outcome.CHANGED), stamp)
    look_at = [identity for identity, (_, outcome) in todo.items() if outcome is Outcome.CHANGED]
    for _ in range(ATTEMPTS):
        if not todo:
            return
        existing = {document["identity"]: document for document in solr.get(core, look_at)} if look_at else {}
        # An entity that returns may have lost the relation to its parent in a purge, and a placeholder may never have
        # had one.
        revived = (
            todo[identity][0]
            for identity, before in existing.items()
            if before.get("deleted") or before.get("granted")
        )
        write_implied(solr, revived, stamp)
        documents: list[tuple[str, bytes]] = []
        for identity, (envelope, outcome) in list(todo.items()):
            before = existing.get(identity)
            if before is not None and _overtaken(envelope, before, stamp):
                yield envelope, Outcome.UNCHANGED if envelope.placeholder else Outcome.LATE, ""
                del todo[identity]
                continue
            withdrawn = outcome is Outcome.WITHDRAWN
            renamed_values = renamed.at(envelope.tree_path, before) if renamed is not None else None
            if before is None and identity in marked:
                text = orjson.dumps(
                    {**marked[identity], **_pipeline_fields(envelope, stamp, withdrawn=withdrawn)}
                )
            else:
                text = _to_write(solr, envelope, before, stamp, renamed_values, withdrawn=withdrawn)
            documents.append((identity, text))
        answer = solr.add_json(core, documents)
        for refused in answer.refused:
            envelope, _ = todo.pop(refused.identity)
            yield envelope, Outcome.REFUSED, refused.reason
        look_at = list(answer.conflicts)
        for identity in [identity for identity in todo if identity not in answer.conflicts]:
            envelope, outcome = todo.pop(identity)
            yield envelope, outcome, ""
    raise TooManyConflicts(
        f"{len(todo)} documents of {core} kept changing during {ATTEMPTS} attempts to write them"
    )


_WRITTEN = (Outcome.NEW, Outcome.CHANGED, Outcome.WITHDRAWN)


def _overtaken(envelope: Envelope, before: Document, stamp: Stamp) -> bool:
    if envelope.placeholder:
        return True
    return stamp.counted(int(before.get("asOf", 0))) > envelope.as_of and not before.get("granted")


def _to_write(
    solr: Solr,
    envelope: Envelope,
    before: Document | None,
    stamp: Stamp,
    renamed_values: Mapping[str, Any] | None,
    *,
    withdrawn: bool,
) -> bytes:
    """Serialise the document. A new document is assembled without parsing the envelope's JSON."""
    added = _pipeline_fields(envelope, stamp, withdrawn=withdrawn)
    if before is not None or envelope.renamed_from or renamed_values:
        return orjson.dumps(
            _merged(solr, {**envelope.fields(), **added}, envelope, before, stamp, renamed_values)
        )
    if envelope.user_fields:
        added[SOURCE_ANNOTATIONS] = envelope.user_fields.split(",")
    volatile = envelope.volatile[1:-1] + b"," if envelope.volatile else b""
    return envelope.document[:-1] + b"," + volatile + orjson.dumps(added)[1:]


def _pipeline_fields(envelope: Envelope, stamp: Stamp, *, withdrawn: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "identity": envelope.identity,
        "asOf": envelope.as_of,
        "deleted": withdrawn,
        "extractorRunId": stamp.run_id,
        "firstSeen": solr_date(stamp.now_ms),
        "_version_": -1,
    }
    if not envelope.placeholder:
        fields["digest"] = envelope.digest
    if withdrawn:
        fields["deleteTime"] = stamp.now_ms
    return fields


def _merged(
    solr: Solr,
    document: Document,
    envelope: Envelope,
    before: Document | None,
    stamp: Stamp,
    renamed_values: Mapping[str, Any] | None,
) -> Document:
    """Merge the extractor's document with the fields of other owners, from the indexed document and from the document
    before a rename. ``renamed_values``, if given, are written instead of the fields of other owners."""
    of_source = set(filter(None, envelope.user_fields.split(",")))
    if renamed_values is not None:
        of_source -= renamed_values.keys()
        document.update(renamed_values)
        if before is not None:
            document["_version_"] = before["_version_"]
    elif before is not None:
        kept = {name: value for name, value in _own_annotations(before).items() if kept_on_rewrite(name)}
        of_source -= kept.keys()
        document.update(kept)
        if "contentFiles" not in document and not before.get("deleted"):
            document.update({name: before[name] for name in CONTENT_FIELDS & before.keys()})
        document["_version_"] = before["_version_"]
        created = document.get("created", solr_date(stamp.now_ms))
        # Solr leaves out milliseconds that are 0, so that one moment has two spellings.
        is_table = document["type"] in ("TABLE", "VIEW")
        if is_table and date_ms(before.get("created") or created) != date_ms(created):
            document["recreated"] = [*before.get("recreated", []), created]
    if envelope.renamed_from and renamed_values is None:
        for old in solr.get(ELEMENTS, [envelope.renamed_from]):
            own = _own_annotations(old).items()
            document.update(
                {name: value for name, value in own if is_user_field(name) and name not in document}
            )
    if of_source:
        document[SOURCE_ANNOTATIONS] = sorted(of_source)
    return document


def _own_annotations(document: Document) -> Mapping[str, Any]:
    """Return a document without the user fields that were filled by its source."""
    of_source = document.get(SOURCE_ANNOTATIONS, ())
    return {name: value for name, value in document.items() if name not in of_source}


def write_implied(solr: Solr, children: Iterable[Envelope], stamp: Stamp) -> None:
    """Write the implied relations between these entities and their parents."""
    documents: list[tuple[str, bytes]] = []
    for child in children:
        if child.parent_id:
            identity, fields = implied_relation(child)
            document = {"identity": identity, **fields, "extractorRunId": stamp.run_id}
            documents.append((identity, orjson.dumps(document)))
    if documents:
        solr.raise_refused(RELATIONS, solr.add_json(RELATIONS, documents).refused)
