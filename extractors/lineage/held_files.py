"""Descriptors that are kept open of files that are followed, so that one that is moved away can be read to its end.

Between two polls a log may be moved out of its directory, removed, or renamed and compressed. What was written to it since
it was last read would be lost. Vector and Fluent Bit keep a descriptor; so does navlin, in the process that plans: that of
`navlin serve` lives on from poll to poll. Reading happens in other processes, Spark's workers on the same machine, which
open the file again through ``/proc/PID/fd/N``. The kernel lets the same user do that, and a file that has no name any more
opens as well. A path there is as good as a name that nobody can rename; whose number is used again is noticed by its inode.

This is no state: without it, after a restart, only what was moved away meanwhile is missed. A removed file keeps its space
on the disk until it is read, which is why the number of descriptors is small.
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
"""Those that were written to last. A source that has more does not write to all of them at once."""
MOST_IN_ALL: Final = 512
"""Shared by the sources, each as it has need: a process may commonly open 1,024 files."""
FORGOTTEN_S: Final = 86_400.0
"""A source that was not planned for so long is followed no more: its settings have changed, or it has gone."""


class Held(NamedTuple):
    """A file that is held: the name that it had, where a process of this user opens it, and how it is now."""

    key: str
    path: str
    opens: str
    stat: os.stat_result


@dataclass(slots=True)
class _Of:
    """What is held for one source, when that was planned last (seconds of the monotonic clock), and of how many files it
    then was to hold a descriptor."""

    planned_s: float = 0.0
    wanted: int = 0
    files: dict[str, tuple[str, BinaryIO]] = field(default_factory=dict)
    memory: RememberedFiles = field(default_factory=RememberedFiles)

    def close(self) -> None:
        for _, file in self.files.values():
            file.close()
        self.files.clear()


class HeldFiles:
    """The descriptors of one process. Sources may use it side by side; each is known by what it follows."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._sources: dict[Hashable, _Of] = {}

    def hold(self, source: Hashable, paths: Mapping[str, tuple[str, os.stat_result]]) -> dict[str, str]:
        """Holds the newest of these files by key, each the file that the ``stat`` was of; what is held of others stays.

        Others have gone from their directory. They take their places from the oldest that are there, which can be read
        without being held, and never from the newest. Returns where those that are held open.
        """
        with self._lock:
            held = self._sources.setdefault(source, _Of())
            held.planned_s = now_s = self._clock()
            for each in [each for each, of in self._sources.items() if now_s - of.planned_s > FORGOTTEN_S]:
                self._sources.pop(each).close()
            held.wanted = len(paths.keys() | held.files.keys())
            most = self._most()
            self._share(most)
            room = max(1, most - len(held.files.keys() - paths.keys()))
            newest = nlargest(room, paths, key=lambda key: paths[key][1].st_mtime_ns)
            for key in [key for key in held.files if key in paths and key not in newest]:
                held.files.pop(key)[1].close()
            for key in newest:
                path, stat = paths[key]
                if key in held.files:
                    held.files[key] = path, held.files[key][1]
                else:
                    with suppress(OSError):  # gone, or not for navlin: reading says so
                        held.files[key] = path, _open(path, stat)
            return {key: _opens(file) for key, (_, file) in held.files.items()}

    def memory(self, source: Hashable) -> RememberedFiles:
        """Returns the directories of a source as they were seen last."""
        with self._lock:
            return self._sources.setdefault(source, _Of(self._clock())).memory

    def _most(self) -> int:
        """How many each source may hold: what those with few files leave is for the others."""
        for most in range(MOST_OF_A_SOURCE, 1, -1):
            if sum(min(of.wanted, most) for of in self._sources.values()) <= MOST_IN_ALL:
                return most
        return 1

    def _share(self, most: int) -> None:
        """Closes what sources hold beyond their share, the files first that were written to least lately."""
        for of in self._sources.values():
            if len(of.files) > most:
                by_age = sorted(of.files, key=lambda key: os.fstat(of.files[key][1].fileno()).st_mtime_ns)
                for key in by_age[: len(of.files) - most]:
                    of.files.pop(key)[1].close()

    def missing(self, source: Hashable, seen: set[str]) -> Iterator[Held]:
        """What is held of a source's files and was not ``seen`` in its directories."""
        with self._lock:
            files = self._sources[source].files if source in self._sources else {}
            missing = [
                Held(key, path, _opens(file), os.fstat(file.fileno()))
                for key, (path, file) in files.items()
                if key not in seen
            ]
        yield from missing

    def release(self, source: Hashable, key: str) -> None:
        """Closes the descriptor of a file that is read to its end."""
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


HELD: Final = HeldFiles()
"""This process's."""
