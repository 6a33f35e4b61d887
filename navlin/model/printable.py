"""Replacement of characters that control a terminal: escape sequences, control characters, bidirectional marks.

Names of files, tables and users are untrusted, and output goes to a terminal, or to a file that someone views in a
terminal.
"""

from __future__ import annotations

import re
from typing import Final

REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
_ASCII: Final = re.compile(r"[ -~\n]*\Z")


def printable(text: str) -> str:
    """Return the text with each non-printable character replaced; line breaks stay."""
    if _ASCII.match(text):
        return text
    return "".join(each if each.isprintable() or each == "\n" else REPLACEMENT for each in text)


def printable_json(text: str) -> str:
    """Return an equivalent JSON document, with non-printable characters escaped."""
    if _ASCII.match(text):
        return text
    return "".join(each if each.isprintable() or each == "\n" else escaped(each) for each in text)


def escaped(text: str) -> str:
    """Return the text with every character as a JSON escape, a pair of them beyond U+FFFF."""
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
