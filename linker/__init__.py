"""Rules over the index, in the order in which they run. The pipeline flags deletions before them; purge is for itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from linker.add_locations import add_locations
from linker.adopt_operations import adopt_operations
from linker.linking import Linking
from linker.prefer_engines import prefer_engines
from linker.resolve_endpoints import resolve_endpoints
from linker.resolve_views import resolve_views
from navlin.index.inheritance import note_due

Rule = Callable[[Linking], int]
"""Changes what is due, with the index as last committed for its ground, and returns how many documents it changed."""

RULES: Final[tuple[Rule, ...]] = (
    resolve_endpoints,
    add_locations,
    resolve_views,
    adopt_operations,
    prefer_engines,
)


def link(linking: Linking) -> dict[str, int]:
    """Runs the rules in order; returns how many documents each changed. Linking twice changes nothing.

    What the runs wrote must have been committed (softly will do). What the rules wrote is visible when this returns;
    it is durable after the caller's hard commit. What is inherited by way of it is noted as due.
    """
    changed: dict[str, int] = {}
    for rule in RULES:
        changed[rule.__name__] = rule(linking)
        if changed[rule.__name__]:
            linking.graph.commit(entities=False)
    note_due(linking.solr, runs=linking.runs, everything=linking.everything)
    return changed
