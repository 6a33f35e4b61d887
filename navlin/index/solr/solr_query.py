"""Solr query syntax: terms, lists of values, ranges, and escaped text.

A "filter" is a whole ``fq``. A "clause" may also be part of a boolean query.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

EVERYTHING: Final = "*:*"
_SPECIAL: Final = re.compile(r"(\W)", re.ASCII)
_OPERATORS: Final = frozenset({"AND", "OR", "NOT", "TO"})
_SEPARATOR: Final = "\t"
"""Separator of the values in a list. No id, run id or path in the index contains it."""


def literal(text: str) -> str:
    """Escape text as one word of a clause, so that no character of it, and no word such as AND, is syntax."""
    return "\\" + text if text.upper() in _OPERATORS else _SPECIAL.sub(r"\\\1", text)


def phrase(text: str) -> str:
    """Quote text as a value of a clause, or as a bound of a range."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def term(field: str, value: str) -> str:
    """Return a filter for documents whose field has exactly this indexed term."""
    return f"{{!term f={field}}}{value}"


def terms(field: str, values: Iterable[str]) -> str:
    """Return a filter for documents whose field has one of these indexed terms, any number of them. Solr does not cache
    the result."""
    return f'{{!terms f={field} separator="{_SEPARATOR}" cache=false}}{joined(values)}'


def terms_given(field: str, parameter: str) -> str:
    """Return a clause for documents whose field has one of the terms in a request parameter. `joined` builds the
    parameter's value."""
    return f'{{!terms f={field} separator="{_SEPARATOR}" v=${parameter}}}'


def joined(values: Iterable[str]) -> str:
    """Join values as one parameter of a request, for `terms_given`. Values that contain the separator are left out."""
    return _SEPARATOR.join(value for value in values if _SEPARATOR not in value)


def one_of(field: str, words: Iterable[str]) -> str:
    """Return a clause for documents whose field has one of these few words, analysed like the field's values."""
    return f"{field}:({' OR '.join(map(literal, words))})"


def none_of(field: str, words: Iterable[str]) -> str:
    """Return a filter for documents whose field has none of these few words."""
    return f"{EVERYTHING} -{one_of(field, words)}"


def present(field: str) -> str:
    """Return a clause for documents whose field has a value."""
    return f"{field}:[* TO *]"


def absent(field: str) -> str:
    """Return a filter for documents whose field has no value."""
    return f"{EVERYTHING} -{present(field)}"


def in_range(field: str, first: str | int = "*", before: str | int = "*") -> str:
    """Return a clause for documents with ``first <= field < before``; an asterisk leaves that side open."""
    return f"{field}:[{_bound(first)} TO {_bound(before)}}}"


def after(field: str, value: str) -> str:
    """Return a filter for documents with ``field > value``. Solr does not cache the result."""
    return f"{{!cache=false}}{field}:{{{phrase(value)} TO *]"


def starting(field: str, text: str) -> str:
    """Return a clause for documents whose field has a value that starts with this text."""
    return f"{field}:{literal(text)}*"


def below(field: str, path: str) -> str:
    """Return a clause for documents whose field has a path below this one."""
    return starting(field, path.rstrip("/") + "/")


def at_or_below(field: str, path: str) -> str:
    """Return a clause for documents whose field has this path or one below it."""
    return present(field) if path == "/" else f"{field}:{literal(path)} {below(field, path)}"


def quoted(value: str) -> str:
    """Quote text as a value of local parameters."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _bound(value: str | int) -> str:
    return str(value) if value == "*" or isinstance(value, int) else phrase(value)
