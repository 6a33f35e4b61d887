"""List directories: the files that a source follows, by key, and notes about files left out."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from stat import S_ISREG

from extractors.lineage.moved_files import COMPRESSED
from extractors.lineage.regular_files import leads_out
from extractors.lineage.remembered_files import (
    MOST_LOOKED_AT,
    RememberedDirectory,
    RememberedFiles,
    TouchedDirectory,
    identity_of,
)
from navlin.model.spooled import file_key


class NothingToFollow(OSError):
    """None of the directories could be listed."""


@dataclass(slots=True)
class ListedFiles:
    """Result of a listing. The key of a file is ``host:device:inode``, because logs are renamed. Two names of one file
    count as one file.
    """

    host: str
    followed: dict[str, tuple[str, os.stat_result]] = field(default_factory=dict)
    """Files whose names match, as key → (path, ``stat``)."""
    directories: set[str] = field(default_factory=set)
    """Directories that were listed without an error."""
    archived_ns: dict[str, int] = field(default_factory=dict)
    """Directory → modification time of the newest compressed file in it, in nanoseconds since 1970."""
    other_names: list[os.DirEntry[str]] = field(default_factory=list)
    """Entries whose names do not match, but whose inodes have been followed before."""
    problems: list[str] = field(default_factory=list)
    compressed: int = 0
    links: list[str] = field(default_factory=list)
    """Links that lead out of their directory."""
    looked_at: set[str] = field(default_factory=set)
    """Keys of the files whose status was read now. For all other files, the last known status is used."""

    def add(self, entry: os.DirEntry[str], directory: str, matches: bool) -> None:
        """Add a file that is compressed or whose name matches."""
        try:
            stat = entry.stat()
        except FileNotFoundError:
            return  # gone since it was listed: not an error
        except OSError as error:
            self.problems.append(f"{entry.path}: {error.strerror}")
            return
        if not S_ISREG(stat.st_mode):
            return
        if entry.name.endswith(COMPRESSED):
            self.compressed += matches
            self.archived_ns[directory] = max(self.archived_ns.get(directory, 0), stat.st_mtime_ns)
        elif entry.is_symlink() and leads_out(entry.path, directory):
            self.links.append(entry.path)
        else:
            key = self.key_of(stat)
            self.looked_at.add(key)
            self.followed.setdefault(key, (entry.path, stat))

    def scan(self, directory: str, matches: Callable[[str], bool], of_before: Collection[str]) -> bool:
        """Add the files of a directory. Return False if it cannot be listed."""
        try:
            with os.scandir(directory) as entries:
                every = [*entries]
        except OSError as error:
            self.problems.append(f"{directory}: {error.strerror}")
            return False
        self.directories.add(directory)
        for entry in every:
            if matches(entry.name) or entry.name.endswith(COMPRESSED):
                self.add(entry, directory, matches(entry.name))
            elif str(entry.inode()) in of_before:
                self.other_names.append(entry)
        return True

    def include(self, other: ListedFiles) -> None:
        """Add the result of another listing."""
        for key, found in other.followed.items():
            self.followed.setdefault(key, found)
        self.directories |= other.directories
        self.archived_ns.update(other.archived_ns)
        self.other_names += other.other_names
        self.problems += other.problems
        self.compressed += other.compressed
        self.links += other.links
        self.looked_at |= other.looked_at

    def renamed(self) -> Iterator[tuple[str, str, os.stat_result]]:
        """Yield (key, path, ``stat``) of the regular files whose names no longer match."""
        for entry in self.other_names:
            with suppress(OSError):  # gone since it was listed
                stat = entry.stat(follow_symlinks=False)
                if S_ISREG(stat.st_mode):
                    yield self.key_of(stat), entry.path, stat

    def note(self) -> str:
        """Return a description of the problems and the files left out, for the plan's note; "" if there are none."""
        notes = list(self.problems)
        if self.compressed:
            notes.append(f"{self.compressed} compressed files are not read")
        if self.links:
            notes.append(
                f"{len(self.links)} links lead out of their directory and are not followed, such as {self.links[0]}"
            )
        return "; ".join(notes)

    def key_of(self, stat: os.stat_result) -> str:
        return file_key(self.host, stat)

    def remembered(self, directory: str, known: RememberedDirectory) -> bool:
        """Add a directory from memory after checking the files that are due. Return False if it must be listed
        instead.
        """
        looked_at = known.look(self.key_of)
        if looked_at is None:
            return False
        self.looked_at |= looked_at
        self.followed = {**known.files, **self.followed} if self.followed else dict(known.files)
        if known.archived_ns is not None:
            self.archived_ns[directory] = known.archived_ns
        self.compressed += known.compressed
        self.links += known.links
        return True

    def to_remember(
        self, directory: str, identity: tuple[int, int, int], before: ListedFiles
    ) -> RememberedDirectory | None:
        """Return the entries that the directory added to the listing ``before``. Return None if there are few files,
        or if there are problems or files under other names.
        """
        files = {key: each for key, each in self.followed.items() if key not in before.followed}
        if len(files) <= MOST_LOOKED_AT or self.problems or self.other_names:
            return None
        return RememberedDirectory(
            identity,
            files,
            self.archived_ns.get(directory),
            self.compressed - before.compressed,
            self.links[len(before.links) :],
        )


def list_files(
    directories: tuple[str, ...],
    patterns: tuple[str, ...],
    host: str,
    inodes: Callable[[], Collection[str]],
    memory: RememberedFiles,
    touched: Collection[str] = (),
) -> ListedFiles:
    """List files, calling ``stat`` once per file or, in a directory known to ``memory``, only for the files that are
    due. No file is opened. ``touched`` are directories whose modification time changes with each append to a file in
    them, so that they need not be listed again before.

    ``directories`` may be globs; ``patterns`` are globs for file names; ``inodes`` returns the inode numbers followed
    before. Raises `NothingToFollow` if no directory can be listed.
    """
    matches = _matcher(patterns)
    listed = ListedFiles(host)
    for directory in expand(directories):
        identity, known = identity_of(directory), memory.directories.pop(directory, None)
        if known is not None and known.identity == identity and listed.remembered(directory, known):
            listed.directories.add(directory)
            memory.directories[directory] = known
            continue
        before = replace(listed, followed=dict(listed.followed), links=list(listed.links))
        if not listed.scan(directory, matches, inodes()):
            continue
        if identity is not None and (found := listed.to_remember(directory, identity, before)) is not None:
            memory.directories[directory] = found
    _list_touched(listed, touched, matches, inodes, memory)
    if listed.problems and not listed.directories:
        raise NothingToFollow("cannot list " + "; ".join(listed.problems))
    return listed


def _list_touched(
    listed: ListedFiles,
    directories: Collection[str],
    matches: Callable[[str], bool],
    inodes: Callable[[], Collection[str]],
    memory: RememberedFiles,
) -> None:
    of_before: Collection[str] | None = None
    for directory in directories:
        identity, known = identity_of(directory), memory.touched.pop(directory, None)
        if known is not None and known.unchanged(identity):
            listed.directories.add(directory)
        else:
            of_before = inodes() if of_before is None else of_before
            part = ListedFiles(listed.host)
            part.scan(directory, matches, of_before)
            listed.include(part)
            if identity is None or part.problems or part.other_names:
                continue
            known = TouchedDirectory(identity, part.followed)
        memory.touched[directory] = known
        for key, found in known.files.items():
            listed.followed.setdefault(key, found)


def expand(directories: tuple[str, ...]) -> list[str]:
    """Return the directories that these paths and globs match now."""
    expanded: dict[str, None] = {}
    for directory in directories:
        names = sorted(glob.glob(directory)) if glob.has_magic(directory) else ()
        # A glob without a match is kept, so that the error message names it.
        expanded.update(dict.fromkeys(os.path.normpath(name) for name in names or (directory,)))
    return list(expanded)


def _matcher(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    match = re.compile("|".join(fnmatch.translate(pattern) for pattern in patterns)).match
    return lambda name: match(name) is not None
