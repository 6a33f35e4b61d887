"""Describe the counts of a run in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

_WORDS: Final[Mapping[str, str]] = {
    "records": "read",
    "seen": "unchanged",
    "late": "older than what the index holds",
    "withdrawn": "written as deleted already",
    "purged": "skipped (older than last purge)",
    "unclaimed": "skipped (not referenced)",
    "refused": "refused by Solr",
    "gone_entities": "entities that are gone",
    "gone_relations": "relations that are gone",
    "reported_entities": "entities reported as gone",
    "reported_relations": "relations reported as gone",
    "deleted": "flagged deleted",
    "linked": "changed by linking",
    "failed_splits": "splits that failed",
    "complete_listings": "complete listings",
    "resolve_endpoints": "relations resolved or unresolved",
    "add_locations": "relations of paths changed",
    "resolve_views": "relations of views changed",
    "add_started_operations": "relations of workflows to what they started, changed",
    "adopt_operations": "operations adopted",
    "prefer_engines": "reports flagged deleted, because engines recorded the same",
    "inherited": "entities whose inherited tags changed",
}
"""Words for the counts of a run, and of ``link``. "Entities" and "relations" are those of the index."""


def count_lines(counts: Mapping[str, int]) -> Iterator[str]:
    """Yield one line for each count that is not zero, in the order of the counts."""
    for name, count in counts.items():
        if count:
            yield f"{_WORDS.get(name, name)}: {count:,}"
