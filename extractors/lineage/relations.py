"""Relations that stand below an operation or an execution."""

from __future__ import annotations

from navlin.model.identity import relation_id
from navlin.model.keys import Key, RelationType
from navlin.model.records import Attributes, Relation
from navlin.model.tree import below


def relation(
    kind: RelationType,
    ep1: Key,
    ep2: Key,
    owner: Key,
    as_of_ms: int,
    attributes: Attributes,
    *,
    ages: bool = False,
) -> Relation:
    """A relation that stands below its owner: what covers the owner covers it."""
    identity = relation_id(kind, ep1.identity, ep2.identity, owner.source.id)
    return Relation(kind, ep1, ep2, below(owner.tree_path, identity), as_of_ms, attributes, ages)
