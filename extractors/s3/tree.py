"""Find the files and directories that a range of keys implies, in one pass over the keys in S3's order.

A key is a path: ``a/b`` is the file ``/a/b`` in the directory ``/a``. A directory is explicit if there is a marker for
it, ``a/`` or ``a_$folder$``, or an object of its own name; else it is implicit. If there is an object ``a/b`` next to keys
below ``a/b/``, the two have one path, which is a directory with the attributes of the object.

Keys between ``a/b`` and ``a/b/`` all begin with ``a/b``. So all that must be remembered are the objects and directories
whose key the present key begins with: at most as many as a key has bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final

from extractors.s3.pages import S3Object
from extractors.s3.splits import order

FOLDER: Final = "_$folder$"
"""End of the key of an empty object by which Hadoop's s3n marks a directory."""
_NOT_TEXT: Final = re.compile("[\0\ud800-\udfff]")
_NO_NAMES: Final = frozenset({"", ".", ".."})


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """A file, or a directory, at a path. ``object`` is its object, or its marker; None for an implicit directory. If
    ``later``, it replaces what the same listing says about the path elsewhere.
    """

    path: str
    directory: bool
    object: S3Object | None
    later: bool = False


@dataclass(slots=True)
class _Open:
    """A key with which the present key begins: an object that may turn out to be a directory, or a directory."""

    key: str
    object: S3Object | None
    directory: bool = False


@dataclass(slots=True)
class KeyTree:
    """The tree of a range of the keys that begin with ``prefix``, after ``after`` up to ``until`` ("": to the end).

    A directory on the edge of the range may have its object or its marker in the range before, and an object on the
    edge may be a directory with keys in the range behind. There the bucket is asked: ``first`` returns the first object
    whose key begins with a text. So each range yields the same about a directory that several ranges share.
    """

    first: Callable[[str], S3Object | None]
    prefix: str = ""
    after: str = ""
    until: str = ""
    odd: int = 0
    """Number of keys that have no path: Hadoop's client cannot name them, because it normalises paths."""
    odd_key: str = ""
    _open: list[_Open] = field(default_factory=list)
    _by_key: dict[str, _Open] = field(default_factory=dict)
    _last_above: str = ""

    def add(self, listed: S3Object) -> Iterator[KeyPlace]:
        """Take the next object, and yield the places that are known now."""
        key = listed.key
        yield from self._close(key)
        if _NOT_TEXT.search(key):
            yield from self._odd(key)
            return
        above, slash, name = key.rpartition("/")
        marker = bool(slash) and not name
        if slash and (not above or above != self._last_above):
            if not _is_path(above):
                yield from self._odd(key)
                return
            yield from self._directories(above, listed if marker else None)
        self._last_above = above
        if marker:
            return
        if name in _NO_NAMES:
            yield from self._odd(key)
            return
        if _marks_folder(listed):
            yield from self._folder(key.removesuffix(FOLDER), listed)
        else:
            self._push(_Open(key, listed))

    def end(self) -> Iterator[KeyPlace]:
        """Yield the places that were still open at the end of the range."""
        for each in self._open:
            if not each.directory:
                yield KeyPlace(f"/{each.key}", directory=self._goes_on(each.key), object=each.object)
        self._open.clear()
        self._by_key.clear()

    def _goes_on(self, key: str) -> bool:
        """Whether an object's key is that of a directory with keys, or a marker, in a range behind this one."""
        if not self.until.startswith(key):
            return False
        folder = self._exactly(f"{key}{FOLDER}")
        return self.first(f"{key}/") is not None or (folder is not None and _marks_folder(folder))

    def _close(self, key: str) -> Iterator[KeyPlace]:
        while self._open and not key.startswith(self._open[-1].key):
            closed = self._open.pop()
            del self._by_key[closed.key]
            if not closed.directory:
                yield KeyPlace(f"/{closed.key}", directory=False, object=closed.object)

    def _push(self, opened: _Open) -> None:
        # Of two keys with which the present key begins, the shorter one begins the longer one.
        at = len(self._open)
        while at and len(self._open[at - 1].key) > len(opened.key):
            at -= 1
        self._open.insert(at, opened)
        self._by_key[opened.key] = opened

    def _odd(self, key: str) -> Iterator[KeyPlace]:
        """Count a key without a path, and yield the directories above its first name that a path cannot have."""
        self.odd += 1
        self.odd_key = self.odd_key or key
        sound = list(takewhile(_is_name, key.split("/")[:-1]))
        if sound:
            yield from self._directories("/".join(sound), None)

    def _directories(self, above: str, marker: S3Object | None) -> Iterator[KeyPlace]:
        """Yield the directories that are new, from the top. ``marker`` is that of the last one."""
        at = above.find("/")
        while True:
            directory = above if at < 0 else above[:at]
            known = self._by_key.get(directory)
            if known is None or not known.directory:
                own = known.object if known is not None else self._before(directory)
                own = own or (marker if at < 0 else None) or self._marker_before(directory)
                if known is None:
                    self._push(_Open(directory, own, directory=True))
                else:
                    known.directory = True
                yield KeyPlace(f"/{directory}", directory=True, object=own)
            if at < 0:
                return
            at = above.find("/", at + 1)

    def _before(self, directory: str) -> S3Object | None:
        """Return the object of a directory's own key, if it can only be in a range before this one."""
        found = self._exactly(directory) if self.after.startswith(directory) else None
        return None if found is not None and _marks_folder(found) else found

    def _marker_before(self, directory: str) -> S3Object | None:
        marker = f"{directory}/"
        return self._exactly(marker) if self.after.startswith(marker) else None

    def _exactly(self, key: str) -> S3Object | None:
        found = self.first(key) if key.startswith(self.prefix) else None
        return found if found is not None and found.key == key else None

    def _folder(self, directory: str, marker: S3Object) -> Iterator[KeyPlace]:
        """Yield the directory that a marker of s3n names. The marker comes after all keys below that directory."""
        known = self._by_key.get(directory)
        if known is None and self.after.startswith(directory):
            own = self._before(directory) or self._exactly(f"{directory}/")
        else:
            own = known.object if known is not None else None
        if known is None or not known.directory or own is None:
            yield KeyPlace(f"/{directory}", directory=True, object=own or marker, later=own is None)
        if known is None:
            self._push(_Open(directory, own or marker, directory=True))
        else:
            known.object, known.directory = own or marker, True


def _marks_folder(listed: S3Object) -> bool:
    name = listed.key.rpartition("/")[2]
    return name.endswith(FOLDER) and name != FOLDER and not listed.size_bytes


def _is_name(name: str) -> bool:
    return name not in _NO_NAMES and not _NOT_TEXT.search(name)


def _is_path(key: str) -> bool:
    return _NO_NAMES.isdisjoint(key.split("/"))


def is_beyond(key: str, until: str) -> bool:
    """Whether a key comes after the end of a range."""
    return bool(until) and order(key) > order(until)
