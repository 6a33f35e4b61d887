"""Texts without any literal, for those who must be sure (``[redaction] literals = "all"``): by the tokens of their dialect.

What looks like a secret is not asked for. A text that has no tokens, or others if a backslash escapes nothing, is stored as
its length only; comments go. A process masks while it reads for an estate that wants it (`masking`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from navlin.model.redaction import redact

STRING, NUMBER = "'?'", "0"
"""What stands for a literal: a statement without its literals can still be read."""
_MASKING: Final[ContextVar[bool]] = ContextVar("masking", default=False)
_MOST_CHARACTERS: Final = 1 << 20
_LENGTH: Final = re.compile(r"\[\d+ characters\]")
_SIGNS_OF_LITERALS: Final = re.compile(r"['\"\d$\\]|--|/\*|#")
_OTHER_QUOTES: Final = re.compile(r"\$\w*\$|(?<!\S)#|\bq'", re.IGNORECASE)
"""Quotes and comments that not every dialect has."""
_MAY_BE_STATEMENT: Final = re.compile(r"[\s'\"]")
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")


@contextmanager
def masking(every_literal: bool) -> Iterator[None]:
    """Whether literals are masked in what this thread reads meanwhile."""
    before = _MASKING.set(every_literal)
    try:
        yield
    finally:
        _MASKING.reset(before)


def masks_literals() -> bool:
    """Whether literals are masked now."""
    return _MASKING.get()


def length_of(text: str) -> str:
    """What is stored of a text that has no tokens."""
    return text if not text or _LENGTH.fullmatch(text) else f"[{len(text)} characters]"


def without_literals(text: str, *, escapes: bool = False) -> str:
    """A statement, or an expression, without its literals and comments. ``escapes``: in its dialect a backslash is known to
    escape a quote."""
    if not _SIGNS_OF_LITERALS.search(text) or _LENGTH.fullmatch(text):
        return text
    if len(text) > _MOST_CHARACTERS or _OTHER_QUOTES.search(text):
        return length_of(text)
    masked = _masked(text, "spark")
    if masked is None or ("\\" in text and not escapes and _masked(text, "presto") != masked):
        return length_of(text)
    return masked


def name_without_literals(name: str, *, escapes: bool = False) -> str:
    """A name without the literals of the statement that it may be made of; a single word is none."""
    return without_literals(name, escapes=escapes) if _MAY_BE_STATEMENT.search(name) else name


def without_quoted(text: str) -> str:
    """A sentence of navlin's own without what it quotes; nothing of one that has half a quotation."""
    masked = _QUOTED.sub(STRING, text)
    rest = masked.replace(STRING, "")
    return length_of(text) if "'" in rest or '"' in rest else masked


def said_in_state(text: str) -> str:
    """What may be kept between two readings of a text in an engine's own words, which identifies nothing."""
    return length_of(text) if masks_literals() else redact(text)


def _masked(text: str, dialect: str) -> str | None:
    """The text by the tokens of a dialect; None if it has none."""
    # Not above: it takes its time to import, and few want it.
    from sqlglot import Dialect
    from sqlglot.errors import SqlglotError
    from sqlglot.tokenizer_core import TokenType as Of

    strings = {
        Of.STRING, Of.RAW_STRING, Of.HEREDOC_STRING, Of.NATIONAL_STRING, Of.UNICODE_STRING, Of.BYTE_STRING,
        Of.HEX_STRING, Of.BIT_STRING,
    }  # fmt: skip
    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(text)
    except (SqlglotError, RecursionError, ValueError):
        return None
    pieces: list[str] = []
    behind, shows = 0, ""
    for token in tokens:
        if token.start < behind:
            continue  # what is made of the sign behind a number
        between = text[behind : token.start]
        pieces.append(between if not between.strip() else " ")
        last = shows
        shown = text[token.start : token.end + 1]
        if token.token_type in strings or '"' in shown or "'" in shown:
            # A quote that is doubled ends a literal in one dialect, and stands for itself in others.
            shows = STRING
            pieces.append("" if last == STRING and not between else STRING)
        elif token.token_type is Of.NUMBER or shown[:1].isdigit():
            shows = NUMBER
            pieces.append(NUMBER)
        else:
            shows = shown
            pieces.append(shown)
        behind = token.end + 1
    pieces.append("" if text[behind:].strip() else text[behind:])
    return "".join(pieces)
