"""Parts of names in a query: the text by which the index's `namePieces` finds them.

Names are indexed as ``/_orders_2024_/``, ignoring case: a run of characters other than letters and digits is one
underscore, and so is a blank. Files have no pieces, nor do statements and runs, whose names are texts.
"""

from __future__ import annotations

import unicodedata
from typing import Final

from navlin.index.query_tree import FieldValue, Phrase, Wild, Word

NAME_PIECES: Final = "namePieces"
PIECE_CHARS: Final = 3
"""Length of a piece: nothing shorter is found within a name."""
MOST_CHARS: Final = 1_000
"""Longer than a name in any metastore. A word of 40,000 characters has as many pieces, which take Solr ten seconds."""


def plain(text: str) -> str:
    """Return a name in the form of its pieces, without the delimiters; "" if it has neither letters nor digits, or is
    longer than any name."""
    if len(text) > MOST_CHARS:
        return ""
    spelled = "".join(each if unicodedata.category(each)[0] in "LMN" else " " for each in text)
    # A source's tree has upper-case names, and a few letters have no upper-case form.
    return "_".join(spelled.upper().split())


def part(name: str) -> FieldValue | None:
    """Names that contain this (`plain`); None if it is too short: most names contain any single letter, and any two,
    except in scripts with thousands of characters."""
    if len(name) >= PIECE_CHARS:
        return FieldValue(NAME_PIECES, Phrase(name))
    if len(name) == PIECE_CHARS - 1 and not name.isascii():
        return FieldValue(NAME_PIECES, Word((name, Wild.MANY)))
    return None


def beginning(name: str) -> FieldValue | None:
    """Names with a word that begins with this; None if it is too short."""
    return part("_" + name) if len(name) >= PIECE_CHARS - 1 else None


def word(name: str) -> FieldValue:
    """Names that have this as a word."""
    return FieldValue(NAME_PIECES, Phrase(f"_{name}_"))


def whole(name: str) -> FieldValue:
    """Names equal to this."""
    return FieldValue(NAME_PIECES, Phrase(f"/_{name}_/"))


def ending(name: str) -> FieldValue | None:
    """Names that end in this; None if it is too short."""
    return FieldValue(NAME_PIECES, Phrase(f"{name}_/")) if len(name) >= PIECE_CHARS - 1 else None


def last(name: str) -> FieldValue:
    """Names whose last word is this."""
    return FieldValue(NAME_PIECES, Phrase(f"_{name}_/"))
