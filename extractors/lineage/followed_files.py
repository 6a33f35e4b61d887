"""Following text files that only grow: which they are, how far they were read, and what of them to read next.

A file is known by its fingerprint, never by its name: host, device and inode (the position's key), and hashes of its
first bytes and of those before the position (in its value). So a renamed file is read on, and a file that was truncated,
replaced or that got a used inode is read from its beginning: reading twice changes nothing, missing a line would.

`plan_files` costs one ``stat`` a file and opens each once, to hold it. `follow` reads what a plan found, whole lines only,
up to the size that the plan saw: the same split yields the same lines however often it is read. Nothing is ever moved,
changed or deleted. Only regular files are read, and no link that leads out of its directory
(`extractors.lineage.regular_files`).

A file that is not in its directory any more is read to its end all the same: under another name there, by the descriptor
that is held of it (`extractors.lineage.held_files`), or in a ``.gz`` there that begins as the file did. What was seen of it
and cannot be read any more is lost: `FileWentAway` counts the bytes.

NULs where a line should begin are passed over and counted in a `Reject`: a file that was truncated under a writer that
goes on where it was has a hole there, and so has one whose host went down before all blocks were written.

The rest of a file after its last newline waits for the newline. If the file has not changed for `QUIET_MS` the rest
is handed out as a line all the same (``Line.whole`` is False), once; the position stays before it, so that it is read
again, whole, should the file still grow.
"""

from __future__ import annotations

import fnmatch
import glob
import gzip
import hashlib
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO, cast

from extractors.lineage.held_files import HELD, HeldFiles
from extractors.lineage.regular_files import NotFollowed, leads_out, open_held, open_regular
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
ROTATED_MS = 60_000
"""How long a file that was moved away is held after it was written to last: its writer may still have it open."""
ARCHIVED_BYTES = 1 << 30
"""How much is read of a file's rest that was compressed. Of a log that is polled every few seconds it is far less."""
_NULS = re.compile(rb"\0+")
_NEWLINES = re.compile(rb"\n+")
COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst", ".lz4", ".snappy")


class NothingToFollow(OSError):
    """None of the directories can be listed."""


class FileWentAway(OSError):
    """A file that was planned is not there any more under any name in its directory. ``lost_bytes`` were not read."""

    def __init__(self, message: str, lost_bytes: int = 0) -> None:
        super().__init__(message)
        self.lost_bytes = lost_bytes


@dataclass(frozen=True, slots=True)
class FileSplit(Split):
    """What to read of one file: from ``offset`` to ``end``, the size when it was planned.

    ``head`` and ``mark`` are hashes of the file's first ``head_bytes`` bytes and of those before ``offset``, where known.
    ``skipping``: the offset stands within a line that is too long. ``final``: no newline is to be expected any more.
    ``extra`` is the extractor's own state at ``offset``, as JSON values. ``planned_ms`` is when it was planned.
    ``held`` is where a descriptor opens that is held of it, in case that it is not in its directory any more.
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
    held: str = ""

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
    held: HeldFiles = HELD,
) -> Plan:
    """A split for every file that has something new, and positions to forget of files that are long gone.

    ``directories`` may be globs, ``patterns`` are those of file names. Files that end as compressed ones do are left
    out, and counted in the note; so are links that lead out of their directory. A directory that cannot be listed is
    named in the note and nothing is forgotten there; `NothingToFollow` is raised if that holds for all of them.
    """
    matches = re.compile("|".join(fnmatch.translate(pattern) for pattern in patterns)).match
    saved = positions.values
    splits: dict[str, FileSplit] = {}
    resets: list[Position] = []
    listed: set[str] = set()
    seen: set[str] = set()
    problems: list[str] = []
    left_out = 0
    links: list[str] = []
    archived_ns: dict[str, int] = {}
    paths: dict[str, tuple[str, os.stat_result]] = {}
    for directory in expand(directories):
        try:
            with os.scandir(directory) as entries:
                every = list(entries)
        except OSError as error:
            problems.append(f"{directory}: {error.strerror}")
            continue
        listed.add(directory)
        for entry in every:
            archive = entry.name.endswith(COMPRESSED)
            if not matches(entry.name) and not archive:
                continue
            try:
                stat = entry.stat()
            except OSError:
                continue  # gone since it was listed: not an error
            if not S_ISREG(stat.st_mode):
                continue
            if archive:
                left_out += matches(entry.name) is not None
                archived_ns[directory] = max(archived_ns.get(directory, 0), stat.st_mtime_ns)
                continue
            if entry.is_symlink() and leads_out(entry.path, directory):
                links.append(entry.path)
                continue
            key = f"{host}:{stat.st_dev}:{stat.st_ino}"
            if key in seen:
                continue  # a second name of the same file
            seen.add(key)
            paths[key] = entry.path, stat
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
    if links:
        problems.append(
            f"{len(links)} links lead out of their directory and are not followed, of those {links[0]}"
        )
    follower = (directories, patterns)
    opens = held.hold(follower, paths)
    splits = {key: replace(split, held=opens.get(key, "")) for key, split in splits.items()}
    for each in held.missing(follower, seen):
        known = saved.get(each.key)
        split = _split_of(each.key, each.path, each.stat, known, positions.now_ms)
        if split is not None:
            splits[each.key] = replace(split, held=each.opens)
        elif not _has_rest(known) and positions.now_ms - _written_ms(each.stat) >= ROTATED_MS:
            held.release(follower, each.key)
            continue
        seen.add(each.key)
    for key, value in saved.items():
        if key in seen or not key.startswith(f"{host}:"):
            continue
        directory = str(Path(value["path"]).parent)
        if directory in listed and _may_be_archived(value, archived_ns.get(directory, 0)):
            splits[key] = _missing(key, value, positions.now_ms)
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


def _written_ms(stat: os.stat_result) -> int:
    return stat.st_mtime_ns // 1_000_000


def _has_rest(known: Mapping[str, Any] | None) -> bool:
    """Whether the file ends with a line that has no newline and was not handed out."""
    return known is not None and known["offset"] < known["size"] and not known.get("settled")


def _may_be_archived(value: Mapping[str, Any], archived_ns: int) -> bool:
    """Whether to look for a file that is not there any more: something of it was seen and not read, or there is a
    compressed file that is no older, since compressing keeps a file's time."""
    if value.get("sought"):
        return False
    unread = value["size"] < 0 or _has_rest(value)
    return unread or (
        value["offset"] > 0 and archived_ns // 1_000_000_000 >= value["mtime_ns"] // 1_000_000_000
    )


def _missing(key: str, value: Mapping[str, Any], now_ms: int) -> FileSplit:
    device, inode = key.split(":")[-2:]
    end = max(value["size"], value.get("seen", 0), value["offset"])
    return FileSplit(
        key,
        value["path"],
        int(device),
        int(inode),
        end,
        value["mtime_ns"],
        offset=value["offset"],
        head=value["head"],
        head_bytes=value["head_bytes"],
        mark=value["mark"],
        skipping=bool(value.get("skipping")),
        extra=value.get("extra"),
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

    def __init__(
        self, raw: BinaryIO, path: str, split: FileSplit, max_line_bytes: int, *, archive: bool = False
    ) -> None:
        goes_on = _is_the_same(raw, split)
        self.raw = raw
        self.path = path
        self.end = split.end
        self.offset = split.offset if goes_on else 0
        self.extra: Any = split.extra if goes_on else None
        self._split = split
        self._skipping = split.skipping and goes_on
        self._max_line_bytes = max_line_bytes
        self._archive = archive
        self._damage = ""
        self._at_end = self.offset >= self.end

    def lines(self, *, max_bytes: int = SPLIT_BYTES, max_lines: int = SPLIT_LINES) -> Iterator[Line | Reject]:
        """The next lines, at least one, until either bound is reached; a line that is too long comes as a `Reject`.

        A caller may stop at any line: `done` then yields a split for the rest.
        """
        first, count = self.offset, 0
        held: list[bytes] = []
        held_bytes = 0
        hole_bytes = 0
        at = self.offset
        self.raw.seek(at)
        while at < self.end:
            chunk = self._chunk(min(CHUNK_BYTES, self.end - at))
            if not chunk:
                break  # truncated while it is read: the next plan sees that
            start = 0
            while True:
                begins = not held_bytes and not self._skipping
                if begins and chunk.startswith(b"\0", start) and (nuls := _NULS.match(chunk, start)):
                    hole_bytes += nuls.end() - start
                    start = nuls.end()
                if hole_bytes and start < len(chunk):
                    yield self._hole(hole_bytes)
                    self.offset, hole_bytes = at + start, 0
                stop = chunk.find(b"\n", start)
                if stop < 0:
                    break
                if stop == start and begins and (blank := _NEWLINES.match(chunk, start)):
                    stop = blank.end() - 1  # empty lines, as one
                    start = stop
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
            if hole_bytes:
                data = self._data_behind(at)
                hole_bytes += data - at
                at = data
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
        if self._archive and (self._damage or self._chunk(1)):
            reason = self._damage or f"more than {ARCHIVED_BYTES} bytes were not read of it before"
            yield Reject(self.path, f"the compressed file is not read on: {reason}", self.offset)

    def _chunk(self, count: int) -> bytes:
        if not self._archive:
            return self.raw.read(count)
        try:
            return cast(gzip.GzipFile, self.raw).read1(count)  # what is there before the damage
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self._damage = str(error)
            return b""

    def _hole(self, count: int) -> Reject:
        why = "the file was truncated under its writer, or its host went down"
        return Reject(self.path, f"{count} NUL bytes passed over: {why}", self.offset)

    def _data_behind(self, at: int) -> int:
        """Where, from ``at`` on, the file has blocks: a hole may be larger than all that could be read."""
        if self._archive:
            return at
        try:
            data = min(self.end, os.lseek(self.raw.fileno(), at, os.SEEK_DATA))
        except OSError:  # there are none
            data = self.end
        self.raw.seek(data)
        return data

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
        if not self._at_end:
            value["seen"] = self.end
        if self._skipping:
            value["skipping"] = True
        if self._at_end and split.final:
            value["settled"] = True
        if self._archive:
            value["sought"] = True
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

    Raises `FileWentAway` when nothing of it is left, and `OSError` when it cannot be opened.
    """
    raw, path = _open(split)
    archive = False
    if raw is None:
        raw, path = _open_archive(split)
        split, archive = replace(split, end=split.offset + ARCHIVED_BYTES, final=True), True
    with raw:
        yield FollowedFile(raw, path, split, max_line_bytes, archive=archive)


def sought(split: FileSplit) -> Position:
    """The position of a file that went away: where it is not looked for any more, unless it comes back."""
    value = {
        "path": split.path,
        "head": split.head,
        "head_bytes": split.head_bytes,
        "offset": split.offset,
        "mark": split.mark,
        "size": split.end,
        "mtime_ns": split.mtime_ns,
        "sought": True,
    }
    return Position(split.key, value)


def _open(split: FileSplit) -> tuple[BinaryIO | None, str]:
    raw = _open_if(split, split.path)
    if raw is not None:
        return raw, split.path
    with os.scandir(Path(split.path).parent) as entries:
        renamed = [entry.path for entry in entries if entry.inode() == split.inode]
    for path in renamed:
        raw = _open_if(split, path)
        if raw is not None:
            return raw, path
    return _open_if(split, split.held) if split.held else None, split.path


def _open_if(split: FileSplit, path: str) -> BinaryIO | None:
    try:
        raw = open_held(path) if path == split.held else open_regular(path, str(Path(split.path).parent))
    except (FileNotFoundError, NotFollowed):
        return None  # gone, or something else stands in its place
    stat = os.fstat(raw.fileno())
    if (stat.st_dev, stat.st_ino) == (split.device, split.inode):
        return raw
    raw.close()
    return None


def _open_archive(split: FileSplit) -> tuple[BinaryIO, str]:
    """The compressed file that begins as this file did and is no older. Raises `FileWentAway`."""
    directory = Path(split.path).parent
    found: list[tuple[int, str]] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.name.endswith(".gz") and entry.stat().st_mtime >= split.mtime_ns // 1_000_000_000:
                    found.append((entry.stat().st_mtime_ns, entry.path))
    for _, path in sorted(found) if split.head else ():
        with suppress(OSError, EOFError, zlib.error):
            with open_regular(path, str(directory)) as file:
                raw = cast(BinaryIO, gzip.GzipFile(f"/proc/self/fd/{file.fileno()}"))
            if _is_the_same(raw, split):
                return raw, path
            raw.close()
    lost_bytes = split.end - split.offset
    raise FileWentAway(
        f"{split.path} was rotated out of {directory} or removed before it was read to its end: {lost_bytes} bytes "
        f"that it held, from byte {split.offset} to {split.end}, are not read",
        lost_bytes,
    )


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
