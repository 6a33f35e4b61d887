"""Secrets that SQL compares with a column named like a secret, or uses as the column's default: ``lower(name) = '…'``,
``'…' = name``, ``name in ('…', '…')``, ``name like '…'``, ``name between '…' and '…'``, ``case name when '…'``,
``coalesce(name, '…')``.

The text is read as words, literals and signs of SQL. The tokens around a name decide, whatever blanks and comments are
between them. Only literals are masked: a comparison with another column stays. Comments, and quoted texts that contain
quotes, are read as texts of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from navlin.model.redaction.names import NAME, SIGN
from navlin.model.redaction.values import MASK, is_reference

_TOKEN = re.compile(
    r"""
      (?P<blank> \s++ )
    | (?P<comment> /\* | --(?=\s) )
    | (?P<literal> \\++'[^'\\\n]*+\\++' | '(?:[^'\\\n]|''|\\.)*+' )
    | (?P<quoted> \\++"[^"\\\n]*+\\++" | "(?:[^"\\\n]|""|\\.)*+" | `[^`\n]*+` )
    | (?P<word> \w++ )
    | (?P<sign> <=> | <> | != | == | <= | >= | :: | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_NAMED = re.compile(rf"{NAME}\Z", re.IGNORECASE | re.VERBOSE)
_SEPARATOR = re.compile(r"\W\Z")
_INNER = re.compile(r"(\\*['\"`])(.*)\1\Z", re.DOTALL)
_EQUALS: Final = frozenset(("=", "==", "<=>", "<>", "!="))
_COMPARES: Final = _EQUALS | {"<", ">", "<=", ">="}
_LIKE: Final = frozenset(("like", "ilike", "rlike", "regexp"))
_REPLACES: Final = frozenset(("coalesce", "nvl", "ifnull", "isnull", "nullif"))
_MEASURES: Final = frozenset(
    ("length", "len", "char_length", "octet_length", "count", "size", "in", "and", "or", "not", "where")
)
"""Words before a bracket that are not functions, or whose result is not a secret."""
_WORDS_OF_TEXTS: Final = frozenset(("token", "tokens"))
"""Names used as often for a column of words as for one of secrets, if they appear without context."""
_MOST_IN_LIST: Final = 10_000
_MOST_IN_CALL: Final = 300
"""Maximum numbers of tokens examined in a list and in a call, because hostile texts open many brackets and close
none."""
_MOST_STEPS: Final = 10
"""Maximum number of qualifiers, functions and casts around one column, and of words before one literal."""
_DEPTH: Final = 3
"""Number of nesting levels that are read: SQL within a command within JSON."""
_QUOTE_WITHIN = re.compile(r"['\"]")

SIGNS = (rf"(?i:{SIGN}(?:\W|\z))",)


class _Tokens(NamedTuple):
    """Kind, text and start of each token, as columns. A megabyte has some hundred thousand tokens, which would trigger
    garbage collection as objects."""

    kinds: list[str]
    texts: list[str]
    starts: list[int]


class _TextToken(NamedTuple):
    kind: str
    text: str
    start: int

    @property
    def low(self) -> str:
        return self.text.lower() if self.kind == "word" else self.text if self.kind == "sign" else ""


_NOTHING: Final = _TextToken("", "", 0)


def without_compared(text: str) -> str:
    """Return the text without the literals that a column of secrets is compared with, or replaced by."""
    if _QUOTE_WITHIN.search(text) is None:
        return text
    masks: list[tuple[int, int, str]] = []
    for tokens in _texts(text):
        masks += _Statement(tokens).masks()
    pieces: list[str] = []
    copied = 0
    for start, end, mask in sorted(set(masks), key=lambda each: (each[0], -each[1])):
        if start < copied:
            continue  # within a literal that is masked as a whole
        pieces += (text[copied:start], mask)
        copied = end
    return "".join((*pieces, text[copied:]))


def _texts(text: str) -> Iterator[_Tokens]:
    """Yield the tokens of the text without blanks and comments; then those of each comment, and of each quoted text
    that contains quotes, down to `_DEPTH` levels."""
    pending = [(0, len(text), _DEPTH)]
    while pending:
        at, until, depth = pending.pop()
        tokens = _Tokens([], [], [])
        last_close = text.rfind("*/", at, until) if depth == _DEPTH else -1
        while at < until and (found := _TOKEN.match(text, at, until)) is not None:
            kind, start, at = str(found.lastgroup), at, found.end()
            if kind == "comment":
                if depth < _DEPTH or (found[0] == "/*" and at > last_close):
                    continue
                close = "*/" if found[0] == "/*" else "\n"
                end = text.find(close, at, until)
                end = until if end < 0 else end
                pending.append((at, end, depth - 1))
                at = min(until, end + len(close))
            elif kind != "blank":
                tokens.kinds.append(kind)
                tokens.texts.append(found[0])
                tokens.starts.append(start)
                if depth and kind in ("literal", "quoted") and _QUOTE_WITHIN.search(text, start + 1, at - 1):
                    pending.append((start + 1, at - 1, depth - 1))
        yield tokens


class _Statement:
    """The tokens of a text. Places are indexes of tokens."""

    def __init__(self, tokens: _Tokens) -> None:
        self._kinds, self._texts, self._starts = tokens
        self._listed_until = 0

    def masks(self) -> Iterator[tuple[int, int, str]]:
        """Yield (start, end, replacement) of each literal to mask."""
        openings: list[int] = []
        for at, text in enumerate(self._texts):
            if text == "(":
                openings.append(at)
            elif text == ")" and openings:
                openings.pop()
            elif self._kinds[at] in ("word", "quoted") and _is_secret(text):
                for literal in self._compared(at, openings):
                    if (mask := _masked(literal.text)) is not None:
                        yield literal.start, literal.start + len(literal.text), mask

    def _at(self, place: int) -> _TextToken:
        if not 0 <= place < len(self._texts):
            return _NOTHING
        return _TextToken(self._kinds[place], self._texts[place], self._starts[place])

    def _compared(self, at: int, openings: list[int]) -> Iterator[_TextToken]:
        first = at
        for _ in range(_MOST_STEPS):
            if self._at(first - 1).text != "." or self._at(first - 2).kind not in ("word", "quoted"):
                break
            first -= 2
        start, end, brackets = self._expression(first, at)
        if len(openings) > brackets and self._at(openings[-1 - brackets] - 1).low in _REPLACES:
            yield from self._arguments(end)
        if self._at(start - 1).low == "case" and self._at(end + 1).low == "when":
            yield from self._cases(end + 1)
        yield from self._left_of(start)
        if openings:
            yield from self._in_row(openings[-1], at)
        yield from self._right_of(end + 1, alone=start == end)

    def _expression(self, first: int, last: int) -> tuple[int, int, int]:
        """Extend the column to its casts and the functions around it, as in ``lower(u.name)`` and ``cast(name as
        string)``. Return the first and last place, and the number of enclosing brackets."""
        brackets = 0
        for _ in range(_MOST_STEPS):
            after = self._at(last + 1)
            if after.text == "::" or (after.low == "as" and self._at(first - 2).low in ("cast", "try_cast")):
                last += 2
            elif (
                after.text == ")"
                and self._at(first - 1).text == "("
                and self._at(first - 2).low not in _MEASURES
            ):
                first, last = (first - 2 if self._at(first - 2).kind == "word" else first - 1), last + 1
                brackets += 1
            else:
                break
        return first, last, brackets

    def _left_of(self, start: int) -> Iterator[_TextToken]:
        literal = start - 2
        if (self._at(start - 1).low, self._at(start - 2).low) == ("from", "distinct"):
            literal = start - 4 - (self._at(start - 3).low == "not")
            start = literal + 2
        elif self._at(start - 1).text not in _EQUALS:
            return
        for _ in range(_MOST_STEPS):
            literal -= self._at(literal).text == ")"
        opened = literal == start - 2 or self._at(literal - 1).text == "("
        if opened and self._at(literal).kind == "literal":
            yield self._at(literal)

    def _right_of(self, at: int, *, alone: bool) -> Iterator[_TextToken]:
        name, token = self._at(at - 1).low, self._at(at)
        if token.text in _COMPARES:
            # A plain ``name = f('…')`` may merely say where the secret is, so `assignments` decides.
            if not (
                alone and token.text in _EQUALS and "(" in (self._at(at + 1).text, self._at(at + 2).text)
            ):
                yield from self._value(at + 1)
            return
        if token.low == "is":
            at += 1 + (self._at(at + 1).low == "not")
            if (self._at(at).low, self._at(at + 1).low) == ("distinct", "from"):
                yield from self._value(at + 2)
            return
        if token.low == "not":
            at += 1
            token = self._at(at)
        if alone and name in _WORDS_OF_TEXTS:
            return
        if token.low in _LIKE:
            yield from self._value(at + 1)
        elif token.low == "similar" and self._at(at + 1).low == "to":
            yield from self._value(at + 2)
        elif token.low == "between":
            yield from self._value(at + 1)
            yield from self._second(at + 1)
        elif (
            token.low == "in"
            and self._at(at + 1).text == "("
            and self._at(at + 2).low not in ("select", "with")
        ):
            yield from self._listed(at + 2)

    def _value(self, at: int) -> Iterator[_TextToken]:
        """Yield the literal at this place, even in brackets, in a function, or with a prefix (``N'…'``, ``binary
        '…'``)."""
        for _ in range(_MOST_STEPS):
            token = self._at(at)
            if token.kind == "literal" or (token.kind == "quoted" and token.text[-1] == '"'):
                if self._at(at + 1).text != ".":
                    yield token
                return
            if token.text != "(" and not (
                token.kind == "word" and (self._at(at + 1).text == "(" or self._at(at + 1).kind == "literal")
            ):
                return
            at += 1

    def _in_row(self, opened: int, at: int) -> Iterator[_TextToken]:
        """Yield the literals compared with the column at ``at`` of the row that opens at ``opened``, as in ``(name,
        password) = ('…', '…')`` and ``(name, password) in (('…', '…'))``."""
        if at - opened > _MOST_IN_CALL:
            return
        place, closed = self._texts[opened:at].count(","), at + 1
        while self._kinds[closed : closed + 1] in (["word"], ["quoted"]) or self._at(closed).text in (
            ".",
            ",",
        ):
            closed += 1
            if closed - at > _MOST_IN_CALL:
                return
        if self._at(closed).text != ")" or (not place and closed == at + 1):
            return
        closed += 1 + (self._at(closed + 1).low == "not")
        if self._at(closed).text in _EQUALS and self._at(closed + 1).text == "(":
            yield from self._element(closed + 2, place)
        elif self._at(closed).low == "in" and self._at(closed + 1).text == "(":
            for row in range(closed + 2, min(closed + _MOST_IN_LIST, len(self._texts))):
                if self._texts[row] == "(":
                    yield from self._element(row + 1, place)
                elif self._texts[row] in (";", "select"):
                    return

    def _element(self, at: int, place: int) -> Iterator[_TextToken]:
        """Yield the literal that is the element number ``place`` of the row whose first element is at ``at``."""
        depth = 1
        for each in range(at, min(at + _MOST_IN_CALL, len(self._texts))):
            if not place and depth == 1:
                yield from self._value(each)
                return
            text = self._texts[each]
            depth += (text == "(") - (text == ")")
            if not depth:
                return
            place -= text == "," and depth == 1

    def _second(self, at: int) -> Iterator[_TextToken]:
        for place in range(at, at + _MOST_STEPS):
            if self._at(place).low == "and":
                yield from self._value(place + 1)
                return

    def _listed(self, at: int) -> Iterator[_TextToken]:
        """Yield the literals up to the bracket that closes a list, within `_MOST_IN_LIST` tokens."""
        if at < self._listed_until:
            return  # a list within another that is masked as a whole
        depth = 1
        for place in range(at, min(at + _MOST_IN_LIST, len(self._texts))):
            text = self._texts[place]
            depth += (text == "(") - (text == ")")
            if not depth:
                break
            if self._kinds[place] == "literal" or (self._kinds[place] == "quoted" and text[-1] == '"'):
                yield self._at(place)
            self._listed_until = place

    def _arguments(self, at: int) -> Iterator[_TextToken]:
        """Yield the literals that are whole arguments after a column."""
        depth = 1
        for place in range(at + 1, min(at + _MOST_IN_CALL, len(self._texts))):
            text = self._texts[place]
            depth += (text == "(") - (text == ")")
            if not depth:
                return
            if self._kinds[place] == "literal" and self._texts[place - 1] == "," and depth == 1:
                yield self._at(place)

    def _cases(self, at: int) -> Iterator[_TextToken]:
        """Yield the literals after the WHENs of a CASE that names its column once."""
        depth = 1
        for place in range(at, min(at + _MOST_IN_CALL, len(self._texts))):
            low = self._texts[place].lower()
            depth += (low == "case") - (low == "end")
            if not depth:
                return
            if low == "when" and depth == 1:
                yield from self._value(place + 1)


def _is_secret(word: str) -> bool:
    named = _NAMED.search(word.strip('`"\\'))
    return named is not None and named["weak"] is None


def _masked(literal: str) -> str | None:
    """Return the replacement of a literal; None for one that is empty, a mere separator, or only a reference to the
    secret."""
    parts = _INNER.match(literal)
    if parts is None or not parts[2] or is_reference(parts[2]) or _SEPARATOR.match(parts[2]):
        return None
    return f"{parts[1]}{MASK}{parts[1]}"
