"""Following text files that only grow: which they are, how far they were read, and what of them to read next.

A file is known by its fingerprint, never by its name: host, device and inode (the position's key), and hashes of its
first bytes and of those before the position (in its value). So a renamed file is read on, and a file that was truncated,
replaced or that got a used inode is read from its beginning: reading twice changes nothing, missing a line would.

`plan_files` costs one ``stat`` a file and opens none. `follow` reads what a plan found, whole lines only, up to the size
that the plan saw: the same split yields the same lines however often it is read. Nothing is ever moved, changed or deleted.

The rest of a file after its last newline waits for the newline. If the file has not changed for `QUIET_MS` the rest
is handed out as a line all the same (``Line.whole`` is False), once; the position stays before it, so that it is read
again, whole, should the file still grow.
"""

from __future__ import annotations

import fnmatch
import glob
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

from navlin.model.plan import Plan, Positions
from navlin.model.records import Position, Reject, Split

HEAD_BYTES = 16 << 10
"""How much of a file's beginning distinguishes it from others: engines write the query's text first, so that files may
well share their first few hundred bytes."""
MARK_BYTES = 4 << 10
"""How much before a position must still be what it was."""
CHUNK_BYTES = 1 << 20
SPLIT_BYTES = 16 << 20
SPLIT_LINES = 5_000
MAX_LINE_BYTES = 64 << 20
QUIET_MS = 3_600_000
FORGET_MS = 7 * 86_400_000
COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst", ".lz4", ".snappy")


class NothingToFollow(OSError):
    """None of the directories can be listed."""


class FileWentAway(OSError):
    """A file that was planned is not there any more under any name in its directory."""


@dataclass(frozen=True, slots=True)
class FileSplit(Split):
    """What to read of one file: from ``offset`` to ``end``, the size when it was planned.

    ``head`` and ``mark`` are hashes of the file's first ``head_bytes`` bytes and of those before ``offset``, where known.
    ``skipping``: the offset stands within a line that is too long. ``final``: no newline is to be expected any more.
    ``extra`` is the extractor's own state at ``offset``, as JSON values. ``planned_ms`` is when it was planned.
    """

    key: str
    path: str
    device: int
    inode: int
    end: int
    mtime_ns: int
    offset: int = 0
    head: str = ""
    head_bytes: int = 0
    mark: str = ""
    skipping: bool = False
    final: bool = False
    extra: Any = None
    planned_ms: int = 0

    @property
    def name(self) -> str:
        return self.path

    @property
    def written_ms(self) -> int:
        """When the file was written to the last time, by its file system."""
        return self.mtime_ns // 1_000_000

    @property
    def latest_ms(self) -> int:
        """When everything that is to be read was there, whatever the file system has for a file that was copied."""
        return max(self.written_ms, self.planned_ms)

    @property
    def local(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its newline, and where in the file it begins. ``whole`` is False for a rest without newline."""

    offset: int
    text: bytes
    whole: bool = True


# -- planning: stat only --------------------------------------------------------------------------------------------


def plan_files(
    directories: tuple[str, ...],
    patterns: tuple[str, ...],
    positions: Positions,
    *,
    host: str,
    compressed: bool = False,
) -> Plan:
    """A split for every file that has something new, and positions to forget of files that are long gone.

    ``directories`` may be globs, ``patterns`` are those of file names. Files that end as compressed ones do are left
    out, and counted in the note, unless ``compressed``. A directory that cannot be listed is named in the note and
    nothing is forgotten there; `NothingToFollow` is raised if that holds for all of them.
    """
    matches = re.compile("|".join(fnmatch.translate(pattern) for pattern in patterns)).match
    saved = positions.values
    splits: dict[str, FileSplit] = {}
    resets: list[Position] = []
    listed: set[str] = set()
    seen: set[str] = set()
    problems: list[str] = []
    left_out = 0
    for directory in expand(directories):
        try:
            with os.scandir(directory) as entries:
                found = [entry for entry in entries if matches(entry.name)]
        except OSError as error:
            problems.append(f"{directory}: {error.strerror}")
            continue
        listed.add(directory)
        for entry in found:
            if not compressed and entry.name.endswith(COMPRESSED):
                left_out += 1
                continue
            try:
                stat = entry.stat()
            except OSError:
                continue  # gone since it was listed: not an error
            if not S_ISREG(stat.st_mode):
                continue
            key = f"{host}:{stat.st_dev}:{stat.st_ino}"
            if key in seen:
                continue  # a second name of the same file
            seen.add(key)
            known = saved.get(key)
            if stat.st_size == 0 and known is not None and known.get("size") != 0:
                resets.append(Position(key, _empty(entry.path, stat)))
            split = _split_of(key, entry.path, stat, None if positions.complete else known, positions.now_ms)
            if split is not None:
                splits[key] = split
    if problems and not listed:
        raise NothingToFollow("cannot list " + "; ".join(problems))
    if left_out:
        problems.append(f"{left_out} compressed files are not read")
    ordered = sorted(splits.values(), key=lambda split: (split.mtime_ns, split.path))
    gone = _forgotten(saved, seen, listed, f"{host}:", positions.now_ms - FORGET_MS)
    return Plan(tuple(ordered), (*resets, *gone), note="; ".join(problems))


def expand(directories: tuple[str, ...]) -> list[str]:
    """The directories that these paths and globs stand for now."""
    expanded: dict[str, None] = {}
    for directory in directories:
        names = sorted(glob.glob(directory)) if glob.has_magic(directory) else ()
        # A glob without a match stands for itself, so that the message names it.
        expanded.update(dict.fromkeys(os.path.normpath(name) for name in names or (directory,)))
    return list(expanded)


def _split_of(
    key: str, path: str, stat: os.stat_result, known: Mapping[str, Any] | None, now_ms: int
) -> FileSplit | None:
    size, mtime_ns = stat.st_size, stat.st_mtime_ns
    if size == 0:
        return None
    final = now_ms - mtime_ns // 1_000_000 >= QUIET_MS
    if known is None:
        return FileSplit(key, path, stat.st_dev, stat.st_ino, size, mtime_ns, final=final, planned_ms=now_ms)
    if known["size"] == size and known["mtime_ns"] == mtime_ns:
        waiting = known["offset"] < size and not known.get("settled")
        if not (waiting and final):
            return None
    return FileSplit(
        key,
        path,
        stat.st_dev,
        stat.st_ino,
        size,
        mtime_ns,
        offset=known["offset"],
        head=known["head"],
        head_bytes=known["head_bytes"],
        mark=known["mark"],
        skipping=bool(known.get("skipping")),
        final=final,
        extra=known.get("extra"),
        planned_ms=now_ms,
    )


def _empty(path: str, stat: os.stat_result) -> dict[str, Any]:
    value: dict[str, Any] = {"path": path, "offset": 0, "size": 0, "mtime_ns": stat.st_mtime_ns}
    return value | {"head": "", "head_bytes": 0, "mark": ""}


def _forgotten(
    saved: Mapping[str, Any], seen: set[str], listed: set[str], host: str, before_ms: int
) -> Iterator[Position]:
    for key in saved.keys() - seen:
        value = saved[key]
        if (
            key.startswith(host)
            and str(Path(value["path"]).parent) in listed
            and value["mtime_ns"] < before_ms * 1_000_000
        ):
            yield Position(key, None)


# -- reading --------------------------------------------------------------------------------------------------------


class FollowedFile:
    """An open file and how far it has been read. Made by `follow`.

    ``offset`` is behind the last line handed out, ``extra`` what the extractor saved there (None when the file is read
    from its beginning after all). ``raw`` is the file itself, for one that is not read by lines.
    """

    def __init__(self, raw: BinaryIO, path: str, split: FileSplit, max_line_bytes: int) -> None:
        goes_on = _is_the_same(raw, split)
        self.raw = raw
        self.path = path
        self.end = split.end
        self.offset = split.offset if goes_on else 0
        self.extra: Any = split.extra if goes_on else None
        self._split = split
        self._skipping = split.skipping and goes_on
        self._max_line_bytes = max_line_bytes
        self._at_end = self.offset >= self.end

    def lines(self, *, max_bytes: int = SPLIT_BYTES, max_lines: int = SPLIT_LINES) -> Iterator[Line | Reject]:
        """The next lines, at least one, until either bound is reached; a line that is too long comes as a `Reject`.

        A caller may stop at any line: `done` then yields a split for the rest.
        """
        first, count = self.offset, 0
        held: list[bytes] = []
        held_bytes = 0
        at = self.offset
        self.raw.seek(at)
        while at < self.end:
            chunk = self.raw.read(min(CHUNK_BYTES, self.end - at))
            if not chunk:
                break  # truncated while it is read: the next plan sees that
            start = 0
            while (stop := chunk.find(b"\n", start)) >= 0:
                begin, self.offset = self.offset, at + stop + 1
                if self._skipping:
                    self._skipping = False
                elif held_bytes + stop - start > self._max_line_bytes:
                    yield self._too_long(begin)
                else:
                    held.append(chunk[start:stop])
                    yield Line(begin, b"".join(held))
                held, held_bytes, start = [], 0, stop + 1
                count += 1
                if count >= max_lines or self.offset - first >= max_bytes:
                    self._at_end = self.offset >= self.end
                    return
            at += len(chunk)
            if not self._skipping:
                held.append(chunk[start:])
                held_bytes += len(chunk) - start
                if held_bytes > self._max_line_bytes:
                    yield self._too_long(self.offset)
                    self._skipping = True
                    held, held_bytes = [], 0
            if self._skipping:
                self.offset = at
                if at - first >= max_bytes:
                    self._at_end = at >= self.end
                    return
        self._at_end = True
        if held_bytes and self._split.final:
            yield Line(self.offset, b"".join(held), whole=False)

    def skip(self) -> None:
        """Leaves the rest unread: there is nothing in it for this extractor."""
        self.offset, self._at_end, self._skipping = self.end, True, False

    @property
    def at_end(self) -> bool:
        """Whether all that the plan saw has been handed out."""
        return self._at_end

    @property
    def quiet(self) -> bool:
        """Whether the file has not changed for so long that nothing is to be expected of it any more."""
        return self._split.final

    def leave(self, offset: int) -> None:
        """Leaves what begins at ``offset``, which was handed out, to a later reading: it is not there as a whole yet."""
        self.offset = offset

    def done(self, extra: Any = None) -> Iterator[Position | FileSplit]:
        """How far the file has been read and, where it goes on, the split that reads on.

        ``extra`` is the extractor's state at ``offset``, small, as JSON values. Both are yielded when the bound was
        reached; the position of the later round stands, and the earlier one never looks as if nothing were left.
        """
        split = self._split
        head = self._read_at(0, min(HEAD_BYTES, self.end))
        mark_bytes = min(MARK_BYTES, self.offset)
        mark = _hash(self._read_at(self.offset - mark_bytes, mark_bytes))
        value: dict[str, Any] = {
            "path": self.path,
            "head": _hash(head),
            "head_bytes": len(head),
            "offset": self.offset,
            "mark": mark,
            "size": self.end if self._at_end else -1,
            "mtime_ns": split.mtime_ns,
        }
        if self._skipping:
            value["skipping"] = True
        if self._at_end and split.final:
            value["settled"] = True
        if extra is not None:
            value["extra"] = extra
        yield Position(split.key, value)
        if not self._at_end:
            yield replace(
                split,
                path=self.path,
                offset=self.offset,
                head=value["head"],
                head_bytes=len(head),
                mark=mark,
                skipping=self._skipping,
                extra=extra,
            )

    def _read_at(self, offset: int, count: int) -> bytes:
        self.raw.seek(offset)
        return self.raw.read(count)

    def _too_long(self, offset: int) -> Reject:
        return Reject(self.path, f"the line is longer than {self._max_line_bytes} bytes", offset)


@contextmanager
def follow(split: FileSplit, *, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[FollowedFile]:
    """Opens what a split names, under whatever name it has now, at the split's offset if what is before it still stands.

    Raises `FileWentAway` when the file is not in its directory any more, and `OSError` when it cannot be opened.
    """
    raw, path = _open(split)
    with raw:
        yield FollowedFile(raw, path, split, max_line_bytes)


def _open(split: FileSplit) -> tuple[BinaryIO, str]:
    raw = _open_if(split, split.path)
    if raw is not None:
        return raw, split.path
    directory = Path(split.path).parent
    with os.scandir(directory) as entries:
        renamed = [entry.path for entry in entries if entry.inode() == split.inode]
    for path in renamed:
        raw = _open_if(split, path)
        if raw is not None:
            return raw, path
    raise FileWentAway(
        f"{split.path} was rotated out of {directory} or removed after it was planned and before it was read: "
        f"what it held from byte {split.offset} to {split.end} is not read"
    )


def _open_if(split: FileSplit, path: str) -> BinaryIO | None:
    try:
        raw = Path(path).open("rb")  # noqa: SIM115 (`follow` closes it)
    except FileNotFoundError:
        return None
    stat = os.fstat(raw.fileno())
    if (stat.st_dev, stat.st_ino) == (split.device, split.inode):
        return raw
    raw.close()
    return None


def _is_the_same(raw: BinaryIO, split: FileSplit) -> bool:
    """Whether what was read of the file before the offset still stands there."""
    mark_bytes = min(MARK_BYTES, split.offset)
    raw.seek(0)
    if split.head and _hash(raw.read(split.head_bytes)) != split.head:
        return False
    raw.seek(split.offset - mark_bytes)
    return not split.mark or _hash(raw.read(mark_bytes)) == split.mark


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
