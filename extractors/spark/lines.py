"""Read the lines of an event log, in any form and codec, each with the position from which it can be read again."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, NamedTuple

from extractors.lineage.moved_files import FileWentAway
from extractors.spark.codecs import (
    GZIP,
    MAGIC_BYTES,
    PLAIN,
    ZSTD,
    Damaged,
    Piece,
    Unfinished,
    codec_of,
    pieces,
)
from extractors.spark.forms import IN_PROGRESS, LogPart
from extractors.spark.places import FileStore

HEAD_BYTES: Final = 16 << 10
"""Number of bytes at the beginning of a part that distinguish it from other parts of the same name."""
TAIL_BYTES: Final = 4 << 10
"""Number of bytes before the end of the last read that must be unchanged if reading is to continue there."""


MAX_CPU_S: Final = 60.0
"""Maximum CPU time for one read of a log. It is a hundred times the cost of reading as many bytes of events."""
OUT_BYTES_FREE: Final = 256 << 20
MAX_RATIO: Final = 1_000
"""Maximum ratio of decompressed bytes to the bytes of a log, beyond the first `OUT_BYTES_FREE` bytes. Event logs reach
10 to 50; the formats allow 1,032 (gzip) and 32,768 (zstandard).
"""
LEAST_LINE_BYTES: Final = 32
LINES_FREE: Final = 100_000
"""Number of lines after which a log is abandoned if its lines are shorter than `LEAST_LINE_BYTES` on average, because
no event is that short.
"""
_LINES_A_LOOK: Final = 4_096
_NEWLINE = ord("\n")
_NULS = re.compile(rb"\0+")
_NEWLINES = re.compile(rb"\n+")


class Mark(NamedTuple):
    """A position in a log: ``skip`` decompressed bytes after the offset ``restart`` of a part."""

    part: str
    restart: int
    skip: int


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line. ``offset`` is the file offset of its beginning or, in a compressed file, of the block with its
    beginning.

    For a line over the limit, ``too_long`` is true and ``data`` is empty. ``whole`` is False for a line without a
    newline.
    """

    mark: Mark
    path: str
    data: bytes
    whole: bool = True
    too_long: bool = False

    @property
    def offset(self) -> int:
        return self.mark.restart


class LogLines:
    """Reads the lines of some parts, from a mark on. It can be iterated once.

    After iteration, ``mark`` is the position from which to resume; ``skipping`` is true if that is within a line that
    is too long. ``at_end`` is true if everything requested has been read. ``damages`` are the unreadable positions,
    which in a ``finished`` log include an end within a block. ``holes`` are the NULs before lines, as (path, offset,
    count). ``beyond`` is the reason why reading was abandoned if the log is not worth its cost, else "". ``out_bytes``
    counts decompressed bytes, including those of earlier reads.

    At least ``max_bytes`` are read, if available, and at least as many bytes as had to be decompressed again. A codec
    in which reading cannot start in the middle is therefore read in growing steps.
    """

    def __init__(
        self,
        place: FileStore,
        parts: tuple[LogPart, ...],
        start: Mark | None,
        *,
        skipping: bool = False,
        last_line: bool,
        max_line_bytes: int,
        max_bytes: int,
        out_bytes: int = 0,
        finished: bool = False,
    ) -> None:
        self.holes: list[tuple[str, int, int]] = []
        self.beyond = ""
        self.out_bytes = out_bytes
        self._packed_bytes = sum(part.size for part in parts)
        self._lines = 0
        self._cpu_s = time.thread_time()
        self._hole_bytes = 0
        self.mark = start or Mark(parts[0].name, 0, 0)
        self.skipping = skipping
        self.at_end = False
        self.damages: list[tuple[str, Damaged]] = []
        self.read_bytes = 0
        self.has_rest = False
        self.codec = PLAIN
        self._place = place
        self._parts = parts
        self._last_line = last_line
        self._finished = finished
        self._max_line_bytes = max_line_bytes
        self._max_bytes = max(max_bytes, self.mark.skip)
        self._stopped = False

    def __iter__(self) -> Iterator[LogLine]:
        names = [part.name for part in self._parts]
        first = names.index(self.mark.part)
        for number, part in enumerate(self._parts[first:], first):
            if number > first:
                self.mark, self.skipping = Mark(part.name, 0, 0), False
                if self.read_bytes >= self._max_bytes:
                    return
            last = number == len(self._parts) - 1
            yield from self._of_part(
                part, rest=not last or self._last_line, finished=not last or self._finished
            )
            if self._stopped:
                return
        self.at_end = True

    def _of_part(self, part: LogPart, *, rest: bool, finished: bool) -> Iterator[LogLine]:
        start = self.mark
        with open_part(self._place, part) as raw:
            begun = _Begun()
            self._hole_bytes = 0
            try:
                self.codec = codec_of(raw.read(MAGIC_BYTES))
                for piece in pieces(raw, self.codec, start.restart, part.size):
                    if self.read_bytes >= self._max_bytes and self.mark != start:
                        self._stopped = True
                        return
                    cut = _behind(start, piece)
                    if cut is not None:
                        yield from self._of_piece(cut, part, begun)
                    if self.beyond:
                        self._stopped = True
                        return
            except Damaged as damage:
                if finished or not isinstance(damage, Unfinished):
                    self.damages.append((part.path, damage))
            self.has_rest = begun.bytes > 0
            if rest and begun.bytes:
                # The mark stays before this line, so that the whole line is read again if the file grows.
                yield LogLine(self.mark, part.path, b"".join(begun.buffered), whole=False)

    def _of_piece(self, piece: Piece, part: LogPart, begun: _Begun) -> Iterator[LogLine]:
        data, lines = piece.data, self._lines
        self.read_bytes += len(data)
        self.out_bytes += len(data)
        if self._is_beyond():
            return
        start = self._behind_nuls(part, piece, 0, begun)
        while (stop := data.find(b"\n", start)) >= 0:
            if data[start] <= _NEWLINE and not begun.bytes and not self.skipping:
                if not data[start]:
                    start = self._behind_nuls(part, piece, start, begun)
                    continue
                if blank := _NEWLINES.match(data, start):
                    start = stop = blank.end() - 1  # empty lines count as one
            lines += 1
            if not lines % _LINES_A_LOOK:
                self._lines = lines
                if self._is_beyond():
                    return
            mark = self.mark
            self.mark = self._mark(part, piece, stop + 1)
            if self.skipping:
                self.skipping = False
            elif begun.bytes + stop - start > self._max_line_bytes:
                yield LogLine(mark, part.path, b"", too_long=True)
            elif begun.bytes:
                yield LogLine(mark, part.path, b"".join((*begun.buffered, data[start:stop])))
            else:
                yield LogLine(mark, part.path, data[start:stop])
            begun.clear()
            start = stop + 1
        self._lines = lines
        start = self._behind_nuls(part, piece, start, begun)
        if self.skipping:
            self.mark = self._mark(part, piece, len(data))
        elif start < len(data):
            begun.add(data[start:])
            if begun.bytes > self._max_line_bytes:
                yield LogLine(self.mark, part.path, b"", too_long=True)
                self.mark, self.skipping = self._mark(part, piece, len(data)), True
                begun.clear()

    def _behind_nuls(self, part: LogPart, piece: Piece, start: int, begun: _Begun) -> int:
        """Skip the NULs at ``start``, add them to ``holes``, and return the position after them. The NULs may have
        begun in an earlier piece. Within a line, nothing is skipped.
        """
        if begun.bytes or self.skipping or start >= len(piece.data):
            return start
        if nuls := _NULS.match(piece.data, start):
            self._hole_bytes += nuls.end() - start
            start = nuls.end()
        if self._hole_bytes and start < len(piece.data):
            self.mark = self._mark(part, piece, start)
            self.holes.append((part.path, self.mark.restart, self._hole_bytes))
            self._hole_bytes = 0
        return start

    def _is_beyond(self) -> bool:
        packed_bytes = self._packed_bytes
        cpu_s = time.thread_time() - self._cpu_s
        if self.codec != PLAIN and self.out_bytes > OUT_BYTES_FREE + MAX_RATIO * packed_bytes:
            self.beyond = f"{self.out_bytes} bytes came out of {packed_bytes}"
        elif self._lines >= LINES_FREE and self.read_bytes < self._lines * LEAST_LINE_BYTES:
            self.beyond = f"{self._lines} lines or more in {self.read_bytes} bytes are not events"
        elif cpu_s > MAX_CPU_S:
            self.beyond = f"{cpu_s:.0f} s of CPU went into {self.read_bytes} bytes"
        return bool(self.beyond)

    def _mark(self, part: LogPart, piece: Piece, position: int) -> Mark:
        if self.codec == PLAIN:
            return Mark(part.name, piece.restart + piece.before + position, 0)
        return Mark(part.name, piece.restart, piece.before + position)


def _behind(start: Mark, piece: Piece) -> Piece | None:
    """Return the rest of a piece after the mark at which reading started; None if the piece ends before the mark."""
    if piece.restart != start.restart or piece.before >= start.skip:
        return piece
    passed = start.skip - piece.before
    if passed >= len(piece.data):
        return None
    return Piece(piece.restart, start.skip, piece.data[passed:])


class _Begun:
    """A line whose end has not been read yet."""

    def __init__(self) -> None:
        self.buffered: list[bytes] = []
        self.bytes = 0

    def add(self, data: bytes) -> None:
        self.buffered.append(data)
        self.bytes += len(data)

    def clear(self) -> None:
        if self.bytes:
            self.buffered, self.bytes = [], 0


def lines_at(
    place: FileStore, parts: tuple[LogPart, ...], marks: Iterable[Mark], max_line_bytes: int
) -> Iterator[LogLine]:
    """Yield the lines at these marks, decompressing each frame only once. Marks in parts that no longer exist are
    skipped.
    """
    order = {part.name: number for number, part in enumerate(parts)}
    wanted = sorted(set(marks), key=lambda mark: (order.get(mark.part, -1), mark.restart, mark.skip))
    groups: dict[tuple[str, int], list[Mark]] = {}
    for mark in wanted:
        if mark.part in order:
            groups.setdefault((mark.part, mark.restart), []).append(mark)
    for (name, _), group in groups.items():
        part = parts[order[name]]
        within, last = set(group), group[-1]
        reading = LogLines(
            place,
            (part,),
            group[0],
            last_line=True,
            max_line_bytes=max_line_bytes,
            max_bytes=part.size << 10,
        )
        for line in reading:
            if line.mark in within:
                yield line
            if line.mark == last:
                break


def all_lines(place: FileStore, part: LogPart, max_line_bytes: int) -> Iterator[LogLine]:
    """Yield all lines of one part."""
    yield from LogLines(
        place, (part,), None, last_line=True, max_line_bytes=max_line_bytes, max_bytes=part.size << 10
    )


def open_part(place: FileStore, part: LogPart) -> BinaryIO:
    """Open a part's file, even if ``.inprogress`` has been removed from its name since planning. Raises
    `FileWentAway`.
    """
    for path in (part.path, part.path.removesuffix(IN_PROGRESS)):
        try:
            return place.open(path)
        except FileNotFoundError:
            continue
    raise FileWentAway(
        f"{part.path} was moved, compacted or removed after it was planned: the next run plans again"
    )


def head_of(place: FileStore, part: LogPart, count: int) -> str:
    """Return the hash of the part's first ``count`` bytes. If the part is shorter, the hash differs."""
    with open_part(place, part) as raw:
        return hashlib.blake2b(raw.read(count), digest_size=16).hexdigest()


def tail_of(place: FileStore, part: LogPart, end: int) -> str:
    """Return the hash of up to `TAIL_BYTES` before ``end``. If the part is shorter, the hash differs."""
    with open_part(place, part) as raw:
        raw.seek(max(0, end - TAIL_BYTES))
        return hashlib.blake2b(raw.read(min(end, TAIL_BYTES)), digest_size=16).hexdigest()


def enters_anywhere(codec: str) -> bool:
    """Whether reading can resume near the position at which it ended, without decompressing everything before that
    again.
    """
    return codec not in (ZSTD, GZIP)
