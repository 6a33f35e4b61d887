"""The first scan of a text, which finds the classes of secrets that the text may contain.

RE2 finds these classes in one pass, whatever the number of expressions. It has no look-around and knows only ASCII, so
the expression of a class matches every text in which the class's own patterns match, and a few more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

BEYOND_ASCII = r"\x{80}-\x{10FFFF}"
SPACE = rf"[\s\v\x1c-\x1f{BEYOND_ASCII}]"
"""A superset of Python's ``\\s``."""
WORD = rf"[\w{BEYOND_ASCII}]"

EVERYTHING = ""
"""An expression that matches every text."""

_PIECE = re.compile(
    r"\[\^(?:\\.|[^\]\\])+\]|\[(?:\\.|[^\]\\])+\]|\\.|\(\?<[!=](?:\[[^\]]*\]|[^()\[])*\)|\{[01],\d+\}\+?|([*+?}])\+"
)


def loosened(pattern: str) -> str:
    """Convert a pattern of Python's `re` to one of RE2 that matches at least the same texts.

    Look-behinds and upper bounds are dropped; possessive quantifiers become greedy. The pattern must not contain
    look-aheads.
    """
    return _PIECE.sub(_loosened, pattern.replace("(?P<weak>", "(?:"))


def _loosened(piece: re.Match[str]) -> str:
    text = piece[0]
    if piece[1]:
        return piece[1]
    if text.startswith("{"):
        return "*" if text[1] == "0" else "+"
    if text.startswith("(?<"):
        return ""
    if text.startswith("[") and not text.startswith("[^"):
        return text.replace(r"\w", rf"\w{BEYOND_ASCII}").replace(r"\s", SPACE[1:-1])
    return {r"\w": WORD, r"\s": SPACE, r"\b": "", r"\Z": ""}.get(text, text)


def look(expressions: Iterable[str]) -> Callable[[bytes], list[int] | None]:
    """Return a function that returns the indexes of those expressions that a UTF-8 text matches, in no particular
    order.

    The first expression must be `EVERYTHING`, because RE2 also returns nothing if it runs out of memory. With
    `EVERYTHING`, an empty result can only have that cause.
    """
    # Imported here because most commands redact nothing and need not wait for RE2 to load.
    import re2

    options = re2.Options()
    options.never_capture = True
    # Twice the memory that 20,000 texts of all kinds needed, because the automaton is built while texts are read.
    options.max_mem = 32 << 20
    found = re2.Set.SearchSet(options)
    for expression in expressions:
        found.Add(expression)
    found.Compile()
    match: Callable[[bytes], list[int] | None] = found.Match
    return match
