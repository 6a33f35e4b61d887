"""Files of other hosts, appended to by byte ranges (layout: `navlin.model.forwarded`).

The file system holds the whole state. Each file has two hard links: one below ``.ids``, by which the agent of the host
names it, and one under the file's own name, which extractors see. The second one appears when the agent tells the name,
so that no extractor reads a file before it is complete. A file whose agent says that it is gone has the suffix `GONE`
below ``.ids``; once it was also found read to the end, the time of that follows.

A range is taken only at the end of a file, and only if the bytes before it have the hash that the agent computed from
its own file. So a repeated request, a replaced file and a reused inode are recognized without further state.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import structlog

from navlin.files import make_directory, sync_directory
from navlin.forward import last_range
from navlin.model.forwarded import HOSTS, folder_name

log = structlog.stdlib.get_logger(__name__)

HEAD_BYTES: Final = 16 << 10
MARK_BYTES: Final = 4 << 10
RANGE_BYTES: Final = 4 << 20
"""Maximum size of a range."""
HOST_BYTES: Final = 20 << 30
"""Maximum size of all files of one host."""
MOST_FILES: Final = 20_000
"""Maximum number of files of one host."""
KEEP_S: Final = 7 * 86_400
"""Time that a file is kept after it was found gone and read to the end."""
RELEASED_S: Final = 3_600.0
"""Interval at which files are looked for that need not be kept any more."""
COUNTED_S: Final = 300.0
"""Interval at which the files of a host are counted, because other processes may have changed them."""
FULL_S: Final = 10.0
"""Time for which a host without room is refused without another search for files that may go."""
IDS, GONE = ".ids", ".gone"
_ID: Final = re.compile(r"[0-9a-f]{1,16}-[0-9a-f]{8}")
_PART: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.%+=@,:~-]{0,199}")
_ENTRY: Final = re.compile(rf"({_ID.pattern})({re.escape(GONE)}(?:\.(\d+))?)?")
EMPTY_MARK: Final = hashlib.blake2b(b"", digest_size=16).hexdigest()
ReadToEnd = Callable[[Mapping[str, int]], Collection[str]]
"""Function that maps paths and sizes to the paths of the files that were read to the end."""


class DoesNotFollow(Exception):
    """A range does not continue the file. ``size`` and ``mark`` are the end of the file as it is."""

    def __init__(self, size: int, mark: str) -> None:
        super().__init__(f"the file has {size} bytes, or other bytes before that offset")
        self.size, self.mark = size, mark


class NoRoom(Exception):
    """The host has used up its room."""


@dataclass(slots=True)
class _Used:
    size_bytes: int
    files: int
    counted_s: float


@dataclass(slots=True)
class HostFiles:
    """The files of all hosts below ``root``. ``lost`` is called with (host, files, bytes) if files are removed unread
    to make room. ``now_s`` returns epoch seconds. ``boot`` is the id that the machine has had since it was started.
    Thread-safe; several processes may use one directory."""

    root: Path
    read_to_end: ReadToEnd
    lost: Callable[[str, int, int], None]
    now_s: Callable[[], float] = time.time
    host_bytes: int = HOST_BYTES
    boot: str = field(default_factory=last_range.boot_id)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _used: dict[str, _Used] = field(default_factory=dict)
    _released_s: dict[str, float] = field(default_factory=dict)
    _full_s: dict[str, float] = field(default_factory=dict)

    # -- Requests of an agent --------------------------------------------------------------------------------------

    def files(self, host: str) -> list[dict[str, Any]]:
        """Return all files of a host, as JSON: id, source, name, inode, size, the hash of the first bytes and their
        number, the hash of the last bytes, and whether the file is gone."""
        found = []
        for source in self._sources(host):
            names = dict(self._names(host, source))
            for entry in self._entries(host, source):
                with suppress(FileNotFoundError), self._opened(entry.path, write=True) as descriptor:
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                    size = self._checked_size(descriptor, host, entry.path)
                    head = os.pread(descriptor, min(HEAD_BYTES, size), 0)
                    found.append(
                        {
                            "id": entry.id,
                            "source": unquote(source),
                            "name": names.get(entry.inode, ""),
                            "inode": int(entry.id.partition("-")[0], 16),
                            "size": size,
                            "head": _hash(head),
                            "head_bytes": len(head),
                            "mark": _mark_of(descriptor, size),
                            "gone": entry.gone,
                        }
                    )
        return found

    def append(
        self, host: str, source: str, file_id: str, offset: int, mark: str, data: bytes | bytearray
    ) -> int:
        """Append a range. Return the new size. When this returns, the range survives a crash of the machine.

        Raises `DoesNotFollow`, `NoRoom` and OSError. A new file begins with a range at offset 0.
        """
        path = self._path(host, source, file_id)
        while True:
            try:
                with self._opened(path, write=True) as descriptor:
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                    if not os.fstat(descriptor).st_nlink:
                        continue  # it was removed to make room
                    size = self._checked_size(descriptor, host, path)
                    here = _mark_of(descriptor, size)
                    if offset != size or mark != here:
                        raise DoesNotFollow(size, here)
                    self._require_room(host, len(data), 0)
                    last_range.note(descriptor, self.boot, offset, data)
                    self._write(descriptor, offset, data)
                    with suppress(FileNotFoundError):  # no file of the source has a name yet
                        # Extractors list a directory again only if its time has changed.
                        os.utime(self.root / HOSTS / host / folder_name(source))
                    self._add_used(host, len(data), 0)
                    return offset + len(data)
            except FileNotFoundError:
                if self._come_back(path):
                    continue
                if offset or mark != EMPTY_MARK:
                    raise DoesNotFollow(0, EMPTY_MARK) from None
                self._require_room(host, len(data), 1)
                self._create(path)
                self._add_used(host, 0, 1)

    def rename(self, host: str, source: str, file_id: str, name: str) -> None:
        """Give a file the name that it has on its host. Another file of that name gets a name with its id. Raises
        FileNotFoundError if there is no such file."""
        path, folder = self._path(host, source, file_id), folder_name(source)
        top = self.root / HOSTS / host / folder
        wanted = top / safe_name(name)
        with self._lock:
            if wanted.is_dir() or (wanted.parent.exists() and not wanted.parent.is_dir()):
                wanted = top / _hashed(name)
            status = path.stat()
            before = None
            if status.st_nlink > 1:
                before = next(
                    (each for inode, each in self._views(host, folder) if inode == status.st_ino), None
                )
            if before == wanted:
                return
            make_directory(wanted.parent)
            with suppress(FileNotFoundError):
                other = wanted.stat().st_ino
                other_id = next((each.id for each in self._entries(host, folder) if each.inode == other), "")
                wanted.rename(_unused(wanted.with_name(f"{wanted.name}~{other_id}")))
            if before is None:
                os.link(path, wanted)
            else:
                before.rename(wanted)
                sync_directory(before.parent)
            sync_directory(wanted.parent)

    def gone(self, host: str, source: str, file_id: str) -> None:
        """Note that a file is not on its host any more. If its name was never told, it gets one from its id, so that it
        is read."""
        path = self._path(host, source, file_id)
        with suppress(FileNotFoundError):
            status = path.stat()
            if status.st_nlink == 1 and status.st_size:
                self.rename(host, source, file_id, f"n_{file_id}")
            path.rename(path.with_name(path.name + GONE))

    def used(self, host: str) -> tuple[int, int]:
        """Return the size of all files of a host in bytes, and their number."""
        used = self._used_by(host)
        return used.size_bytes, used.files

    # -- Room -----------------------------------------------------------------------------------------------------------

    def release(self, host: str) -> None:
        """Remove the files of a host that are gone there, and were found read to the end `KEEP_S` ago. Does nothing if
        it was called less than `RELEASED_S` ago."""
        with self._lock:
            due_s, now_s = self._released_s.get(host, -RELEASED_S) + RELEASED_S, time.monotonic()
            if now_s < due_s:
                return
            self._released_s[host] = now_s
        self._release(host, keep_s=KEEP_S)

    def _release(self, host: str, *, keep_s: float) -> None:
        now_s = int(self.now_s())
        for source in self._sources(host):
            views = dict(self._views(host, source))
            gone = [each for each in self._entries(host, source) if each.gone]
            sizes = {str(views[each.inode]): each.size for each in gone if each.inode in views}
            read = set(self.read_to_end(sizes)) if sizes else set[str]()
            for each in gone:
                view = views.get(each.inode)
                if view is None or str(view) not in read:
                    continue
                if each.read_s is None and keep_s:
                    with suppress(FileNotFoundError):
                        each.path.rename(each.path.with_name(f"{each.id}{GONE}.{now_s}"))
                elif now_s - (each.read_s or 0) >= keep_s:
                    self._remove(each, view)

    def _require_room(self, host: str, size_bytes: int, files: int) -> None:
        used = self._used_by(host)
        if self._fits(used, size_bytes, files):
            return
        if time.monotonic() - self._full_s.get(host, -FULL_S) < FULL_S:
            raise _no_room(used)
        self._release(host, keep_s=0)
        used = self._used_by(host, again=True)
        if self._fits(used, size_bytes, files):
            return
        self._remove_unread(host, used, size_bytes, files)
        used = self._used_by(host, again=True)
        if not self._fits(used, size_bytes, files):
            self._full_s[host] = time.monotonic()
            raise _no_room(used)

    def _fits(self, used: _Used, size_bytes: int, files: int) -> bool:
        return used.size_bytes + size_bytes <= self.host_bytes and used.files + files <= MOST_FILES

    def _remove_unread(self, host: str, used: _Used, size_bytes: int, files: int) -> None:
        """Remove the oldest files that are gone from their host, although they were not read, because nothing newer
        would arrive otherwise."""
        every = [(source, each) for source in self._sources(host) for each in self._entries(host, source)]
        lost_files = lost_bytes = 0
        for source, each in sorted(every, key=lambda pair: pair[1].written_s):
            if not each.gone:
                continue
            left = _Used(used.size_bytes - lost_bytes, used.files - lost_files, 0.0)
            if self._fits(left, size_bytes, files):
                break
            views = dict(self._views(host, source))
            if self._remove(each, views.get(each.inode)):
                lost_files, lost_bytes = lost_files + 1, lost_bytes + each.size
        if lost_files:
            self.lost(host, lost_files, lost_bytes)

    def _remove(self, entry: _Entry, view: Path | None) -> bool:
        with suppress(OSError), self._opened(entry.path) as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(descriptor).st_size != entry.size:
                return False
            if view is not None:
                view.unlink(missing_ok=True)
                with suppress(OSError):
                    view.parent.rmdir()  # the folder of a rolling log, once it is empty
            entry.path.unlink()
            return True
        return False

    def _used_by(self, host: str, *, again: bool = False) -> _Used:
        with self._lock:
            used = self._used.get(host)
            if used is None or again or time.monotonic() - used.counted_s >= COUNTED_S:
                every = [each for source in self._sources(host) for each in self._entries(host, source)]
                used = _Used(sum(each.size for each in every), len(every), time.monotonic())
                self._used[host] = used
            return used

    def _add_used(self, host: str, size_bytes: int, files: int) -> None:
        used = self._used_by(host)
        with self._lock:
            used.size_bytes += size_bytes
            used.files += files

    # -- Directories ----------------------------------------------------------------------------------------------------

    def _path(self, host: str, source: str, file_id: str) -> Path:
        if not _ID.fullmatch(file_id):
            raise ValueError(f"{file_id[:40]!r} is not the id of a file")
        return self.root / HOSTS / host / IDS / folder_name(source) / file_id

    def _sources(self, host: str) -> list[str]:
        """Return the names of the folders of a host's sources."""
        with suppress(FileNotFoundError):
            return sorted(os.listdir(self.root / HOSTS / host / IDS))
        return []

    def _entries(self, host: str, folder: str) -> Iterator[_Entry]:
        with suppress(FileNotFoundError), os.scandir(self.root / HOSTS / host / IDS / folder) as entries:
            for each in entries:
                if found := _ENTRY.fullmatch(each.name):
                    with suppress(FileNotFoundError):
                        status = each.stat(follow_symlinks=False)
                        read_s = int(found[3]) if found[3] else None
                        yield _Entry(
                            found[1],
                            Path(each.path),
                            status.st_ino,
                            status.st_size,
                            status.st_mtime,
                            bool(found[2]),
                            read_s,
                        )

    def _views(self, host: str, folder: str) -> Iterator[tuple[int, Path]]:
        """Yield inode and path of the files under their own names."""
        pending = [self.root / HOSTS / host / folder]
        while pending:
            with suppress(FileNotFoundError), os.scandir(pending.pop()) as entries:
                for each in entries:
                    if each.is_dir(follow_symlinks=False):
                        pending.append(Path(each.path))
                    else:
                        yield each.inode(), Path(each.path)

    def _names(self, host: str, folder: str) -> Iterator[tuple[int, str]]:
        top = self.root / HOSTS / host / folder
        for inode, path in self._views(host, folder):
            yield inode, str(path.relative_to(top))

    @contextmanager
    def _opened(self, path: Path, *, write: bool = False) -> Iterator[int]:
        descriptor = os.open(path, (os.O_RDWR if write else os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _create(self, path: Path) -> None:
        make_directory(path.parent)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        # The directory entries must survive a crash as well.
        for each in path.parents:
            sync_directory(each)
            if each == self.root:
                break

    def _checked_size(self, descriptor: int, host: str, path: Path) -> int:
        """Return the size of a locked file, whose last range is cut off first if a power failure damaged it."""
        if last_range.cut_if_damaged(descriptor, self.boot):
            log.warning("range cut off after a power failure", host=host, file=path.name)
        return os.fstat(descriptor).st_size

    @staticmethod
    def _come_back(path: Path) -> bool:
        """Undo `gone`. Return False if the file is not there at all."""
        for each in path.parent.glob(f"{path.name}{GONE}*"):
            with suppress(FileNotFoundError):
                each.rename(path)
                return True
        return path.exists()

    @staticmethod
    def _write(descriptor: int, offset: int, data: bytes | bytearray) -> None:
        left = memoryview(data)
        try:
            while left:
                written = os.pwrite(descriptor, left, offset + len(data) - len(left))
                left = left[written:]
            os.fdatasync(descriptor)
        except OSError:
            os.ftruncate(descriptor, offset)
            raise


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file below ``.ids``. ``read_s`` is the time (epoch s) at which it was found gone and read to the end."""

    id: str
    path: Path
    inode: int
    size: int
    written_s: float
    gone: bool
    read_s: int | None


def _no_room(used: _Used) -> NoRoom:
    return NoRoom(
        f"the host has {used.files:,} files of {used.size_bytes:,} bytes here, which is all that it may have"
    )


def safe_name(name: str) -> str:
    """Return a path below a source's directory for a name that a host sent: the name itself, with at most one
    directory, or else a hash."""
    parts = name.split("/")
    if len(parts) <= 2 and len(name) <= 240 and all(_PART.fullmatch(each) for each in parts):
        return name
    return _hashed(name)


def _hashed(name: str) -> str:
    return "n_" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _unused(path: Path) -> Path:
    """Return a path, or the first with a number after it, at which nothing is."""
    numbered = (path.with_name(f"{path.name}~{number}") for number in count(2))
    return next(each for each in chain([path], numbered) if not os.path.lexists(each))


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _mark_of(descriptor: int, size: int) -> str:
    """Return the hash of a file's last bytes."""
    begin = max(0, size - MARK_BYTES)
    return _hash(os.pread(descriptor, size - begin, begin))
