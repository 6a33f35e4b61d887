"""Paged lists: parameters and results."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from navlin.index.solr import Solr
from navlin.index.sources import known_sources

LIMIT: Final = 25
MOST: Final = 10_000
MOST_OFFSET: Final = 1_000_000
"""Maximum offset, because Solr sorts everything that is skipped. A narrower query reaches further results."""

_T = TypeVar("_T")


class BadPage(ValueError):
    """The page is outside the limits."""


class UnknownSource(LookupError):
    """The index has no source with this name. ``known`` are the names of the sources it has."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        super().__init__(f"the index has no source {name!r}{hint} (it has: {', '.join(known) or 'none'})")
        self.known = known


@dataclass(frozen=True, slots=True)
class Page(Generic[_T]):
    """Some of ``total`` results, from ``offset`` on."""

    results: tuple[_T, ...]
    total: int
    offset: int
    limit: int

    @property
    def truncated(self) -> bool:
        """Whether more results follow."""
        return self.offset + len(self.results) < self.total

    def to_json(self, form: Callable[[_T], Any]) -> dict[str, Any]:
        """total, offset, limit, truncated, results (each as ``form`` makes it)."""
        return {
            "total": self.total,
            "offset": self.offset,
            "limit": self.limit,
            "truncated": self.truncated,
            "results": [form(each) for each in self.results],
        }


def checked(limit: int, offset: int) -> None:
    """Raise `BadPage` for a page outside the limits."""
    if not 1 <= limit <= MOST or not 0 <= offset <= MOST_OFFSET:
        raise BadPage(f"a page has from 1 to {MOST:,} results and starts from 0 to {MOST_OFFSET:,}")


def sources_by_id(solr: Solr) -> dict[str, str]:
    """Return the names of all sources of the index, by id."""
    return {source.id: source.name for source in known_sources(solr)}


def source_ids_of(sources: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Return the ids of the sources with this name, in every cluster; no ids for the name "". Raises
    `UnknownSource`."""
    ids = tuple(identity for identity, each in sources.items() if each == name)
    if name and not ids:
        raise UnknownSource(name, tuple(sorted(set(sources.values()))))
    return ids
