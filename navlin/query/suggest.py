"""Suggestions while typing: names that begin with the text."""

from __future__ import annotations

from typing import Final

from navlin.index.graph.filters import EntityFilter
from navlin.index.graph.graph import Graph
from navlin.index.solr.solr import Solr

SHOWN: Final = 10
LOOKED_AT: Final = 50
"""Maximum number of entities read; more than are shown, because many columns share one name."""
MOST_CHARS: Final = 100


def suggestions(solr: Solr, start: str, limit: int = SHOWN) -> list[str]:
    """Return at most ``limit`` names of live entities, databases, tables and views first, each once; none for an empty
    start."""
    start = start.strip().rstrip("*")[:MOST_CHARS]
    if not start:
        return []
    found = Graph(solr).entities_starting(start, EntityFilter(deleted=False), LOOKED_AT)
    return list(dict.fromkeys(each.own_name for each in found))[:limit]
