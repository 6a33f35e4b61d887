"""Paged lists: parameters and results."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from navlin.index.graph.sources import known_sources
from navlin.index.solr.solr import Solr
from navlin.model.refusal import Refusal


class ListEntry(Protocol):
    """A result in a list."""

    def to_json(self) -> dict[str, Any]: ...


_T = TypeVar("_T", bound=ListEntry)


class UnknownSource(Refusal):
    """The index has no source with this name. ``more`` contains the names of all sources, under ``known``."""

    status = 404

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        super().__init__(f"the index has no source {name!r}{hint} (it has: {', '.join(known) or 'none'})")
        self.more = {"known": list(known)}


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

    def to_json(self) -> dict[str, Any]:
        return {
            "total": self.total,
            "offset": self.offset,
            "limit": self.limit,
            "truncated": self.truncated,
            "results": [each.to_json() for each in self.results],
        }


def sources_by_id(solr: Solr) -> dict[str, str]:
    """Return id → name, for all sources in the index."""
    return {source.id: source.name for source in known_sources(solr)}


def source_ids_of(sources: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Return the ids of the sources with this name, which may be in several clusters; no ids for the name "". Raises
    `UnknownSource`."""
    ids = tuple(identity for identity, each in sources.items() if each == name)
    if name and not ids:
        raise UnknownSource(name, tuple(sorted(set(sources.values()))))
    return ids
