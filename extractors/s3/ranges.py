"""Ranges of keys, which are read side by side. Their boundaries are kept from the last listing, or found by directories.

Any text may be a boundary, whether there is such a key or not: S3 lists what comes after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, unquote

from extractors.s3.service import Bucket
from extractors.s3.splits import order
from navlin.model.records import Position

OBJECTS: Final = "objects after "
"""Begin of the key of a position that holds the number of objects in a range when it was last read. The rest is the
key, percent-encoded, after which the range begins.
"""
MOST_RANGES: Final = 5_000
"""Maximum number of ranges in a plan, and of positions kept for a prefix after it. More become fewer, larger ones."""
REQUESTS: Final = 8
"""Maximum number of pages of directories that are requested to divide a range."""


def position(prefix: str, after: str, count: int) -> Position:
    """Return the position of a range that was read."""
    return Position(_name(after or prefix), count)


def saved_ranges(values: Mapping[str, Any]) -> dict[str, int]:
    """Return key after which a range begins → number of its objects, as saved by `position`."""
    return {
        unquote(name.removeprefix(OBJECTS), errors="surrogateescape"): count
        for name, count in values.items()
        if name.startswith(OBJECTS)
    }


def forgotten(keys: Iterator[str]) -> Iterator[Position]:
    """Yield positions that remove ranges."""
    for key in keys:
        yield Position(_name(key), None)


def joined(prefix: str, saved: Mapping[str, int], most_objects: int) -> Sequence[str]:
    """Return the boundaries inside a prefix, in order: those saved, without the ones between ranges so small that
    together they have at most ``most_objects``, or that are too many.
    """
    inside = sorted((key for key in saved if key.startswith(prefix) and key != prefix), key=order)
    most_objects = max(
        most_objects, (sum(saved[key] for key in inside) + saved.get(prefix, 0)) // MOST_RANGES
    )
    kept: list[str] = []
    together = saved.get(prefix, 0)
    for key in inside:
        if together + saved[key] > most_objects:
            kept.append(key)
            together = 0
        together += saved[key]
    return kept[:MOST_RANGES]


def boundaries(bucket: Bucket, prefix: str, after: str, until: str, most: int) -> Sequence[str]:
    """Return up to ``most`` boundaries between ``after`` and ``until`` that divide the keys with this prefix, from the
    directories on the way. Return none if there are no directories. Raises an `S3Error`.
    """
    found: set[str] = set()
    waiting = [prefix]
    for _ in range(REQUESTS):
        if not waiting or len(found) >= 2 * most:
            break
        above = waiting.pop(0)
        start = after if after.startswith(above) else ""
        directories = bucket.directories(above, start)
        found.update(each for each in directories if order(after) < order(each) and _is_before(each, until))
        # The directory that contains ``after`` comes first, because there may be the most to divide.
        waiting = [each for each in directories if after.startswith(each)] + waiting
        waiting += [each for each in directories if not after.startswith(each)]
    ordered = sorted(found, key=order)
    step = len(ordered) / (most + 1)
    return ordered if len(ordered) <= most else [ordered[int(step * at)] for at in range(1, most + 1)]


def _is_before(key: str, until: str) -> bool:
    return not until or order(key) < order(until)


def _name(key: str) -> str:
    # Percent-encoded, because a key may have control characters, or bytes that are not UTF-8.
    return OBJECTS + quote(key, safe="/", errors="surrogateescape")
