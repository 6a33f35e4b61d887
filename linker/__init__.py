"""Rules over the index, in the order in which they run. The pipeline flags deletions before these rules; purge is
separate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from linker.add_locations import add_locations
from linker.add_started_operations import add_started_operations
from linker.adopt_operations import adopt_operations
from linker.linking import Linking
from linker.prefer_engines import prefer_engines
from linker.resolve_endpoints import resolve_endpoints
from linker.resolve_views import resolve_views
from navlin.index.journal.inheritance_due import note_due

__distribution__ = "navlin"

Rule = Callable[[Linking], int]
"""A function that makes the changes that are due after the last commit. It returns the number of changed documents."""

RULES: Final[tuple[Rule, ...]] = (
    resolve_endpoints,
    add_locations,
    resolve_views,
    add_started_operations,
    adopt_operations,
    prefer_engines,
)


def link(linking: Linking) -> dict[str, int]:
    """Run the rules in order and return rule name → number of changed documents. Linking again changes nothing.

    The runs' writes must have been committed (a soft commit will do). The rules' writes are visible when this returns,
    and durable after the caller's hard commit. The relations of these runs are recorded as due for tag inheritance.
    """
    changed: dict[str, int] = {}
    for rule in RULES:
        changed[rule.__name__] = rule(linking)
        if changed[rule.__name__]:
            linking.changes.commit(entities=False)
    note_due(linking.solr, runs=linking.runs, everything=linking.everything)
    return changed
