"""The part of one growing file to read: how the file is recognized, and where reading continues.

A file is never recognized by its name, but by its fingerprint. The fingerprint consists of host, device and inode,
which form the key of the position, and of two hashes in the value of the position: one of the file's first bytes and
one of the bytes before the offset.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Final

from navlin.model.records import Split

HEAD_BYTES: Final = 16 << 10
"""Number of bytes at the beginning of a file that distinguish it from other files. Engines write the query's text
first, so different files may have the same first few hundred bytes.
"""
COPIED: Final = "@"
"""Separator in a key, between the file and the mark of content that the file no longer has."""
MARK_BYTES: Final = 4 << 10
"""Number of bytes before an offset that must be unchanged if reading is to continue there."""


@dataclass(frozen=True, slots=True)
class FileSplit(Split):
    """Part of one file to read, from ``offset`` to ``end``, the file's size when the plan was made.

    ``head`` and ``mark`` are hashes of the file's first ``head_bytes`` bytes and of the bytes before ``offset``, if
    known. ``skipping`` is true if the offset is within a line that is too long, ``final`` if no further newline is
    expected. ``extra`` is the extractor's own state at ``offset``, as JSON values. ``planned_ms`` is the time of
    planning (epoch ms). ``descriptor`` is a path that opens the descriptor kept for the file, in case the file has left its
    directory. ``ctime_ns`` is the time of the file's last change of any kind, by the kernel's clock, which nobody can
    set back. ``seen`` and ``seen_ns`` are the file's size and modification time at the previous plan.
    """

    key: str
    path: str
    device: int
    inode: int
    end: int
    mtime_ns: int
    offset: int = 0
    head: str = ""
    head_bytes: int = 0
    mark: str = ""
    skipping: bool = False
    final: bool = False
    extra: Any = None
    planned_ms: int = 0
    descriptor: str = ""
    ctime_ns: int = 0
    seen: int = 0
    seen_ns: int = 0

    @property
    def name(self) -> str:
        return self.path

    @property
    def written_ms(self) -> int:
        """Modification time of the file, in epoch ms."""
        return self.mtime_ns // 1_000_000

    @property
    def latest_ms(self) -> int:
        """Time by which all data to read existed, in epoch ms. It is right even if a copied file has an old
        modification time.
        """
        return max(self.written_ms, self.planned_ms)

    @property
    def of_copy(self) -> bool:
        """Whether this is the unread rest of a file that was emptied, to be read from an earlier copy of the file."""
        return self.inode < 0

    @property
    def local(self) -> bool:
        return True

    def copied(self) -> FileSplit:
        """Return a split for the unread rest of content that has been replaced."""
        return replace(
            self,
            key=f"{self.key}{COPIED}{self.mark[:16]}",
            device=-1,
            inode=-1,
            end=max(self.seen, self.offset),
            mtime_ns=self.seen_ns,
            descriptor="",
            ctime_ns=0,
        )


def goes_on_in(raw: BinaryIO, split: FileSplit) -> bool:
    """Whether the file's content before the split's offset is unchanged."""
    raw.seek(0)
    if split.head and hash_of(raw.read(split.head_bytes)) != split.head:
        return False
    return not split.mark or mark_of(raw, split.offset) == split.mark


def head_of(raw: BinaryIO, end: int) -> tuple[str, int]:
    """Return the hash of the file's first bytes, up to ``end``, and the number of these bytes."""
    raw.seek(0)
    head = raw.read(min(HEAD_BYTES, end))
    return hash_of(head), len(head)


def mark_of(raw: BinaryIO, offset: int) -> str:
    """Return the hash of the last bytes before an offset."""
    mark_bytes = min(MARK_BYTES, offset)
    raw.seek(offset - mark_bytes)
    return hash_of(raw.read(mark_bytes))


def hash_of(data: bytes) -> str:
    """Return the hash that is stored in a position for these bytes."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()
