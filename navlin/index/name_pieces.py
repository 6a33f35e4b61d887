"""Parts of names in a query: the text by which `namePieces` of the index finds them.

A name stands there as ``/_orders_2024_/``, in any case: what is no letter or digit is one underscore, so a blank is one too.
Files have no pieces, nor have statements and runs, whose names are texts.
"""

from __future__ import annotations

import unicodedata
from typing import Final

from navlin.index.query_tree import FieldValue, Phrase, Wild, Word

NAME_PIECES: Final = "namePieces"
PIECE_CHARS: Final = 3
"""How long a piece is: nothing shorter is found within a name."""
MOST_CHARS: Final = 1_000
"""Longer than a name is in any metastore. A word of 40,000 characters has as many pieces, which cost Solr ten seconds."""


def plain(text: str) -> str:
    """A name as its pieces have it, without what stands around it; "" if it has neither letters nor digits, or is longer
    than names are."""
    if len(text) > MOST_CHARS:
        return ""
    spelled = "".join(each if unicodedata.category(each)[0] in "LMN" else " " for each in text)
    # The tree of a source has names in capitals, and a few letters have no capital of their own.
    return "_".join(spelled.upper().split())


def part(name: str) -> FieldValue | None:
    """Names with this in them (`plain`); None if that cannot be asked: a single letter is in most names, and so are two,
    unless they are of a script of thousands."""
    if len(name) >= PIECE_CHARS:
        return FieldValue(NAME_PIECES, Phrase(name))
    if len(name) == PIECE_CHARS - 1 and not name.isascii():
        return FieldValue(NAME_PIECES, Word((name, Wild.MANY)))
    return None


def beginning(name: str) -> FieldValue | None:
    """Names of which a word begins so."""
    return part("_" + name) if len(name) >= PIECE_CHARS - 1 else None


def word(name: str) -> FieldValue:
    """Names that have this as a word."""
    return FieldValue(NAME_PIECES, Phrase(f"_{name}_"))


def whole(name: str) -> FieldValue:
    """Names that are this and nothing else."""
    return FieldValue(NAME_PIECES, Phrase(f"/_{name}_/"))


def ending(name: str) -> FieldValue | None:
    """Names that end in this; None if that cannot be asked: it is too short."""
    return FieldValue(NAME_PIECES, Phrase(f"{name}_/")) if len(name) >= PIECE_CHARS - 1 else None


def last(name: str) -> FieldValue:
    """Names that end in this, as a word."""
    return FieldValue(NAME_PIECES, Phrase(f"_{name}_/"))
