"""Some at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

_T = TypeVar("_T")


def in_batches(items: Iterable[_T], size: int) -> Iterator[tuple[_T, ...]]:
    """At most ``size`` items each time, as they come."""
    iterator = iter(items)
    while batch := tuple(islice(iterator, size)):
        yield batch
