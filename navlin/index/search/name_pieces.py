"""Queries for parts of names, by the index's field `namePieces`.

Names are indexed as ``/_orders_2024_/``, ignoring case: each run of characters other than letters and digits becomes
one underscore, as does each blank. Files have no pieces, nor do statements and runs, whose names are texts.
"""

from __future__ import annotations

import unicodedata
from typing import Final

from navlin.index.search.query_tree import FieldValue, Phrase, SearchTerm, Wild

NAME_PIECES: Final = "namePieces"
PIECE_CHARS: Final = 3
"""Length of a piece. Shorter texts are not found within a name, with one exception (`part`)."""
MOST_CHARS: Final = 1_000
"""Maximum length of a name in a query; names in metastores are shorter. A word of 40,000 characters has as many pieces,
which take Solr ten seconds."""


def plain(text: str) -> str:
    """Return a name in the form of its pieces, without the delimiters; "" if it has neither letters nor digits, or is
    longer than any name."""
    if len(text) > MOST_CHARS:
        return ""
    spelled = "".join(each if unicodedata.category(each)[0] in "LMN" else " " for each in text)
    # Convert to upper case, as in the indexed tree paths. Solr then folds both to lower case. Without this step, a few
    # letters, such as ß, would not match.
    return "_".join(spelled.upper().split())


def part(name: str) -> FieldValue | None:
    """Return a query for names that contain this text (from `plain`), or None if the text is too short. Two characters
    suffice only if they are not ASCII, because most names contain any given one or two letters, except in scripts with
    thousands of characters."""
    if len(name) >= PIECE_CHARS:
        return FieldValue(NAME_PIECES, Phrase(name))
    if len(name) == PIECE_CHARS - 1 and not name.isascii():
        return FieldValue(NAME_PIECES, SearchTerm((name, Wild.MANY)))
    return None


def beginning(name: str) -> FieldValue | None:
    """Return a query for names with a word that begins with this text; None if it is too short."""
    return part("_" + name) if len(name) >= PIECE_CHARS - 1 else None


def word(name: str) -> FieldValue:
    """Return a query for names that have this word."""
    return FieldValue(NAME_PIECES, Phrase(f"_{name}_"))


def whole(name: str) -> FieldValue:
    """Return a query for names equal to this one."""
    return FieldValue(NAME_PIECES, Phrase(f"/_{name}_/"))


def ending(name: str) -> FieldValue | None:
    """Return a query for names that end in this text; None if it is too short."""
    return FieldValue(NAME_PIECES, Phrase(f"{name}_/")) if len(name) >= PIECE_CHARS - 1 else None


def last(name: str) -> FieldValue:
    """Return a query for names whose last word is this one."""
    return FieldValue(NAME_PIECES, Phrase(f"_{name}_/"))
