"""The pieces of work that a listing of a bucket consists of."""

from __future__ import annotations

from dataclasses import dataclass

from navlin.model.raw_names import shown
from navlin.model.records import Split


@dataclass(frozen=True, slots=True)
class BucketSplit(Split):
    """The bucket itself, and the prefixes that may not be listed, as (prefix, S3's answer)."""

    region: str
    as_of_ms: int
    refused: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        return "the bucket"


@dataclass(frozen=True, slots=True)
class RangeSplit(Split):
    """The keys that begin with ``prefix``, after ``after``, up to and including ``until`` ("": to the end), in the order
    of their UTF-8 bytes. ``before`` counts the objects of the same listing read by the splits that led to this one.
    """

    prefix: str
    after: str
    until: str
    region: str
    as_of_ms: int
    before: int = 0

    @property
    def name(self) -> str:
        return f"the keys after {shown(self.after or self.prefix)!r}"


def order(key: str) -> bytes:
    """Return a key's place in S3's order, which is that of the UTF-8 bytes."""
    return key.encode("utf-8", "surrogateescape")
