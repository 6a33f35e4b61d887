"""The three tiers of tests, and which tests run side by side.

`make test` runs the tests without a mark, `make test-services` those marked ``services``, `make soak` those marked ``soak``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

MARKS: Final = ("services", "soak")

SERVICES: Final = frozenset(
    ("solr_jars", "solr_server", "spark", "metastore_jars", "hive_jars", "hadoop_jars", "hdfs", "yarn")
)
"""Fixtures that start something. Tests that use one of them run in one process, so that each service starts once."""

SHARED: Final = ("spark_logs", "stream_logs")
"""Fixtures that take long to make and that more than one file uses."""


class TwoTiers(Exception):
    """A test bears the marks of two tiers."""


def tier_of(marks: Collection[str]) -> str:
    """The tier of a test with these marks: ``test``, ``services`` or ``soak``. Raises `TwoTiers`."""
    tiers = [mark for mark in MARKS if mark in marks]
    if len(tiers) > 1:
        raise TwoTiers(f"a test belongs to one tier, and is marked {' and '.join(tiers)}")
    return tiers[0] if tiers else "test"


def group_of(file: str, fixtures: Collection[str]) -> str:
    """The name of the group of a test. Tests of one group run in the same process, one after the other."""
    if not SERVICES.isdisjoint(fixtures):
        return "services"
    return next((name for name in SHARED if name in fixtures), file)
