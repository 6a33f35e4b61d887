"""Markdown tables and code spans."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table. Line breaks and bars in cells are escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines) + "\n"


def code(text: object) -> str:
    """Return a code span; "" for an empty text."""
    return f"`{text}`" if str(text) else ""


def prose(text: str) -> str:
    """Return a text from the code in which no character has a meaning of Markdown's."""
    return re.sub(r"([\\*_<>\[\]{}$~])", r"\\\1", " ".join(text.split()).replace("``", "`"))


def _cell(text: str) -> str:
    return (
        " ".join(text.replace("|", "\\|").split()) if "`" in text or "|" in text else " ".join(text.split())
    )
