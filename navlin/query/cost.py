"""Cost of a query, computed before Solr receives it.

The unit is one term of one field. Solr accepts 10,000 clauses, counted after it has expanded each word with wildcards
into a few terms. A clause that scans all terms of a field, or all documents, costs so much more that only a few are
accepted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from navlin.index.search.print_query import PROPERTY
from navlin.index.search.query_fields import REWRITTEN, WORD_FIELDS
from navlin.index.search.query_tree import (
    CachedFilter,
    ClauseGroup,
    Everything,
    ExactTerms,
    FieldValue,
    FunctionRange,
    Node,
    Phrase,
    Query,
    Range,
    SearchTerm,
    Value,
)
from navlin.query.scanner import QueryError

MOST: Final = 10_000
"""Maximum cost of one query: that of 10,000 words in one field, or of a hundred words that begin with a wildcard."""
MOST_TOGETHER: Final = 20_000
"""Maximum cost of a query together with everything requested along with it."""

_BEGINNING: Final = 16
"""Cost of a word with a trailing wildcard. Lucene expands the word into this many clauses before it switches to another
method."""
_ALL_TERMS: Final = 100
"""Cost of a word with a leading wildcard, or with an edit distance."""
_RANGE: Final = 20
_ALL_DOCUMENTS: Final = 100
_FIELDS_OF_WORD: Final = len(WORD_FIELDS) + 2
_FIELDS_OF_PROPERTY: Final = 5
_FIELDS_OF_REWRITTEN: Final = 20
_CHARS_OF_TERM: Final = 50
_TERMS_IN_SET: Final = 100


def check_cost(queries: Iterable[Query]) -> None:
    """Raise `QueryError` if one of these queries, or all together, would cost Solr too much."""
    costs = [cost_of(query) for query in queries]
    for cost, most in ((max(costs, default=0), MOST), (sum(costs), MOST_TOGETHER)):
        if cost > most:
            raise QueryError(
                f"the query costs too much, {cost:,} (at most {most:,}): it has too many words, wildcards or ranges;"
                " name a field, begin words with a letter, or give many values as {!terms f=FIELD}a,b,c"
            )


def cost_of(query: Query) -> int:
    return sum(_cost(each.node) for each in query.clauses)


def _cost(node: Node) -> int:
    match node:
        case Everything():
            return 1
        case ClauseGroup() | CachedFilter():
            return sum(_cost(each.node) for each in node.clauses)
        case FieldValue():
            return _fields(node.field) * _cost_of_value(node.value)
        case ExactTerms(parser="prefix"):
            return _BEGINNING if any(node.values) else _ALL_TERMS
        case ExactTerms():
            return 1 + len(node.values) // _TERMS_IN_SET
        case FunctionRange():
            return _ALL_DOCUMENTS


def _fields(name: str) -> int:
    if not name:
        return _FIELDS_OF_WORD
    if name in REWRITTEN:
        return _FIELDS_OF_REWRITTEN
    return _FIELDS_OF_PROPERTY if PROPERTY.fullmatch(name) else 1


def _cost_of_value(value: Value) -> int:
    match value:
        case Range():
            return _RANGE
        case Phrase():
            return _cost_of_text(value.text)
        case SearchTerm():
            if value.text is not None:
                return _cost_of_text(value.text)
            begins = isinstance(value.parts[0], str) and not value.distance
            return _BEGINNING if begins else _ALL_TERMS


def _cost_of_text(text: str) -> int:
    return 1 + min(len(text) // _CHARS_OF_TERM, _ALL_TERMS)
