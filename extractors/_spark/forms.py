"""Finding event logs in a directory, in every form in which Spark and Databricks leave them.

====================================================  ==================================================================
``<appId>[_<attempt>][.<codec>][.inprogress]``        one file
``eventlog_v2_<appId>[_<attempt>]/``                  a rolling log: ``events_<n>_…`` in the order of n, ``….compact``
                                                      in place of all up to its n, and ``appstatus_…[.inprogress]``
a directory with ``eventlog`` and ``eventlog-<time>``  Databricks: the files with a time first, in their order
====================================================  ==================================================================

Nothing is opened here: a poll in which nothing happened costs the listing and one ``stat`` a file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from stat import S_ISDIR, S_ISREG
from typing import Final

IN_PROGRESS: Final = ".inprogress"
_ROLLING: Final = "eventlog_v2_"
_EVENTS: Final = re.compile(r"events_(\d+)_.*?(\.compact)?$")
_DATABRICKS: Final = re.compile(r"eventlog(-.+)?$")


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a log. ``name`` is the file's without ``.inprogress``, so that it stays when the log is finished."""

    name: str
    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Log:
    """One application attempt's log. ``name`` is its path without ``.inprogress``; ``mtime_ns`` the latest change's.

    ``finished``: its writer has closed it, as its name tells. ``parts`` is None for a directory that was not listed
    because the caller knew it already.
    """

    name: str
    mtime_ns: int
    finished: bool
    parts: tuple[Part, ...] | None

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts or ())


def find_logs(directory: str, known: Callable[[str, int], bool]) -> Iterator[Log]:
    """The logs of a directory. ``known(name, mtime_ns)`` says whether a finished rolling log needs no listing."""
    with os.scandir(directory) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    files: dict[str, Log] = {}
    databricks: list[os.DirEntry[str]] = []
    for entry in found:
        if entry.name.startswith((".", "_")):
            continue
        try:
            stat = entry.stat()
        except OSError:
            continue  # gone since it was listed
        if S_ISDIR(stat.st_mode):
            if known(entry.path, stat.st_mtime_ns):
                yield Log(entry.path, stat.st_mtime_ns, finished=True, parts=None)
            elif (log := _of_directory(entry.path, entry.name, stat.st_mtime_ns)) is not None:
                yield log
        elif _DATABRICKS.match(entry.name):
            databricks.append(entry)
        elif S_ISREG(stat.st_mode) and stat.st_size:
            name = _plain_name(entry.path)
            part = Part(os.path.basename(name), entry.path, stat.st_size)
            log = Log(name, stat.st_mtime_ns, not entry.name.endswith(IN_PROGRESS), (part,))
            if name not in files or log.finished:
                files[name] = log
    yield from files.values()
    if databricks and (log := _databricks(directory, databricks)):
        yield log


def _of_directory(path: str, name: str, mtime_ns: int) -> Log | None:
    try:
        with os.scandir(path) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        if name.startswith(_ROLLING):
            return _rolling(path, found, mtime_ns)
        return _databricks(path, [entry for entry in found if _DATABRICKS.match(entry.name)])
    except OSError:
        return None  # went away, or is closed to us; the directory of logs itself was readable


def _rolling(path: str, found: Iterable[os.DirEntry[str]], mtime_ns: int) -> Log | None:
    numbered: list[tuple[int, bool, Part]] = []
    latest_ns, running = mtime_ns, False
    for entry in found:
        running = running or entry.name.endswith(IN_PROGRESS)
        match = _EVENTS.match(_plain_name(entry.name))
        if match is None:
            continue
        stat = entry.stat()
        latest_ns = max(latest_ns, stat.st_mtime_ns)
        part = Part(_plain_name(entry.name), entry.path, stat.st_size)
        numbered.append((int(match[1]), match[2] is not None, part))
    compacted = max((number for number, compact, _ in numbered if compact), default=-1)
    kept = sorted(
        (number, part.name, part)
        for number, compact, part in numbered
        if number > compacted or (compact and number == compacted)
    )
    parts = tuple(part for _, _, part in kept if part.size)
    # The directory's own time is what `known` is asked with: a finished log changes in no other way.
    return Log(path, latest_ns if running else mtime_ns, not running, parts) if parts else None


def _databricks(path: str, found: list[os.DirEntry[str]]) -> Log | None:
    stats = [(entry, entry.stat()) for entry in found]
    # The bare name is the file being written, after all that bear a time.
    stats.sort(key=lambda each: (each[0].name == "eventlog", each[0].name))
    parts = tuple(Part(entry.name, entry.path, stat.st_size) for entry, stat in stats if stat.st_size)
    latest_ns = max((stat.st_mtime_ns for _, stat in stats), default=0)
    # Nothing in these names tells when an application is over.
    return Log(os.path.join(path, "eventlog"), latest_ns, finished=False, parts=parts) if parts else None


def _plain_name(name: str) -> str:
    return name.removesuffix(IN_PROGRESS)
