"""Removal of all literals from texts, for users who need certainty (``[redaction] literals = "all"``).

Every literal is removed, whether or not it looks like a secret, and so are comments. Texts are tokenised in Spark's
dialect; a text that is too long or cannot be tokenised, that has quotes or comments of other dialects, or whose tokens
depend on whether a backslash escapes, is reduced to its length. Records are masked while they are read, if the estate
requires it (`masking`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from navlin.model.redaction import redact

STRING, NUMBER = "'?'", "0"
"""Replacements for literals, with which the masked statement can still be parsed."""
_MASKING: Final[ContextVar[bool]] = ContextVar("masking", default=False)
_MOST_CHARACTERS: Final = 1 << 20
_LENGTH: Final = re.compile(r"\[\d+ characters\]")
_SIGNS_OF_LITERALS: Final = re.compile(r"['\"\d$\\]|--|/\*|#")
_OTHER_QUOTES: Final = re.compile(r"\$\w*\$|(?<!\S)#|\bq'", re.IGNORECASE)
"""Quotes and comments that not every dialect has."""
_MAY_BE_STATEMENT: Final = re.compile(r"[\s'\"]")
_QUOTED: Final = re.compile(r"(?<!\w)(?:'[^']*'|\"[^\"]*\"|`[^`]*`)(?!\w)")
"""A quotation in a sentence. A quote next to a letter or digit is part of a quoted text."""
_APOSTROPHE: Final = re.compile(r"(?<=\w)'(?=[st]\b)")


@contextmanager
def masking(every_literal: bool) -> Iterator[None]:
    """Set whether literals are masked in this thread's reads within the block."""
    before = _MASKING.set(every_literal)
    try:
        yield
    finally:
        _MASKING.reset(before)


def masks_literals() -> bool:
    """Whether literals are masked now."""
    return _MASKING.get()


def length_of(text: str) -> str:
    """Return the stored form of a text that cannot be tokenised: only its length."""
    return text if not text or _LENGTH.fullmatch(text) else f"[{len(text)} characters]"


def without_literals(text: str, *, escapes: bool = False) -> str:
    """Return a statement or an expression without its literals and comments. ``escapes``: whether a backslash is known
    to escape a quote in the text's dialect."""
    if not _SIGNS_OF_LITERALS.search(text) or _LENGTH.fullmatch(text):
        return text
    if len(text) > _MOST_CHARACTERS or _OTHER_QUOTES.search(text):
        return length_of(text)
    masked = _masked(text, "spark")
    if masked is None or ("\\" in text and not escapes and _masked(text, "presto") != masked):
        return length_of(text)
    return masked


def name_without_literals(name: str, *, escapes: bool = False) -> str:
    """Return a name without literals, because the name may be derived from a statement. A name of a single word is
    returned as it is."""
    return without_literals(name, escapes=escapes) if _MAY_BE_STATEMENT.search(name) else name


def without_quoted(text: str) -> str:
    """Return a sentence written by navlin without its quotations; only its length if a quotation is unbalanced."""
    masked = _QUOTED.sub(STRING, _APOSTROPHE.sub("\0", text))
    rest = masked.replace(STRING, "")
    return length_of(text) if "'" in rest or '"' in rest else masked.replace("\0", "'")


def said_in_state(text: str) -> str:
    """Return a message of an engine in the form that may be saved between two reads. The message must not be part of an
    identity."""
    return length_of(text) if masks_literals() else redact(text)


def words_of_peer(text: str) -> str:
    """Return a message of another service for use in an error, a reject or a note: only its length if literals are
    masked, because the service may quote a statement in any form."""
    return length_of(text) if masks_literals() else text


def _masked(text: str, dialect: str) -> str | None:
    """Mask the text by the tokens of a dialect; None if it cannot be tokenised."""
    # Imported here because sqlglot loads slowly and is rarely needed.
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
            continue  # the tokenizer derived this token from the sign after a number
        between = text[behind : token.start]
        pieces.append(between if not between.strip() else " ")
        last = shows
        shown = text[token.start : token.end + 1]
        if token.token_type in strings or '"' in shown or "'" in shown:
            # A doubled quote ends a literal in one dialect, and is an escaped quote in others.
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


def name_in_state(name: str) -> str:
    """Return a name that may be derived from a statement, in the form that may be saved between two reads."""
    return name_without_literals(name) if masks_literals() else name
