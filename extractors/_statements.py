"""What kind of statement a SQL text is, by its first keywords, where an engine's record does not say.

The kinds are Impala's own words for them (``TLineageGraph.operationType``), and ours where Impala has none.
"""

from __future__ import annotations

import re

LOOKED_AT_CHARS = 64_000
"""A kind shows at a statement's beginning, behind comments and WITH."""

_SPACE = r"(?:\s++|--[^\n]*+(?:\n|\Z)|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))"
_SKIPPED = re.compile(rf"(?:{_SPACE}|\()*+")
_TOKEN = re.compile(
    rf"""{_SPACE}++ | '(?:[^'\\]|\\.)*+(?:'|\Z) | "(?:[^"\\]|\\.)*+(?:"|\Z) | `[^`]*+(?:`|\Z) | \w++ | .""",
    re.VERBOSE | re.DOTALL,
)
_KINDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern.replace(" ", rf"{_SPACE}++"), re.IGNORECASE), kind)
    for pattern, kind in (
        (r"insert overwrite\b", "INSERT_OVERWRITE"),
        (r"insert\b", "INSERT"),
        (r"upsert\b", "UPSERT"),
        (r"update\b", "UPDATE"),
        (r"delete\b", "DELETE"),
        (r"merge\b", "MERGE"),
        (r"create (?:or replace )?(?:materialized )?view\b", "CREATEVIEW"),
        (r"alter view\b", "ALTERVIEW_AS"),
        (r"create (?:external )?table\b", "CREATETABLE"),
        (r"(?:select|values)\b", "SELECT"),
        # Hive's queries may begin with what they read.
        (r"from\b", "FROM"),
    )
)
_QUERY = re.compile(r"(?:select|with|values)\Z", re.IGNORECASE)
_NAME = r"(?:`[^`]{1,300}`|\w{1,300})"
_TABLE = re.compile(
    rf"create{_SPACE}++(?:external{_SPACE}++)?table{_SPACE}++(?:if{_SPACE}++not{_SPACE}++exists{_SPACE}++)?"
    rf"({_NAME}){_SPACE}*+\.{_SPACE}*+({_NAME})",
    re.IGNORECASE,
)


def kind_of(text: str) -> str:
    """``SELECT``, ``INSERT``, ``CREATETABLE_AS_SELECT`` …, or "" for a statement of another kind."""
    text = text[:LOOKED_AT_CHARS]
    at = _first_keyword(text)
    for pattern, kind in _KINDS:
        if pattern.match(text, at):
            if kind == "CREATETABLE" and _is_as_select(text, at):
                return "CREATETABLE_AS_SELECT"
            return kind if kind != "FROM" else _kind_behind_from(text, at)
    return ""


def created_table(text: str) -> tuple[str, str] | None:
    """Database and table of a CREATE TABLE that names both."""
    text = text[:LOOKED_AT_CHARS]
    found = _TABLE.match(text, _first_keyword(text))
    return (found[1].strip("`"), found[2].strip("`")) if found else None


def _first_keyword(text: str) -> int:
    """Where the statement's own keyword stands: behind comments, brackets and the queries of a WITH."""
    at = _skip(text, 0)
    if text[at : at + 4].lower() != "with":
        return at
    depth = 0
    closed = False
    for token in _TOKEN.finditer(text, at + 4):
        word = token[0]
        if word == "(":
            depth += 1
        elif word == ")":
            depth -= 1
            closed = depth == 0
        elif depth == 0 and closed and (word[0].isalpha() or word[0] == "_"):
            if word.lower() != "as":  # `WITH a (x, y) AS (…)`: the first brackets hold names of columns
                return token.start()
            closed = False
        elif word == ",":
            closed = False
    return len(text)


def _skip(text: str, at: int) -> int:
    found = _SKIPPED.match(text, at)
    return found.end() if found else at


def _kind_behind_from(text: str, at: int) -> str:
    """Of ``FROM a … INSERT …`` and ``FROM a SELECT …``, outside of brackets, quotes and comments."""
    depth = 0
    for token in _TOKEN.finditer(text, at):
        word = token[0].lower()
        depth += (word == "(") - (word == ")")
        if depth == 0 and word in ("insert", "select", "map", "reduce"):
            return kind_of(text[token.start() :]) or "SELECT"
    return ""


def _is_as_select(text: str, at: int) -> bool:
    """Whether the keyword AS is followed by a query, outside of quotes and comments."""
    before = ""
    for token in _TOKEN.finditer(text, at):
        word = token[0]
        if word[0].isspace() or word.startswith(("--", "/*")) or word == "(":
            continue
        if before == "as" and _QUERY.match(word):
            return True
        before = word.lower()
    return False
