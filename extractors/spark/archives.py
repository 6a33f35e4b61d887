"""Read event logs in a ``.zip``, as downloaded from Spark's history server, in place and without unpacking to disk.

The history server puts the logs of all attempts of an application into one archive, each as it was in the log
directory: one file, or a directory with the parts of a rolling log, compressed by Spark or not.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from io import SEEK_SET, BufferedReader, RawIOBase
from typing import IO, BinaryIO, Final, cast

from extractors.spark.codecs import Damaged
from extractors.spark.forms import ARCHIVE, Log, LogPart, find_logs
from extractors.spark.lines import OUT_BYTES_FREE, open_part
from extractors.spark.places import BUFFER_BYTES, FileEntry, FileStore, is_hidden

MAX_MEMBERS: Final = 10_000
MAX_READ_BYTES: Final = 8 << 20
"""Maximum number of bytes in one read. It is enough for the table of contents of `MAX_MEMBERS` files with long names."""
MAX_RATIO: Final = 100
"""Maximum ratio of decompressed bytes to the bytes of the archive, beyond the first `OUT_BYTES_FREE` bytes. Event logs
reach 10 to 50.
"""
_MAGICS: Final = (b"PK\x03\x04", b"PK\x05\x06")
_ENCRYPTED: Final = 1
_DAMAGE: Final = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)
"""Errors that zipfile raises for a damaged or truncated archive."""


class NotReadable(ValueError):
    """An archive is not read, for the reason in the message. ``cut`` is true if the end of the archive is missing, as
    during a download.
    """

    def __init__(self, reason: str, *, cut: bool = False) -> None:
        super().__init__(reason)
        self.cut = cut


@dataclass(frozen=True, slots=True)
class ArchivePlace:
    """The members of one archive as a file system. A member's path consists of the archive's path, a slash and the member's
    name."""

    place: FileStore
    archive: LogPart

    def entries(self, directory: str) -> list[FileEntry]:
        below = self._name(f"{directory}/")
        found: dict[str, FileEntry] = {}
        for member in self._members():
            first, slash, _ = member.filename.removeprefix(below).partition("/")
            if member.filename.startswith(below) and first and not is_hidden(first):
                size = 0 if slash else member.file_size
                found[first] = FileEntry(first, f"{directory}/{first}", bool(slash), size, 0)
        return [found[name] for name in sorted(found)]

    def open(self, path: str) -> BinaryIO:
        opened = self._opened()
        if self._name(path) not in opened.NameToInfo:
            raise FileNotFoundError(f"{path} is no longer in the archive")
        return cast(BinaryIO, BufferedReader(_Member(opened, self._name(path)), BUFFER_BYTES))

    def logs(self) -> list[Log]:
        """Return the logs in the archive. Raises `NotReadable`, also if there are none."""
        check(self._members(), self.archive.size)
        found = find_logs(self, self.archive.path, lambda name, mtime_ns: False)
        logs = [each for each in found if isinstance(each, Log) and each.parts]
        if not logs:
            raise NotReadable("a zip archive without an event log")
        return logs

    def _name(self, path: str) -> str:
        return path.removeprefix(f"{self.archive.path}/")

    def _members(self) -> list[zipfile.ZipInfo]:
        with closing(self._opened()) as opened:
            return opened.infolist()

    def _opened(self) -> zipfile.ZipFile:
        raw = open_part(self.place, self.archive)
        try:
            return _Archive(cast(IO[bytes], _InPieces(raw)))
        except _DAMAGE as error:
            raw.close()
            raise NotReadable(f"not read as a zip archive: {error}", cut=True) from error


def is_archive(place: FileStore, part: LogPart) -> bool:
    """Whether a file is an archive, judging by its name or its first bytes."""
    if part.name.endswith(ARCHIVE):
        return True
    with open_part(place, part) as raw:
        return raw.read(len(_MAGICS[0])) in _MAGICS


def check(members: Sequence[zipfile.ZipInfo], archive_bytes: int) -> None:
    """Raise `NotReadable` for contents that no history server writes, or that would cost too much to read."""
    if len(members) > MAX_MEMBERS:
        raise NotReadable(f"a zip archive of {len(members)} files: {MAX_MEMBERS} at most are read")
    if len({each.filename for each in members}) < len(members):
        raise NotReadable("a zip archive with two files of one name")
    for each in members:
        name = each.filename[:200]
        if each.filename.startswith("/") or ".." in each.filename.split("/"):
            raise NotReadable(f"a zip archive whose file {name} lies outside of it")
        if each.flag_bits & _ENCRYPTED:
            raise NotReadable(f"a zip archive whose file {name} is encrypted")
        if each.filename.lower().endswith(ARCHIVE):
            raise NotReadable(f"a zip archive within a zip archive, {name}: take it out")
    out_bytes = sum(each.file_size for each in members)
    if out_bytes > OUT_BYTES_FREE + MAX_RATIO * archive_bytes:
        raise NotReadable(f"a zip archive of {archive_bytes} bytes out of which {out_bytes} would come")


class _Archive(zipfile.ZipFile):
    """An archive that also closes its underlying file."""

    def __init__(self, raw: IO[bytes]) -> None:
        super().__init__(raw)
        self._raw = raw

    def close(self) -> None:
        super().close()
        if hasattr(self, "_raw"):
            self._raw.close()


class _InPieces:
    """A file whose reads are limited to `MAX_READ_BYTES` each, whatever sizes the archive claims. A larger read raises
    `BadZipFile`."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self.seek, self.tell, self.close, self.seekable = raw.seek, raw.tell, raw.close, raw.seekable

    def read(self, count: int = -1) -> bytes:
        if count > MAX_READ_BYTES:
            raise zipfile.BadZipFile(f"its table of contents has {count} bytes")
        return self._raw.read(MAX_READ_BYTES if count < 0 else count)


class _Member(RawIOBase):
    """One file of an archive. Reading raises `Damaged` if the file cannot be decompressed."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._archive, self._name = archive, name
        self._file: IO[bytes] | None = None
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        self._at = offset if whence == SEEK_SET else self._at + offset
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # typeshed's wants any buffer
        try:
            if self._file is None:
                self._file = self._archive.open(self._name)
            if self._file.tell() != self._at:
                self._file.seek(self._at)
            data = self._file.read(len(buffer))
        except _DAMAGE as error:
            raise Damaged(str(error), self._at) from error
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._archive.close()
        super().close()
