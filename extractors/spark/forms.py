"""Find the event logs in a directory, in every form that Spark and Databricks write.

====================================================  ==================================================================
``<appId>[_<attempt>][.<codec>][.inprogress]``        one file
``eventlog_v2_<appId>[_<attempt>]/``                  a rolling log: ``events_<n>_…``, read in the order of n, where
                                                      ``….compact`` replaces all parts up to its n, and
                                                      ``appstatus_…[.inprogress]``
a directory with ``eventlog`` and ``eventlog-<time>``  Databricks: first the files with a time, sorted, then ``eventlog``
====================================================  ==================================================================

Files are not opened here. A poll without changes costs the listing and one ``stat`` per file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from extractors.spark.places import FileEntry, FileStore

IN_PROGRESS: Final = ".inprogress"
ARCHIVE: Final = ".zip"
"""Suffix of an archive of logs. An empty one is not a log that begins, but a download that failed."""
_COMPACTING: Final = ".compact.inprogress"
_ROLLING: Final = "eventlog_v2_"
_EVENTS: Final = re.compile(r"events_(\d+)_.*?(\.compact)?$")
_DATABRICKS: Final = re.compile(r"eventlog(-.+)?$")
_CODEC: Final = re.compile(r"\.(?:zstd|zst|lz4|lzf|snappy|gz)$", re.IGNORECASE)
_YARN: Final = re.compile(r"(application_\d+_\d+)(?:_(\d+))?$")
_ATTEMPT: Final = re.compile(r"(.*\d.*)_(\d{1,4})$")


@dataclass(frozen=True, slots=True)
class LogPart:
    """One file of a log. ``name`` is the file name without ``.inprogress``, so that it does not change when the log is
    finished.
    """

    name: str
    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Log:
    """The log of one application attempt. ``name`` is the log's path without ``.inprogress``, ``mtime_ns`` the time of its
    last change.

    ``ctime_ns`` is the inode change time if the log is a single file and the file system has that time. ``finished``
    is true if the log's name shows that its writer has closed it. ``being_written`` is true if the log is currently open for
    writing; only HDFS knows that, so False proves nothing. ``parts`` is None for a directory that was not listed
    because the caller already knew it. ``missing`` are the numbers of a rolling log's missing parts, as inclusive
    ranges.
    """

    name: str
    mtime_ns: int
    finished: bool
    parts: tuple[LogPart, ...] | None
    being_written: bool = False
    missing: tuple[tuple[int, int], ...] = ()
    ctime_ns: int = 0

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts or ())


@dataclass(frozen=True, slots=True)
class Closed:
    """A log that may exist but cannot be accessed. ``reason`` is the reason and, if known, names a user with access."""

    path: str
    reason: str


def application_in(log: str) -> tuple[str, str]:
    """Return (application id, attempt) from a log's path, in any form and with any codec. Both are "" if the name
    contains no digit, because every id of Spark contains one.
    """
    folder, _, name = plain_path(log).rpartition("/")
    if name == "eventlog":
        name = folder.rpartition("/")[2]
    name = name.removeprefix(_ROLLING)
    if found := _YARN.match(name) or _ATTEMPT.match(name):
        return found[1], found[2] or ""
    return (name if re.search(r"\d", name) else ""), ""


def plain_path(log: str) -> str:
    """Return a log's path without the suffixes of a codec and of a log in progress."""
    return _CODEC.sub("", log.removesuffix(IN_PROGRESS))


def find_logs(place: FileStore, directory: str, known: Callable[[str, int], bool]) -> Iterator[Log | Closed]:
    """Yield the logs in a directory. ``known(name, mtime_ns)`` returns whether a subdirectory is a finished log that
    need not be listed.

    Raises OSError if the directory itself cannot be listed.
    """
    files: dict[str, Log] = {}
    databricks: list[FileEntry] = []
    for entry in place.entries(directory):
        if entry.directory:
            if known(entry.path, entry.mtime_ns):
                yield Log(entry.path, entry.mtime_ns, finished=True, parts=None)
            elif (log := _of_directory(place, entry)) is not None:
                yield log
        elif _DATABRICKS.match(entry.name):
            databricks.append(entry)
        elif entry.size or entry.name.endswith(ARCHIVE):
            name = _plain_name(entry.path)
            part = LogPart(_plain_name(entry.name), entry.path, entry.size)
            finished = not entry.name.endswith(IN_PROGRESS)
            log = Log(
                name,
                entry.mtime_ns,
                finished,
                (part,),
                being_written=entry.being_written,
                ctime_ns=entry.ctime_ns,
            )
            if name not in files or finished:
                files[name] = log
    yield from files.values()
    if databricks and (log := _databricks(directory, databricks)):
        yield log


def _of_directory(place: FileStore, directory: FileEntry) -> Log | Closed | None:
    try:
        found = place.entries(directory.path)
    except FileNotFoundError:
        return None  # gone since it was listed
    except OSError as error:
        return Closed(directory.path, reason_of(error, directory.path))
    if directory.name.startswith(_ROLLING):
        return _rolling(directory.path, found, directory.mtime_ns)
    return _databricks(directory.path, [entry for entry in found if _DATABRICKS.match(entry.name)])


def reason_of(error: OSError, path: str) -> str:
    """Return the reason why a path cannot be read, including the path. Errors of HDFS already contain the path."""
    return f"{path}: {error.strerror}" if error.strerror else str(error)


def _rolling(path: str, found: Iterable[FileEntry], mtime_ns: int) -> Log | None:
    numbered: list[tuple[int, bool, LogPart]] = []
    latest_ns, running, being_written = mtime_ns, False, False
    for entry in found:
        if entry.name.endswith(_COMPACTING):
            continue  # the parts that it will replace still exist
        running = running or entry.name.endswith(IN_PROGRESS)
        match = _EVENTS.match(_plain_name(entry.name))
        if match is None:
            continue
        being_written = being_written or entry.being_written
        latest_ns = max(latest_ns, entry.mtime_ns)
        part = LogPart(_plain_name(entry.name), entry.path, entry.size)
        numbered.append((int(match[1]), match[2] is not None, part))
    compacted = max((number for number, compact, _ in numbered if compact), default=-1)
    kept = sorted(
        (number, part.name, part)
        for number, compact, part in numbered
        if number > compacted or (compact and number == compacted)
    )
    parts = tuple(part for _, _, part in kept if part.size)
    # `known` is called with the directory's own time, which every change of a finished log changes.
    if not parts:
        return None
    # An empty part is not missing.
    missing = tuple(
        _between(max(compacted, 0), sorted(number for number, _, _ in kept if number > compacted))
    )
    return Log(path, latest_ns if running else mtime_ns, not running, parts, being_written, missing)


def _between(last: int, numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the gaps in ``numbers`` after ``last``, as inclusive ranges."""
    for number in numbers:
        if number > last + 1:
            yield last + 1, number - 1
        last = number


def _databricks(path: str, found: list[FileEntry]) -> Log | None:
    # The bare name is the file that is being written. It comes after the files with a time.
    found.sort(key=lambda entry: (entry.name == "eventlog", entry.name))
    parts = tuple(LogPart(entry.name, entry.path, entry.size) for entry in found if entry.size)
    latest_ns = max((entry.mtime_ns for entry in found), default=0)
    being_written = any(entry.being_written for entry in found)
    # These names do not show whether the application is over.
    return (
        Log(f"{path}/eventlog", latest_ns, finished=False, parts=parts, being_written=being_written)
        if parts
        else None
    )


def _plain_name(name: str) -> str:
    return name.removesuffix(IN_PROGRESS)
