"""Packed repeated numbers, of many messages at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from extractors._fsimage.errors import Malformed
from extractors._fsimage.lockstep import Ints, Numbers, Page, varints
from extractors._fsimage.wire import MAX_VARINT_BYTES

SLICE_BYTES: Final = 4 << 20


def read_packed(page: Page, rows: Ints, starts: Ints, ends: Ints) -> Iterator[tuple[Ints, Numbers]]:
    """All numbers in these spans, each with its span's row, some millions at a time at most."""
    some = ends > starts
    rows, starts, ends = rows[some], starts[some], ends[some]
    if not len(rows):
        return
    open_end = page.bytes[ends - 1] >= 0x80
    if open_end.any():
        raise Malformed("a list of numbers ends within one", int(starts[int(np.argmax(open_end))]))
    if int(ends.max()) - int(starts.min()) <= 2 * SLICE_BYTES:
        yield _numbers(page, rows, starts, ends)
        return
    for row, start, end in zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True):
        for first, last in _slices(page, start, end):
            yield _numbers(page, np.array([row]), np.array([first]), np.array([last]))


def _slices(page: Page, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end:
        cut = min(start + SLICE_BYTES, end)
        while page.data[cut - 1] >= 0x80:  # ends at the span's own end, if not before
            cut += 1
        yield start, cut
        start = cut


def _numbers(page: Page, rows: Ints, starts: Ints, ends: Ints) -> tuple[Ints, Numbers]:
    low = int(starts.min())
    last_bytes = np.flatnonzero(page.bytes[low : int(ends.max())] < 0x80) + low
    first = np.searchsorted(last_bytes, starts)
    counts = np.searchsorted(last_bytes, ends) - first
    begins = np.cumsum(counts) - counts
    index = np.arange(int(counts.sum())) + np.repeat(first - begins, counts)
    last = last_bytes[index]
    at = np.empty_like(last)
    at[1:] = last[:-1] + 1
    at[begins] = starts
    long = last - at >= MAX_VARINT_BYTES
    if long.any():
        raise Malformed("a number of more than 64 bits", int(at[int(np.argmax(long))]))
    return np.repeat(rows, counts), varints(page, at)[0]
