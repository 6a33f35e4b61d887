"""JSON of untrusted callers, checked against limits before it is parsed.

A few bytes of JSON become a Python value of a few hundred: 65 KB of gzip became 2 GiB. So the text is scanned first,
which takes no memory. The scan works in pieces, so that other threads can run in between; the parser itself holds the
GIL.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import Final, TypeAlias

Octets: TypeAlias = bytes | bytearray
MOST_VALUES: Final = 100_000
"""Maximum number of values, including the names of members. Parsing this many takes some 20 ms and 10 MiB."""
MOST_DEPTH: Final = 100
"""Maximum nesting of lists and objects."""
PIECE_BYTES: Final = 64 << 10

_MARKS: Final = b"[]{},:"
_ALL_ELSE: Final = bytes(set(range(256)) - set(_MARKS))
# Possessive quantifiers, so that no text causes backtracking: the time is linear in the size.
_TEXT: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:(")|(\\?)\Z)', re.DOTALL)
"""Matches a JSON string, or the beginning of a string that does not end in the piece. Group 1 is the closing quote,
group 2 a backslash at the end of the piece."""
_REST_OF_TEXT: Final = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1, ord(","): 0, ord(":"): 0}


class TooManyValues(ValueError):
    """The text has more values than allowed; the message names the limit."""


class TooDeep(ValueError):
    """The text is nested deeper than allowed; the message names the limit."""


def check_json(text: Octets, most_values: int = MOST_VALUES, most_depth: int = MOST_DEPTH) -> None:
    """Check the number of values and the depth of a JSON text. Raises `TooManyValues` and `TooDeep`.

    If it holds several texts, for example one a line, bare numbers and words between them are not counted. Invalid JSON
    may pass, because the parser rejects it later.
    """
    # One value, plus one for each of these marks. An empty list is counted twice.
    values, texts, depth, at, in_text = 1, 0, 0, 0, False
    while at < len(text):
        piece = text[at : at + PIECE_BYTES]
        if in_text:
            found = _REST_OF_TEXT.match(piece)
            assert found is not None  # it also matches the empty string
            end = found.end()
            in_text = end == len(piece) or piece[end : end + 1] != b'"'
            # The rest starts with a quotation mark, or with a backslash whose other half is in the next piece.
            at += end + (not in_text)
            if in_text and end == 0:
                break  # the backslash is the last byte of all
            continue
        at += len(piece)
        outside, begun = _TEXT.subn(rb"\1\2", piece)
        in_text = begun > outside.count(b'"')
        if in_text and outside.endswith(b"\\"):
            at -= 1
        marks = outside.translate(None, _ALL_ELSE)
        values += len(marks) - marks.count(b"]") - marks.count(b"}")
        texts += begun  # adjacent strings are not JSON, but take as long to parse
        if max(values, texts) > most_values:
            raise TooManyValues(f"it has more than {most_values:,} values")
        if max(accumulate(map(_STEPS.__getitem__, marks), initial=depth)) > most_depth:
            raise TooDeep(f"lists and objects are nested more than {most_depth} deep")
        depth += marks.count(b"[") + marks.count(b"{") - marks.count(b"]") - marks.count(b"}")
