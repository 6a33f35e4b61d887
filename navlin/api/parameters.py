"""The names and values in a query string or a form. `navlin.questions.declare.parameters` converts them."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote, unquote_plus

from navlin.api.answers import HttpError

MOST_FIELDS: Final = 20_000
"""Maximum number of fields. Navigator's clients send ten thousand ids, each in a separate field."""


def texts_of(query_string: str, *, lenient: bool = False) -> list[tuple[str, str]]:
    """Return the names and values of a query string or a form. With ``lenient``, a plus in a value that also has
    ``%20`` is literal, because Hue encodes values like this. Raises `HttpError` (413) if there are too many."""
    if query_string.count("&") >= MOST_FIELDS:
        raise HttpError(413, f"at most {MOST_FIELDS:,} names and values are accepted")
    pairs = []
    for part in filter(None, query_string.split("&")):
        name, _, value = part.partition("=")
        plain = unquote if lenient and "%20" in value else unquote_plus
        pairs.append((unquote_plus(name), plain(value)))
    return pairs
