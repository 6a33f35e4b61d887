"""The INODE section: fields of its messages (fsimage.proto, INodeSection), the rules for each, and the walk over all
of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from extractors.hdfs.image.arrays import Ints, MessageBytes, Numbers, bad_name, gather, pieces
from extractors.hdfs.image.batch_decoder import Decoded, FieldKind, Shape, WantedField, decode, tag
from extractors.hdfs.image.errors import Malformed, placed
from extractors.hdfs.image.pages import Messages, PlainFile, read_messages
from extractors.hdfs.image.prepared import FRAMES, IDS, MARK_EVERY, MARKS, NAME_ENDS, NAMES, NumberFile
from extractors.hdfs.image.strings import Strings, directory_attributes
from extractors.hdfs.image.wire import BYTES, FIXED64, VARINT, read_varint

ROOT_ID: Final = 16385
MAX_INODES: Final = (1 << 32) - 16
"""Maximum number of inodes. Indices are stored in four bytes, and the highest values are reserved."""
FILE, DIRECTORY, SYMLINK = 1, 2, 3

_INODE: Final[Shape] = {
    tag(1, VARINT): WantedField("type", FieldKind.NUMBER),
    tag(2, VARINT): WantedField("id", FieldKind.NUMBER),
    tag(3, BYTES): WantedField("name", FieldKind.SPAN),
    tag(4, BYTES): WantedField("file", FieldKind.SPAN),
    tag(5, BYTES): WantedField("directory", FieldKind.SPAN),
    tag(6, BYTES): WantedField("symlink", FieldKind.SPAN),
}
FILE_FIELDS: Final[Shape] = {
    tag(1, VARINT): WantedField("replication", FieldKind.NUMBER),
    tag(2, VARINT): WantedField("modified", FieldKind.NUMBER),
    tag(3, VARINT): WantedField("accessed", FieldKind.NUMBER),
    tag(4, VARINT): WantedField("block_size", FieldKind.NUMBER),
    tag(5, FIXED64): WantedField("permission", FieldKind.FIXED64),
    tag(6, BYTES): WantedField("blocks", FieldKind.EACH),
    tag(7, BYTES): WantedField("under_construction", FieldKind.SPAN),
    tag(8, BYTES): WantedField("acl", FieldKind.SPAN),
    tag(11, VARINT): WantedField("block_type", FieldKind.NUMBER),
    tag(12, VARINT): WantedField("policy", FieldKind.NUMBER),
}
DIRECTORY_FIELDS: Final[Shape] = {
    tag(1, VARINT): WantedField("modified", FieldKind.NUMBER),
    tag(4, FIXED64): WantedField("permission", FieldKind.FIXED64),
    tag(5, BYTES): WantedField("acl", FieldKind.SPAN),
    tag(6, BYTES): WantedField("attributes", FieldKind.SPAN),
}
SYMLINK_FIELDS: Final[Shape] = {
    tag(1, FIXED64): WantedField("permission", FieldKind.FIXED64),
    tag(2, BYTES): WantedField("target", FieldKind.SPAN),
    tag(3, VARINT): WantedField("modified", FieldKind.NUMBER),
    tag(4, VARINT): WantedField("accessed", FieldKind.NUMBER),
}
_ATTRIBUTES: Final = {key: known for key, known in DIRECTORY_FIELDS.items() if known.column == "attributes"}
_BLOCK: Final[Shape] = {tag(3, VARINT): WantedField("bytes", FieldKind.NUMBER)}


@dataclass(frozen=True, slots=True)
class Heads:
    """The fields that inodes of all types have. ``bodies`` has the spans "name", "file", "directory" and "symlink"."""

    ids: Numbers
    kinds: NDArray[np.uint8]
    bodies: Decoded

    def of(self, kind: int) -> Ints:
        return np.flatnonzero(self.kinds == kind)


def decode_heads(page: MessageBytes, starts: Ints, ends: Ints) -> Heads:
    out = decode(page, starts, ends, _INODE)
    ids, kinds = out.numbers["id"], out.numbers["type"]
    _check(ids != 0, starts, "an inode without an id")
    _check(
        (kinds >= FILE) & (kinds <= SYMLINK),
        starts,
        "an inode that is neither file nor directory nor symlink",
    )
    for kind, body in ((FILE, "file"), (DIRECTORY, "directory"), (SYMLINK, "symlink")):
        _check((kinds != kind) | out.has(body), starts, f"a {body} without its own part")
    return Heads(ids, kinds.astype(np.uint8), out)


def decode_files(page: MessageBytes, starts: Ints, ends: Ints) -> tuple[Decoded, Ints]:
    """Return the decoded fields of the files, and the size of each file in bytes."""
    files = decode(page, starts, ends, FILE_FIELDS)
    return files, file_sizes(page, files)


def file_sizes(page: MessageBytes, files: Decoded) -> Ints:
    """Return the size of each decoded file in bytes, which is the sum over its blocks."""
    rows, first, last = files.spans("blocks")
    sizes = np.zeros(len(files.numbers["replication"]), np.int64)
    np.add.at(sizes, rows, decode(page, first, last, _BLOCK).numbers["bytes"].view(np.int64))
    return sizes


def _check(good: NDArray[np.bool_], starts: Ints, what: str) -> None:
    if not good.all():
        raise Malformed(what, int(starts[int(np.argmin(good))]))


@dataclass(frozen=True, slots=True)
class InodeScan:
    """Result of one walk over ``count`` inodes. ``ids`` and ``inodes`` (indices in the section) are those of the
    directories. Directories are numbered in the section's order. ``policies`` maps the number of a directory to the
    erasure coding policy set on it.
    """

    count: int
    ids: Numbers
    inodes: Ints
    policies: dict[int, str]


def scan(
    source: PlainFile,
    expected: int,
    strings: Strings,
    scratch: Path,
    report: Callable[[int, int], None],
    lay_down: Callable[[MessageBytes, Heads], None],
) -> InodeScan:
    """Walk over the section. Write columns with one value for each inode, and the names of directories. ``expected``
    is the number of inodes in the section's header. ``lay_down`` is called with each page and its heads.
    """
    plain = source.plain
    header = source.read(0, min(plain.length, 64))
    with placed(plain.image, plain.section, plain.base):
        length, start = read_varint(header.data, 0, header.size)
    begin = start + length
    ids: list[Numbers] = [np.zeros(0, np.uint64)]
    inodes: list[Ints] = [np.zeros(0, np.int64)]
    policies: dict[int, str] = {}
    directories = name_end = 0
    with (
        NumberFile(scratch / FRAMES, "<u4") as frames,
        NumberFile(scratch / MARKS, "<i8") as marks,
        NumberFile(scratch / IDS, "<u8") as all_ids,
        NumberFile(scratch / NAME_ENDS, "<i8") as name_ends,
        (scratch / NAMES).open("wb") as names,
    ):
        name_ends.add(np.zeros(1, np.int64))
        for some in read_messages(source, begin):
            first = frames.count
            if first + len(some.starts) > expected:
                raise source.error(f"the header says {expected} inodes, but there are more", some.at)
            with placed(plain.image, plain.section, plain.base + some.at):
                heads = decode_heads(some.page, some.starts, some.ends)
                which = heads.of(DIRECTORY)
                policies |= _policies(some.page, heads, which, directories, strings)
                sizes = _write_names(some.page, heads, which, names)
                lay_down(some.page, heads)
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
        raise source.error(f"the header says {expected} inodes, but there are {count}", 0)
    return InodeScan(count, np.concatenate(ids), np.concatenate(inodes), policies)


def _marks(some: Messages, first: int) -> Ints:
    skip = -first % MARK_EVERY
    return some.frames[skip::MARK_EVERY] + some.at


def _write_names(page: MessageBytes, heads: Heads, which: Ints, file: BinaryIO) -> Ints:
    """Write the names of the directories one after another. Return the length of each in bytes."""
    starts, ends = heads.bodies.starts["name"][which], heads.bodies.ends["name"][which]
    names = gather(page, starts, ends)
    below = np.flatnonzero(heads.ids[which] != ROOT_ID)
    bad = bad_name(names.take(pa.array(below)))
    if bad >= 0:
        row = below[bad]
        what = f"directory {heads.ids[which[row]]} has no name, or one with a slash"
        raise Malformed(what, int(starts[row]))
    offsets, data = pieces(names)
    file.write(data.data)
    return np.diff(offsets).astype(np.int64)


def _policies(page: MessageBytes, heads: Heads, which: Ints, first: int, strings: Strings) -> dict[int, str]:
    """Return directory number → erasure coding policy, for each of these directories on which a policy is set.
    ``first`` is the number of the first directory.
    """
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
