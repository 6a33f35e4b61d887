"""Read a part of an image as record batches with the rows of the live tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from extractors.hdfs.image.arrays import Ints, MessageBytes, as_text, bad_name, gather, joined, pieces
from extractors.hdfs.image.columns import SCHEMA, attribute_columns, content_columns
from extractors.hdfs.image.contents import ContentSums
from extractors.hdfs.image.directories import MAX_PATH_BYTES
from extractors.hdfs.image.errors import ImageError, Malformed, placed
from extractors.hdfs.image.inodes import Heads, decode_heads
from extractors.hdfs.image.layout import describe_image
from extractors.hdfs.image.pages import PAGE_BYTES, PAGE_MESSAGES, Messages, PlainFile, framed
from extractors.hdfs.image.prepared import (
    FRAMES,
    NO_POLICY,
    NOBODY,
    PARENTS,
    PATH_ENDS,
    PATHS,
    POLICIES,
    ROOT,
    ImagePart,
    Prepared,
    read_column,
    read_renamed,
)
from extractors.hdfs.image.strings import Strings, read_strings

MAX_BATCH_PATH_BYTES: Final = 64 << 20
MAX_ROW_PATH_BYTES: Final = 4 * MAX_PATH_BYTES


def read_part(prepared: Prepared, part: ImagePart) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a part, some ten thousand in a batch, in the image's order. The columns are those of `SCHEMA`.

    A part yields the same rows each time. Raises `ImageError`, possibly only after the last row, if the file is not
    the one that was prepared.
    """
    try:
        prepared.check_unchanged()
        strings = read_strings(describe_image(prepared.image))
        directories = _Directories(prepared)
        with PlainFile(prepared.section) as source:
            for number, some in _pages(prepared, part, source):
                parents = read_column(Path(prepared.scratch, PARENTS), "<u4", number, len(some.starts))
                with placed(prepared.image, source.plain.section, source.plain.base + some.at):
                    yield from _batches(prepared, directories, strings, some, number, parents)
        prepared.check_unchanged()
    except ImageError:
        raise
    except (OSError, pa.ArrowInvalid) as error:
        raise ImageError(
            prepared.image, f"cannot be read with the prepared files in {prepared.scratch}: {error}"
        ) from error


def _pages(prepared: Prepared, part: ImagePart, source: PlainFile) -> Iterator[tuple[int, Messages]]:
    """Yield (index of the first inode, messages) for each page of the part."""
    at, end = part.at, part.first + part.count
    first = part.first
    while first < end:
        sizes = read_column(Path(prepared.scratch, FRAMES), "<u4", first, min(PAGE_MESSAGES, end - first))
        ends = np.cumsum(sizes, dtype=np.int64)
        ends = ends[: max(1, int(np.searchsorted(ends, PAGE_BYTES, side="right")))]
        page = source.read(at, int(ends[-1]))
        yield first, framed(source, page, at, ends)
        first += len(ends)
        at += int(ends[-1])


class _Directories:
    """Paths and policies of the live directories, by rank, memory-mapped."""

    def __init__(self, prepared: Prepared) -> None:
        scratch = Path(prepared.scratch)
        if (scratch / PATH_ENDS).stat().st_size != 8 * (prepared.directories + 1):
            raise OSError(f"{PATH_ENDS} is incomplete")
        self._ends = np.memmap(scratch / PATH_ENDS, "<i8", "r")
        size = int(self._ends[-1])
        data = pa.memory_map(str(scratch / PATHS)).read_buffer() if size else pa.py_buffer(b"")
        self._paths = pa.Array.from_buffers(
            pa.large_string(), len(self._ends) - 1, [None, pa.py_buffer(self._ends), data]
        )
        self._policies = np.memmap(scratch / POLICIES, "<i2", "r") if prepared.policies else None
        self.renamed = read_renamed(scratch)
        self.contents = ContentSums(scratch, prepared.directories)

    def lengths(self, ranks: NDArray[np.uint32]) -> Ints:
        return np.asarray(self._ends[ranks + np.uint32(1)] - self._ends[ranks])

    def paths(self, ranks: NDArray[np.uint32]) -> Any:
        return self._paths.take(pa.array(ranks))

    def policies(self, ranks: NDArray[np.uint32]) -> NDArray[np.int16]:
        if self._policies is None:
            return np.full(len(ranks), NO_POLICY, np.int16)
        return np.asarray(self._policies[ranks])


def _batches(
    prepared: Prepared,
    directories: _Directories,
    strings: Strings,
    some: Messages,
    number: int,
    parents: NDArray[np.uint32],
) -> Iterator[pa.RecordBatch]:
    page = some.page
    heads = decode_heads(page, some.starts, some.ends)
    live = parents != NOBODY
    root = np.flatnonzero(parents == ROOT)
    # The root is treated as its own parent, so that every row has a directory above. The root's path is corrected
    # below.
    above = np.where(live & (parents != ROOT), parents, 0).astype(np.uint32)
    columns = attribute_columns(
        page, heads, some.starts, strings, _inherited(directories, above, root), prepared.policies
    )
    columns |= content_columns(len(live), *directories.contents.of(number, len(live)))
    names = _names(page, heads, directories.renamed, number)
    rows = np.flatnonzero(live)
    below = rows[parents[rows] != ROOT]
    bad = bad_name(names if len(below) == len(live) else names.take(pa.array(below)))
    if bad >= 0:
        row = int(below[bad])
        raise Malformed(f"inode {heads.ids[row]} has no name, or one with a slash", int(some.starts[row]))
    texts = as_text(names)
    lengths = directories.lengths(above) + np.diff(pieces(texts)[0]) + 1
    long = np.flatnonzero(lengths[rows] > MAX_ROW_PATH_BYTES)
    if len(long):
        row = int(rows[long[0]])
        raise Malformed(f"inode {heads.ids[row]} has a path of {lengths[row]} bytes", int(some.starts[row]))
    for begin, end in _cuts(lengths, rows):
        which = rows[begin:end]
        taken = pa.array(which)
        paths = _paths(directories, above[which], texts.take(taken), parents[which] == ROOT)
        batch = (
            {name: column.take(taken) for name, column in columns.items()}
            if len(which) < len(live)
            else columns
        )
        yield pa.RecordBatch.from_arrays([paths, *(batch[name] for name in SCHEMA.names[1:])], schema=SCHEMA)


def _inherited(directories: _Directories, above: NDArray[np.uint32], root: Ints) -> NDArray[np.int16]:
    policies = directories.policies(above)
    policies[root] = NO_POLICY
    return policies


def _names(page: MessageBytes, heads: Heads, renamed: Mapping[int, bytes], number: int) -> pa.BinaryArray:
    names = gather(page, heads.bodies.starts["name"], heads.bodies.ends["name"])
    here = [row for inode in renamed if 0 <= (row := inode - number) < len(names)] if renamed else []
    if here:
        texts = names.to_pylist()
        for row in here:
            texts[row] = renamed[row + number]
        names = pa.array(texts, pa.binary())
    return names


def _paths(
    directories: _Directories, above: NDArray[np.uint32], names: pa.StringArray, root: NDArray[np.bool_]
) -> Any:
    paths = joined(directories.paths(above), names).cast(pa.string())
    return pc.if_else(pa.array(root), "/", paths) if root.any() else paths


def _cuts(lengths: Ints, rows: Ints) -> list[tuple[int, int]]:
    """Split ``rows`` into runs whose paths have a bounded number of bytes."""
    if not len(rows):
        return []
    sums = np.cumsum(lengths[rows])
    if sums[-1] <= MAX_BATCH_PATH_BYTES:
        return [(0, len(rows))]
    cuts = [0]
    while cuts[-1] < len(rows):
        before = int(sums[cuts[-1] - 1]) if cuts[-1] else 0
        fits = int(np.searchsorted(sums, before + MAX_BATCH_PATH_BYTES, side="right"))
        cuts.append(max(fits, cuts[-1] + 1))
    return list(pairwise(cuts))
