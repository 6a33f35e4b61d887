"""Queries as trees: the parsed form of a user's query, independent of Solr.

The tree keeps Lucene's flat list of clauses, each with its operator and its sign, because Lucene does not nest ``a AND
b OR c``. Texts are unescaped.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal


class Wild(Enum):
    """A wildcard in a word."""

    MANY = "*"
    ONE = "?"


@dataclass(frozen=True, slots=True)
class SearchTerm:
    """A word: alternating texts and wildcards. ``distance`` ("", "2", "0.5", or "~" for Solr's default) finds similar
    words."""

    parts: tuple[str | Wild, ...]
    distance: str = ""

    @property
    def text(self) -> str | None:
        """The word; None if it has wildcards or a distance."""
        match self.parts:
            case (str(text),) if not self.distance:
                return text
        return None


@dataclass(frozen=True, slots=True)
class Phrase:
    """A quoted phrase. ``distance`` is the maximum number of positions by which the words may be apart."""

    text: str
    distance: str = ""


@dataclass(frozen=True, slots=True)
class Range:
    """A range from ``low`` to ``high``; None leaves that side open."""

    low: str | None
    high: str | None
    includes_low: bool = True
    includes_high: bool = True


Value = SearchTerm | Phrase | Range


@dataclass(frozen=True, slots=True)
class Everything:
    """``*:*``"""


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A value of a field. ``field`` is a name in the index or ``namespace.key``; "" for a word without a field."""

    field: str
    value: Value


@dataclass(frozen=True, slots=True)
class ExactTerms:
    """``{!terms f=field}a,b``: the field has one of these indexed terms. With the parser ``prefix``, the field has a
    term that starts with the only value."""

    parser: Literal["terms", "term", "prefix"]
    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FunctionRange:
    """``{!frange l=0 u=1}field``: bounds of a numeric field, as decimal numbers, or of a whole text; "" leaves that
    side open."""

    field: str
    low: str = ""
    high: str = ""
    includes_low: bool = True
    includes_high: bool = True


@dataclass(frozen=True, slots=True)
class Boost:
    """A factor for the clause's score (``^2``), or with ``constant`` the clause's whole score (``^=2``)."""

    factor: str
    constant: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    node: Node
    operator: Literal["", "AND", "OR"] = ""
    sign: Literal["", "+", "-"] = ""
    boost: Boost | None = None


@dataclass(frozen=True, slots=True)
class ClauseGroup:
    """Clauses in parentheses."""

    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class CachedFilter:
    """``filter(…)``: clauses with a few fixed words, whose matches Solr caches until the index changes. The cost per
    document is then negligible, while a plain clause would be evaluated for all matches."""

    clauses: tuple[Clause, ...]


Node = Everything | FieldValue | ExactTerms | FunctionRange | ClauseGroup | CachedFilter


@dataclass(frozen=True, slots=True)
class Query:
    """A whole query. ``tags`` are names by which facets can ignore the query when it is a filter; ``excluded`` are the
    tags of filters that the query itself ignores when it is counted."""

    clauses: tuple[Clause, ...]
    tags: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    key: str = ""
    """The key of the query's count, if it is counted."""


@dataclass(frozen=True, slots=True)
class Facet:
    """A field whose values are counted under the name ``key``, ignoring the filters with one of the ``excluded`` tags."""

    field: str
    excluded: tuple[str, ...] = ()
    key: str = ""

    @property
    def name(self) -> str:
        """The name of the counts in the response."""
        return self.key or self.field
