"""People's fields of entities, out of the index and into it: what no source can bring again.

The rule of an import
  - A field that the index does not have is written, and so is one whose value came from the source (`SOURCE_WORDS`):
    people's words go before a source's.
  - An equal value is left as it is.
  - Another value that a person wrote is a conflict: it is reported, and stays, unless the import overwrites.
  - Tags are a set: those that are missing are added, and none is taken away, unless the import overwrites: then they are
    the file's.
  - An entity that the index does not have is unknown: it is reported, and nothing is made of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from navlin.index.entity import readable_name
from navlin.index.fields import (
    ELEMENTS,
    INDEXED_TEXT_CHARS,
    SOURCE_WORDS,
    USER_FIELDS,
    USER_PREFIXES,
    date_ms,
    is_user_field,
    solr_date,
)
from navlin.index.solr import Solr
from navlin.index.state import in_batches
from navlin.index.writing import WRITE_BATCH, rewrite
from navlin.model.redaction import redact

FIELD_NAME_CHARS: Final = 255
_CLAUSES: Final = 500
TYPED: Final[Mapping[str, type]] = {"cpl_": int, "cpd_": float, "cpb_": bool}
"""The values of a managed property by the beginning of its field, beside those that are texts."""

Values = Mapping[str, Any]
"""People's fields: a text, or a list of texts, numbers, dates or truth values (tags and managed properties)."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """What people wrote of one entity. ``type`` and ``entity`` are for whoever reads the file; the id alone counts."""

    id: str
    type: str
    entity: str
    values: Values


@dataclass(frozen=True, slots=True)
class BadValue(Exception):
    """A value that the field cannot have."""

    reason: str

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True, slots=True)
class Conflict:
    """A field of which the index and the file have different values."""

    id: str
    entity: str
    field: str
    indexed: Any
    given: Any


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of annotations: counts of entities, of fields, and what a person must look at.

    Of ``overwritten`` the index had other values, and has the file's now; of ``conflicts`` it keeps its own.
    """

    entities: int = 0
    written: int = 0
    unchanged: int = 0
    overwritten: tuple[Conflict, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    unknown: tuple[Annotation, ...] = ()


# -- Out ---------------------------------------------------------------------------------------------------------------


def annotated(solr: Solr, asked: str = "*:*") -> Iterator[Annotation]:
    """The entities that match a query of Solr's and of which people wrote something, by id. What a source wrote is left out:
    it brings that again."""
    solr.commit(ELEMENTS, soft=True)
    filled = sorted(name for name in _fields_in_use(solr) if is_user_field(name))
    seen: set[str] = set()
    for names in in_batches(iter(filled), _CLAUSES):
        written = " OR ".join(f"{_escaped(name)}:*" for name in names)
        shown = "identity,type,originalName,parentPath,fileSystemPath,*"
        for document in solr.cursor(ELEMENTS, asked, shown, filters=[f"({written})"], rows=1_000):
            annotation = _annotation(document)
            if annotation.values and annotation.id not in seen:
                yield annotation
            if len(filled) > _CLAUSES:
                seen.add(annotation.id)


def _annotation(document: Mapping[str, Any]) -> Annotation:
    of_source = document.get(SOURCE_WORDS, ())
    values = {
        name: document[name]
        for name in sorted(document)
        if is_user_field(name) and name not in of_source and document[name] not in ("", [], None)
    }
    return Annotation(document["identity"], str(document.get("type", "")), readable_name(document), values)


def _fields_in_use(solr: Solr) -> set[str]:
    """The names of all fields that some visible document has, or had before it was written again."""
    names: set[str] = set()
    for shard in solr.shards(ELEMENTS):
        answer = solr.session.get(f"{shard}/admin/luke", params={"numTerms": "0", "wt": "json"}).json()
        names.update(answer["fields"])
    return names


def _escaped(name: str) -> str:
    return re.sub(r"([^A-Za-z0-9_])", r"\\\1", name)


# -- In ----------------------------------------------------------------------------------------------------------------


def checked(name: str, value: Any) -> Any:
    """A value as the index keeps it, with secrets blanked. Raises `BadValue` if no person writes such a field or if it
    cannot have this value."""
    if not is_user_field(name):
        kinds = ", ".join([*sorted(USER_FIELDS), *(f"{prefix}…" for prefix in USER_PREFIXES)])
        raise BadValue(f"{name!r:.60} is no field of people's: those are {kinds}")
    if (
        len(name) > FIELD_NAME_CHARS
        or not name.isprintable()
        or name != name.strip()
        or name in USER_PREFIXES
    ):
        raise BadValue(f"{name!r:.60} cannot be the name of a field")
    if name == "tags" or name.startswith("cp"):
        values = value if isinstance(value, list) else [value]
        if not values:
            raise BadValue(f"{name} has no value")
        return [_checked_one(name, each) for each in values]
    return _checked_one(name, value)


def _checked_one(name: str, value: Any) -> Any:
    kind: type = TYPED.get(name[:4], str)
    right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not right:
        raise BadValue(f"{name} has {type(value).__name__} {value!r:.40} and wants {kind.__name__}")
    if kind is int and not -(2**63) <= value < 2**63:
        raise BadValue(f"{name} is no number of 64 bits")
    if kind is float and not math.isfinite(value):
        raise BadValue(f"{name} is no number")
    if name.startswith("cpt_"):
        try:
            return solr_date(date_ms(value)).replace(".000Z", "Z")  # as Solr returns it
        except ValueError:
            raise BadValue(
                f"{name} has {value!r:.40}, which is no date such as 2026-01-31T12:00:00Z"
            ) from None
    if kind is not str:
        return value
    if not value:
        raise BadValue(f"{name} has no value")
    if len(value) > INDEXED_TEXT_CHARS:
        raise BadValue(f"{name} has {len(value):,} characters, and {INDEXED_TEXT_CHARS:,} are kept")
    if not value.isascii() and any("\ud800" <= each <= "\udfff" for each in value):
        raise BadValue(f"{name} is no UTF-8")
    return redact(value)


def import_annotations(
    solr: Solr, given: Iterable[Annotation], *, overwrite: bool = False, dry_run: bool = False
) -> Imported:
    """Writes people's fields by the rule above, durably, and says what became of each. The values are `checked` ones; each
    entity is there once. ``dry_run`` writes nothing."""
    done = Imported()
    for batch in in_batches(iter(given), WRITE_BATCH):
        done = _together(done, _import_batch(solr, batch, overwrite=overwrite, dry_run=dry_run))
    if not dry_run:
        solr.commit(ELEMENTS, soft=False)
    return done


@dataclass(slots=True)
class _Merge:
    """What one document becomes. Made anew each time that the document is read."""

    document: dict[str, Any]
    written: int = 0
    unchanged: int = 0
    overwritten: list[Conflict] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)


def _import_batch(solr: Solr, batch: Sequence[Annotation], *, overwrite: bool, dry_run: bool) -> Imported:
    by_id = {each.id: each for each in batch}
    merges: dict[str, _Merge] = {}

    def change(document: dict[str, Any]) -> dict[str, Any] | None:
        identity = document["identity"]
        # Asked again if somebody wrote the document meanwhile: only the last answer counts.
        merge = merges[identity] = _merge(document, by_id[identity].values, overwrite=overwrite)
        return merge.document if merge.written else None

    if dry_run:
        for document in solr.get(ELEMENTS, by_id):
            change(document)
    else:
        for _ in rewrite(solr, ELEMENTS, by_id, change):
            pass
    return Imported(
        entities=sum(1 for merge in merges.values() if merge.written),
        written=sum(merge.written for merge in merges.values()),
        unchanged=sum(merge.unchanged for merge in merges.values()),
        overwritten=tuple(each for merge in merges.values() for each in merge.overwritten),
        conflicts=tuple(each for merge in merges.values() for each in merge.conflicts),
        unknown=tuple(each for each in batch if each.id not in merges),
    )


def _merge(document: Mapping[str, Any], given: Values, *, overwrite: bool) -> _Merge:
    of_source = set(document.get(SOURCE_WORDS, ()))
    merge = _Merge(dict(document))
    name = readable_name(document)
    for key, value in given.items():
        there = None if key in of_source else document.get(key)
        if key == "tags" and there:
            value = list(dict.fromkeys(value if overwrite else [*there, *value]))
            if set(value) == set(there):
                value = there
        if there == value:
            merge.unchanged += 1
            continue
        if there not in (None, "", []) and not (key == "tags" and set(there) <= set(value)):
            conflict = Conflict(document["identity"], name, key, there, value)
            if not overwrite:
                merge.conflicts.append(conflict)
                continue
            merge.overwritten.append(conflict)
        merge.document[key] = value
        merge.written += 1
        of_source.discard(key)
    merge.document[SOURCE_WORDS] = sorted(of_source)
    if not of_source:
        del merge.document[SOURCE_WORDS]
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
    )
