"""Printing of queries for Solr. The text is navlin's own: user input appears in it only as an escaped word, in
quotation marks, or as a decimal number.

`printed` keeps the fields as given, and `navlin.query.syntax.parse` parses its result to the same tree; `to_solr` is the
form for Solr, with the clauses for fields that are stored differently (`navlin.index.search.query_fields`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from navlin.index.schema.fields import DATES
from navlin.index.search.query_fields import ANY_TEXT, CASELESS, clause, value_of
from navlin.index.search.query_tree import (
    CachedFilter,
    Clause,
    ClauseGroup,
    Everything,
    ExactTerms,
    Facet,
    FieldValue,
    FunctionRange,
    Node,
    Phrase,
    Query,
    Range,
    SearchTerm,
    Value,
    Wild,
)
from navlin.index.solr.solr_query import EVERYTHING, literal, phrase, quoted

PROPERTY: Final = re.compile(r"(?!(?:up|tp|cp|cpl|cpd|cpt|cpb)_)[^.]+\..+", re.DOTALL)
"""Pattern of a property with a namespace, ``namespace.key``."""

DATE_FIELDS: Final = frozenset(
    {*DATES, "firstSeen", "recreated", "lastExecuted", "lastRead", "lastReadBelow", "unlinkedSince"}
)
"""Date fields, in addition to `cpt_…`."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\S*Z\S*|NOW\b\S*")
_INTEGER = re.compile(r"[+-]?\d{1,18}")
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")


def printed(query: Query) -> str:
    """Print the query in the query language. Parsing it gives the same tree."""
    return _whole(query, _as_asked, "{}")


def to_solr(query: Query) -> str:
    """Print the query for Solr."""
    # Solr would take a parser's clause at the very beginning for the whole query.
    return _whole(query, _as_stored, "({})")


def facet_to_solr(facet: Facet) -> str:
    """Print a facet's field for Solr."""
    local = _local(ex=",".join(facet.excluded), key=facet.key)
    return f"{{!{local}}}{facet.field}" if local else facet.field


FieldClause = Callable[[str, Value], str]


def _whole(query: Query, field_clause: FieldClause, parser_clause: str) -> str:
    local = _local(tag=",".join(query.tags), ex=",".join(query.excluded), key=query.key)
    return (f"{{!{local}}}" if local else "") + _clauses(query.clauses, field_clause, parser_clause)


def _clauses(clauses: tuple[Clause, ...], field_clause: FieldClause, parser_clause: str) -> str:
    return " ".join(
        text for each in clauses for text in _clause_and_operator(each, field_clause, parser_clause)
    )


def _clause_and_operator(each: Clause, field_clause: FieldClause, parser_clause: str) -> Iterator[str]:
    if each.operator:
        yield each.operator
    boost = ""
    if each.boost is not None:
        boost = f"^{'=' if each.boost.constant else ''}{each.boost.factor}"
    yield each.sign + _node(each.node, field_clause, parser_clause) + boost


def _node(node: Node, field_clause: FieldClause, parser_clause: str) -> str:
    match node:
        case Everything():
            return EVERYTHING
        case FieldValue():
            return field_clause(node.field, node.value)
        case ClauseGroup():
            return f"({_clauses(node.clauses, field_clause, parser_clause)})"
        case CachedFilter():
            return f"filter({_clauses(node.clauses, field_clause, parser_clause)})"
        case ExactTerms():
            values = ",".join(node.values)
            if field_clause is _as_stored:
                values = _terms_as_stored(node.field, values)
            return parser_clause.format(f"{{!{node.parser} {_local(f=node.field, v=values, empty=True)}}}")
        case FunctionRange():
            given = _local(
                l=node.low,
                u=node.high,
                incl="" if node.includes_low else "false",
                incu="" if node.includes_high else "false",
                v=node.field,
            )
            return parser_clause.format(f"{{!frange {given}}}")


def _local(*, empty: bool = False, **given: str) -> str:
    return " ".join(f"{key}={quoted(text)}" for key, text in given.items() if text or empty)


def _terms_as_stored(field: str, values: str) -> str:
    values = value_of(field, values)
    return values.lower() if field in CASELESS else values


# -- Values ------------------------------------------------------------------------------------------------------------


def _value(value: Value) -> str:
    match value:
        case SearchTerm():
            word = "".join(part.value if isinstance(part, Wild) else literal(part) for part in value.parts)
            return word + _distance(value.distance)
        case Phrase():
            return phrase(value.text) + _distance(value.distance)
        case Range():
            low, high = ("*" if bound is None else phrase(bound) for bound in (value.low, value.high))
            return f"{'[' if value.includes_low else '{'}{low} TO {high}{']' if value.includes_high else '}'}"


def _distance(distance: str) -> str:
    return distance and "~" + distance.removeprefix("~")


def _as_asked(field: str, value: Value) -> str:
    return f"{literal(field)}:{_value(value)}" if field else _value(value)


def _as_stored(field: str, value: Value) -> str:
    if not field and isinstance(value, Range):
        field = ANY_TEXT
    if PROPERTY.fullmatch(field):
        return _property(field, value)
    if field in DATE_FIELDS or field.startswith("cpt_"):
        value = _in_whole_days(value)
    text = _value(value)
    return clause(field, text) or f"{literal(field)}:{value_of(field, text)}"


def _in_whole_days(value: Value) -> Value:
    """Expand a date without a time to the whole day."""
    match value:
        case SearchTerm() | Phrase():
            day = value.text
            if day is not None and _DAY.fullmatch(day):
                return Range(f"{day}T00:00:00Z", f"{day}T23:59:59.999Z")
            return value
        case Range():
            low, high = value.low, value.high
            if low is not None and _DAY.fullmatch(low):
                low += "T00:00:00Z" if value.includes_low else "T23:59:59.999Z"
            if high is not None and _DAY.fullmatch(high):
                high += "T23:59:59.999Z" if value.includes_high else "T00:00:00Z"
            return Range(low, high, value.includes_low, value.includes_high)


def _property(name: str, value: Value) -> str:
    """Print a clause for a property. A property is stored under the prefix of its type, which the query does not state
    but the form of the value suggests.

    A range of numbers or dates is not applied to texts, because texts would be compared letter by letter.
    """
    clauses = []
    for prefix in _prefixes(value):
        own = _in_whole_days(value) if prefix == "cpt_" else value
        clauses.append(f"{literal(prefix + name)}:{_value(own)}")
    return clauses[0] if len(clauses) == 1 else f"({' '.join(clauses)})"


def _prefixes(value: Value) -> list[str]:
    match value:
        case Range(low=None, high=None) | SearchTerm(parts=(Wild.MANY,)):
            return ["cp_", "cpl_", "cpd_", "cpt_", "cpb_"]
        case Range():
            return _typed([each for each in (value.low, value.high) if each is not None]) or ["cp_"]
        case SearchTerm() | Phrase():
            text = value.text
            if text is None:
                return ["cp_"]
            boolean = ["cpb_"] if text.lower() in ("true", "false") else []
            return ["cp_", *_typed([text]), *boolean]


def _typed(texts: list[str]) -> list[str]:
    """Return the prefixes of the numeric and date property types that may have all of these values."""
    kinds = (("cpl_", _INTEGER), ("cpd_", _DECIMAL))
    prefixes = [prefix for prefix, form in kinds if all(form.fullmatch(text) for text in texts)]
    if all(_DAY.fullmatch(text) or _MOMENT.fullmatch(text) for text in texts):
        prefixes.append("cpt_")
    return prefixes
