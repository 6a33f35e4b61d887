"""Markdown tables and code spans."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table. Line breaks and bars in cells are escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines) + "\n"


def code(text: object) -> str:
    """Return a code span; "" for an empty text."""
    return f"`{text}`" if str(text) else ""


def prose(text: str) -> str:
    """Return a text from the code in which no character has a meaning of Markdown's."""
    pieces = " ".join(text.split()).replace("``", "`").split("`")
    if len(pieces) % 2 == 0:
        # A backtick without a second one is not the beginning of a code span.
        pieces[-2:] = [f"{pieces[-2]}'{pieces[-1]}"]
    outside = (re.sub(r"([\\*_<>\[\]{}$~])", r"\\\1", each) for each in pieces[::2])
    return "".join(
        f"{each}`{inside}`" if inside else each for each, inside in zip_longest(outside, pieces[1::2])
    )


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
