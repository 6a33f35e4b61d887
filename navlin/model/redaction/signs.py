"""The first look at a text: which classes of secrets it may have.

RE2 finds that in one pass, whatever the number of expressions. It has no look-around and knows ASCII alone: an expression of
a class finds every text in which the class's own patterns find something, and a few more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

BEYOND_ASCII = r"\x{80}-\x{10FFFF}"
SPACE = rf"[\s\v\x1c-\x1f{BEYOND_ASCII}]"
"""At least what Python's ``\\s`` matches."""
WORD = rf"[\w{BEYOND_ASCII}]"

EVERYTHING = ""
"""An expression that every text matches."""

_PIECE = re.compile(
    r"\[\^(?:\\.|[^\]\\])+\]|\[(?:\\.|[^\]\\])+\]|\\.|\(\?<[!=](?:\[[^\]]*\]|[^()\[])*\)|\{[01],\d+\}\+?|([*+?}])\+"
)


def loosened(pattern: str) -> str:
    """A pattern of Python's `re` as one of RE2 that matches at least the same.

    Looks behind are dropped, and bounds above; possessive quantifiers become greedy ones. Looks ahead must not be in it.
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
    """A function that gives the places of those expressions that a text of UTF-8 matches, in no order.

    What stands first must be `EVERYTHING`: RE2 gives nothing if it runs out of memory, too.
    """
    # Not above: most commands redact nothing, and need not wait for it.
    import re2

    options = re2.Options()
    options.never_capture = True
    # What 20 000 texts of all kinds need, and twice as much: the automaton is built while texts are read.
    options.max_mem = 32 << 20
    found = re2.Set.SearchSet(options)
    for expression in expressions:
        found.Add(expression)
    found.Compile()
    match: Callable[[bytes], list[int] | None] = found.Match
    return match
