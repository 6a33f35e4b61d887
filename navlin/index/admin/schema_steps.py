"""Conversion of documents from one version of the index to the next: a pure function for each version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import orjson

from navlin.index.schema.fields import RUNS
from navlin.index.schema.stored_form import Document, stored
from navlin.index.write.documents import digest_of_hash
from navlin.model.keys import RelationType

Change = Callable[[str, Document], Document | None]
"""(core, document as Solr has it) → the document of the next version, or None if the next version does not have the
document."""


@dataclass(frozen=True, slots=True)
class SchemaStep:
    """Conversion from version ``since`` to the next one."""

    since: int
    change: Change


def _to_2(core: str, document: Document) -> Document | None:
    """Remove derived fields, and make the digest a number; placeholders have none. Rename the counts of runs to
    single words."""
    if core == RUNS and document["kind"] == "run":
        body = orjson.loads(document["body"])
        body["counts"] = {_COUNTS.get(name, name): count for name, count in body["counts"].items()}
        return {**document, "body": orjson.dumps(body).decode()}
    fields = {name: value for name, value in document.items() if name not in ("treeParent", "treeAncestors")}
    digest = fields.pop("digest", "granted")
    if digest != "granted":
        fields["digest"] = digest_of_hash(bytes.fromhex(digest))
    if fields.get("implied"):
        fields = {name: value for name, value in fields.items() if name not in ("treePath", "firstSeen")}
        if fields["type"] == RelationType.PARENT_CHILD:
            fields = {
                name: value
                for name, value in fields.items()
                if name not in ("endpoint1Name", "endpoint2Name")
            }
    return stored(core, fields)


_COUNTS: Final = {
    "nav_elements gone": "gone_entities",
    "nav_relation gone": "gone_relations",
    "nav_elements gone, as the source reported": "reported_entities",
    "nav_relation gone, as the source reported": "reported_relations",
    "splits that failed": "failed_splits",
    "complete listings": "complete_listings",
}


def _to_3(_core: str, document: Document) -> Document | None:
    """Add fields for inheritance; their values are computed after the upgrade."""
    return document


UPGRADES: Final[tuple[SchemaStep, ...]] = (SchemaStep(1, _to_2), SchemaStep(2, _to_3))
"""All conversions in order, without gaps, beginning with version 1."""


def upgraded(core: str, document: Document, since: int) -> Document | None:
    """Convert a document of version ``since`` to the current version; None if that version does not have the
    document."""
    for step in UPGRADES[since - 1 :]:
        changed = step.change(core, document)
        if changed is None:
            return None
        document = changed
    return document
