"""Edits of user metadata: read, decide, record in the history, and write back if the `_version_` is still the one read.

An extraction that writes the same entity concurrently keeps the user fields (`navlin.index.write.writing`), and an edit
keeps the extraction's fields, because the later writer reads again. An edited entity is stamped with the last iteration of
its source, or with the running one if that wrote the entity, so that clients that follow a source see the edit, and no
run tries to link the entity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from navlin.index.graph.entity import StoredEntity, changed
from navlin.index.journal.edits import Edit, FieldChange, note_edits, withdraw_edits
from navlin.index.journal.inheritance_due import note_due
from navlin.index.schema.fields import EDITS, ELEMENTS, NOT_INHERITED, RELATIONS, RUNS, SOURCE_ANNOTATIONS
from navlin.index.solr.solr import RefusedDocument, Solr
from navlin.index.write.rewriting import ATTEMPTS, WRITE_BATCH, TooManyConflicts, rewrite
from navlin.model.batches import in_batches
from navlin.model.identity import SEPARATOR, run_id

Document = dict[str, Any]


Decide = Callable[[StoredEntity], Mapping[str, Any]]
"""Callback that returns field → value to write for an entity that was read whole; None removes the field. Called again
if the entity was written concurrently."""


@dataclass(frozen=True, slots=True)
class Author:
    """The author of an edit, and its time (epoch ms)."""

    name: str
    now_ms: int


@dataclass(frozen=True, slots=True)
class Edited:
    """Result of editing some entities: the edits made, the ids that are not in the index, and the entities that Solr
    refused, with Solr's reasons."""

    edits: tuple[Edit, ...] = ()
    unknown: tuple[str, ...] = ()
    refused: tuple[RefusedDocument, ...] = ()


NOTHING_NEW: Final[Mapping[str, Document]] = {}


def edit_entities(
    solr: Solr,
    asked: Mapping[str, Decide],
    author: Author,
    *,
    new: Mapping[str, Document] = NOTHING_NEW,
    dry_run: bool = False,
) -> Iterator[Edited]:
    """Edit entities in batches, record each edit in the history, and yield the result of each batch. Call `show_edits`
    afterwards.

    ``asked`` maps ids to decisions. ``new`` maps the ids of entities that may not exist to initial documents; other
    missing entities are reported as unknown. ``dry_run`` writes nothing. An entity without changes is not written.
    """
    for batch in in_batches(asked, WRITE_BATCH):
        edited, sources = _edit_batch(solr, batch, asked, author, new, dry_run=dry_run)
        if sources:
            _follow(solr, [edit.entity for edit in edited.edits], sources)
        yield edited


def show_edits(solr: Solr, *, durable: bool = False, relations: bool = False) -> None:
    """Make edits visible; ``relations`` includes ``nav_relation``, and ``durable`` also protects the edits from power
    loss."""
    # ``nav_runs`` is last, so that a reader that finds the pending work there also finds the edits.
    for core in (*([RELATIONS] if relations else []), ELEMENTS, EDITS, RUNS):
        solr.commit(core, soft=not durable)


def _edit_batch(
    solr: Solr,
    batch: Sequence[str],
    asked: Mapping[str, Decide],
    author: Author,
    new: Mapping[str, Document],
    *,
    dry_run: bool,
) -> tuple[Edited, Mapping[str, int]]:
    """Edit a batch. Return the result, and source id → stamped iteration."""
    made: dict[str, Edit] = {}
    unknown: list[str] = []
    refused: list[RefusedDocument] = []
    stamped: dict[str, int] = {}
    todo = list(batch)
    for _ in range(ATTEMPTS):
        there = {document["identity"]: document for document in solr.get(ELEMENTS, todo)}
        pending: dict[str, tuple[Edit, Document]] = {}
        for identity in todo:
            before = there.get(identity) or new.get(identity)
            if before is None:
                unknown.append(identity)
                continue
            edit, document = _decided(before, asked[identity], author)
            if edit.changes or identity not in there:
                pending[identity] = edit, document
        if dry_run or not pending:
            made.update((identity, edit) for identity, (edit, _) in pending.items())
            break
        iterations = _iterations(solr, (document.get("sourceId") for _, document in pending.values()))
        stamped.update(iterations)
        note_edits(solr, [edit for edit, _ in pending.values()])
        inherited = [each for each, (edit, _) in pending.items() if each not in there or _is_inherited(edit)]
        due = note_due(solr, ids=inherited) if inherited else ""
        added = solr.add(ELEMENTS, [_stamped(document, iterations) for _, document in pending.values()])
        failed = {*added.conflicts, *(each.identity for each in added.refused)}
        withdraw_edits(solr, [edit for identity, (edit, _) in pending.items() if identity in failed])
        made.update((identity, edit) for identity, (edit, _) in pending.items() if identity not in failed)
        if due:
            note_due(solr, ids=inherited, again=due)
        refused.extend(added.refused)
        todo = list(added.conflicts)
        if not todo:
            break
    else:
        raise TooManyConflicts(f"{len(todo)} entities kept changing during {ATTEMPTS} attempts to edit them")
    return Edited(tuple(made.values()), tuple(unknown), tuple(refused)), stamped


def _is_inherited(edit: Edit) -> bool:
    """Whether an edit may change inherited tags, of the entity itself or of entities downstream."""
    return any(each.field in ("tags", "deleted", NOT_INHERITED) for each in edit.changes)


def _decided(before: Document, decide: Decide, author: Author) -> tuple[Edit, Document]:
    entity = StoredEntity.of(before)
    fields = dict(decide(entity))
    changes = tuple(
        FieldChange(name, before.get(name), value)
        for name, value in fields.items()
        if value != before.get(name) or name in entity.of_source
    )
    edit = Edit(entity.id, entity.name, author.name, author.now_ms, changes)
    fields[SOURCE_ANNOTATIONS] = sorted(entity.of_source - fields.keys()) or None
    return edit, {"_version_": -1, **changed(before, fields)}


# -- Stamps ------------------------------------------------------------------------------------------------------------


def _iterations(solr: Solr, source_ids: Iterable[str | None]) -> dict[str, int]:
    """Return source id → the source's current iteration."""
    ids = {each for each in source_ids if each}
    found = solr.get(ELEMENTS, ids, "identity,sourceExtractIteration") if ids else []
    return {each["identity"]: int(each.get("sourceExtractIteration", 0)) for each in found}


def _stamped(document: Document, iterations: Mapping[str, int]) -> Document:
    source: str = document.get("sourceId", "")
    writer, _, iteration = str(document.get("extractorRunId", "")).rpartition(SEPARATOR)
    # Keep the stamp of an unfinished run, because the linker later finds the entities written by that run through this
    # stamp.
    own = int(iteration) if writer == source and iteration.isdecimal() else 0
    return {**document, "extractorRunId": run_id(source, max(own, iterations.get(source, 0)))}


def _follow(solr: Solr, ids: Sequence[str], stamped: Mapping[str, int]) -> None:
    """Stamp edited entities again if a run of their source has ended meanwhile. A client that began to follow the
    source at the end of that run would miss the edits otherwise."""
    now = _iterations(solr, stamped)
    if now == stamped:
        return

    def restamped(document: Document) -> Document | None:
        later = _stamped(document, now)
        return later if later["extractorRunId"] != document.get("extractorRunId") else None

    for _ in rewrite(solr, ELEMENTS, ids, restamped):
        pass
