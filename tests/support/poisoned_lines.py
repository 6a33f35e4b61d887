"""A test extractor that follows log files and raises an exception of its own at the line "poison"."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from extractors.lineage.followed_files import Line
from extractors.lineage.line_logs import LineLogs
from navlin.model.extractor import PUSH, extractor, keeps_positions
from navlin.model.keys import operation_key
from navlin.model.records import Entity, Record, Split
from navlin.model.source import Estate, Source


@extractor("poisoned_lines", source_type="ACME", mode=PUSH, version=1)
@dataclass(frozen=True, slots=True)
class PoisonedLines(LineLogs):
    source: Source
    estate: Estate
    directory: str | tuple[str, ...] = keeps_positions("")
    pattern: str = keeps_positions("*")
    max_line_bytes: int = 1 << 20

    def read(self, split: Split) -> Iterator[Record]:
        yield from self._read(split, self._of_line)

    def _of_line(self, line: Line, path: str) -> Iterator[Record]:
        if line.text == b"poison":
            raise ValueError("a line is poisoned")
        yield Entity(operation_key(self.source, line.text.decode(), ()), 1_700_000_000_000)
