"""Bytes of a page as Arrow arrays, and names as text."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from extractors._fsimage.lockstep import Ints, Page

_SLASH: Final = pa.scalar("/", pa.large_string())


def gather(page: Page, starts: Ints, ends: Ints) -> pa.BinaryArray:
    """The bytes between ``starts`` and ``ends``, copied out. The spans must stand in the page's order; one that is absent
    (both are 0) is empty."""
    count = len(starts)
    if not count:
        return pa.array([], pa.binary())
    # One array of spans and the gaps between them, of which every other one is taken: this copies at Arrow's speed.
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
    """Offsets and bytes of a binary or string array that nobody has sliced."""
    _, offsets, data = array.buffers()
    begin = np.frombuffer(offsets, np.int32)[: len(array) + 1]
    return begin, np.frombuffer(data, np.uint8)[: begin[-1]] if data is not None else np.zeros(0, np.uint8)


def as_text(array: pa.BinaryArray) -> pa.StringArray:
    """As UTF-8; of a name that is not, each bad byte is spelled ``\\xNN``."""
    try:
        return array.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([each.decode("utf-8", "backslashreplace") for each in array.to_pylist()], pa.string())


def joined(paths: Any, names: pa.StringArray) -> Any:
    """``paths`` (large strings), a slash and ``names``, row by row."""
    return pc.binary_join_element_wise(paths, names.cast(pa.large_string()), _SLASH)


def bad_name(names: pa.BinaryArray) -> int:
    """The first row whose name no inode but the root can have: empty, or with a slash; -1 for none."""
    offsets, data = pieces(names)
    empty = offsets[1:] == offsets[:-1]
    if empty.any():
        return int(np.argmax(empty))
    slashes = np.flatnonzero(data == ord("/"))
    return int(np.searchsorted(offsets, slashes[0], side="right")) - 1 if len(slashes) else -1
