"""Watches directories, so that a source is polled before its interval has passed.

A wake-up is only a hint. If a directory cannot be watched, its changes are read later, but none are lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from watchdog.events import (
    FileClosedEvent,
    FileCreatedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

log = structlog.stdlib.get_logger(__name__)

WRITES: list[type[FileSystemEvent]] = [FileCreatedEvent, FileModifiedEvent, FileMovedEvent, FileClosedEvent]
"""Events that wake a source. Opening or reading a file does not wake a source, because navlin itself does both all the
time."""

Wake = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Watched:
    identity: tuple[int, int]
    waker: FileSystemEventHandler
    watch: Any


class _Waker(FileSystemEventHandler):
    def __init__(self, source: str, wake: Wake) -> None:
        self._source = source
        self._wake = wake

    def on_any_event(self, event: FileSystemEvent) -> None:
        self._wake(self._source)


class Watching:
    """The watched directories, each for one source. Not thread-safe."""

    def __init__(self, wake: Wake) -> None:
        self._wake = wake
        self._observer = Observer()
        self._watched: dict[tuple[str, str], _Watched] = {}
        self._refused: set[tuple[str, str]] = set()

    def start(self) -> None:
        self._observer.start()

    def stop(self) -> None:
        """Stop watching, which takes about a second."""
        if self._observer.is_alive():
            self._observer.stop()
            self._observer.join(5)

    def watch(self, wanted: Iterable[tuple[str, str]]) -> None:
        """Watch exactly these (source, directory) pairs, each directory recursively.

        Must be called repeatedly, because a directory may have been missing, or replaced by another one with the same
        name.
        """
        wanted = set(wanted)
        for key in [key for key in self._watched if key not in wanted]:
            self._let_go(key)
        for key in sorted(wanted):
            identity = _identity(key[1])
            watched = self._watched.get(key)
            if watched is not None and watched.identity != identity:
                self._let_go(key)
            if key not in self._watched and identity is not None:
                self._take_up(key, identity)

    def _take_up(self, key: tuple[str, str], identity: tuple[int, int]) -> None:
        source, directory = key
        waker = _Waker(source, self._wake)
        try:
            watch = self._observer.schedule(waker, directory, recursive=True, event_filter=WRITES)
        except OSError as error:
            if key not in self._refused:
                log.warning("directory not watched", source=source, directory=directory, error=str(error))
            self._refused.add(key)
            return
        self._refused.discard(key)
        self._watched[key] = _Watched(identity, waker, watch)

    def _let_go(self, key: tuple[str, str]) -> None:
        watched = self._watched.pop(key)
        self._observer.remove_handler_for_watch(watched.waker, watched.watch)
        # If two sources watch one directory, the observer has a single watch, which is removed with the last of the
        # two.
        if all(other.watch != watched.watch for other in self._watched.values()):
            self._observer.unschedule(watched.watch)


def _identity(directory: str) -> tuple[int, int] | None:
    try:
        status = Path(directory).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
