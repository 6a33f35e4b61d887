"""Extractors for tests of the pipeline, whose sources are small files. They register themselves like any other
extractor.

- ``listing``, a pull extractor of tables: ``{"tables": {"db.table": ["column", …]}}``
- ``happenings``, a push extractor with one statement per line: ``{"text", "reads", "writes", "at_ms", "parts":
  [["db.t.c", "db.t.c"], …]}``
- ``folders``, a pull extractor of directories with many files: ``{"folders": {"/a": 3}, "covers": [{"path": "/"}],
  "words": {"/a": {"tags": ["x"]}}}``
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from navlin.model.extractor import PULL, PUSH, Extractor, extractor, keeps_positions
from navlin.model.keys import (
    Key,
    RelationType,
    column_key,
    database_key,
    execution_key,
    location_key,
    operation_key,
    path_column_key,
    sub_operation_key,
    table_key,
)
from navlin.model.plan import Plan, Positions, SourceTime
from navlin.model.records import Covered, Entity, Position, Record, Reject, Relation, Split
from navlin.model.records import Listing as FileListing
from navlin.model.source import HIVE, Estate, Source
from navlin.model.tree import below


@dataclass(frozen=True, slots=True)
class Table(Split):
    qualified: str
    now_ms: int

    @property
    def name(self) -> str:
        return self.qualified


@extractor("listing", source_type="HIVE", mode=PULL, version=1)
@dataclass(frozen=True, slots=True)
class Listing(Extractor):
    """Reads all tables in a JSON file in each run."""

    source: Source
    estate: Estate
    file: str
    timeout_s: float = keeps_positions(60.0)

    def plan(self, positions: Positions) -> Plan:
        payload = self._payload()
        if "down" in payload:
            raise ConnectionError(payload["down"])
        splits = tuple(Table(name, positions.now_ms) for name in sorted(payload["tables"]))
        covers = (Covered("/", positions.now_ms),)
        clock = payload.get("clock")
        source_time = (
            SourceTime(clock["at_ms"], "the scripted source", exact=clock["exact"]) if clock else None
        )
        return Plan(splits, (Position("listed", positions.now_ms),), covers, source_time=source_time)

    def read(self, split: Split) -> Iterator[Record]:
        assert isinstance(split, Table)
        payload = self._payload()
        if split.qualified in payload.get("waiting", {}):
            gate = Path(payload["waiting"][split.qualified])
            gate.with_suffix(".pid").write_text(str(os.getpid()))
            _wait_for(gate)
        if split.qualified in payload.get("broken", ()):
            raise ConnectionError(f"{split.qualified} cannot be read")
        database, name = split.qualified.split(".")
        table = table_key(self.source, database, name)
        rejected = payload.get("rejected", [])
        if split.qualified in rejected:
            # Yield all rejects with the first rejected table, because only many rejects of one split are treated as a
            # storm.
            for each in rejected if split.qualified == rejected[0] else ():
                withdrawn = table_key(self.source, *each.split(".")).tree_path
                yield Reject(self.file, "listed but not fetched", tree_path=withdrawn)
            return
        described = payload["tables"][split.qualified]
        columns, more = (described, {}) if isinstance(described, list) else (described["columns"], described)
        yield Entity(database_key(self.source, database), split.now_ms)
        yield Entity(
            table,
            split.now_ms,
            {
                "owner": more.get("owner", "etl"),
                "created": more.get("created_ms", 1_000),
                **more.get("attributes", {}),
            },
            {"numRows": more.get("rows")},
            renamed_from=table_key(self.source, *more["was"].split(".")).identity if "was" in more else "",
        )
        for column in columns:
            yield Entity(column_key(table, column), split.now_ms, {"dataType": "string"})
        if location := more.get("location"):
            path = location_key(self.estate, location)
            yield Relation(RelationType.LOGICAL_PHYSICAL, table, path, table.tree_path, split.now_ms)

    def still_there(self, paths: Sequence[str]) -> Collection[str] | None:
        payload = self._payload()
        if payload.get("cannot be asked"):
            return None
        names = [*payload["tables"], *payload.get("unlisted", ())]
        there = {table_key(self.source, *name.split(".")).tree_path for name in names}
        return there.intersection(paths)

    def _payload(self) -> dict[str, Any]:
        payload: dict[str, Any] = json.loads(Path(self.file).read_text())
        return payload


def _wait_for(file: Path) -> None:
    """Wait until a file exists, to simulate a slow source."""
    deadline_s = time.monotonic() + 300
    while not file.exists():
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"{file} did not come")
        time.sleep(0.02)


@dataclass(frozen=True, slots=True)
class Lines(Split):
    """Lines of the file, starting with line number ``first``."""

    first: int
    part: int = 0

    @property
    def name(self) -> str:
        return f"lines, part {self.part}" if self.part else "lines"


@extractor("happenings", source_type="IMPALA", mode=PUSH, version=1)
@dataclass(frozen=True, slots=True)
class Happenings(Extractor):
    """Follows a file with one JSON object per line."""

    source: Source
    estate: Estate
    file: str
    lines_in_split: int = 1_000
    mended: bool = False
    """Use the fields in a line's ``mended`` object instead of the fields with the same names in the line."""

    def plan(self, positions: Positions) -> Plan:
        read = positions.values.get("lines", 0)
        written = len(Path(self.file).read_text().splitlines())
        return Plan((Lines(read),) if written > read else ())

    def read(self, split: Split) -> Iterator[Record]:
        assert isinstance(split, Lines)
        broken = Path(f"{self.file}.broken")
        if broken.exists() and broken.read_text() == split.name:
            raise OSError(f"{split.name} cannot be read")
        lines = Path(self.file).read_text().splitlines()
        last = min(len(lines), split.first + self.lines_in_split)
        for number in range(split.first, last):
            try:
                happened = json.loads(lines[number])
            except json.JSONDecodeError as error:
                yield Reject(self.file, f"is no JSON: {error.msg}", number, lines[number][:100])
                continue
            yield from self._operation({**happened, **(happened.get("mended", {}) if self.mended else {})})
        yield Position("lines", last)
        if last < len(lines):
            yield Lines(last, split.part + 1)

    def _operation(self, happened: Mapping[str, Any]) -> Iterator[Record]:
        at_ms = happened["at_ms"]
        reads = [self._claim(name) for name in happened["reads"]]
        writes = [self._claim(name) for name in happened["writes"]]
        ids = tuple(key.identity for key in (*reads, *writes))
        operation = operation_key(self.source, happened["text"], ids)
        ages = not writes
        yield Covered(operation.tree_path, at_ms, reported=True)
        yield Entity(
            operation, at_ms, {"queryText": happened["text"], "outputs": happened["writes"]}, ages=ages
        )
        run = execution_key(operation, happened.get("id", f"{operation.identity} {at_ms}"))
        said = {"started": at_ms, "ended": at_ms, "principal": happened.get("principal", "ann")}
        yield Entity(run, at_ms, said, ages=True)
        flows = [(key, operation) for key in reads] + [(operation, key) for key in writes]
        for part in happened.get("parts", ()):
            sub = sub_operation_key(operation, json.dumps(part))
            yield Entity(sub, at_ms, ages=ages)
            flows += [(self._column(part[0]), sub), (sub, self._column(part[1]))]
        for ep1, ep2 in flows:
            path = below(operation.tree_path, ep1.identity + ep2.identity)
            yield Relation(RelationType.DATA_FLOW, ep1, ep2, path, at_ms, ages=ages)

    def _claim(self, name: str) -> Key:
        if "/" in name:
            return location_key(self.estate, name)
        database, _, table = name.partition(".")
        return table_key(self.estate.serving(HIVE), database, table)

    def _column(self, name: str) -> Key:
        table, _, column = name.rpartition(".")
        make = path_column_key if "/" in table else column_key
        return make(self._claim(table), column)


@dataclass(frozen=True, slots=True)
class Folder(Split):
    """A directory, with the number of files in it."""

    path: str
    files: int
    now_ms: int
    words: Mapping[str, Any]
    where_claimed: bool

    @property
    def name(self) -> str:
        return self.path


@extractor("folders", source_type="HDFS", mode=PULL, version=1)
@dataclass(frozen=True, slots=True)
class Folders(Extractor):
    """Yields each directory in the JSON file with the given number of files, and covers the paths in ``covers``."""

    source: Source
    estate: Estate
    file: str

    def plan(self, positions: Positions) -> Plan:
        payload = json.loads(Path(self.file).read_text())
        words, where_claimed = payload.get("words", {}), payload.get("where_claimed", False)
        splits = tuple(
            Folder(path, files, positions.now_ms, words.get(path, {}), where_claimed)
            for path, files in payload["folders"].items()
        )
        covers = tuple(Covered(as_of_ms=positions.now_ms, **covered) for covered in payload["covers"])
        return Plan(splits, (Position("listed", positions.now_ms),), covers)

    def still_there(self, paths: Sequence[str]) -> Collection[str]:
        payload = json.loads(Path(self.file).read_text())
        return set(payload["folders"]).intersection(paths)

    def read(self, split: Split) -> Iterator[Record]:
        assert isinstance(split, Folder)
        paths = [split.path, *(f"{split.path}/part-{number:05d}" for number in range(split.files))]
        directories = [True, *[False] * split.files]
        attributes: dict[str, list[Any]] = {"size": [None, *range(split.files)]}
        for word, value in split.words.items():
            attributes[word] = [value, *[None] * split.files]
        marked = [False, *[split.where_claimed] * split.files]
        yield FileListing(self.source, split.now_ms, paths, directories, attributes, where_claimed=marked)
