"""What to read of one file that only grows: how it is known again, and where to go on.

A file is known by its fingerprint, never by its name: host, device and inode (the position's key), and hashes of its
first bytes and of those before the position (in its value).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Final

from navlin.model.records import Split

HEAD_BYTES: Final = 16 << 10
"""How much of a file's beginning distinguishes it from others: engines write the query's text first, so that files may
well share their first few hundred bytes."""
COPIED: Final = "@"
"""Separates, in a key, the file from the mark of a content that the file does not have any more."""
MARK_BYTES: Final = 4 << 10
"""How much before a position must still be what it was."""


@dataclass(frozen=True, slots=True)
class FileSplit(Split):
    """What to read of one file: from ``offset`` to ``end``, the size when it was planned.

    ``head`` and ``mark`` are hashes of the file's first ``head_bytes`` bytes and of those before ``offset``, where known.
    ``skipping``: the offset stands within a line that is too long. ``final``: no newline is to be expected any more.
    ``extra`` is the extractor's own state at ``offset``, as JSON values. ``planned_ms`` is when it was planned.
    ``held`` is where a descriptor opens that is held of it, in case that it is not in its directory any more.
    ``ctime_ns`` is when it was changed in any way, by the kernel's clock, which nobody can set back; ``seen`` and
    ``seen_ns`` are the size and time that it had when it was planned last.
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
    held: str = ""
    ctime_ns: int = 0
    seen: int = 0
    seen_ns: int = 0

    @property
    def name(self) -> str:
        return self.path

    @property
    def written_ms(self) -> int:
        """When the file was written to the last time, by its file system."""
        return self.mtime_ns // 1_000_000

    @property
    def latest_ms(self) -> int:
        """When everything that is to be read was there, whatever the file system has for a file that was copied."""
        return max(self.written_ms, self.planned_ms)

    @property
    def of_copy(self) -> bool:
        """Whether it is the rest of a file that was emptied, to be read from what it was copied to before."""
        return self.inode < 0

    @property
    def local(self) -> bool:
        return True

    def copied(self) -> FileSplit:
        """Returns the unread rest of a content that another one has replaced."""
        return replace(
            self,
            key=f"{self.key}{COPIED}{self.mark[:16]}",
            device=-1,
            inode=-1,
            end=max(self.seen, self.offset),
            mtime_ns=self.seen_ns,
            held="",
            ctime_ns=0,
        )


def goes_on_in(raw: BinaryIO, split: FileSplit) -> bool:
    """Whether what was read of the file before the offset still stands there."""
    raw.seek(0)
    if split.head and hash_of(raw.read(split.head_bytes)) != split.head:
        return False
    return not split.mark or mark_of(raw, split.offset) == split.mark


def head_of(raw: BinaryIO, end: int) -> tuple[str, int]:
    """The hash of the file's first bytes, of at most ``end``, and how many those are."""
    raw.seek(0)
    head = raw.read(min(HEAD_BYTES, end))
    return hash_of(head), len(head)


def mark_of(raw: BinaryIO, offset: int) -> str:
    """The hash of the bytes before an offset."""
    mark_bytes = min(MARK_BYTES, offset)
    raw.seek(offset - mark_bytes)
    return hash_of(raw.read(mark_bytes))


def hash_of(data: bytes) -> str:
    """What stands for these bytes in a position."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()
