"""INODE_DIR and INODE_REFERENCE: who is in which directory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from extractors._fsimage.errors import Malformed, placed
from extractors._fsimage.layout import INODE_REFERENCE
from extractors._fsimage.lockstep import Ints, Kind, Known, Numbers, Shape, decode, tag
from extractors._fsimage.packed import read_packed
from extractors._fsimage.pages import Source, read_messages
from extractors._fsimage.scratch import Column
from extractors._fsimage.wire import BYTES, VARINT

CHILDREN, OWNERS = "children", "owners"

_ENTRY: Final[Shape] = {
    tag(1, VARINT): Known("parent", Kind.NUMBER),
    tag(2, BYTES): Known("children", Kind.EACH),
    tag(3, BYTES): Known("references", Kind.EACH),
    tag(2, VARINT): Known("one child", Kind.NUMBER),
    tag(3, VARINT): Known("one reference", Kind.NUMBER),
}
_REFERENCE: Final[Shape] = {
    tag(1, VARINT): Known("referred", Kind.NUMBER),
    tag(2, BYTES): Known("name", Kind.SPAN),
}


@dataclass(slots=True)
class References:
    """INODE_REFERENCE in its order: the inode that each refers to, and the name of those that bear one of their own."""

    referred: Numbers = field(default_factory=lambda: np.zeros(0, np.uint64))
    names: dict[int, bytes] = field(default_factory=dict)


def read_references(source: Source | None) -> References:
    if source is None:
        return References()
    referred: list[Numbers] = [np.zeros(0, np.uint64)]
    names: dict[int, bytes] = {}
    count = 0
    for some in read_messages(source, 0):
        with placed(source.plain.image, source.plain.section, source.plain.base + some.at):
            out = decode(some.page, some.starts, some.ends, _REFERENCE)
        for row in np.flatnonzero(out.ends["name"] > out.starts["name"]).tolist():
            names[count + row] = bytes(some.page.data[out.starts["name"][row] : out.ends["name"][row]])
        referred.append(out.numbers["referred"])
        count += len(some.starts)
    return References(np.concatenate(referred), names)


@dataclass(frozen=True, slots=True)
class Listed:
    """How many children stand in the columns `CHILDREN` (inode ids) and `OWNERS` (numbers of directories), and the names of
    those that go by another one than their inode's."""

    count: int
    renamed: dict[int, bytes]


def list_children(
    source: Source,
    references: References,
    directory_ids: Numbers,
    scratch: Path,
    report: Callable[[int, int], None],
) -> Listed:
    """Lays down every pair of child and directory; ``directory_ids`` by the directories' numbers."""
    order = np.argsort(directory_ids)
    known = directory_ids[order]
    renamed: dict[int, bytes] = {}
    with Column(scratch / CHILDREN, "<u8") as children, Column(scratch / OWNERS, "<u4") as owners:
        for some in read_messages(source, 0):
            with placed(source.plain.image, source.plain.section, source.plain.base + some.at):
                # Whatever hid here would be children lost without a word.
                out = decode(some.page, some.starts, some.ends, _ENTRY, strict=True)
                _refuse_unpacked(out.numbers, some.starts)
                numbers = _numbers(out.numbers["parent"], known, order, some.starts)
                for rows, ids in read_packed(some.page, *out.spans("children")):
                    children.add(ids)
                    owners.add(numbers[rows])
                for rows, index in read_packed(some.page, *out.spans("references")):
                    ids = _referred(references, index, some.starts[rows])
                    children.add(ids)
                    owners.add(numbers[rows])
                    renamed |= _renamed(references, index, ids)
            report(some.at + int(some.ends[-1]), source.plain.length)
        return Listed(children.count, renamed)


def _numbers(parents: Numbers, known: Numbers, order: Ints, starts: Ints) -> NDArray[np.uint32]:
    place = np.searchsorted(known, parents)
    place[place == len(known)] = 0
    missing = known[place] != parents if len(known) else np.ones(len(parents), np.bool_)
    if missing.any():
        row = int(np.argmax(missing))
        what = f"children are listed of inode {parents[row]}, which is no directory of section INODE"
        raise Malformed(what, int(starts[row]))
    return order[place].astype(np.uint32)


def _referred(references: References, index: Numbers, starts: Ints) -> Numbers:
    missing = index >= len(references.referred)
    if missing.any():
        row = int(np.argmax(missing))
        what = f"reference {index[row]} is listed, and {INODE_REFERENCE} has {len(references.referred)}"
        raise Malformed(what, int(starts[row]))
    return references.referred[index.astype(np.int64)]


def _renamed(references: References, index: Numbers, ids: Numbers) -> dict[int, bytes]:
    if not references.names:
        return {}
    pairs = zip(index.tolist(), ids.tolist(), strict=True)
    return {inode: references.names[place] for place, inode in pairs if place in references.names}


def _refuse_unpacked(numbers: dict[str, Numbers], starts: Ints) -> None:
    # No NameNode writes them so.
    found = (numbers["one child"] != 0) | (numbers["one reference"] != 0)
    if found.any():
        raise Malformed("children that are not packed", int(starts[int(np.argmax(found))]))
