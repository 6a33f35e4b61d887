"""The history in ``nav_edits``: the user, the time, and the old and new values of each edit of an entity.

An edit is recorded before it is made, so that no change goes unrecorded. After a conflicting write, the record is
withdrawn and the edit repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

import orjson

from navlin.index.schema.fields import EDITS, date_ms, solr_date
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr

EDIT: Final = "edit"
"""The ``kind`` of the documents that record edits."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A changed field of an entity. ``old`` and ``new`` are None if the field had, or has, no value."""

    field: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Edit:
    """Changes to one entity, made together by one user, or by a program in a user's name.

    ``entity`` is the entity's id, ``name`` the readable name at the time of the edit, ``when_ms`` that time in epoch
    ms. ``id`` is the id of the edit itself.
    """

    entity: str
    name: str
    who: str
    when_ms: int
    changes: tuple[FieldChange, ...]
    id: str = field(default_factory=lambda: f"{EDIT}:{uuid4()}")

    def to_json(self) -> dict[str, Any]:
        """Return the edit as JSON: entity, name, who, when (a date), changes (field, old, new)."""
        return {
            "entity": self.entity,
            "name": self.name,
            "who": self.who,
            "when": solr_date(self.when_ms),
            "changes": [{"field": each.field, "old": each.old, "new": each.new} for each in self.changes],
        }


def note_edits(solr: Solr, edits: Sequence[Edit]) -> None:
    """Record edits in the history before they are made. The records are visible after the next commit."""
    solr.add_all(EDITS, [_document(edit) for edit in edits])


def withdraw_edits(solr: Solr, edits: Sequence[Edit]) -> None:
    """Remove the history records of edits that were not made."""
    if edits:
        solr.delete_ids(EDITS, [edit.id for edit in edits])


def edits_of(solr: Solr, entity: str, limit: int, offset: int = 0) -> tuple[list[Edit], int]:
    """Return the edits of one entity, newest first, and their total number."""
    of_entity, edits, sort = (
        q.term("entity_s", entity),
        q.term("kind", EDIT),
        "lastModified desc,_version_ desc",
    )
    documents, total = solr.page(EDITS, of_entity, filters=edits, sort=sort, rows=limit, start=offset)
    return list(_edits(documents)), total


def edited_since(solr: Solr, since: str) -> Iterator[str]:
    """Yield the ids of entities edited since a date in Solr's format; an id may repeat."""
    later = q.in_range("lastModified", since)
    for document in solr.cursor(EDITS, later, "identity,entity_s", filters=[q.term("kind", EDIT)]):
        yield document["entity_s"]


def _edits(documents: Sequence[dict[str, Any]]) -> Iterator[Edit]:
    for document in documents:
        body = orjson.loads(document["body"])
        yield Edit(
            document["entity_s"],
            body["name"],
            document["lastModifiedBy"],
            date_ms(document["lastModified"]),
            tuple(FieldChange(*change) for change in body["changes"]),
            document["identity"],
        )


def _document(edit: Edit) -> dict[str, Any]:
    body = {
        "name": edit.name,
        "changes": [[each.field, each.old, each.new] for each in edit.changes],
    }
    return {
        "identity": edit.id,
        "kind": EDIT,
        "entity_s": edit.entity,
        "lastModified": solr_date(edit.when_ms),
        "lastModifiedBy": edit.who,
        "body": orjson.dumps(body).decode(),
    }
