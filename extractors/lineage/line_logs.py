"""Base of extractors that follow files of one-line records on navlin's own host."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from extractors.lineage.cut_lines import cut_by
from extractors.lineage.file_split import FileSplit
from extractors.lineage.followed_files import FollowedFile, Line, follow, sought
from extractors.lineage.listed_files import expand
from extractors.lineage.moved_files import FileWentAway
from extractors.lineage.planned_files import plan_files
from extractors.lineage.regular_files import open_regular
from navlin.model.extractor import FILES, LINES, Extractor
from navlin.model.forwarded import (
    LINES_PATTERN,
    arrived,
    files_directories,
    host_of,
    lines_directory,
)
from navlin.model.plan import Plan, Positions
from navlin.model.plurals import counted
from navlin.model.records import Record, Reject, Split

CHECKED_FILES = 20
CHECKED_BYTES = 1 << 20
"""Number of files of other hosts, and of bytes at the end of each, in which `navlin check` looks for cut lines."""
SPLIT_RECORDS = 20_000
"""Number of records after which the rest of a file becomes another split, so that tasks are short."""


def parted(text: bytes, start: re.Pattern[bytes]) -> list[tuple[int, bytes]]:
    """Split an unreadable line at the beginnings of records, which ``start`` matches. If a full disk cuts a record
    short, the next records follow on the same line. Return (offset in the line, piece) pairs; empty if there would be
    only one.
    """
    starts = [found.start() for found in start.finditer(text, 1)]
    return [(at, text[at:end]) for at, end in pairwise((0, *starts, len(text)))] if starts else []


class LineLogs(Extractor):
    """Base class that plans and reads the files that match ``pattern`` in ``directory`` (one or several directories,
    or globs). A line longer than ``max_line_bytes`` becomes a `Reject`.
    """

    __slots__ = ()
    receives = frozenset((LINES, FILES))
    directory: str | tuple[str, ...]
    pattern: str
    max_line_bytes: int

    def plan(self, positions: Positions) -> Plan:
        return plan_files(
            (*self._paths(), *self._of_shippers()),
            (self.pattern, LINES_PATTERN) if self.estate.forwarded else (self.pattern,),
            positions,
            host=socket.gethostname(),
            touched=files_directories(self.estate.forwarded, self.source.name),
            scope=lines_directory(self.estate.forwarded, self.source.name),
        )

    def directories(self) -> tuple[str, ...]:
        """Return the directories to watch."""
        # Files of other hosts are polled: thousands of directories would be too many to watch.
        return (*expand(self._paths()), *self._of_shippers())

    def check(self) -> Iterator[str]:
        """Yield a line for ``navlin check``, with the number of files. Raises OSError if the files cannot be listed or
        the newest file cannot be opened.
        """
        plan = self.plan(Positions())
        newest = plan.splits[-1].name if plan.splits else "none yet"
        yield f"{counted(len(plan.splits), 'file')}, the newest {newest}" + (
            f"; {plan.note}" if plan.note else ""
        )
        for split in plan.splits[-1:]:
            with open_regular(split.name, str(Path(split.name).parent)) as file:
                file.read(1)
        yield from self._cut_lines([split.name for split in plan.splits])

    def _cut_lines(self, paths: list[str]) -> Iterator[str]:
        """Yield a line for each of the newest files of other hosts whose last lines were cut."""
        forwarded = [path for path in paths if host_of(self.estate.forwarded, path)]
        for path in forwarded[-CHECKED_FILES:]:
            with open_regular(path, str(Path(path).parent)) as file:
                file.seek(max(0, os.stat(path).st_size - CHECKED_BYTES))
                cut = list(filter(None, map(cut_by, file.read(CHECKED_BYTES).split(b"\n"))))
            if cut:
                host = host_of(self.estate.forwarded, path)
                yield f"{len(cut):,} of the last lines of {host} are cut, for instance: {cut[-1]}"

    def _read(
        self,
        split: Split,
        records_of: Callable[[Line, str], Iterator[Record]],
        lines: Callable[[FollowedFile], Iterator[Line | Reject]] = FollowedFile.lines,
    ) -> Iterator[Record]:
        """Yield the records that ``records_of`` creates from each line and the file's path, then the position reached and,
        if there is more to read, a split. If the file went away, yield a `Reject` for lost data, then the final position.
        """
        assert isinstance(split, FileSplit)
        try:
            yield from self._of_file(split, records_of, lines)
        except FileWentAway as away:
            if away.loses:
                yield Reject(split.path, str(away), split.offset)
            yield sought(split)

    def _of_file(
        self,
        split: FileSplit,
        records_of: Callable[[Line, str], Iterator[Record]],
        lines: Callable[[FollowedFile], Iterator[Line | Reject]],
    ) -> Iterator[Record]:
        count, host = 0, host_of(self.estate.forwarded, split.path)
        with follow(split, max_line_bytes=self.max_line_bytes) as file:
            for line in lines(file):
                if isinstance(line, Reject):
                    yield line
                    continue
                for record in records_of(line, file.path):
                    count += 1
                    yield arrived(_with_limit(record, line), host)
                if count >= SPLIT_RECORDS:
                    break
            yield from file.done()

    def _of_shippers(self) -> tuple[str, ...]:
        directory = lines_directory(self.estate.forwarded, self.source.name)
        return (directory,) if self.estate.forwarded and os.path.isdir(directory) else ()

    def _paths(self) -> tuple[str, ...]:
        return (self.directory,) if isinstance(self.directory, str) else self.directory


def _with_limit(record: Record, line: Line) -> Record:
    """Return a record; if it is the reject of a line that a shipper has cut, with the limit in its reason."""
    if isinstance(record, Reject) and (limit := cut_by(line.text)):
        return replace(record, reason=f"{record.reason}; {limit}")
    return record
