"""Identities: hashes of natural keys, so that an entity has the same identity whichever source names it.

The rule is Cloudera Navigator's published one (navigator-sdk, ``MD5IdGenerator``): the MD5, in lower-case hex, of the
key's components joined by ``##`` and encoded as UTF-16LE without a byte order mark. A missing component counts as the
empty string and keeps its separators. Readers treat every identity as an opaque string.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

SEPARATOR = "##"


def identify(*components: str | None) -> str:
    """Return the identity of a natural key: 32 hex digits.

    A lone surrogate (from a file name that is not UTF-8) is kept, so that two such names stay distinct.
    """
    joined = SEPARATOR.join([component or "" for component in components])
    return hashlib.md5(joined.encode("utf-16-le", "surrogatepass"), usedforsecurity=False).hexdigest()


def identify_each(first: str, names: Iterable[str]) -> list[str]:
    """Return `identify` of (first, name) for very many names."""
    begun = hashlib.md5((first + SEPARATOR).encode("utf-16-le", "surrogatepass"), usedforsecurity=False)
    identities = []
    for name in names:
        hashed = begun.copy()
        hashed.update(name.encode("utf-16-le", "surrogatepass"))
        identities.append(hashed.hexdigest())
    return identities


def run_id(source_id: str, iteration: int) -> str:
    """Return the stamp of every document that one run wrote, in Navigator's form ``<sourceId>##<iteration>``."""
    return f"{source_id}{SEPARATOR}{iteration}"


def relation_id(relation_type: str, ep1_id: str, ep2_id: str, writer_id: str) -> str:
    """Return the identity of a relation, computed from its type, its two ends and the source that states it."""
    return identify(relation_type, ep1_id, ep2_id, writer_id)


def operation_id(source_id: str, text: str, end_ids: Iterable[str]) -> str:
    """Return the identity of a distinct statement, computed from its source, its text, and the tables that it reads and
    writes.

    The tables are included so that the same text run in two databases is two operations.
    """
    return identify(source_id, text, *sorted(set(end_ids)))
