"""The three tiers of tests, and the tests that must run in the same process.

`make test` runs the tests without a tier's mark, `make test-services` those marked ``services``, `make soak` those
marked ``soak``.
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
    "private_server": "private Solr",
}
"""Maps fixtures of `make test` that are slow to start and used by several files to a group of tests. All tests of a
group run in one process; if a test uses several of these fixtures, the first one listed here decides. Solr is not
listed, because every process that needs Solr starts its own.
"""
ONE_PROCESS_OF_SERVICES: Final = {"atlas": "atlas"}
"""Fixture → group for `make test-services`. Its files mostly have their own fixtures, so the tests of one file stay
together.
"""

LONGEST_FIRST: Final = (("hadoop_jars", "metastore_jars", "hive_jars"), ("spark", "solr_jars"))
"""Fixtures of slow tests. Groups of these tests start first, so that no process is left with a slow group at the end.
"""
LAST: Final = frozenset({"atlas"})
"""Fixtures that use CPU time from their start until the end of the session."""


class TwoTiers(Exception):
    """Raised if a test has the marks of two tiers."""


def tier_of(marks: Collection[str]) -> str:
    """Return the tier of a test with these marks: ``test``, ``services`` or ``soak``. Raises `TwoTiers`."""
    tiers = [mark for mark in MARKS if mark in marks]
    if len(tiers) > 1:
        raise TwoTiers(f"a test belongs to one tier, and is marked {' and '.join(tiers)}")
    return tiers[0] if tiers else "test"


def group_of(file: str, fixtures: Collection[str], tier: str) -> str:
    """Return the name of a test's group. Tests of one group run in the same process, one after the other. ``fixtures``
    are those of the test or, if the tests of its file stay together, of the whole file.
    """
    known = ONE_PROCESS if tier == "test" else ONE_PROCESS_OF_SERVICES
    return next((group for fixture, group in known.items() if fixture in fixtures), file)


def turn_of(fixtures: Collection[str]) -> int:
    """Rank of a test's group; groups with a lower rank start first."""
    if not LAST.isdisjoint(fixtures):
        return len(LONGEST_FIRST) + 1
    turns = [turn for turn, names in enumerate(LONGEST_FIRST) if not set(names).isdisjoint(fixtures)]
    return min(turns, default=len(LONGEST_FIRST))
