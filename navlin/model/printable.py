"""Text from outside without what a terminal would obey: escape sequences, controls, marks that turn the writing around.

Names of files, tables and users come from others, and what is printed goes to somebody's terminal, or to a file that
somebody looks at there.
"""

from __future__ import annotations

import re
from typing import Final

REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"
_ASCII: Final = re.compile(r"[ -~\n]*\Z")


def printable(text: str) -> str:
    """The text, its lines kept, with a replacement for each character that is not printed."""
    if _ASCII.match(text):
        return text
    return "".join(each if each.isprintable() or each == "\n" else REPLACEMENT for each in text)


def printable_json(text: str) -> str:
    """A JSON document that means the same, with characters that are not printed in it as escapes."""
    if _ASCII.match(text):
        return text
    return "".join(each if each.isprintable() or each == "\n" else _escape(each) for each in text)


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
