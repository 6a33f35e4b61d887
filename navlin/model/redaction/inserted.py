"""Secrets that a statement assigns to columns in a separate list: by VALUES, or by a SELECT."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from navlin.model.redaction.names import NAME, SIGN
from navlin.model.redaction.signs import SPACE
from navlin.model.redaction.values import GAP, masked_at

_HEAD: Final = re.compile(
    rf"""\b(?:insert|replace|upsert|create)\b [^()']{{0,400}}+ (?: \( [^()]{{0,500}}+ \) \s*+ )?
    \( (?P<columns> [^()]{{1,4000}}+ ) \) {GAP}{{0,20}}+
    (?= \(?+ \s*+ (?: values|select|with|table|as|overriding|output )\b )""",
    re.IGNORECASE | re.VERBOSE,
)
_OF_SECRET: Final = re.compile(rf"{NAME}\Z", re.IGNORECASE | re.VERBOSE)
_PART: Final = re.compile(
    r"""'(?:[^'\\]|\\.|'')*+'?|"(?:[^"\\]|\\.)*+"?|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?|[(),;]|\w++|[^\w'"(),;/-]++|[/-]""",
    re.DOTALL,
)
_ENDS_LIST: Final = frozenset(
    "from where union except intersect minus limit order group having on when window lateral returning".split()
)
_ENDS_STATEMENT: Final = frozenset(("insert", "merge", "create", "replace", "upsert", ";"))
_BEHIND: Final = rf"(?:{SPACE}|/\*[^*]*\*/|--[^\n]*\n)*"

SIGNS = (rf"(?i:{SIGN}[^()]*\){_BEHIND}\(?{SPACE}*(?:values|select|with|table|as|overriding|output))",)


def without_inserted(text: str) -> str:
    """Return the text without the literals that a statement assigns to columns of secrets."""
    pieces: list[str] = []
    copied = at = 0
    while (head := _HEAD.search(text, at)) is not None:
        at = head.end()
        columns = [column.strip('`"[] \t\r\n').split(None, 1) for column in head["columns"].split(",")]
        names = [column[0].rstrip('`"]') if column else "" for column in columns]
        secret = {n for n, name in enumerate(names) if (of := _OF_SECRET.search(name)) and not of["weak"]}
        if not secret:
            continue
        for column, start, end in _literals(text, at):
            at = end
            if column in secret and (value := masked_at(text, start)) is not None:
                pieces += (text[copied:start], value[0])
                copied = at = value[1]
    return "".join((*pieces, text[copied:])) if pieces else text


def _literals(text: str, at: int) -> Iterator[tuple[int, int, int]]:
    """Yield (column index, start, end) of each literal in a statement's rows or select lists."""
    depth = column = 0
    base: int | None = None
    active = rows = with_ = False
    while (part := _PART.match(text, at)) is not None:
        word, begin, at = part[0], at, part.end()
        low = word.lower()
        if word == "(":
            depth += 1
            if rows and base is not None and depth == base + 1:
                column, active = 0, True
        elif word == ")":
            depth -= 1
            if base is not None and depth < base:
                active = rows = False
            if depth < 0:
                return
        elif low in _ENDS_STATEMENT and depth <= 0:
            return
        elif low == "with" and base is None:
            with_ = True
        elif low == "values" and base is None and not with_:
            base, rows = depth, True
        elif low == "select" and (base == depth or (base is None and not (with_ and depth))):
            base, column, active, rows = depth, 0, True, False
        elif low in _ENDS_LIST and base == depth:
            active = rows = False
        elif word == "," and active and depth == (base or 0) + rows:
            column += 1
        elif active and word[0] in "'\"":
            yield column, begin, at
