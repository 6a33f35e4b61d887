"""How a document of one version of the index becomes one of the next: a pure function a version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from navlin.index.documents import digest_of_hash
from navlin.index.stored_form import Document, stored
from navlin.model.keys import RelationType

Change = Callable[[str, Document], Document | None]
"""(core, document as Solr has it) → the document of the next version, or None if that has no such document."""


@dataclass(frozen=True, slots=True)
class Step:
    """From version ``since`` to the next one."""

    since: int
    change: Change


def _to_2(core: str, document: Document) -> Document | None:
    """What follows from other fields is not stored any more, and a digest is a number; a granted document has none."""
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


UPGRADES: Final[tuple[Step, ...]] = (Step(1, _to_2),)
"""In order. The first is for an index of version 1, and so on without a gap."""


def upgraded(core: str, document: Document, since: int) -> Document | None:
    """A document of version ``since`` as the present version has it; None if that has no such document."""
    for step in UPGRADES[since - 1 :]:
        changed = step.change(core, document)
        if changed is None:
            return None
        document = changed
    return document
