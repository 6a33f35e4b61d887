"""Find the directory of each inode, by joining the sections INODE_DIR and INODE_REFERENCE with the inodes.

A DirEntry lists its children by inode id. Children shared with a snapshot are listed by their index in INODE_REFERENCE
(fsimage.proto, INodeDirectorySection and INodeReferenceSection). As files are created and deleted, ids spread over
billions, so no array is indexed by id. Instead, both sides of the join are sorted, one range of ids after another,
with as many ranges as the memory limit requires.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from extractors.hdfs.image.arrays import Ints, Numbers, read_packed
from extractors.hdfs.image.batch_decoder import FieldKind, Shape, WantedField, decode, tag
from extractors.hdfs.image.errors import ImageError, Malformed, placed
from extractors.hdfs.image.layout import INODE, INODE_DIR, INODE_REFERENCE
from extractors.hdfs.image.pages import PlainFile, read_messages
from extractors.hdfs.image.prepared import (
    CHILDREN,
    IDS,
    NOBODY,
    OWNERS,
    PARENTS,
    NumberFile,
    chunks,
    filled,
    read_column,
)
from extractors.hdfs.image.wire import BYTES, VARINT

_ENTRY: Final[Shape] = {
    tag(1, VARINT): WantedField("parent", FieldKind.NUMBER),
    tag(2, BYTES): WantedField("children", FieldKind.EACH),
    tag(3, BYTES): WantedField("references", FieldKind.EACH),
    tag(2, VARINT): WantedField("one child", FieldKind.NUMBER),
    tag(3, VARINT): WantedField("one reference", FieldKind.NUMBER),
}
_REFERENCE: Final[Shape] = {
    tag(1, VARINT): WantedField("referred", FieldKind.NUMBER),
    tag(2, BYTES): WantedField("name", FieldKind.SPAN),
}
_BYTES_A_ROW: Final = 48
"""Memory for one row of either side while a range is joined."""
_SAMPLES: Final = 1 << 16


@dataclass(slots=True)
class References:
    """The section INODE_REFERENCE. ``referred`` has the inode id of each reference, in order. ``names`` maps the index
    of a reference to the reference's own name, if it has one.
    """

    referred: Numbers = field(default_factory=lambda: np.zeros(0, np.uint64))
    names: dict[int, bytes] = field(default_factory=dict)


def read_references(source: PlainFile | None) -> References:
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
class ChildLists:
    """Result of `list_children`. ``count`` is the number of rows in the columns `CHILDREN` (inode ids) and `OWNERS`
    (directory numbers). ``renamed`` maps inode ids to names from references, which replace the names in section INODE.
    """

    count: int
    renamed: dict[int, bytes]


def list_children(
    source: PlainFile,
    references: References,
    directory_ids: Numbers,
    scratch: Path,
    report: Callable[[int, int], None],
) -> ChildLists:
    """Write every pair of child and directory. ``directory_ids`` are the inode ids of the directories, in the order of
    their numbers.
    """
    order = np.argsort(directory_ids)
    known = directory_ids[order]
    renamed: dict[int, bytes] = {}
    with NumberFile(scratch / CHILDREN, "<u8") as children, NumberFile(scratch / OWNERS, "<u4") as owners:
        for some in read_messages(source, 0):
            with placed(source.plain.image, source.plain.section, source.plain.base + some.at):
                # Decoded strictly, because children in an unknown field would be lost silently.
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
        return ChildLists(children.count, renamed)


def _numbers(parents: Numbers, known: Numbers, order: Ints, starts: Ints) -> NDArray[np.uint32]:
    place = np.searchsorted(known, parents)
    place[place == len(known)] = 0
    missing = known[place] != parents if len(known) else np.ones(len(parents), np.bool_)
    if missing.any():
        row = int(np.argmax(missing))
        what = f"children are listed for inode {parents[row]}, which is not a directory of section INODE"
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
    # No NameNode writes unpacked lists.
    found = (numbers["one child"] != 0) | (numbers["one reference"] != 0)
    if found.any():
        raise Malformed("children that are not packed", int(starts[int(np.argmax(found))]))


@dataclass(frozen=True, slots=True)
class Joined:
    """Result of `join`. ``parents`` (memory-mapped) has each inode's directory number; `NOBODY` if no directory lists
    the inode, or several do. ``contested`` maps the index of an inode listed by several directories to these
    directories. ``named`` maps the wanted ids to their indices.
    """

    parents: NDArray[np.uint32]
    contested: dict[int, list[int]]
    named: dict[int, int]


def join(
    image: str,
    scratch: Path,
    inodes: int,
    children: int,
    directory_ids: Numbers,
    wanted: list[int],
    memory_bytes: int,
) -> Joined:
    """Find the directory number of each inode. ``wanted`` are inode ids whose indices are returned in ``named``."""
    parents = filled(scratch / PARENTS, "<u4", inodes, NOBODY)
    contested: dict[int, list[int]] = {}
    named: dict[int, int] = {}
    names = np.array(sorted(wanted), np.uint64)
    for low, high in _ranges(scratch, inodes, max(1, -(-(inodes + children) * _BYTES_A_ROW // memory_bytes))):
        ids, numbers = _sorted(scratch, (IDS, "<u8"), None, inodes, low, high)
        twice = ids[1:] == ids[:-1]
        if twice.any():
            raise ImageError(image, f"inode {ids[int(np.argmax(twice))]} occurs twice", INODE)
        found, owners = _sorted(scratch, (CHILDREN, "<u8"), (OWNERS, "<u4"), children, low, high)
        place = np.searchsorted(ids, found)
        missing = place == len(ids)
        missing[~missing] = ids[place[~missing]] != found[~missing]
        if missing.any():
            row = int(np.argmax(missing))
            what = f"inode {directory_ids[owners[row]]} lists inode {found[row]}, which section {INODE} does not have"
            raise ImageError(image, what, INODE_DIR)
        numbers_found = numbers[place]
        again = np.flatnonzero(found[1:] == found[:-1])
        if len(again):
            rows = np.unique(np.concatenate([again, again + 1]))
            for number, owner in zip(numbers_found[rows].tolist(), owners[rows].tolist(), strict=True):
                contested.setdefault(number, []).append(owner)
            owners[rows] = NOBODY
        parents[numbers_found] = owners
        asked = names[(names >= low) & (names <= high)]
        at = np.searchsorted(ids, asked)
        named |= {int(each): int(numbers[where]) for each, where in zip(asked, at, strict=True)}
    return Joined(parents, contested, named)


def _ranges(scratch: Path, inodes: int, count: int) -> Iterator[tuple[int, int]]:
    """Yield ``count`` ranges of ids, including both ends, with about the same number of inodes in each."""
    top = (1 << 64) - 1
    if count > 1 and inodes:
        step = max(1, inodes // _SAMPLES)
        sample = np.sort(
            np.concatenate(
                [chunk[-first % step :: step] for first, chunk in chunks(scratch / IDS, "<u8", inodes)]
            )
        )
        cuts = sorted({int(sample[len(sample) * each // count]) for each in range(1, count)} - {0})
    else:
        cuts = []
    for low, high in zip([0, *cuts], [*cuts, top + 1], strict=True):
        yield low, high - 1


def _sorted(
    scratch: Path, keys: tuple[str, str], payload: tuple[str, str] | None, count: int, low: int, high: int
) -> tuple[Numbers, NDArray[Any]]:
    """Return the keys within the range, sorted, and the payload of each key. Without ``payload``, return the index of
    each key instead.
    """
    parts: list[Numbers] = [np.zeros(0, np.uint64)]
    with_them: list[NDArray[Any]] = [np.zeros(0, np.uint32)]
    for first, chunk in chunks(scratch / keys[0], keys[1], count):
        here = np.flatnonzero((chunk >= low) & (chunk <= high))
        parts.append(chunk[here])
        if payload is None:
            with_them.append((here + first).astype(np.uint32))
        else:
            with_them.append(read_column(scratch / payload[0], payload[1], first, len(chunk))[here])
    found = np.concatenate(parts)
    order: Ints = np.argsort(found)
    return found[order], np.concatenate(with_them)[order]
