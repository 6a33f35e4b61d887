"""Spark event logs that are too expensive to read, are not files, or were written by other programs.

In each case, a whole run of the pipeline reads a directory with a good log next to the bad one.
"""

from __future__ import annotations

import gzip
import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
import zstandard
from pyspark.sql import SparkSession

from extractors.spark import SparkEvents, lines
from extractors.spark.forms import LogPart
from navlin.index.journal.runs import RunRecord, Status
from navlin.index.schema.fields import ELEMENTS, RUNS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS
from navlin.model.plan import Positions
from navlin.model.source import SPARK, Estate, Source, source_id
from navlin.pipeline.run import Pipeline
from tests.lineage_logs.test_damaged_logs import SECRET
from tests.support.spark_logs import application, end, insert, log_start, scan, start, write_log

COPY = insert("/w/b", scan("db.a", "y#1"), table="db.b")


class Spark:
    """A directory with one good event log, and the source that follows this directory."""

    def __init__(self, solr: Solr, spark: Callable[[], SparkSession], folder: Path) -> None:
        self.solr = solr
        self.directory = folder / "logs"
        self.directory.mkdir()
        write_log(self.directory, log_start(), application(), start(0, COPY), end(0))
        self.bad = self.directory / "local-2"
        cluster = f"cluster-{uuid.uuid4().hex[:8]}"
        self.source = Source(source_id(cluster, "SPARK-1"), SPARK, "SPARK-1", cluster)
        self.extractor = SparkEvents(self.source, Estate(cluster, (self.source,)), str(self.directory))
        self.now_ms = time.time_ns() // 1_000_000
        self.pipeline = Pipeline(solr.address, spark, lambda: self.now_ms)

    def run(self, step: Callable[[str], None] = lambda step: None) -> RunRecord:
        return self.pipeline.run(EXTRACTORS["spark_events"], self.extractor, step=step)

    def executions(self) -> int:
        return self.solr.count(ELEMENTS, f"sourceId:{self.source.id}", "type:OPERATION_EXECUTION")

    def rejects(self) -> list[tuple[str, str]]:
        """(reason, sample) of each reject."""
        filters = ["kind:reject", f"sourceId:{self.source.id}"]
        answer = self.solr.select(RUNS, {"q": "*:*", "fq": filters, "fl": "reason,body", "rows": 1_000})
        return [(row["reason"], orjson.loads(row["body"])["sample"]) for row in answer["response"]["docs"]]


@pytest.fixture
def logs(solr: Solr, spark: Callable[[], SparkSession], tmp_path: Path) -> Spark:
    return Spark(solr, spark, tmp_path)


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=19).compress(data)


BEYOND: dict[str, tuple[Callable[[], bytes], str]] = {
    "lines of one character": (lambda: zstd(b"x\n" * 7_000_000), "lines or more in"),
    "the same in many frames": (lambda: zstd(b"x\n" * 50_000) * 1_000, "lines or more in"),
    "the same in gzip": (lambda: gzip.compress(b"x\n" * 7_000_000), "lines or more in"),
    "out of all proportion": (lambda: zstd(b"x" * (60 << 20)) * 6, "bytes came out of"),
    "in many frames": (lambda: zstd((b"x" * 1_000 + b"\n") * 10_000) * 60, "bytes came out of"),
}


@pytest.mark.services
@pytest.mark.parametrize("case", BEYOND)
def test_an_overly_expensive_log_is_given_up_and_the_others_are_read(logs: Spark, case: str) -> None:
    made, reason = BEYOND[case]
    logs.bad.write_bytes(made())
    ended = logs.run()
    assert (ended.status, ended.failures) == (Status.FINISHED, ())
    assert logs.executions() == 1
    assert [reason in why for why, _ in logs.rejects() if why.startswith("not read further")] == [True]
    assert logs.run().status is Status.IDLE


def test_repeated_newlines_are_one_empty_line(logs: Spark) -> None:
    logs.bad.write_bytes(zstd(b"\n" * 14_700_000))
    assert logs.bad.stat().st_size < 500
    reading = lines.LogLines(
        logs.extractor.place,
        (LogPart("local-2", str(logs.bad), logs.bad.stat().st_size),),
        None,
        last_line=True,
        max_line_bytes=1 << 20,
        max_bytes=1 << 40,
    )
    assert len(list(reading)) < 1_000
    assert reading.at_end


def test_a_log_that_takes_too_much_cpu_is_given_up(logs: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_CPU_S", -1.0)
    (split,) = logs.extractor.plan(Positions(now_ms=logs.now_ms)).splits
    rejects = [each for each in logs.extractor.read(split) if hasattr(each, "reason")]
    assert [each.reason.partition(":")[0] for each in rejects] == ["not read further"]
    assert "s of CPU" in rejects[0].reason


def test_nul_bytes_before_an_event_are_skipped_and_counted(logs: Spark) -> None:
    good = next(each for each in logs.directory.iterdir())
    whole = good.read_bytes()
    at = whole.index(b"\n") + 1
    good.write_bytes(whole[:at] + b"\0" * (5 << 20) + whole[at:])
    logs.run()
    assert logs.executions() == 1
    assert [reason for reason, _ in logs.rejects()] == [f"{5 << 20} NUL bytes before a line skipped"]


def fifo(path: Path, secret: Path) -> None:
    os.mkfifo(path)


def link_out(path: Path, secret: Path) -> None:
    path.symlink_to(secret)


def device(path: Path, secret: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize(
    "put", [link_out, *(pytest.param(each, marks=pytest.mark.services) for each in (fifo, device))]
)
@pytest.mark.parametrize("when", ["before the plan", "between plan and read"])
def test_links_devices_and_pipes_are_not_opened(
    logs: Spark, tmp_path: Path, put: Callable[[Path, Path], None], when: str
) -> None:
    secret = tmp_path / "shadow"
    secret.write_text(f"{SECRET}\n")

    def step(name: str) -> None:
        if name == "read" and when == "between plan and read":
            logs.bad.unlink()
            put(logs.bad, secret)

    if when == "before the plan":
        put(logs.bad, secret)
    else:
        logs.bad.write_bytes(b"x\n")
    ended = logs.run(step)
    assert ended.status is Status.FINISHED
    assert logs.executions() == 1
    assert not any("salt" in f"{reason}{sample}" for reason, sample in logs.rejects())


def test_text_of_an_invalid_line_is_not_indexed(logs: Spark) -> None:
    logs.bad.write_text(f"{SECRET}\n")
    logs.run()
    ((_, sample),) = logs.rejects()
    assert sample == ""
