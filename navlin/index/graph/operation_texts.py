"""Lookup of operations by their texts, for clients that do not know ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from navlin.index.graph.entity import StoredEntity
from navlin.index.graph.graph import Graph

_LOOKED_AT: Final = 100


def same_text(graph: Graph, sources: Sequence[str], text: str) -> list[StoredEntity]:
    """Return the operations with this text (redacted; whitespace is ignored) in the sources with these ids. They are
    sorted by source in the given order, then by id; those that no source has reported come last."""
    found = [each for source_id in sources for each in graph.operations_of_text(text, source_id, _LOOKED_AT)]
    same = [each for each in found if each.text.split() == text.split()]
    return sorted(same, key=lambda each: (each.granted, sources.index(each.source_id), each.id))
