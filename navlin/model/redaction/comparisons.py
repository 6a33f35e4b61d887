"""Secrets that SQL compares with a column of that name, beside the plain ``name = '…'``: ``lower(name) = '…'``,
``'…' = name``, ``name in ('…', '…')``, ``name like '…'``, ``name between '…' and '…'``, ``case name when '…'``,
``coalesce(name, '…')``.

Only literals are masked: a comparison with another column stays.
"""

from __future__ import annotations

import re

from navlin.model.redaction.names import NAME, NAME_AGAIN, SIGN
from navlin.model.redaction.signs import BEYOND_ASCII, SPACE
from navlin.model.redaction.values import GAP, masked_at

_GAPS = f"{GAP}{{1,20}}+"
_ANY_GAPS = f"{GAP}{{0,20}}+"
_OPERATOR = r"(?: <=> | <> | != | ==? | <= | >= | < | > )"
_CLOSED = rf"(?: {_ANY_GAPS} \) )"
_PREFIX = r"(?: [A-Za-z]{0,2} (?=['\"]) | \w{1,40} \s? \( \s? (?=['\"]) )"
"""What a literal may have before it: letters of its own (``N'…'``), or a function."""
_NAMED = re.compile(
    rf"""
    {NAME} [`"\]]?
    (?: (?P<when> {_GAPS} when {_GAPS} )
      | (?P<listed> {_ANY_GAPS} , {_ANY_GAPS} )
      | {_CLOSED}{{0,3}} {_ANY_GAPS} (?: \bnot {_GAPS} )?
        \b(?P<among> in {_ANY_GAPS} \( | between {_GAPS} | [ri]?like {_GAPS} | regexp {_GAPS} | similar {_GAPS} to {_GAPS} )
        {_ANY_GAPS}
      | {_CLOSED}{{1,3}} {_ANY_GAPS} {_OPERATOR} {_ANY_GAPS}
      | {_ANY_GAPS} <=> {_ANY_GAPS}
    )
    {_PREFIX} (?=['"])
    """,
    re.IGNORECASE | re.VERBOSE,
)
_COLUMN = r"[\w`\".]{0,150}\Z"
_IN_A_NAME = re.compile(r"\w\Z")
_CASE = re.compile(rf"\bcase {_GAPS} {_COLUMN}", re.IGNORECASE | re.VERBOSE)
_REPLACES = re.compile(
    rf"\b(?:coalesce|nvl2?|ifnull|isnull|nullif|decode|greatest|least) \s{{0,9}} \( \s{{0,9}} {_COLUMN}",
    re.IGNORECASE | re.VERBOSE,
)
_NEXT = re.compile(
    rf"{_CLOSED}?+ {_ANY_GAPS} (?: , | \band\b ) {_ANY_GAPS} {_PREFIX} (?=['\"])", re.IGNORECASE | re.VERBOSE
)
_NEXT_WHEN = re.compile(
    rf"{_GAPS} then\b (?: (?!\b(?:when|end)\b) [^'\"] | '[^'\n]{{0,200}}' ){{1,300}}+ when {_GAPS} {_PREFIX} (?=['\"])",
    re.IGNORECASE | re.VERBOSE,
)
_BEFORE = re.compile(
    rf"""
    (?P<literal> ' (?: [^'\\\n] | '' | \\. ){{1,200}}+ ' )
    {_CLOSED}?+ {_ANY_GAPS} {_OPERATOR} {_ANY_GAPS}
    (?: \w{{1,40}} \s? \( \s? ){{0,3}} [\w`".]{{0,150}}? {NAME_AGAIN} (?! \s? \( )
    """,
    re.IGNORECASE | re.VERBOSE,
)

_SPACES = rf"(?:{SPACE}|/\*[^*]*(?:\*[^/*]*)*\*/|--[^\n]*\n)"
SIGNS = (
    rf"(?i:{SIGN}[`\"\]]?{SPACE}*(?:<=>|\)|,|/\*|--))",
    rf"(?i:{SIGN}[`\"\]]?{SPACE}*(?:not|in|between|when|[ri]?like|regexp|similar)\W)",
    rf"(?i:['\"](?:{_SPACES}|\))*[<>=!]+(?:{_SPACES}|[\w`\".({BEYOND_ASCII}])*{SIGN})",
)


def without_compared(text: str) -> str:
    """The text without the literals that a column of secrets is compared with, or replaced by."""
    return _without_those_before(_without_those_behind(text))


def _without_those_behind(text: str) -> str:
    pieces: list[str] = []
    copied = at = 0
    while (named := _NAMED.search(text, at)) is not None:
        if not _compares(text, named):
            at = named.start() + 1
            continue
        at = named.end()
        following = _NEXT_WHEN if named["when"] is not None else _NEXT
        while (value := masked_at(text, at)) is not None and not text.startswith(".", value[1]):
            pieces += (text[copied:at], value[0])
            copied = at = value[1]
            if (more := following.match(text, at)) is None:
                break
            at = more.end()
    return "".join((*pieces, text[copied:]))


def _compares(text: str, named: re.Match[str]) -> bool:
    if named["weak"] is not None:
        return False
    before = text[max(0, named.start() - 200) : named.start()]
    if named["among"] is not None and named[0][:5].lower() == "token" and not _IN_A_NAME.search(before):
        return False  # a word of a text, as often as not
    if named["when"] is not None:
        return _CASE.search(before) is not None
    return named["listed"] is None or _REPLACES.search(before) is not None


def _without_those_before(text: str) -> str:
    def masked(found: re.Match[str]) -> str:
        literal = found["literal"]
        value = masked_at(literal, 0)
        return found[0] if value is None else value[0] + found[0][len(literal) :]

    return _BEFORE.sub(masked, text)
