"""Open a growing file under its current name, through a kept descriptor, or from a copy or a ``.gz``."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, cast

from extractors.lineage.file_split import FileSplit, goes_on_in
from extractors.lineage.regular_files import NotFollowed, open_descriptor, open_regular

COMPRESSED: Final = (".gz", ".bz2", ".xz", ".zip", ".zst", ".lz4", ".snappy")
_ROTATED: Final = re.compile(r"(?:[.-]\d{1,9}){1,5}\Z")
"""Suffix of a log's name that changes at rotation."""


class FileWentAway(OSError):
    """A planned file is no longer in its directory under any name. ``lost_bytes`` is the number of bytes seen but not
    read. ``archive`` is a compressed file that navlin cannot read and that may hold more of the content.
    """

    def __init__(self, message: str, lost_bytes: int = 0, archive: str = "") -> None:
        super().__init__(message)
        self.lost_bytes = lost_bytes
        self.archive = archive

    @property
    def loses(self) -> bool:
        """Whether data is lost or may be lost."""
        return bool(self.lost_bytes or self.archive)


def open_planned(split: FileSplit) -> tuple[BinaryIO | None, str]:
    """Return the file itself and its current name, or None and the planned name if the file is gone."""
    raw = _open_if(split, split.path)
    if raw is not None:
        return raw, split.path
    for path in [each.path for each in _beside(split) if each.inode() == split.inode]:
        raw = _open_if(split, path)
        if raw is not None:
            return raw, path
    return _open_if(split, split.descriptor) if split.descriptor else None, split.path


def _beside(split: FileSplit) -> list[os.DirEntry[str]]:
    """Return the entries of the file's directory; none if the directory was removed with the file."""
    try:
        with os.scandir(Path(split.path).parent) as entries:
            return list(entries)
    except FileNotFoundError:
        return []


def _open_if(split: FileSplit, path: str) -> BinaryIO | None:
    try:
        raw = (
            open_descriptor(path)
            if path == split.descriptor
            else open_regular(path, str(Path(split.path).parent))
        )
    except (FileNotFoundError, NotFollowed):
        return None  # gone, or replaced by something else
    stat = os.fstat(raw.fileno())
    if (stat.st_dev, stat.st_ino) == (split.device, split.inode):
        return raw
    raw.close()
    return None


def open_archive(split: FileSplit) -> tuple[BinaryIO, str]:
    """Open a copy of this file, which begins as the file did, is at least as new, and may be compressed. Return the
    copy, decompressed, and its name.

    Raises `FileWentAway` if there is none.
    """
    directory = Path(split.path).parent
    found: list[tuple[bool, int, str]] = []
    unread: list[str] = []
    begins = _ROTATED.sub("", Path(split.path).name)
    for entry in _beside(split):
        with suppress(OSError):
            is_compressed, of_it = entry.name.endswith(COMPRESSED), entry.name.startswith(begins)
            if not is_compressed and not (split.of_copy and of_it and entry.path != split.path):
                continue
            if entry.stat().st_mtime < split.mtime_ns // 1_000_000_000:
                continue
            if not is_compressed or entry.name.endswith(".gz"):
                # Plain copies come first: while one is being compressed, its archive is incomplete.
                found.append((is_compressed, entry.stat().st_mtime_ns, entry.path))
            elif of_it:
                unread.append(entry.path)
    for is_compressed, _, path in sorted(found) if split.head else ():
        with suppress(OSError, EOFError, zlib.error):
            raw = open_regular(path, str(directory))
            if is_compressed:
                with raw as file:
                    raw = cast(BinaryIO, gzip.GzipFile(f"/proc/self/fd/{file.fileno()}"))
            if goes_on_in(raw, split):
                return raw, path
            raw.close()
    lost_bytes = split.end - split.offset
    how = "emptied" if split.of_copy else "rotated"
    if unread and not lost_bytes:
        archive = min(unread)
        raise FileWentAway(
            f"{split.path} was {how} and compressed in a form that is not read, perhaps to {archive}: its "
            f"content from byte {split.offset} on is not read",
            archive=archive,
        )
    if not split.of_copy:
        how = f"rotated out of {directory} or removed"
    raise FileWentAway(
        f"{split.path} was {how} before it was read to its end: {lost_bytes} of its bytes, "
        f"from byte {split.offset} to {split.end}, are not read",
        lost_bytes,
    )
