"""Export and import of user-written fields of entities: data that no source can deliver again.

Rules of an import:
- A field that the index does not have is written, and so is a field whose value came from the source
  (`StoredEntity.of_source`), because user-written values take precedence.
- An equal value is left unchanged.
- A different user-written value is a conflict: it is reported, and kept unless the import overwrites.
- Tags are a set: missing tags are added and none is removed. If the import overwrites, only the file's tags remain.
- An entity that the index does not have is unknown: it is reported, not created.
- An entity that Solr refuses is reported with the reason, and the import continues.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from navlin.index.graph.entity import StoredEntity
from navlin.index.people.editing import Author, Decide, edit_entities, show_edits
from navlin.index.schema.fields import ELEMENTS, is_user_field
from navlin.index.solr.solr import RefusedDocument, Solr
from navlin.index.write.rewriting import WRITE_BATCH
from navlin.model.batches import in_batches

_CLAUSES: Final = 500
Values = Mapping[str, Any]
"""User-written fields: name → a text, or a list of texts, numbers, dates or booleans (tags and managed properties)."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """User-written fields of one entity. ``type`` and ``entity`` only help people reading the file; the entity is
    identified by ``id``."""

    id: str
    type: str
    entity: str
    values: Values


@dataclass(frozen=True, slots=True)
class Conflict:
    """A field with different values in the index and in the file."""

    id: str
    entity: str
    field: str
    indexed: Any
    given: Any


@dataclass(frozen=True, slots=True)
class Imported:
    """Result of an import: the number of changed entities, of fields ``written`` and ``unchanged``, and the cases that
    a person must review.

    The file's values replaced other values of the ``overwritten`` fields in the index. The fields in ``conflicts`` keep
    the values of the index. Nothing was written to ``refused`` entities.
    """

    entities: int = 0
    written: int = 0
    unchanged: int = 0
    overwritten: tuple[Conflict, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    unknown: tuple[Annotation, ...] = ()
    refused: tuple[RefusedDocument, ...] = ()


# -- Out ---------------------------------------------------------------------------------------------------------------


def annotated(solr: Solr, asked: str = "*:*") -> Iterator[Annotation]:
    """Yield the user-written fields of each entity that matches a Solr query and has any, sorted by id unless more than
    `_CLAUSES` different fields are in use. Values from a source are left out, because the source delivers them
    again."""
    solr.commit(ELEMENTS, soft=True)
    filled = sorted(name for name in _fields_in_use(solr) if is_user_field(name))
    seen: set[str] = set()
    for names in in_batches(iter(filled), _CLAUSES):
        written = " OR ".join(f"{_escaped(name)}:*" for name in names)
        shown = "identity,type,originalName,parentPath,fileSystemPath,*"
        for document in solr.cursor(ELEMENTS, asked, shown, filters=[f"({written})"], rows=1_000):
            annotation = _annotation(StoredEntity.of(document))
            if annotation.values and annotation.id not in seen:
                yield annotation
            if len(filled) > _CLAUSES:
                seen.add(annotation.id)


def _annotation(entity: StoredEntity) -> Annotation:
    values = {
        name: value
        for name, value in sorted(entity.annotations.items())
        if name not in entity.of_source and value not in ("", [], None)
    }
    return Annotation(entity.id, entity.type, entity.name, values)


def _fields_in_use(solr: Solr) -> set[str]:
    """Return the names of all fields in the index, including fields that only earlier versions of a document had."""
    names: set[str] = set()
    for shard in solr.shards(ELEMENTS):
        answer = solr.session.get(f"{shard}/admin/luke", params={"numTerms": "0", "wt": "json"}).json()
        names.update(answer["fields"])
    return names


def _escaped(name: str) -> str:
    return re.sub(r"([^A-Za-z0-9_])", r"\\\1", name)


# -- In ----------------------------------------------------------------------------------------------------------------


def import_annotations(
    solr: Solr,
    given: Iterable[Annotation],
    author: Author,
    *,
    overwrite: bool = False,
    dry_run: bool = False,
) -> Imported:
    """Write user-written fields by the rules in the module's docstring, durably and with a history, and return the
    result. The values must be `checked`; each entity may occur only once. ``dry_run`` writes nothing."""
    done = Imported()
    try:
        for batch in in_batches(iter(given), WRITE_BATCH):
            done = _together(done, _import_batch(solr, batch, author, overwrite=overwrite, dry_run=dry_run))
    finally:
        if not dry_run:
            show_edits(solr, durable=True)
    return done


@dataclass(slots=True)
class _Merge:
    """Result for one entity, computed again each time the entity is read."""

    written: dict[str, Any] = field(default_factory=dict)
    unchanged: int = 0
    overwritten: list[Conflict] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)


def _import_batch(
    solr: Solr, batch: Sequence[Annotation], author: Author, *, overwrite: bool, dry_run: bool
) -> Imported:
    merges: dict[str, _Merge] = {}

    def merging(given: Values) -> Decide:
        def decide(entity: StoredEntity) -> Mapping[str, Any]:
            # Called again if the document was written meanwhile; only the last result counts.
            merge = merges[entity.id] = _merge(entity, given, overwrite=overwrite)
            return merge.written

        return decide

    asked = {each.id: merging(each.values) for each in batch}
    refused: list[RefusedDocument] = []
    for edited in edit_entities(solr, asked, author, dry_run=dry_run):
        refused.extend(edited.refused)
    met = frozenset(merges)
    for each in refused:
        merges.pop(each.identity, None)
    return Imported(
        entities=sum(1 for merge in merges.values() if merge.written),
        written=sum(len(merge.written) for merge in merges.values()),
        unchanged=sum(merge.unchanged for merge in merges.values()),
        overwritten=tuple(each for merge in merges.values() for each in merge.overwritten),
        conflicts=tuple(each for merge in merges.values() for each in merge.conflicts),
        unknown=tuple(each for each in batch if each.id not in met),
        refused=tuple(refused),
    )


def _merge(entity: StoredEntity, given: Values, *, overwrite: bool) -> _Merge:
    merge = _Merge()
    for key, value in given.items():
        there = None if key in entity.of_source else entity.as_indexed.get(key)
        if key == "tags" and there:
            value = list(dict.fromkeys(value if overwrite else [*there, *value]))
            if set(value) == set(there):
                value = there
        if there == value:
            merge.unchanged += 1
            continue
        if there not in (None, "", []) and not (key == "tags" and set(there) <= set(value)):
            conflict = Conflict(entity.id, entity.name, key, there, value)
            if not overwrite:
                merge.conflicts.append(conflict)
                continue
            merge.overwritten.append(conflict)
        merge.written[key] = value
    return merge


def _together(one: Imported, other: Imported) -> Imported:
    return replace(
        one,
        entities=one.entities + other.entities,
        written=one.written + other.written,
        unchanged=one.unchanged + other.unchanged,
        overwritten=one.overwritten + other.overwritten,
        conflicts=one.conflicts + other.conflicts,
        unknown=one.unknown + other.unknown,
        refused=one.refused + other.refused,
    )
