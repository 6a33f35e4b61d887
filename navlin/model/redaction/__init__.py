"""Redaction and truncation of texts from outside: no secrets, and bounded lengths.

The index redacts every text that becomes part of a document, a reject or a run record. An extractor redacts only texts
that enter an identity or a position; but text must be redacted before it is cut (`bounded`, `sample`), because half a
secret may not be recognised.

Secrets are replaced by `MASK`: values next to the name of a secret (``password = '…'``, ``'fs.s3a.secret.key'='…'``,
``?sig=…``, ``IDENTIFIED BY '…'``), the password in a URL, and values recognisable by their form (AWS access keys, JSON
web tokens, private keys). In doubt a value is masked; names are not: ``token_count`` and ``a.token = b.token`` stay.

Everything here is pure and takes time linear in the length of the text, because no pattern can backtrack without bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from navlin.model.redaction import (
    assignments,
    command_lines,
    comparisons,
    documents,
    entities,
    inserted,
    statements,
    tags,
    tokens,
    urls,
)
from navlin.model.redaction.names import is_secret
from navlin.model.redaction.signs import EVERYTHING, look
from navlin.model.redaction.urls import without_credentials
from navlin.model.redaction.values import MASK

__all__ = [
    "CLASSES",
    "CUT",
    "MASK",
    "MAX_TEXT_BYTES",
    "SAMPLE_CHARACTERS",
    "bounded",
    "is_secret",
    "redact",
    "redact_by",
    "redact_options",
    "sample",
    "shows",
    "without_credentials",
]

Class = tuple[tuple[str, ...], Callable[[str], str]]
"""A class of forms: the RE2 patterns that may find it in a text, and the function that removes the secrets of these
forms."""
CLASSES: tuple[Class, ...] = (
    (urls.SIGNS, urls.without_passwords),
    (tokens.SIGNS, tokens.without_tokens),
    (command_lines.SIGNS, command_lines.without_arguments),
    (tags.SIGNS, tags.without_values),
    (documents.SIGNS, documents.without_values),
    (assignments.SIGNS, assignments.without_values),
    (statements.SIGNS, statements.without_keys),
    (inserted.SIGNS, inserted.without_inserted),
    (comparisons.SIGNS, comparisons.without_compared),
    (entities.SIGNS, lambda text: entities.without_escaped(text, _without_plain)),
)
"""The classes in the order in which they are applied. URLs are first, because the password in a URL may contain the
name of a secret."""


def _without_plain(text: str) -> str:
    return redact_by(text, CLASSES[:-1])


@lru_cache(maxsize=1)
def _look() -> Callable[[bytes], list[int] | None]:
    return look((EVERYTHING, *("|".join(signs) for signs, _ in CLASSES)))


_NONE = [0]
"""The result of the RE2 scan if no class matches."""
_SHORTEST = 6
"""Length of the shortest form of a secret, its name included."""
MAX_TEXT_BYTES = 1 << 20
CUT = " … [cut]"
SAMPLE_CHARACTERS = 200


def bounded(text: str, max_bytes: int = MAX_TEXT_BYTES) -> str:
    """Return the text if it has at most this many bytes of UTF-8. Otherwise return it redacted, and cut with a note if
    it is still too long.

    Lone surrogates become U+FFFD.
    """
    if text.isascii() and len(text) <= max_bytes:
        return text
    data = _utf8(text)
    if len(data) > max_bytes:
        data = _utf8(redact(text))
    if len(data) <= max_bytes:
        return data.decode()
    return data[: max_bytes - len(CUT.encode())].decode(errors="ignore") + CUT


def _utf8(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def sample(data: bytes) -> str:
    """Return the beginning of an unreadable line, redacted, so that a user can recognise it."""
    text = data[: 8 * SAMPLE_CHARACTERS].decode(errors="replace")
    return redact(text).replace("\0", "␀")[:SAMPLE_CHARACTERS]


def redact(text: str) -> str:
    """Return the text without its secrets. The text may be SQL, a URL, a configuration or a command line, and may
    contain texts of these kinds.

    Idempotent.
    """
    if len(text) < _SHORTEST:
        return text
    if "\u0131" in text or "\u0130" in text:
        # With IGNORECASE, Python matches a Turkish i with an i; RE2 does not.
        return redact_by(text, CLASSES)
    found = _look()(text.encode("utf-8", "replace"))
    if found == _NONE:
        return text
    if not found:
        return redact_by(text, CLASSES)
    redacted = redact_by(text, [CLASSES[at - 1] for at in sorted(found) if at])
    # A masked value may have hidden the beginning of a secret's name.
    hidden = redacted != text and not set(_look()(redacted.encode("utf-8", "replace")) or ()) <= set(found)
    return redact_by(text, CLASSES) if hidden else redacted


def redact_by(text: str, classes: Iterable[Class]) -> str:
    """Return the text without the secrets of these classes. `redact` is faster for all classes."""
    for _, without in classes:
        text = without(text)
    return text


def shows(texts: bytes) -> bool:
    """Whether any of several texts, in UTF-8 and one per line, may have a secret. Quick for many texts."""
    return _look()(texts) != _NONE or b"\xc4\xb1" in texts or b"\xc4\xb0" in texts


def redact_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return a configuration without its secrets: values of keys that name secrets are masked, others are redacted as
    texts."""
    return {key: MASK if is_secret(key) else redact(value) for key, value in options.items()}
