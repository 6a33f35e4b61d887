"""Read growing text files line by line, from the last position.

`extractors.lineage.planned_files` finds the unread parts of files, and `follow` reads them. It reads whole lines only,
up to the file's size at planning, so that the same split yields the same lines however often it is read. Reading
continues after a rename. A file is read from its beginning if it was truncated or replaced, or if it has a reused
inode, because reading a line twice does no harm, but missing one does. Files are never moved, changed or deleted. Only
regular files are read, and links that lead out of their directory are ignored (`extractors.lineage.regular_files`).

A file that was renamed, moved or removed is still read to its end: under another name in the same directory, through
the descriptor kept for it (`extractors.lineage.kept_open_files`), or from a ``.gz`` in that directory that begins as the
file did. Bytes that were seen and can no longer be read are lost; `extractors.lineage.moved_files.FileWentAway` counts
them.

If a file has new content, the old content may have been copied before. The unread part of the old content then becomes
a separate split (`FileSplit.copied`). It is looked for in copies in the same directory that begin as the file did,
compressed or not.

NULs at the beginning of a line are skipped and counted in a `Reject`. They are a hole in the file: either the file was
truncated while its writer continued at the old offset, or its host went down before all blocks were written.

The rest of a file after its last newline waits for the next newline. If the file has not changed for an hour, the rest
is yielded once as a line anyway (``Line.whole`` is False). The position stays before the rest, so that it is read
again as a whole line if the file still grows.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Final, cast

from extractors.lineage.file_split import MARK_BYTES, FileSplit, goes_on_in, hash_of, head_of, mark_of
from extractors.lineage.moved_files import open_archive, open_planned
from navlin.model.records import Position, Reject

CHUNK_BYTES: Final = 1 << 20
SPLIT_BYTES: Final = 16 << 20
SPLIT_LINES: Final = 5_000
MAX_LINE_BYTES: Final = 64 << 20
ARCHIVED_BYTES: Final = 1 << 30
"""Maximum number of bytes to read from a file's compressed rest. A log polled every few seconds has far fewer."""
ARCHIVED_PARTS: Final = 8
"""Factor for the size of the splits of an archive, because each split must first decompress everything before it."""
_NULS: Final = re.compile(rb"\0+")
_NEWLINES: Final = re.compile(rb"\n+")


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its newline, and its offset in the file. ``whole`` is False for the rest of a file after its
    last newline.
    """

    offset: int
    text: bytes
    whole: bool = True


class FollowedFile:
    """An open file and the progress of reading it. Created by `follow`.

    ``offset`` is after the last line yielded. ``extra`` is the state that the extractor saved there, or None if the
    file is read from its beginning after all. ``raw`` is the file itself, for extractors that do not read by lines.
    """

    def __init__(
        self, raw: BinaryIO, path: str, split: FileSplit, max_line_bytes: int, *, archive: bool = False
    ) -> None:
        goes_on = goes_on_in(raw, split)
        self._replaced = split.copied() if split.head and not goes_on else None
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
        self._read: deque[tuple[int, bytes]] = deque()
        """(offset, bytes) of the last chunks read from an archive. They are kept because seeking back would decompress
        the archive again.
        """

    def lines(self, *, max_bytes: int = SPLIT_BYTES, max_lines: int = SPLIT_LINES) -> Iterator[Line | Reject]:
        """Yield the next lines, at least one, until either bound is reached. Yield a `Reject` for a line that is too
        long and for a hole.

        The caller may stop at any line; `done` then yields a split for the rest.
        """
        if self._archive:
            max_bytes, max_lines = ARCHIVED_PARTS * max_bytes, ARCHIVED_PARTS * max_lines
        first, count = self.offset, 0
        buffered: list[bytes] = []
        buffered_bytes = 0
        hole_bytes = 0
        at = self.offset
        self.raw.seek(at)
        while at < self.end:
            chunk = self._chunk(min(CHUNK_BYTES, self.end - at))
            if not chunk:
                break  # truncated while being read: the next plan handles that
            start = 0
            while True:
                begins = not buffered_bytes and not self._skipping
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
                    stop = blank.end() - 1  # several empty lines are treated as one
                    start = stop
                begin, self.offset = self.offset, at + stop + 1
                if self._skipping:
                    self._skipping = False
                elif buffered_bytes + stop - start > self._max_line_bytes:
                    yield self._too_long(begin)
                else:
                    buffered.append(chunk[start:stop])
                    yield Line(begin, b"".join(buffered))
                buffered, buffered_bytes, start = [], 0, stop + 1
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
                buffered.append(chunk[start:])
                buffered_bytes += len(chunk) - start
                if buffered_bytes > self._max_line_bytes:
                    yield self._too_long(self.offset)
                    self._skipping = True
                    buffered, buffered_bytes = [], 0
            if self._skipping:
                self.offset = at
                if at - first >= max_bytes:
                    self._at_end = at >= self.end
                    return
        self._at_end = True
        if buffered_bytes and self._split.final:
            yield Line(self.offset, b"".join(buffered), whole=False)
        if self._archive and (self._damage or self._chunk(1)):
            reason = self._damage or f"more than {ARCHIVED_BYTES} bytes of it were still unread"
            yield Reject(self.path, f"the compressed file is not read further: {reason}", self.offset)

    def _chunk(self, count: int) -> bytes:
        if not self._archive:
            return self.raw.read(count)
        try:
            at = self.raw.tell()
            chunk = cast(gzip.GzipFile, self.raw).read1(count)  # returns the data before any damage
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self._damage = str(error)
            return b""
        self._read.append((at, chunk))
        while self._read[0][0] + len(self._read[0][1]) < self.offset - MARK_BYTES:
            self._read.popleft()
        return chunk

    def _mark(self) -> str:
        begin = max(0, self.offset - MARK_BYTES)
        if not self._read or self._read[0][0] > begin:
            return mark_of(self.raw, self.offset)
        first = self._read[0][0]
        read = b"".join(chunk for _, chunk in self._read)
        return hash_of(read[begin - first : self.offset - first])

    def _hole(self, count: int) -> Reject:
        why = "the file was truncated under its writer, or its host went down"
        return Reject(self.path, f"{count} NUL bytes skipped: {why}", self.offset)

    def _data_behind(self, at: int) -> int:
        """Return the offset of the next data on the disk, from ``at`` on, because a hole may be too large to read."""
        if self._archive:
            return at
        try:
            data = min(self.end, os.lseek(self.raw.fileno(), at, os.SEEK_DATA))
        except OSError:  # there is none
            data = self.end
        self.raw.seek(data)
        return data

    def skip(self) -> None:
        """Leave the rest unread, because it contains nothing for this extractor."""
        self.offset, self._at_end, self._skipping = self.end, True, False

    @property
    def at_end(self) -> bool:
        """Whether all data up to the file's size at planning has been yielded."""
        return self._at_end

    @property
    def quiet(self) -> bool:
        """Whether the file has not changed for so long that no more data is expected."""
        return self._split.final

    @property
    def archived(self) -> bool:
        """Whether the file is read from a compressed copy."""
        return self._archive

    def leave(self, offset: int) -> None:
        """Set the next read to start at ``offset``, because the data from there on is incomplete, although it has been
        yielded.
        """
        self.offset = offset

    def stand(self, offset: int, *, at_end: bool) -> None:
        """Set the ``offset`` at which the next read continues. With ``at_end``, it continues only if the file has
        grown since the plan.
        """
        self.offset, self._at_end = offset, at_end

    def done(self, extra: Any = None) -> Iterator[Position | FileSplit]:
        """Yield the position reached and, if there is more to read, a split for the rest.

        ``extra`` is the extractor's state at ``offset``: small JSON values. If both are yielded, the position is
        marked as having a rest, until the position after the rest replaces it. If the file has new content, the unread
        rest of the old content is yielded in the same way.
        """
        split = self._split
        # The hash of an archive's beginning is known, because the archive was found by that hash.
        head, head_bytes = (split.head, split.head_bytes) if self._archive else head_of(self.raw, self.end)
        mark = self._mark()
        # A copy may have another name when it is looked for again.
        path = split.path if split.of_copy else self.path
        value: dict[str, Any] = {
            "path": path,
            "head": head,
            "head_bytes": head_bytes,
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
        if split.ctime_ns:
            value["ctime_ns"] = split.ctime_ns
        if self._at_end and (self._archive or split.of_copy):
            value["sought"] = True
        if extra is not None:
            value["extra"] = extra
        if (copied := self._replaced) is not None:
            yield unread(copied)
            yield copied
        yield Position(split.key, value)
        if not self._at_end:
            yield replace(
                split,
                path=path,
                offset=self.offset,
                head=head,
                head_bytes=head_bytes,
                mark=mark,
                skipping=self._skipping,
                extra=extra,
            )

    def _too_long(self, offset: int) -> Reject:
        return Reject(self.path, f"the line is longer than {self._max_line_bytes} bytes", offset)


@contextmanager
def follow(split: FileSplit, *, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[FollowedFile]:
    """Open the file of a split, whatever its current name, at the split's offset if the data before the offset is
    unchanged.

    Raises `extractors.lineage.moved_files.FileWentAway` if nothing of the file is left, and `OSError` if it cannot be
    opened.
    """
    raw, path = open_planned(split)
    archive = False
    if raw is None:
        raw, path = open_archive(split)
        archive = isinstance(raw, gzip.GzipFile)
        # If a line was cut at the end of a plain copy, its second half is in the file that was emptied.
        end = split.offset + ARCHIVED_BYTES if archive else os.fstat(raw.fileno()).st_size
        split = replace(split, end=end, final=archive)
    with raw:
        yield FollowedFile(raw, path, split, max_line_bytes, archive=archive)


def sought(split: FileSplit) -> Position:
    """Return a position that ends the search for a file that went away, unless the file comes back."""
    return Position(split.key, {**_value(split), "size": split.end, "sought": True})


def unread(split: FileSplit) -> Position:
    """Return the position of a file with an unread rest, to save until the rest is read."""
    return Position(split.key, {**_value(split), "size": -1, "seen": split.end, "extra": split.extra})


def _value(split: FileSplit) -> dict[str, Any]:
    return {
        "path": split.path,
        "head": split.head,
        "head_bytes": split.head_bytes,
        "offset": split.offset,
        "mark": split.mark,
        "mtime_ns": split.mtime_ns,
    }
