"""The first pass over an image. It writes the flat files that reading parts requires, and rejects a damaged image."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from operator import attrgetter
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from extractors.hdfs.image.contents import FileFacts, sum_contents
from extractors.hdfs.image.directories import Tree, grow, live_owner, rank, write_paths, write_policies
from extractors.hdfs.image.errors import ImageError
from extractors.hdfs.image.inodes import MAX_INODES, ROOT_ID, InodeScan, scan
from extractors.hdfs.image.layout import (
    INODE,
    INODE_DIR,
    INODE_REFERENCE,
    ImageSummary,
    describe_image,
    read_section,
)
from extractors.hdfs.image.pages import Plain, PlainFile
from extractors.hdfs.image.parents import Joined, join, list_children, read_references
from extractors.hdfs.image.prepared import (
    CHILDREN,
    CHUNK,
    IDS,
    NAME_ENDS,
    NAMES,
    NOBODY,
    OWNERS,
    RECORD,
    ROOT,
    Prepared,
    prepared_from_json,
    read_column,
    write_renamed,
)
from extractors.hdfs.image.strings import read_strings

FOLDER: Final = "fsimage"
"""Subdirectory of scratch for all output. It is removed as a whole."""
Report = Callable[[str, int, int], None]
"""Callback for progress: (current step, bytes done, bytes in total). The step is "inodes", "directories" or "decompress
SECTION"; the rest of the work is not reported."""


def prepare(
    image: Path | str, scratch: Path | str, *, memory_bytes: int = 512 << 20, report: Report | None = None
) -> Prepared:
    """Walk the image once and write to ``scratch`` the data that `read_part` needs: 8 bytes per inode, each
    directory's path and totals, and section INODE if the image is compressed. About 40 more bytes per inode are needed
    temporarily.

    Complete output in the same scratch for the same image (path, size, time, file id, transaction) is reused; other
    output is removed, as is that of a failed attempt. No other process may use ``scratch`` meanwhile. The image must
    stay, because `read_part` reads its inodes unless it is compressed.

    ``memory_bytes`` limits the memory for inodes: with less, their ids are read more often. In addition, each directory
    takes some 250 bytes. Raises `ImageError` if the image cannot be read, is invalid (for example, its directories do
    not form a tree) or changes meanwhile, or if writing to ``scratch`` fails.
    """
    summary = describe_image(Path(image).absolute())
    folder = Path(scratch).absolute() / FOLDER
    finished = _finished(folder, summary)
    if finished is not None:
        return finished
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        prepared = _prepare(summary, folder, memory_bytes, report or (lambda what, done, total: None))
        prepared.check_unchanged()
        # The record marks everything else as complete, so it is written last, and atomically.
        new = folder / f"{RECORD}.new"
        new.write_text(prepared.to_json())
        new.replace(folder / RECORD)
        finished = prepared
    except ImageError:
        raise
    except OSError as error:
        raise ImageError(
            summary.path, f"cannot be prepared in {folder}: {error.strerror or error}"
        ) from error
    finally:
        if finished is None:
            shutil.rmtree(folder, ignore_errors=True)
    return prepared


def _finished(folder: Path, summary: ImageSummary) -> Prepared | None:
    record = folder / RECORD
    found = prepared_from_json(record.read_text(errors="replace")) if record.is_file() else None
    if found is None or found.scratch != str(folder):
        return None
    same = attrgetter("bytes", "changed_ns", "file_id", "transaction_id", "inodes")
    return found if found.image == summary.path and same(found) == same(summary) else None


def _prepare(summary: ImageSummary, scratch: Path, memory_bytes: int, report: Report) -> Prepared:
    """Write all output. From here on, ``scratch`` is the subdirectory `FOLDER`."""
    if summary.inodes > MAX_INODES:
        raise ImageError(summary.path, f"the header says {summary.inodes} inodes", INODE)
    strings = read_strings(summary)
    section = _plain(summary, INODE, scratch, report)
    with PlainFile(section) as source, FileFacts(scratch) as facts:
        found = scan(source, summary.inodes, strings, scratch, _named(report, "inodes"), facts.add)
    root = np.flatnonzero(found.ids == ROOT_ID)
    if len(root) != 1:
        raise ImageError(
            summary.path, f"inode {ROOT_ID}, the root, is not a directory, or occurs twice", INODE
        )
    with ExitStack() as opened:
        referring = summary.section(INODE_REFERENCE) and _plain(summary, INODE_REFERENCE, scratch, report)
        references = read_references(opened.enter_context(PlainFile(referring)) if referring else None)
        source = opened.enter_context(PlainFile(_plain(summary, INODE_DIR, scratch, report)))
        listed = list_children(source, references, found.ids, scratch, _named(report, "directories"))
    joined = join(
        summary.path, scratch, found.count, listed.count, found.ids, list(listed.renamed), memory_bytes
    )
    if summary.codec:
        _remove(scratch, INODE_DIR, INODE_REFERENCE)
    _remove(scratch, IDS, CHILDREN, OWNERS)
    renamed = {joined.named[inode]: name for inode, name in listed.renamed.items()}
    tree, ranked = _lay_tree(summary, scratch, found, int(root[0]), joined, renamed)
    policies = write_policies(tree, ranked, found.policies, scratch)
    write_renamed(renamed, scratch)
    live = _rank_parents(summary, tree, ranked, found, joined, int(found.inodes[root[0]]))
    _remove(scratch, NAMES, NAME_ENDS)
    times = sum_contents(tree, ranked, found.inodes, found.count, scratch)
    return Prepared(
        summary.path,
        str(scratch),
        summary.layout,
        summary.codec,
        summary.transaction_id,
        found.count,
        live,
        len(ranked),
        tuple(policies),
        summary.bytes,
        summary.changed_ns,
        summary.file_id,
        section,
        times.newest_s,
        times.read_weeks,
    )


def _lay_tree(
    summary: ImageSummary,
    scratch: Path,
    found: InodeScan,
    root: int,
    joined: Joined,
    renamed: Mapping[int, bytes],
) -> tuple[Tree, NDArray[np.int64]]:
    """Find the live directories and write their paths. ``renamed`` maps inode indices to names. Return the tree, and
    the ranked directories.
    """
    parents = np.asarray(joined.parents[found.inodes])
    if parents[root] != NOBODY or int(found.inodes[root]) in joined.contested:
        raise ImageError(summary.path, "the root is listed as a child", INODE_DIR)
    lengths = np.diff(read_column(scratch / NAME_ENDS, "<i8"))
    numbers = {int(found.inodes[each]): each for each in _among(found.inodes, [*renamed, *joined.contested])}
    names = {numbers[inode]: name for inode, name in renamed.items() if inode in numbers}
    for directory, name in names.items():
        lengths[directory] = len(name)
    contested = {numbers[inode]: owners for inode, owners in joined.contested.items() if inode in numbers}
    tree = grow(summary.path, found.ids, root, parents, lengths, contested)
    ranked = rank(tree)
    write_paths(summary.path, found.ids, tree, ranked, names, scratch)
    return tree, ranked


def _among(inodes: NDArray[np.int64], wanted: list[int]) -> list[int]:
    """Return the positions of the wanted inodes in ``inodes``."""
    return np.flatnonzero(np.isin(inodes, wanted)).tolist() if wanted else []


def _rank_parents(
    summary: ImageSummary, tree: Tree, ranked: NDArray[np.int64], found: InodeScan, joined: Joined, root: int
) -> int:
    """Convert the column of parents from directory numbers to ranks, or to `NOBODY` for inodes that are not live and `ROOT`
    for the root. Return the number of live inodes.
    """
    ranks = np.full(len(tree.live) + 1, NOBODY, np.uint32)
    ranks[ranked] = np.arange(len(ranked), dtype=np.uint32)
    live = 1
    for inode, owners in joined.contested.items():
        owner = live_owner(summary.path, found.ids, tree, inode, owners)
        joined.parents[inode] = owner if owner >= 0 else NOBODY
    for first in range(0, found.count, CHUNK):
        part = joined.parents[first : first + CHUNK]
        part[:] = ranks[np.minimum(part, len(tree.live))]
        live += int((part != NOBODY).sum())
    joined.parents[root] = ROOT
    joined.parents.flush()  # type: ignore[attr-defined]
    return live


def _plain(summary: ImageSummary, name: str, scratch: Path, report: Report) -> Plain:
    """Return the location of the section's plain bytes. For a compressed image, decompress them to scratch."""
    section = summary.section(name)
    if section is None:
        raise ImageError(summary.path, "the section is missing", name)
    if not summary.codec:
        return Plain(summary.path, name, summary.path, section.offset, section.length, section.offset)
    target = scratch / f"{name}.plain"
    length = 0
    with open(summary.path, "rb") as source, target.open("wb") as file:
        for piece in read_section(summary, section, source):
            length += file.write(piece)
            report(f"decompress {name}", source.tell() - section.offset, section.length)
    return Plain(summary.path, name, str(target), 0, length, 0)


def _named(report: Report, what: str) -> Callable[[int, int], None]:
    return lambda done, total: report(what, done, total)


def _remove(scratch: Path, *names: str) -> None:
    for name in names:
        for each in (scratch / name, scratch / f"{name}.plain"):
            if each.exists():
                os.remove(each)
