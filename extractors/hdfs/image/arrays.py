"""Decode values of many messages at once into arrays: numbers, packed numbers and texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from extractors.hdfs.image.errors import Malformed
from extractors.hdfs.image.wire import MAX_VARINT_BYTES

Ints = NDArray[np.int64]
Numbers = NDArray[np.uint64]
Flags = NDArray[np.bool_]

PAD_BYTES: Final = 16
"""Number of zero bytes after a page's data, so that an 8-byte word can be fetched at any byte of the data."""
_SLICE_BYTES: Final = 4 << 20
_SLASH: Final = pa.scalar("/", pa.large_string())
_CONTINUES: Final = np.uint64(0x8080808080808080)
_SEVENS: Final = np.uint64(0x7F7F7F7F7F7F7F7F)
_ONE, _TWO, _FOUR = np.uint64(1), np.uint64(2), np.uint64(4)
_LOW7, _HIGH7 = np.uint64(0x007F007F007F007F), np.uint64(0x7F007F007F007F00)
_LOW14, _HIGH14 = np.uint64(0x00003FFF00003FFF), np.uint64(0x3FFF00003FFF0000)
_LOW28, _HIGH28 = np.uint64(0x000000000FFFFFFF), np.uint64(0x0FFFFFFF00000000)


class MessageBytes:
    """``size`` bytes of messages in ``data``, followed by `PAD_BYTES` zeros. ``bytes`` is a view of the data as bytes;
    ``words`` is a view that has, for each byte, the 8-byte word beginning there.
    """

    __slots__ = ("bytes", "data", "size", "words")

    def __init__(self, data: bytearray, size: int) -> None:
        self.data, self.size = data, size
        self.bytes: NDArray[np.uint8] = np.frombuffer(data, dtype=np.uint8)
        self.words: Numbers = np.ndarray((size + PAD_BYTES - 8,), dtype="<u8", buffer=data, strides=(1,))


def varints(page: MessageBytes, at: Ints) -> tuple[Numbers, Ints]:
    """Decode the numbers that begin at these bytes. Return the numbers, and the length of each in bytes."""
    first = page.bytes[at]
    if first.max(initial=0) < 0x80:
        return first.astype(np.uint64), np.ones(len(at), np.int64)
    word = page.words[at]
    stop = ~word & _CONTINUES
    stop &= ~stop + _ONE
    long = stop == 0
    mask = (stop << _ONE) - _ONE
    word &= mask & _SEVENS
    value = word & _LOW7
    word &= _HIGH7
    word >>= _ONE
    value |= word
    word = value & _HIGH14
    value &= _LOW14
    value |= word >> _TWO
    word = value & _HIGH28
    value &= _LOW28
    value |= word >> _FOUR
    lengths = (np.bitwise_count(mask) >> np.uint8(3)).astype(np.int64)
    if long.any():
        _long_varints(page, at, np.flatnonzero(long), value, lengths)
    return value, lengths


def _long_varints(page: MessageBytes, at: Ints, rows: Ints, value: Numbers, lengths: Ints) -> None:
    """Complete the numbers of nine or ten bytes, whose first eight bytes are already in ``value``."""
    where = at[rows] + 8
    ninth = page.bytes[np.minimum(where, page.size)].astype(np.uint64)
    tenth = page.bytes[np.minimum(where + 1, page.size)].astype(np.uint64)
    ten = ninth >= 0x80
    bad = ten & (tenth > 1)
    if bad.any():
        raise Malformed("a number of more than 64 bits", int(at[rows[int(np.argmax(bad))]]))
    more = (ninth & np.uint64(0x7F)) << np.uint64(56)
    more |= np.where(ten, tenth << np.uint64(63), np.uint64(0))
    value[rows] |= more
    lengths[rows] = np.where(ten, 10, 9)


def read_packed(page: MessageBytes, rows: Ints, starts: Ints, ends: Ints) -> Iterator[tuple[Ints, Numbers]]:
    """Yield all numbers in these spans as (rows, numbers): two arrays that give, for each number, the row of its span
    and the number itself. Each pair has at most a few million numbers. Raises `Malformed`.
    """
    some = ends > starts
    rows, starts, ends = rows[some], starts[some], ends[some]
    if not len(rows):
        return
    open_end = page.bytes[ends - 1] >= 0x80
    if open_end.any():
        raise Malformed("a list of numbers ends within one", int(starts[int(np.argmax(open_end))]))
    if int(ends.max()) - int(starts.min()) <= 2 * _SLICE_BYTES:
        yield _unpacked(page, rows, starts, ends)
        return
    for row, start, end in zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True):
        for first, last in _slices(page, start, end):
            yield _unpacked(page, np.array([row]), np.array([first]), np.array([last]))


def _slices(page: MessageBytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end:
        cut = min(start + _SLICE_BYTES, end)
        while page.data[cut - 1] >= 0x80:  # the cut reaches the end of the span at the latest
            cut += 1
        yield start, cut
        start = cut


def _unpacked(page: MessageBytes, rows: Ints, starts: Ints, ends: Ints) -> tuple[Ints, Numbers]:
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


def gather(page: MessageBytes, starts: Ints, ends: Ints) -> pa.BinaryArray:
    """Copy the bytes of each span from ``starts`` to ``ends``. The spans must be in the page's order. An absent span,
    for which both are 0, gives an empty value.
    """
    count = len(starts)
    if not count:
        return pa.array([], pa.binary())
    # Build an array of the spans and the gaps between them, and take every other element. This copies at Arrow's
    # speed.
    offsets = np.empty(2 * count, np.int32)
    if ends.min() == 0:
        begins = np.where(ends > 0, starts, np.maximum.accumulate(ends))
        offsets[0::2], offsets[1::2] = begins, np.maximum(ends, begins)
    else:
        offsets[0::2], offsets[1::2] = starts, ends
    both = pa.Array.from_buffers(
        pa.binary(), 2 * count - 1, [None, pa.py_buffer(offsets), pa.py_buffer(page.data)]
    )
    return both.take(pa.array(np.arange(0, 2 * count, 2, dtype=np.int32)))


def pieces(array: Any) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return the offsets and bytes of an unsliced binary or string array."""
    _, offsets, data = array.buffers()
    begin = np.frombuffer(offsets, np.int32)[: len(array) + 1]
    return begin, np.frombuffer(data, np.uint8)[: begin[-1]] if data is not None else np.zeros(0, np.uint8)


def as_text(array: pa.BinaryArray) -> pa.StringArray:
    r"""Decode UTF-8. Each byte that is not UTF-8 becomes ``\xNN``."""
    try:
        return array.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([each.decode("utf-8", "backslashreplace") for each in array.to_pylist()], pa.string())


def joined(paths: Any, names: pa.StringArray) -> Any:
    """Join ``paths`` (large strings) and ``names`` with slashes, row by row."""
    return pc.binary_join_element_wise(paths, names.cast(pa.large_string()), _SLASH)


def bad_name(names: pa.BinaryArray) -> int:
    """Return the first row with an empty name, or else the first with a slash in its name; -1 if there is none. The root,
    which alone has an empty name, must not be among the rows."""
    offsets, data = pieces(names)
    empty = offsets[1:] == offsets[:-1]
    if empty.any():
        return int(np.argmax(empty))
    slashes = np.flatnonzero(data == ord("/"))
    return int(np.searchsorted(offsets, slashes[0], side="right")) - 1 if len(slashes) else -1
