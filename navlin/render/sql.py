"""Layout of statement texts for people: one clause, column or condition per line.

Nothing is parsed. Only the white space between words and signs is changed, so a text of any dialect, even if it is not
SQL, stays as the engine recorded it; quoted text and comments stay verbatim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

WIDTH_CHARS: Final = 100
"""Maximum line length of a text that is left unchanged, because its author has laid it out."""
MOST_CHARS: Final = 100_000
"""Maximum length of a text to lay out; nobody reads a longer text to the end."""
_INDENT: Final = "  "
_TOKEN: Final = re.compile(
    r"""(?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))
    |(?P<quoted>'(?:\\.|[^'\\])*(?:'|\Z)|"(?:\\.|[^"\\])*(?:"|\Z)|`[^`]*(?:`|\Z))
    |(?P<word>\w+)
    |(?P<space>\s+)
    |(?P<sign>.)""",
    re.DOTALL | re.VERBOSE,
)
_CLAUSES: Final = frozenset(
    "SELECT FROM WHERE HAVING LIMIT UNION INTERSECT EXCEPT MINUS VALUES INSERT UPDATE DELETE MERGE USING WITH".split()
)
_BEFORE_BY: Final = frozenset("GROUP ORDER SORT DISTRIBUTE CLUSTER".split())
_BEFORE_JOIN: Final = frozenset("LEFT RIGHT FULL INNER CROSS NATURAL OUTER SEMI ANTI".split())
_LISTS: Final = frozenset({"SELECT", "WITH", "SET"})
"""Clauses in which each item is on its own line."""
_CONDITIONS: Final = frozenset({"WHERE", "HAVING", "ON"})
_QUERIES: Final = frozenset({"SELECT", "WITH", "FROM", "VALUES"})


class _SqlToken(NamedTuple):
    kind: str
    text: str
    spaced: bool
    """Whether white space precedes the token."""

    @property
    def word(self) -> str:
        return self.text.upper() if self.kind == "word" else ""


@dataclass(slots=True)
class _Parentheses:
    """Layout state between two parentheses. Lines are broken only in a query."""

    query: bool
    indent: int
    clause: str = ""
    cases: int = 0
    between: bool = False


@dataclass(slots=True)
class _Page:
    pieces: list[str] = field(default_factory=list)
    fresh: bool = True
    """Whether the line is still empty."""
    indent: int = 0
    """Indent of the current line."""

    def put(self, text: str, *, spaced: bool) -> None:
        if spaced and not self.fresh:
            self.pieces.append(" ")
        self.pieces.append(text)
        self.fresh = False

    def break_line(self, indent: int) -> None:
        if not self.fresh:
            self.pieces.append("\n" + _INDENT * indent)
            self.fresh, self.indent = True, indent


def laid_out(text: str) -> str:
    """Return the text laid out in lines; unchanged if its author laid it out, or if it is very long."""
    text = text.strip()
    if len(text) > MOST_CHARS or max(map(len, text.splitlines()), default=0) <= WIDTH_CHARS:
        return text
    tokens = list(_tokens(text))
    page, frames = _Page(), [_Parentheses(query=True, indent=0)]
    for at, token in enumerate(tokens):
        _put(page, frames, tokens, at, token)
    return "".join(page.pieces).rstrip()


def _tokens(text: str) -> Iterator[_SqlToken]:
    spaced = False
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup or ""
        if kind != "space":
            yield _SqlToken(kind, found[0], spaced)
        spaced = kind == "space"


def _put(
    page: _Page, frames: list[_Parentheses], tokens: Sequence[_SqlToken], at: int, token: _SqlToken
) -> None:
    frame = frames[-1]
    if token.kind == "sign":
        _put_sign(page, frames, tokens, at, token)
        return
    if token.word and frame.query:
        _break_before(page, frame, tokens, at)
    page.put(token.text, spaced=token.spaced)
    if token.text.startswith("--"):
        page.break_line(frame.indent)


def _put_sign(
    page: _Page, frames: list[_Parentheses], tokens: Sequence[_SqlToken], at: int, token: _SqlToken
) -> None:
    frame = frames[-1]
    match token.text:
        case "(":
            page.put("(", spaced=token.spaced)
            query = _word(tokens, at + 1) in _QUERIES
            frames.append(_Parentheses(query, page.indent + query))
            if query:
                page.break_line(page.indent + 1)
        case ")" if len(frames) > 1:
            if (inner := frames.pop()).query:
                page.break_line(inner.indent - 1)
            page.put(")", spaced=token.spaced)
        case ",":
            page.put(",", spaced=token.spaced)
            if frame.query and not frame.cases and frame.clause in _LISTS:
                page.break_line(frame.indent + (frame.clause != "WITH"))
        case ";":
            page.put(";", spaced=token.spaced)
            frames[:] = [_Parentheses(query=True, indent=0)]
            page.break_line(0)
        case sign:
            page.put(sign, spaced=token.spaced)


def _break_before(page: _Page, frame: _Parentheses, tokens: Sequence[_SqlToken], at: int) -> None:
    """End the line before a word that begins a clause or a condition, and record the clause."""
    word, last = tokens[at].word, tokens[at - 1] if at else None
    if last is not None and last.text == ".":
        # The word is the name of a column.
        return
    match word:
        case "CASE":
            frame.cases += 1
        case "END" if frame.cases:
            frame.cases -= 1
        case "BETWEEN":
            frame.between = True
        case "AND" if frame.between:
            frame.between = False
        case _ if frame.cases:
            return
        case "AND" | "OR" if frame.clause in _CONDITIONS:
            page.break_line(frame.indent + 1)
        case "ON":
            frame.clause = "ON"
        case "SET" if frame.clause == "UPDATE":
            _begin(page, frame, "SET")
        case "SET" if frame.clause == "WHEN":
            frame.clause = "SET"
        case "WHEN" if _word(tokens, at + 1) in ("MATCHED", "NOT"):
            _begin(page, frame, "WHEN")
        case _ if _begins(tokens, at, word):
            _begin(page, frame, word)


def _begin(page: _Page, frame: _Parentheses, clause: str) -> None:
    page.break_line(frame.indent)
    frame.clause, frame.between = clause, False


def _begins(tokens: Sequence[_SqlToken], at: int, word: str) -> bool:
    last, following = _word(tokens, at - 1), _word(tokens, at + 1)
    if word in _BEFORE_BY:
        return following == "BY"
    if word == "LATERAL":
        return following == "VIEW"
    if word == "JOIN" or word in _BEFORE_JOIN:
        joins = word == "JOIN" or "JOIN" in (_word(tokens, at + each) for each in (1, 2, 3))
        return joins and last not in _BEFORE_JOIN
    if word == "FROM":
        return last not in ("DELETE", "DISTINCT")
    if word == "WITH":
        # Not WITH ROLLUP, and not a table's properties.
        return _word(tokens, at + 2) == "AS" or following == "RECURSIVE"
    # An action of MERGE, after THEN, does not begin a clause.
    return word in _CLAUSES and (last, word) != ("INSERT", "VALUES") and last != "THEN"


def _word(tokens: Sequence[_SqlToken], at: int) -> str:
    return tokens[at].word if 0 <= at < len(tokens) else ""
