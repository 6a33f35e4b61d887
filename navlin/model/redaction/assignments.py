"""Secrets beside a name that says so: ``name = value`` in SQL, properties, YAML, JSON, calls and command lines.

A quoted value is masked. A bare one may be a column (``a.token = b.token``), a type (``password: string``) or a word of a
sentence: where it stands decides.
"""

from __future__ import annotations

import re

from navlin.model.redaction.bare_values import LONG, bare_value, start_of_name
from navlin.model.redaction.names import NAME, SIGN
from navlin.model.redaction.signs import BEYOND_ASCII, SPACE, WORD
from navlin.model.redaction.values import GAP, end_of_bare, masked_at

_PART = rf"[\w{BEYOND_ASCII}-]"
_DOTTED = rf"[\w.{BEYOND_ASCII}-]"
_WORDS = "(?:pass|pwd|pw|secret|token|credential|key|sig|sas|auth|delegation|psk|pin|session)"
_CLOSED = rf"{SIGN}\\*[\"'`]?\]?"
_QUOTE = rf"(?:/\*|--|(?:[A-Za-z]{{0,2}}|{WORD}+\({SPACE}*)\\*[\"'$])"
"""A quote with what stands before it, or a comment, behind which one may stand."""
_TYPE = rf"{SPACE}+[A-Za-z]\w*(?:\(\w*\))?"
_SIGN = rf"(?:[:=!]|<>|->|(?:\(|\bto\b|\bis\b){SPACE}*{_QUOTE})"
SIGNS = (
    rf"(?i:{_CLOSED}{SPACE}*(?:{_SIGN}|{_QUOTE}|\{{))",
    rf"(?i:{_CLOSED}{_TYPE}{SPACE}*(?:{_SIGN}|\(|/\*|--))",
    rf"(?i:{SIGN}(?:\\+|\\*[\"'`])\]?{SPACE}*,{SPACE}*{_QUOTE})",
    rf"(?i:-{_DOTTED}*{SIGN}\]?[ \t])",
    rf"(?i:(?:^|[\n;]){SPACE}*{_PART}*(?:\.{_DOTTED}*{_WORDS}|{_WORDS}{_PART}*\.){_DOTTED}*\\*[\"'`]?\]?[ \t])",
)

_PREFIX = r"(?:[A-Za-z]{0,2}(?=['\"]|\$\w{0,30}\$)|\w{1,40}\(\s*+(?=\\*['\"]))"
"""A literal's own prefix (``N'…'``, ``f"…"``), or a function around it."""
_NAMED = re.compile(
    rf"""
    {NAME} (?P<closed> \\*["'`]? ) \]?
    (?:
        (?P<typed> \s*+ : \s*+ [A-Za-z][\w.\[\]]{{0,40}} | \s++ [A-Za-z]\w{{0,20}} (?:\(\w{{0,5}}\))? )? {GAP}{{0,20}}+
        (?: => | := | != | <> | ==? | -> | : | \( | \b(?:to|is)\b ) {GAP}{{0,20}}+
        {_PREFIX}?+ (?= \\*["'] | \$\w{{0,30}}\$ )                           # name = 'value'
      | (?P<gap> {GAP}{{1,20}}+ ) {_PREFIX}?+ (?= ["'] | \$\w{{0,30}}\$ )    # password 'value'
      | (?P<listed> \s*+,\s*+ ) {_PREFIX}?+ (?= \\*["'] )                    # set("name", "value")
      | (?P<equals> \s*+ (?: => | := | = ) (?: [ \t] | \\\r?\n )*+ ) (?= [^\s"'`,;&()<>=] )  # name=value
      | (?P<colon> [ \t]*+ : [ \t]*+ ) (?= [^\s"'`,;&()<>=:] )                # name: value
      | (?P<arrow> [ ]->[ ] ) (?= [^\s"'`,;&()] )                           # Map(name -> value)
      | (?P<space> [ \t] (?: [ \t] | \\\r?\n )*+ ) (?= [^\s"'=:<>] )                              # --password value
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_GOES_ON_OUTSIDE = re.compile(
    r"\s*+(?:[,)+;\]]|\|\||\Z|(?:as|from|and|or|then|else|end|when)\b)", re.IGNORECASE
)
_CALLED = re.compile(
    r"(?:\.\s?\w{1,40}|\b(?:set|put|option|config|conf|header|setenv|putenv|add)\w{0,30})\s?\(\s{0,8}[A-Za-z]?\\?['\"]\Z"
    r"|['\"]set\w{0,30}['\"]\s?,\s?['\"]\Z",
    re.IGNORECASE,
)
_COMMENT_ON = re.compile(r"\bcomment\s{1,9}on\s{1,9}\w{1,20}\s{1,9}[\w.\"`]{1,150}\Z", re.IGNORECASE)
_OF_COLUMNS = re.compile(
    r"\.\s?(?:select(?:Expr)?|drop\w*|group_?by|order_?by|sort\w*|partition_?by|cube|rollup|toDF|describe|summary"
    r"|with\w*Renamed|withColumn|coalesce|struct|array|concat\w*|agg|distinct|join|repartition\w*|add_argument)"
    r"\s?\(\s{0,8}[A-Za-z]?\\?['\"]\Z",
    re.IGNORECASE,
)
"""Methods whose arguments are names of columns, or of options that a program takes."""
_SQL = re.compile(
    r"\b(?:select|update|merge|delete\s+from|insert|join|where|filter|project)\b", re.IGNORECASE
)


def without_values(text: str) -> str:
    """The text without the values that stand beside the name of a secret."""
    pieces: list[str] = []
    copied = at = quotes = counted = 0
    in_sql = _SQL.search(text) is not None
    while (named := _NAMED.search(text, at)) is not None:
        at = named.end()
        quotes += text.count("'", counted, at)
        counted = at
        # `concat('token: ', x)`: the quote after the name closes the text that the name stands in.
        if text.startswith("'", at) and quotes % 2 and _GOES_ON_OUTSIDE.match(text, at + 1):
            continue
        if (
            value := _quoted(text, named) if _is_quoted(named) else bare_value(text, named, in_sql=in_sql)
        ) is None:
            at = max(named.end("closed"), named.start() + 1)
            quotes -= text.count("'", at, counted)
            counted = at
            continue
        pieces += (text[copied:at], value[0])
        copied = at = end_of_bare(text, at, value[1]) if not _is_quoted(named) else value[1]
        quotes += text.count("'", counted, at)
        counted = at
    return "".join((*pieces, text[copied:])) if pieces else text


def _is_quoted(named: re.Match[str]) -> bool:
    return not any(named[kind] for kind in ("equals", "colon", "arrow", "space"))


def _quoted(text: str, named: re.Match[str]) -> tuple[str, int] | None:
    if named["listed"] is not None and not _is_argument(text, named):
        return None
    if (
        named["typed"] is not None
        and ":" not in named["typed"]
        and "@" not in text[max(0, named.start() - 40) : named.start()]
    ):
        return None
    if _COMMENT_ON.search(text[max(0, named.start() - 200) : named.end("closed")]):
        return None
    value = masked_at(text, named.end())
    # The name of a table, in quotes; an operator in a parser's message.
    if value is not None and (
        (text[named.end()] == '"' and text.startswith(".", value[1]))
        or (named["gap"] is not None and value[1] - named.end() == 3 and not text[named.end() + 1].isalnum())
    ):
        return None
    if value is not None and named["weak"] is not None and value[1] - named.end() < LONG:
        return None
    return value


def _is_argument(text: str, named: re.Match[str]) -> bool:
    """Whether a quoted name and what follows the comma are a setting: an argument of a method, a pair in brackets, or a flag
    and its value in a list of arguments."""
    start = start_of_name(text, named.start())
    if not named["closed"]:
        return False
    before = text[max(0, start - 60) : start]
    if _OF_COLUMNS.search(before):
        return False
    if text[start] == "-":
        return not text.startswith(("'-", '"-'), named.end())
    return _CALLED.search(before) is not None or (
        "." in text[start : named.end()] and re.search(r"[\[(]\s?\\?['\"]\Z", before) is not None
    )
