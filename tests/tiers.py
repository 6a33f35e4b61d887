"""The three tiers of tests, and which tests run side by side.

`make test` runs the tests without a mark, `make test-services` those marked ``services``, `make soak` those marked ``soak``.
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
"""Fixtures of `make test` that take long to start or to make, and that more than one file uses: all of their tests run in
one process; the first of a test's fixtures counts. Solr is started in every process that needs it."""
ONE_PROCESS_OF_SERVICES: Final = {"atlas": "atlas"}
"""The same of `make test-services`, whose files have most of what they need to themselves: a file stays together."""

LONGEST_FIRST: Final = (("hadoop_jars", "metastore_jars", "hive_jars"), ("spark", "solr_jars"))
"""Fixtures of tests that take long. Their groups begin first, so that no process is left with a long one at the end."""
LAST: Final = frozenset({"atlas"})
"""Fixtures that take a part of the processors for as long as they are there, until the end of the session."""


class TwoTiers(Exception):
    """A test bears the marks of two tiers."""


def tier_of(marks: Collection[str]) -> str:
    """The tier of a test with these marks: ``test``, ``services`` or ``soak``. Raises `TwoTiers`."""
    tiers = [mark for mark in MARKS if mark in marks]
    if len(tiers) > 1:
        raise TwoTiers(f"a test belongs to one tier, and is marked {' and '.join(tiers)}")
    return tiers[0] if tiers else "test"


def group_of(file: str, fixtures: Collection[str], tier: str) -> str:
    """The name of the group of a test. Tests of one group run in the same process, one after the other. ``fixtures`` are
    those of the test, or of all tests of its file if that stays together."""
    known = ONE_PROCESS if tier == "test" else ONE_PROCESS_OF_SERVICES
    return next((group for fixture, group in known.items() if fixture in fixtures), file)


def turn_of(fixtures: Collection[str]) -> int:
    """When the group of a test begins, the lowest number first."""
    if not LAST.isdisjoint(fixtures):
        return len(LONGEST_FIRST) + 1
    turns = [turn for turn, names in enumerate(LONGEST_FIRST) if not set(names).isdisjoint(fixtures)]
    return min(turns, default=len(LONGEST_FIRST))
