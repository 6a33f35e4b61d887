"""Descriptors kept open for followed files, so that a file that is moved away can be read to its end.

Between two polls a log may be moved out of its directory, removed, or renamed and compressed. Data written since the
last read would be lost. Like Vector and Fluent Bit, navlin therefore keeps a descriptor, in the process that plans; in
`navlin serve`, that process survives from poll to poll. Other processes, such as Spark's workers on the same machine,
read the file by opening it again through ``/proc/PID/fd/N``. The kernel lets the same user do that, even for a file
that no longer has a name. Nobody can rename this path; if the descriptor's number is reused, the inode reveals it.

This is not saved state: a restart only loses files that were moved away in the meantime. A removed file uses space on
the disk until it is read, so the number of descriptors is small.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import nlargest
from threading import Lock
from typing import BinaryIO, Final, NamedTuple

from extractors.lineage.regular_files import open_regular
from extractors.lineage.remembered_files import RememberedFiles

MOST_OF_A_SOURCE: Final = 64
"""Maximum number of files kept open per source. The most recently written files are kept open, because a source with
more files does not write to all of them at once.
"""
MOST_IN_ALL: Final = 512
"""Maximum number of files of all sources together, because a process may commonly open 1,024 files."""
FORGOTTEN_S: Final = 86_400.0
"""Seconds without a plan after which a source counts as no longer followed, because it was removed or its settings
changed.
"""


class KeptOpenFile(NamedTuple):
    """A file that is kept open. ``path`` is its former name, ``opens`` the path through which a process of the same
    user can open it, and ``stat`` its current status.
    """

    key: str
    path: str
    opens: str
    stat: os.stat_result


@dataclass(slots=True)
class _Of:
    """The files kept open for one source, as key → (path, open file). ``planned_s`` is the time of the last plan (seconds
    of the monotonic clock); ``wanted`` is the number of files that this plan wanted to keep open.
    """

    planned_s: float = 0.0
    wanted: int = 0
    files: dict[str, tuple[str, BinaryIO]] = field(default_factory=dict)
    memory: RememberedFiles = field(default_factory=RememberedFiles)

    def close(self) -> None:
        for _, file in self.files.values():
            file.close()
        self.files.clear()


class KeptOpenFiles:
    """The descriptors of one process. Thread-safe; a source is identified by its directories and patterns."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._sources: dict[Hashable, _Of] = {}

    def keep_open(self, source: Hashable, paths: Mapping[str, tuple[str, os.stat_result]]) -> dict[str, str]:
        """Keep the newest files in ``paths`` (key → (path, stat)) open. Return key → path that opens the file.

        Open files that are not in ``paths`` have left their directory, and stay open. They may displace the oldest
        files still in a directory, because those can be read without being kept open, but never the newest file. A file is
        not kept open if it has replaced the one with the given ``stat``.
        """
        with self._lock:
            kept = self._sources.setdefault(source, _Of())
            kept.planned_s = now_s = self._clock()
            for each in [each for each, of in self._sources.items() if now_s - of.planned_s > FORGOTTEN_S]:
                self._sources.pop(each).close()
            kept.wanted = len(paths.keys() | kept.files.keys())
            most = self._most()
            self._share(most)
            room = max(1, most - len(kept.files.keys() - paths.keys()))
            newest = nlargest(room, paths, key=lambda key: paths[key][1].st_mtime_ns)
            for key in [key for key in kept.files if key in paths and key not in newest]:
                kept.files.pop(key)[1].close()
            for key in newest:
                path, stat = paths[key]
                if key in kept.files:
                    kept.files[key] = path, kept.files[key][1]
                else:
                    with suppress(OSError):  # gone, or not readable by navlin: reading reports it
                        kept.files[key] = path, _open(path, stat)
            return {key: _opens(file) for key, (_, file) in kept.files.items()}

    def memory(self, source: Hashable) -> RememberedFiles:
        """Return the memory of a source's large directories."""
        with self._lock:
            return self._sources.setdefault(source, _Of(self._clock())).memory

    def _most(self) -> int:
        """Return the maximum number of files per source. Sources with few files leave room for other sources."""
        for most in range(MOST_OF_A_SOURCE, 1, -1):
            if sum(min(of.wanted, most) for of in self._sources.values()) <= MOST_IN_ALL:
                return most
        return 1

    def _share(self, most: int) -> None:
        """Close the files that sources keep open beyond ``most``, beginning with the least recently written."""
        for of in self._sources.values():
            if len(of.files) > most:
                by_age = sorted(of.files, key=lambda key: os.fstat(of.files[key][1].fileno()).st_mtime_ns)
                for key in by_age[: len(of.files) - most]:
                    of.files.pop(key)[1].close()

    def missing(self, source: Hashable, seen: set[str]) -> Iterator[KeptOpenFile]:
        """Yield the open files of a source that were not found in its directories. ``seen`` has the keys of the files
        found.
        """
        with self._lock:
            files = self._sources[source].files if source in self._sources else {}
            missing = [
                KeptOpenFile(key, path, _opens(file), os.fstat(file.fileno()))
                for key, (path, file) in files.items()
                if key not in seen
            ]
        yield from missing

    def release(self, source: Hashable, key: str) -> None:
        """Close the descriptor of a file that no longer needs to be kept open."""
        with self._lock:
            if source in self._sources and key in self._sources[source].files:
                self._sources[source].files.pop(key)[1].close()


def _opens(file: BinaryIO) -> str:
    return f"/proc/{os.getpid()}/fd/{file.fileno()}"


def _open(path: str, stat: os.stat_result) -> BinaryIO:
    file = open_regular(path, os.path.dirname(path))
    found = os.fstat(file.fileno())
    if (found.st_dev, found.st_ino) != (stat.st_dev, stat.st_ino):
        file.close()
        raise FileNotFoundError(f"{path} was replaced")
    return file


KEPT_OPEN: Final = KeptOpenFiles()
"""The descriptors of this process."""
