"""What the events of one round touched, merged: each path is looked at once, as it is by then.

Kept as a tree of names, because one event for a directory is about all below it. Nothing is taken from the order of
events but what may be gone: the files are looked at after the events, and may be in a state that later events report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from extractors.hdfs.client import Event
from extractors.hdfs.sidecars import target_of


@dataclass(slots=True)
class _Place:
    """One name in the tree, and what is to be done there."""

    below: dict[str, _Place] = field(default_factory=dict)
    described: bool = False
    listed: bool = False
    """A directory that was made, or whatever a rename brought: one listing has all below it."""
    gone: bool = False
    """What was here at the beginning is not here any more."""


@dataclass(slots=True)
class Touched:
    """Filled by `add`, event after event. ``takes``: whether a path is read at all.

    With ``sidecars``, the file that it describes is touched along with it.
    """

    takes: Callable[[str], bool]
    sidecars: bool = True
    places: int = 0
    """How large the tree has become (it only grows by this count)."""
    renames: list[tuple[str, str]] = field(default_factory=list)
    """Paths before and after, in their order, of which both are read."""
    _root: _Place = field(default_factory=_Place)

    def add(self, event: Event) -> None:
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
        """Paths that changed, or came, or contain what did: each is to be read by itself. Parents come first."""
        return (path for path, place, _ in self._walk() if place.described and not place.listed)

    def listed(self) -> Iterator[str]:
        """Paths that came with all that is below them: to be listed anew."""
        return (path for path, place, _ in self._walk() if place.listed)

    def gone(self) -> Iterator[str]:
        """Paths at which, and below which, nothing is left of what was there but what is read in this round."""
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
        """The place of a path; None if it is not read at all, or listed anyway with what is above it."""
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
        """Every place with its path and whether one above it stands for what was there before; parents first."""
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
