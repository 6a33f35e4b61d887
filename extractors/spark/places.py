"""File systems with event logs: local or HDFS. They have only the two operations that reading logs requires."""

from __future__ import annotations

import os
from dataclasses import dataclass
from io import BufferedReader, RawIOBase
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO, Final, NamedTuple, Protocol, cast

from extractors.hdfs.client import HdfsAddress, HdfsFile, hdfs
from extractors.lineage.regular_files import leads_out, open_regular

SCHEME: Final = "hdfs://"
BUFFER_BYTES: Final = 256 << 10


class FileEntry(NamedTuple):
    """A file or directory in a listing, to be opened or listed by ``path``. ``being_written`` is true if the file
    system knows that the file is being written; the file is then not stale, whatever its time. ``ctime_ns`` is the time
    of the last change of any kind, by a clock that the file's writer cannot set back; 0 if there is none.
    """

    name: str
    path: str
    directory: bool
    size: int
    mtime_ns: int
    being_written: bool = False
    ctime_ns: int = 0


class FileStore(Protocol):
    """A file system. Its state must be small, because it is sent to Spark tasks. Both methods raise OSError, including
    FileNotFoundError."""

    def entries(self, directory: str) -> list[FileEntry]:
        """Return a directory's current entries, ordered by name, without hidden ones."""
        ...

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading at any offset. It is at least as long as when it was listed."""
        ...


@dataclass(frozen=True, slots=True)
class LocalPlace:
    """The local file systems, at and below ``root``. Links that lead out of ``root`` are not followed."""

    root: str

    def entries(self, directory: str) -> list[FileEntry]:
        found = []
        with os.scandir(directory) as entries:
            for entry in entries:
                if is_hidden(entry.name):
                    continue
                try:
                    stat = entry.stat()
                except OSError:
                    continue  # gone since it was listed
                if entry.is_symlink() and leads_out(entry.path, self.root):
                    continue
                if (is_directory := S_ISDIR(stat.st_mode)) or S_ISREG(stat.st_mode):
                    found.append(
                        FileEntry(
                            entry.name,
                            entry.path,
                            is_directory,
                            stat.st_size,
                            stat.st_mtime_ns,
                            ctime_ns=stat.st_ctime_ns,
                        )
                    )
        found.sort()
        return found

    def open(self, path: str) -> BinaryIO:
        return open_regular(path, self.root)


@dataclass(frozen=True, slots=True)
class HdfsPlace:
    """An HDFS file system. Paths are full URLs."""

    address: HdfsAddress

    def entries(self, directory: str) -> list[FileEntry]:
        client = hdfs(self.address)
        statuses = [
            each for each in client.list(self._path(directory)) if not is_hidden(each.path.rpartition("/")[2])
        ]
        # The NameNode does not know the flushed length of a file that is being written, but a DataNode does.
        being_written = [each.path for each in statuses if each.under_construction]
        lengths = dict(zip(being_written, client.lengths(being_written), strict=True))
        return [
            FileEntry(
                each.path.rpartition("/")[2],
                f"{self.address.url}{each.path}",
                each.directory,
                max(each.size, lengths.get(each.path, 0)),
                each.modified_ms * 1_000_000,
                each.under_construction,
            )
            for each in statuses
        ]

    def open(self, path: str) -> BinaryIO:
        raw = _HdfsBytes(hdfs(self.address).open(self._path(path)))
        return cast(BinaryIO, BufferedReader(raw, BUFFER_BYTES))

    def _path(self, url: str) -> str:
        return url.removeprefix(self.address.url) or "/"


def split_url(url: str) -> tuple[str, str]:
    """Split an ``hdfs:`` URL into authority and path. The path is used as it is, because Hadoop does not escape it.
    Raises ValueError if there is no authority.
    """
    authority, slash, path = url.removeprefix(SCHEME).partition("/")
    if not authority:
        raise ValueError(f"{url}: name the nameservice, or the NameNode and its port: hdfs://ns1/path")
    return f"{SCHEME}{authority}", f"{slash}{path}".rstrip("/")


class _HdfsBytes(RawIOBase):
    """An open HDFS file as a Python file object."""

    def __init__(self, file: HdfsFile) -> None:
        self._file = file
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._file.length}[whence]
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # typeshed's wants any buffer
        data = self._file.read_at(self._at, len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def is_hidden(name: str) -> bool:
    """Whether Hadoop omits a name from listings."""
    return name.startswith((".", "_"))
