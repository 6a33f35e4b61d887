"""Operations by their texts, as clients name them that know no ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from navlin.index.entity import StoredEntity
from navlin.index.graph import Graph

_LOOKED_AT: Final = 100


def same_text(graph: Graph, sources: Sequence[str], text: str) -> list[StoredEntity]:
    """The operations of some sources (ids) that have this text (redacted; blanks do not count): those of the first source
    first, then by id. One that no source has shown comes last."""
    found = [each for source_id in sources for each in graph.operations_of_text(text, source_id, _LOOKED_AT)]
    same = [each for each in found if each.text.split() == text.split()]
    return sorted(same, key=lambda each: (each.granted, sources.index(each.source_id), each.id))
