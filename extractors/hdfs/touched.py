"""Merge the paths touched by the events of one round, so that each path is read once, in its current state.

The paths form a tree of names, because an event for a directory applies to everything below it. The order of events
only determines which paths may be gone. It does not determine the state of a file, because files are read after the
events, and may already be in a state that later events report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from extractors.hdfs.client import HdfsEvent
from extractors.hdfs.sidecars import target_of


@dataclass(slots=True)
class _Place:
    """One name in the tree, and the work to do for it."""

    below: dict[str, _Place] = field(default_factory=dict)
    described: bool = False
    listed: bool = False
    """Whether this is a new directory or the target of a rename, to be listed with everything below it."""
    gone: bool = False
    """Whether the entry that was here at the beginning of the round is gone."""


@dataclass(slots=True)
class TouchedPaths:
    """Touched paths, collected by `add`. ``takes`` returns whether a path is read at all.

    With ``sidecars``, a path is also touched if the sidecar that describes it is touched.
    """

    takes: Callable[[str], bool]
    sidecars: bool = True
    places: int = 0
    """Number of names ever added to the tree. It never decreases."""
    renames: list[tuple[str, str]] = field(default_factory=list)
    """(previous path, new path) of each rename for which both paths are read, in the order of the events."""
    _root: _Place = field(default_factory=_Place)

    def add(self, event: HdfsEvent) -> None:
        match event.kind:
            case "CREATE" if event.directory:
                self._arrive(event.path)
            case "CREATE":
                self._describe(event.path)
                self._describe(_above(event.path))
            case "UNLINK":
                self._remove(event.path)
            case "RENAME":
                self._remove(event.path)
                self._arrive(event.to)
                if self.takes(event.path) and self.takes(event.to):
                    self.renames.append((event.path, event.to))
            case _:
                self._describe(event.path)
        if self.sidecars:
            for path in filter(None, (event.path, event.to)):
                if target := target_of(path):
                    self._describe(target)

    def described(self) -> Iterator[str]:
        """Yield the paths to read individually, parents first: changed and new paths, and parents of new or removed
        paths.
        """
        return (path for path, place, _ in self._walk() if place.described and not place.listed)

    def listed(self) -> Iterator[str]:
        """Yield the paths to list with everything below them."""
        return (path for path, place, _ in self._walk() if place.listed)

    def gone(self) -> Iterator[str]:
        """Yield the paths whose former entries, including those below, are gone unless they are read in this round."""
        return (path for path, place, within in self._walk() if _is_covered(place) and not within)

    def _arrive(self, path: str) -> None:
        if place := self._at(path):
            place.below.clear()
            place.listed, place.described = True, False
        self._describe(_above(path))

    def _remove(self, path: str) -> None:
        if place := self._at(path):
            place.below.clear()
            place.gone, place.listed, place.described = True, False, False
        self._describe(_above(path))

    def _describe(self, path: str) -> None:
        if place := self._at(path):
            place.described = True

    def _at(self, path: str) -> _Place | None:
        """Return the node of a path, adding it if necessary. Return None if the path is not read at all, or is listed
        anyway with a directory above it.
        """
        if not self.takes(path):
            return None
        place = self._root
        for name in path.split("/")[1:] if path != "/" else ():
            if place.listed:
                return None
            if (next_place := place.below.get(name)) is None:
                next_place = place.below[name] = _Place()
                self.places += 1
            place = next_place
        return place

    def _walk(self) -> Iterator[tuple[str, _Place, bool]]:
        """Yield (path, node, whether a node above covers its former entries) for every node, parents first."""
        waiting = [("/", self._root, False)]
        while waiting:
            path, place, within = waiting.pop()
            yield path, place, within
            inside = within or _is_covered(place)
            start = "" if path == "/" else path
            waiting += [(f"{start}/{name}", child, inside) for name, child in reversed(place.below.items())]


def _is_covered(place: _Place) -> bool:
    return place.gone or place.listed


def _above(path: str) -> str:
    return path.rpartition("/")[0] or "/"
