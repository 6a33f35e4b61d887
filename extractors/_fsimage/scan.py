"""The walk over INODE: where each message stands, every inode's id, and the directories with their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa

from extractors._fsimage.errors import Malformed, placed
from extractors._fsimage.inodes import DIRECTORY, DIRECTORY_FIELDS, ROOT_ID, Heads, decode_heads
from extractors._fsimage.lockstep import Ints, Numbers, Page, decode
from extractors._fsimage.pages import Messages, Source, read_messages
from extractors._fsimage.scratch import Column
from extractors._fsimage.spans import bad_name, gather, pieces
from extractors._fsimage.strings import Strings, directory_attributes
from extractors._fsimage.wire import read_varint

MARK_EVERY: Final = 4096
"""Of every so manieth inode the place is kept, so that a part finds its beginning."""
MAX_INODES: Final = (1 << 32) - 16

_ATTRIBUTES: Final = {key: known for key, known in DIRECTORY_FIELDS.items() if known.column == "attributes"}

FRAMES, MARKS, IDS, NAMES, NAME_ENDS = "frames", "marks", "ids", "names", "name_ends"


@dataclass(frozen=True, slots=True)
class Scanned:
    """What one walk found. Directories are in the section's order: ``ids`` and ``inodes`` (which inode of the section each
    is). ``policies`` are the erasure coding policies set on directories, by the directory's number."""

    count: int
    begin: int
    ids: Numbers
    inodes: Ints
    policies: dict[int, str]


def scan(
    source: Source, expected: int, strings: Strings, scratch: Path, report: Callable[[int, int], None]
) -> Scanned:
    plain = source.plain
    header = source.read(0, min(plain.length, 64))
    with placed(plain.image, plain.section, plain.base):
        length, start = read_varint(header.data, 0, header.size)
    begin = start + length
    ids: list[Numbers] = []
    inodes: list[Ints] = []
    policies: dict[int, str] = {}
    directories = name_end = 0
    with (
        Column(scratch / FRAMES, "<u4") as frames,
        Column(scratch / MARKS, "<i8") as marks,
        Column(scratch / IDS, "<u8") as all_ids,
        Column(scratch / NAME_ENDS, "<i8") as name_ends,
        (scratch / NAMES).open("wb") as names,
    ):
        name_ends.add(np.zeros(1, np.int64))
        for some in read_messages(source, begin):
            first = frames.count
            if first + len(some.starts) > expected:
                raise source.error(f"the header says {expected} inodes, and there are more", some.at)
            with placed(plain.image, plain.section, plain.base + some.at):
                heads = decode_heads(some.page, some.starts, some.ends)
                which = heads.of(DIRECTORY)
                policies |= _policies(some.page, heads, which, directories, strings)
                sizes = _write_names(some.page, heads, which, names)
            frames.add(some.ends - some.frames)
            marks.add(_marks(some, first))
            all_ids.add(heads.ids)
            ids.append(heads.ids[which])
            inodes.append(which + first)
            name_ends.add(name_end + np.cumsum(sizes))
            name_end += int(sizes.sum())
            directories += len(which)
            report(some.at + int(some.ends[-1]), plain.length)
        count = frames.count
    if count != expected:
        raise source.error(f"the header says {expected} inodes, {count} are there", 0)
    return Scanned(count, begin, _joined(ids, np.uint64), _joined(inodes, np.int64), policies)


def _joined(pieces: list, dtype: type) -> np.ndarray:  # type: ignore[type-arg]
    return np.concatenate(pieces) if pieces else np.zeros(0, dtype)


def _marks(some: Messages, first: int) -> Ints:
    skip = -first % MARK_EVERY
    return some.frames[skip::MARK_EVERY] + some.at


def _write_names(page: Page, heads: Heads, which: Ints, file: BinaryIO) -> Ints:
    """Writes the directories' names one after another; how long each is."""
    starts, ends = heads.bodies.starts["name"][which], heads.bodies.ends["name"][which]
    names = gather(page, starts, ends)
    row = bad_name(names.filter(pa.array(heads.ids[which] != ROOT_ID)))
    if row >= 0:
        inner = which[heads.ids[which] != ROOT_ID][row]
        raise Malformed(f"directory {heads.ids[inner]} has no name, or one with a slash", int(starts[row]))
    offsets, data = pieces(names)
    file.write(data.data)
    return np.diff(offsets).astype(np.int64)


def _policies(page: Page, heads: Heads, which: Ints, first: int, strings: Strings) -> dict[int, str]:
    """The erasure coding policies that these directories set, by the directory's number."""
    starts, ends = heads.bodies.starts["directory"][which], heads.bodies.ends["directory"][which]
    attributes = decode(page, starts, ends, _ATTRIBUTES)
    found = {}
    for row in np.flatnonzero(attributes.has("attributes")).tolist():
        begin, end = int(attributes.starts["attributes"][row]), int(attributes.ends["attributes"][row])
        try:
            policy = directory_attributes(strings, bytes(page.data[begin:end])).policy
        except Malformed as error:
            raise Malformed(error.what, begin + error.offset) from error
        if policy:
            found[first + row] = policy
    return found
