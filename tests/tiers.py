"""The three tiers of tests, and which tests run in parallel.

`make test` runs the tests without a mark, `make test-services` those marked ``services``, `make soak` those marked
``soak``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

MARKS: Final = ("services", "soak")

ONE_PROCESS: Final = {
    "metastore_jars": "hadoop",
    "hive_jars": "hadoop",
    "hadoop_jars": "hadoop",
    "spark_logs": "spark logs",
    "spark": "spark",
}
"""Fixtures of `make test` that are slow to start or make, and are used by more than one file: all their tests run in one
process; the first of a test's fixtures counts. Solr is started in every process that needs it.
"""
ONE_PROCESS_OF_SERVICES: Final = {"atlas": "atlas"}
"""The same for `make test-services`, whose files mostly use fixtures of their own: a file stays together."""

LONGEST_FIRST: Final = (("hadoop_jars", "metastore_jars", "hive_jars"), ("spark", "solr_jars"))
"""Fixtures of slow tests. Their groups begin first, so that no process is left with a slow one at the end."""
LAST: Final = frozenset({"atlas"})
"""Fixtures that use CPU time from their start to the end of the session."""


class TwoTiers(Exception):
    """A test has the marks of two tiers."""


def tier_of(marks: Collection[str]) -> str:
    """The tier of a test with these marks: ``test``, ``services`` or ``soak``. Raises `TwoTiers`."""
    tiers = [mark for mark in MARKS if mark in marks]
    if len(tiers) > 1:
        raise TwoTiers(f"a test belongs to one tier, and is marked {' and '.join(tiers)}")
    return tiers[0] if tiers else "test"


def group_of(file: str, fixtures: Collection[str], tier: str) -> str:
    """The name of a test's group. Tests of one group run in the same process, one after the other. ``fixtures`` are those
    of the test, or of all tests of its file if that stays together.
    """
    known = ONE_PROCESS if tier == "test" else ONE_PROCESS_OF_SERVICES
    return next((group for fixture, group in known.items() if fixture in fixtures), file)


def turn_of(fixtures: Collection[str]) -> int:
    """Rank of the start of a test's group, the lowest first."""
    if not LAST.isdisjoint(fixtures):
        return len(LONGEST_FIRST) + 1
    turns = [turn for turn, names in enumerate(LONGEST_FIRST) if not set(names).isdisjoint(fixtures)]
    return min(turns, default=len(LONGEST_FIRST))
