"""The envelope: a row that Spark moves, holding a document or a control record, with the same columns for every
extractor."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import orjson

PLACEHOLDER: Final = 0
"""Digest of a placeholder, which is written because another source claims the entity. A placeholder is used only if the
entity has no other document."""


class Envelope(NamedTuple):
    """A document on its way to the index.

    ``document`` is its JSON in the stored form (`navlin.index.schema.stored_form`) without the pipeline's fields.
    ``volatile`` is the JSON of fields that are written only if another field changes (empty if there are none). With a
    ``parent_id``, the entity implies the relation to its parent; the columns from ``type`` to ``name`` are for that
    relation. ``ages``, ``renamed_from`` and ``where_claimed`` are described in `navlin.model.records`; ``user_fields``
    are the names of the user fields that the source itself fills, joined by commas.
    """

    core: str
    """The name of a core, or the kind of a control record."""
    identity: str
    writer: str = ""
    tree_path: str = ""
    as_of: int = 0
    """Epoch ms."""
    digest: int = PLACEHOLDER
    document: bytes = b""
    volatile: bytes = b""
    type: str = ""
    source_type: str = ""
    parent_id: str = ""
    parent_type: str = ""
    parent_name: str = ""
    name: str = ""
    ages: bool = False
    renamed_from: str = ""
    where_claimed: bool = False
    user_fields: str = ""

    @property
    def placeholder(self) -> bool:
        """Whether the document is a placeholder, written because a source claims the entity."""
        return self.digest == PLACEHOLDER

    def fields(self) -> dict[str, Any]:
        """Return the document's fields, including the volatile ones."""
        fields: dict[str, Any] = orjson.loads(self.document)
        if self.volatile:
            fields.update(orjson.loads(self.volatile))
        return fields


COLUMN_TYPES: Final = {
    "as_of": int,
    "digest": int,
    "document": bytes,
    "volatile": bytes,
    "ages": bool,
    "where_claimed": bool,
}
"""Name → type of the columns that are not strings."""
_SPARK: Final = {str: "string", int: "long", bytes: "binary", bool: "boolean"}
ENVELOPE_COLUMNS: Final = ", ".join(
    f"{name} {_SPARK[COLUMN_TYPES.get(name, str)]}" for name in Envelope._fields
)
"""The envelope's columns as Spark DDL."""
