"""Describe the counts of a run in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

_WORDS: Final[Mapping[str, str]] = {
    "records": "entities and relations read",
    "seen": "unchanged, reported anew",
    "late": "older than what the index holds",
    "withdrawn": "written as deleted already",
    "purged": "of a time that a purge has removed",
    "unclaimed": "not written, for no relation names them",
    "refused": "refused by Solr",
    "gone_entities": "entities that are gone",
    "gone_relations": "relations that are gone",
    "reported_entities": "entities reported as gone",
    "reported_relations": "relations reported as gone",
    "deleted": "flagged deleted",
    "linked": "relations linked",
    "failed_splits": "splits that failed",
    "complete_listings": "complete listings",
}


def count_lines(counts: Mapping[str, int]) -> Iterator[str]:
    """Yield one line for each count that is not zero, in the order of the counts."""
    for name, count in counts.items():
        if count:
            yield f"{_WORDS.get(name, name)}: {count:,}"
