"""Rewrite texts so that sqlglot parses them: replace words of Hive, Impala and Spark that sqlglot does not know and
that do not affect lineage."""

from __future__ import annotations

import re
from typing import Final

_IN_BRACKETS: Final = r"\((?:[^()]|\([^()]*\))*\)"
_NAME: Final = r"(?:`[^`]+`|\w+)(?:\s*\.\s*(?:`[^`]+`|\w+))*"
_PARTITION: Final = rf"PARTITION\s*{_IN_BRACKETS}"
_INSERT: Final = rf"INSERT\s+(?:INTO|OVERWRITE)\s+(?:TABLE\s+)?{_NAME}"
_BEHIND_TABLE: Final = (
    r"(?!\w)(?=\s*(?:[);]|\|>|\Z"
    r"|(?:UNION|EXCEPT|INTERSECT|MINUS|ORDER|SORT|DISTRIBUTE|CLUSTER|LIMIT|OFFSET)\b))"
)
"""Pattern of the text after ``TABLE t`` if that is a query. Before any other text, ``table`` is the name of a column,
and a type follows."""
_LITERALS: Final = re.compile(
    r"'(?:[^'\\]|\\.)*+(?:'|\Z)|\"(?:[^\"\\]|\\.)*+(?:\"|\Z)|`[^`]*+(?:`|\Z)|--[^\n]*+|/\*.*?(?:\*/|\Z)",
    re.DOTALL,
)
_HINTS: Final = (
    r"(?:(?<=\bJOIN)|(?<![\w`\])]))\[\s*(?:STRAIGHT_JOIN|BROADCAST|SHUFFLE|NOSHUFFLE)\s*\]|\bSTRAIGHT_JOIN\b"
    r"|\[\s*(?:SHUFFLE|NOSHUFFLE)\s*\](?=\s*(?:SELECT|WITH|VALUES)\b)"
)
"""Impala's join hints, which no other dialect knows. The same words in brackets after a name are the index of an
element."""
_REWRITES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), instead)
    for pattern, instead in (
        (_HINTS, " "),
        (r"\bFOR\s+SYSTEM_VERSION\s+AS\s+OF\b", "FOR VERSION AS OF"),
        (r"\bUPSERT\s+INTO\b", "INSERT INTO"),  # Impala
        (r"\bAS\s+TIMESTAMPLOCALTZ\b", "AS TIMESTAMP"),  # Hive
        (r"\bMAX\s+RECURSION\s+LEVEL\s+\d+", ""),  # Spark
        (rf"\b({_INSERT}(?:\s*{_PARTITION})?)\s+IF\s+NOT\s+EXISTS\b", r"\1"),  # Hive
        # ``TABLE t`` is a query (Spark).
        (
            rf"(\A\s*|\(\s*|\b(?:UNION|EXCEPT|INTERSECT|MINUS)\s+(?:ALL\s+|DISTINCT\s+)?)TABLE\s+({_NAME}){_BEHIND_TABLE}",
            r"\1SELECT * FROM \2",
        ),
        # Impala writes the columns before the partition, all other engines after it.
        (rf"\b({_INSERT}\s*)({_IN_BRACKETS})\s*({_PARTITION})", r"\1 \3 \2"),
    )
)
_GROUP: Final = re.compile(r"(\\\d)")
_CREATE: Final = re.compile(
    r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?(?:\w+\s+){0,2}?(TABLE|VIEW)\s+(?:IF\s+NOT\s+EXISTS\s+)?"
    rf"({_NAME})(\s*{_IN_BRACKETS})?",
    re.IGNORECASE,
)
_QUERY: Final = re.compile(r"\bAS\s*(?=\(|SELECT\b|WITH\b|VALUES\b|FROM\b|TABLE\b)", re.IGNORECASE)


def without_literals(text: str) -> str:
    """Mask literals, quoted names and comments. The text keeps its length, and all other characters stay the same."""
    return _LITERALS.sub(lambda found: _blank(found[0]), text)


def _blank(found: str) -> str:
    if found.startswith("`"):
        return "`" + "_" * (len(found) - 2) + "`"
    return "0" + " " * (len(found) - 1) if found[0] in "'\"" else " " * len(found)


def rewritten(text: str) -> str:
    """Replace the words that sqlglot does not know, outside of literals."""
    masked = without_literals(text)
    for pattern, instead in _REWRITES:
        if pattern.search(masked):
            text = _replaced(text, masked, pattern, instead)
            masked = without_literals(text)
    return text


def _replaced(text: str, masked: str, pattern: re.Pattern[str], instead: str) -> str:
    """Replace each part of the text at which the masked text matches a pattern."""
    made, at = [], 0
    for found in pattern.finditer(masked):
        groups = {f"\\{number}": text[slice(*found.span(number))] for number in range(1, pattern.groups + 1)}
        made += [text[at : found.start()], *(groups.get(part, part) for part in _GROUP.split(instead))]
        at = found.end()
    return "".join([*made, text[at:]])


def bare_create(text: str) -> str:
    """Remove everything between the name (for a view, the name and the columns) and the query of a ``CREATE … AS``,
    such as the storage. Any other text is returned unchanged."""
    masked = without_literals(text)
    created = _CREATE.match(masked)
    if created is None:
        return text
    depth = 0
    for at in range(created.end(), len(masked)):
        if masked[at] in "()":
            depth += 1 if masked[at] == "(" else -1
        elif masked[at] in "aA" and depth == 0 and (query := _QUERY.match(masked, at)):
            name = text[created.start(2) : created.end(2)]
            columns = text[created.end(2) : created.end()] if created[1].upper() == "VIEW" else ""
            return f"CREATE {created[1]} {name}{columns} AS {text[query.end() :]}"
    return text
