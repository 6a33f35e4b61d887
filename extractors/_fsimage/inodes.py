"""INODE messages: what their fields are, and the checks that hold for each of them (fsimage.proto, INodeSection)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from extractors._fsimage.errors import Malformed
from extractors._fsimage.lockstep import Decoded, Ints, Kind, Known, Numbers, Page, Shape, decode, tag
from extractors._fsimage.wire import BYTES, FIXED64, VARINT

ROOT_ID: Final = 16385
FILE, DIRECTORY, SYMLINK = 1, 2, 3

_INODE: Final[Shape] = {
    tag(1, VARINT): Known("type", Kind.NUMBER),
    tag(2, VARINT): Known("id", Kind.NUMBER),
    tag(3, BYTES): Known("name", Kind.SPAN),
    tag(4, BYTES): Known("file", Kind.SPAN),
    tag(5, BYTES): Known("directory", Kind.SPAN),
    tag(6, BYTES): Known("symlink", Kind.SPAN),
}
FILE_FIELDS: Final[Shape] = {
    tag(1, VARINT): Known("replication", Kind.NUMBER),
    tag(2, VARINT): Known("modified", Kind.NUMBER),
    tag(3, VARINT): Known("accessed", Kind.NUMBER),
    tag(4, VARINT): Known("block_size", Kind.NUMBER),
    tag(5, FIXED64): Known("permission", Kind.FIXED64),
    tag(6, BYTES): Known("blocks", Kind.EACH),
    tag(7, BYTES): Known("under_construction", Kind.SPAN),
    tag(8, BYTES): Known("acl", Kind.SPAN),
    tag(11, VARINT): Known("block_type", Kind.NUMBER),
    tag(12, VARINT): Known("policy", Kind.NUMBER),
}
DIRECTORY_FIELDS: Final[Shape] = {
    tag(1, VARINT): Known("modified", Kind.NUMBER),
    tag(4, FIXED64): Known("permission", Kind.FIXED64),
    tag(5, BYTES): Known("acl", Kind.SPAN),
    tag(6, BYTES): Known("attributes", Kind.SPAN),
}
SYMLINK_FIELDS: Final[Shape] = {
    tag(1, FIXED64): Known("permission", Kind.FIXED64),
    tag(2, BYTES): Known("target", Kind.SPAN),
    tag(3, VARINT): Known("modified", Kind.NUMBER),
    tag(4, VARINT): Known("accessed", Kind.NUMBER),
}
_BLOCK: Final[Shape] = {tag(3, VARINT): Known("bytes", Kind.NUMBER)}


@dataclass(frozen=True, slots=True)
class Heads:
    """What all inodes have; ``bodies`` has the spans "name", "file", "directory" and "symlink"."""

    ids: Numbers
    kinds: NDArray[np.uint8]
    bodies: Decoded

    def of(self, kind: int) -> Ints:
        return np.flatnonzero(self.kinds == kind)


def decode_heads(page: Page, starts: Ints, ends: Ints) -> Heads:
    out = decode(page, starts, ends, _INODE)
    ids, kinds = out.numbers["id"], out.numbers["type"]
    _check(ids != 0, starts, "an inode without an id")
    _check(
        (kinds >= FILE) & (kinds <= SYMLINK),
        starts,
        "an inode that is neither file nor directory nor symlink",
    )
    for kind, body in ((FILE, "file"), (DIRECTORY, "directory"), (SYMLINK, "symlink")):
        _check((kinds != kind) | out.has(body), starts, f"a {body} without what makes it one")
    return Heads(ids, kinds.astype(np.uint8), out)


def decode_files(page: Page, starts: Ints, ends: Ints) -> tuple[Decoded, Ints]:
    """The files' fields, and their sizes: the sum over their blocks."""
    files = decode(page, starts, ends, FILE_FIELDS)
    rows, first, last = files.spans("blocks")
    sizes = np.zeros(len(starts), np.int64)
    np.add.at(sizes, rows, decode(page, first, last, _BLOCK).numbers["bytes"].view(np.int64))
    return files, sizes


def _check(good: NDArray[np.bool_], starts: Ints, what: str) -> None:
    if not good.all():
        raise Malformed(what, int(starts[int(np.argmin(good))]))
