from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

_T = TypeVar("_T")


def in_batches(items: Iterable[_T], size: int) -> Iterator[tuple[_T, ...]]:
    """Yield the items in order, in tuples of at most ``size``."""
    iterator = iter(items)
    while batch := tuple(islice(iterator, size)):
        yield batch
