"""Hosts that write lineage logs of Impala and Hive and a rolling event log of Spark, and do to them what hosts do."""

from __future__ import annotations

import json
import os
import random
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import zstandard

from tests.support import spark_logs

KINDS: Final = {"impala": "IMPALA-1", "hive": "HIVE-1", "spark": "SPARK-1"}
"""Directory of a host → source."""
EXECUTIONS: Final = 400
"""Number of executions in a host's event log."""
Arrived = Callable[[str, bytes], bool]
"""Function that tells whether a content has arrived whole for a source."""


class WritingHost(threading.Thread):
    """Writes until ``ended`` is set, then completes its logs. A content that is about to be destroyed has arrived, and
    is copied to ``archive`` first, because no reader could have it otherwise."""

    def __init__(self, home: Path, number: int, seed: str, arrived: Arrived) -> None:
        super().__init__(name=home.name)
        self.home, self.number, self.arrived = home, number, arrived
        self.random, self.ended = random.Random(f"{seed} {number}"), threading.Event()
        self.count, self.archived = 0, 0
        self.done = dict.fromkeys(("renamed", "truncated", "replaced", "removed", "rolled"), 0)
        self.archive = home / "archive"
        for kind in KINDS:
            (home / kind).mkdir(parents=True)
            (self.archive / kind).mkdir(parents=True)
        self.impala = home / "impala" / "impala_lineage_log_1.0-0"
        self.hive = home / "hive" / "hive_lineage.log"
        self.app = f"application_{1_700_000_000 + number}_0001"
        self.rolling = home / "spark" / f"eventlog_v2_{self.app}"
        self.rolling.mkdir()
        self.status = self.rolling / f"appstatus_{self.app}.inprogress"
        self.status.touch()
        self.part, self.events = 1, self._event_lines()

    def run(self) -> None:
        while not self.ended.is_set():
            self._write_halves(self.impala)
            self._write_halves(self.hive)
            self._write_event_lines(self.random.randrange(1, 4))
            if self.random.random() < 0.12:
                self.random.choice(
                    (self._rename, self._rotate, self._truncate, self._replace, self._remove)
                )()
            self.ended.wait(self.random.uniform(0.02, 0.1))
        self._write_event_lines(len(self.events))
        self.status.rename(self.status.with_suffix(""))

    def contents(self, kind: str) -> list[bytes]:
        """Return the contents of all files of a kind, also of those that are archived."""
        found = [each for top in (self.home, self.archive) for each in (top / kind).rglob("*")]
        return sorted(each.read_bytes() for each in found if each.is_file())

    # -- Writing -----------------------------------------------------------------------------------------------------

    def _write_halves(self, log: Path) -> None:
        """Append a line in two steps, as a buffer is flushed."""
        self.count += 1
        line = _statement(self.number * 1_000_000 + self.count, self.random.randrange(2_000))
        half = self.random.randrange(len(line))
        for each in (line[:half], line[half:]):
            with log.open("ab", buffering=0) as file:
                file.write(each)
            self.ended.wait(0.01)

    def _event_lines(self) -> list[bytes]:
        events: list[dict[str, Any]] = [
            spark_logs.log_start(),
            spark_logs.environment(),
            spark_logs.application(f"job {self.number}", self.app),
        ]
        for each in range(EXECUTIONS):
            path = f"hdfs://ns/w/h{self.number}_{each}"
            events += [
                spark_logs.start(each, spark_logs.insert(path, spark_logs.scan("d.s"))),
                spark_logs.end(each),
            ]
        return spark_logs.lines(*events, spark_logs.application_end()).splitlines(keepends=True)

    def _write_event_lines(self, count: int) -> None:
        chosen, self.events = self.events[:count], self.events[count:]
        if not chosen:
            return
        with (self.rolling / f"events_{self.part}_{self.app}.zstd").open("ab") as file:
            file.write(zstandard.ZstdCompressor(level=1).compress(b"".join(chosen)))
        if self.random.random() < 0.1:
            self.part, self.done["rolled"] = self.part + 1, self.done["rolled"] + 1

    # -- What happens to logs ----------------------------------------------------------------------------------------

    def _rename(self) -> None:
        self.impala.rename(self.impala.with_name(f"{self.impala.name}.old"))
        self.impala = self.impala.with_name(f"impala_lineage_log_1.0-{self.count}")
        self.done["renamed"] += 1

    def _rotate(self) -> None:
        """Give each older log the next number, as an appender does."""
        older = sorted(self.hive.parent.glob("hive_lineage.log.*"), key=lambda each: -int(each.suffix[1:]))
        for each in older:
            each.rename(each.with_suffix(f".{int(each.suffix[1:]) + 1}"))
        if self.hive.exists():
            self.hive.rename(f"{self.hive}.1")
        self.done["renamed"] += 1

    def _truncate(self) -> None:
        """Truncate a log, and let it grow beyond its old size at once."""
        if size := self._archived(self.hive):
            with self.hive.open("r+b") as file:
                file.truncate()
            while self.hive.stat().st_size <= size:
                self._write_halves(self.hive)
            self.done["truncated"] += 1

    def _replace(self) -> None:
        if self._archived(self.impala):
            other = self.home / "other"
            self._write_halves(other)
            other.replace(self.impala)
            self.done["replaced"] += 1

    def _remove(self) -> None:
        """Remove a log. Its inode may be used again at once."""
        if self._archived(self.hive):
            self.hive.unlink()
            self._write_halves(self.hive)
            self.done["removed"] += 1

    def _archived(self, file: Path) -> int:
        """Return the size of a log after it has arrived and was archived; 0 if the test ends before."""
        if not file.exists():
            return 0
        content, source = file.read_bytes(), KINDS[file.parent.name]
        while not self.arrived(source, content):
            if self.ended.wait(0.2):
                return 0
        self.archived += 1
        shutil.copyfile(file, self.archive / file.parent.name / f"{file.name}.{os.getpid()}{self.archived}")
        return len(content)


def _statement(number: int, padding: int) -> bytes:
    def vertex(at: int, column: str) -> dict[str, Any]:
        return {"id": at, "vertexType": "COLUMN", "vertexId": column}

    record = {
        "version": "1.0",
        "engine": "mr",
        "database": "d",
        "queryText": " ".join(["INSERT INTO", f"d.t{number}", "SELECT a FROM d.s --", "x" * padding]),
        "hash": f"{number:032x}",
        "queryId": f"{number:016x}:0000000000000001",
        "user": "etl",
        "timestamp": 1_700_000_000 + number,
        "endTime": 1_700_000_001 + number,
        "duration": 1_000,
        "jobIds": [],
        "edges": [{"sources": [1], "targets": [0], "edgeType": "PROJECTION"}],
        "vertices": [vertex(0, f"d.t{number}.a"), vertex(1, "d.s.a")],
    }
    return json.dumps(record).encode() + b"\n"
