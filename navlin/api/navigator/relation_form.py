"""A relation in Navigator's JSON. The names of the two sides depend on the type, and a side with a single end has
``entityId``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

SIDES: Final[Mapping[str, tuple[str, str]]] = {
    "DATA_FLOW": ("sources", "targets"),
    "CONTROL_FLOW": ("sources", "targets"),
    "PARENT_CHILD": ("parent", "children"),
    "INSTANCE_OF": ("template", "instances"),
    "LOGICAL_PHYSICAL": ("logical", "physical"),
    "ALIAS": ("sources", "targets"),
}
"""Relation type → the keys of the two sides."""
_ONE: Final = frozenset({"parent", "template", "logical"})


def relation_json(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON of a relation, from its fields in the index."""
    sources, targets = (document.get(f"endpoint{side}Ids", ()) for side in (1, 2))
    return {
        "identity": document["identity"],
        "type": document.get("type"),
        **typed_sides(str(document.get("type")), sources, targets),
        "extractorRunId": document.get("extractorRunId"),
        "namespace": document.get("namespace"),
        "userSpecified": bool(document.get("userSpecified")),
        "unlinked": bool(document.get("unlinked")),
        "deleted": bool(document.get("deleted")),
    }


def typed_sides(
    relation_type: str, sources: Iterable[str], targets: Iterable[str]
) -> dict[str, dict[str, Any]]:
    """Return the two sides of a relation of this type, each with the ids of its ends."""
    first, second = SIDES.get(relation_type, ("sources", "targets"))
    return {first: _side(first, sources), second: _side(second, targets)}


def _side(side: str, ids: Iterable[str]) -> dict[str, Any]:
    every = list(dict.fromkeys(ids))
    return {"entityId": every[0] if every else None} if side in _ONE else {"entityIds": every}
