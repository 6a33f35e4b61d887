"""Lineage logs of an engine that are followed while they are rotated, truncated, removed and restored at random."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from extractors.impala_events import ImpalaEvents
from extractors.lineage.kept_open_files import KeptOpenFiles
from navlin.index.journal.runs import RunRecord, Status
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS
from navlin.model.source import IMPALA, Estate, Source, source_id
from navlin.pipeline.run import Pipeline
from tests.support.own_descriptors import holding
from tests.support.pipeline_estate import unstamped


class FollowedLogs:
    """A directory with the lineage log of an Impala that appends records, and the source that follows this log.

    No fault injected into the files may lose a record.
    """

    def __init__(
        self, solr: Solr, spark: Callable[[], SparkSession], folder: Path, cluster: str = ""
    ) -> None:
        self.solr = solr
        self.cluster = cluster or f"cluster-{uuid.uuid4().hex[:8]}"
        self.source = Source(source_id(self.cluster, "logs"), IMPALA, "logs", self.cluster)
        self.directory, self.elsewhere = folder / "logs", folder / "elsewhere"
        for each in (self.directory, self.elsewhere):
            shutil.rmtree(each, ignore_errors=True)
            each.mkdir()
        self.log = self.directory / "impala_lineage_log_1.0-1"
        self.held = KeptOpenFiles()
        self.written = 0
        self._rotated = 0
        self._ticks = 0
        extractor = ImpalaEvents(self.source, Estate(self.cluster, (self.source,)), str(self.directory))
        self.extractor, self.pipeline = extractor, Pipeline(solr.address, spark, self._clock)

    def _clock(self) -> int:
        self._ticks += 1
        return time.time_ns() // 1_000_000 + self._ticks

    def write(self, count: int, *, to: Path | None = None) -> None:
        with (to or self.log).open("ab") as log:
            for _ in range(count):
                self.written += 1
                log.write(_record(self.written))

    def aside(self) -> Path:
        """Return a new file name in the directory that matches the source's pattern."""
        self._rotated += 1
        return self.directory / f"impala_lineage_log_1.0-0.{self._rotated}"

    def run(self) -> RunRecord:
        """Follow the logs once. Raises an AssertionError if the run fails, because no change to the logs may make it
        fail.
        """
        with holding(self.held):
            record = self.pipeline.run(EXTRACTORS["impala_events"], self.extractor)
        if record.status not in (Status.FINISHED, Status.IDLE) or record.failures:
            raise AssertionError(f"undisturbed: {record}")
        return record

    def catch_up(self) -> None:
        for _ in range(5):
            if self.run().status is Status.IDLE:
                return
        raise AssertionError("it finds something new again and again")

    def index(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Map (core, identity) to each document of this source, without navlin's own stamps."""
        found = {}
        for core, writer in ((ELEMENTS, "sourceId"), (RELATIONS, "writer")):
            self.solr.commit(core, soft=True)
            for each in self.solr.cursor(core, f"{writer}:{self.source.id}", "*"):
                # ``asOf`` comes from one of the statement's runs. Which one depends on the batches, because equal
                # documents are not rewritten.
                found[core, each["identity"]] = {
                    name: value
                    for name, value in unstamped(each).items()
                    if name not in ("_version_", "asOf")
                }
        return found

    def wipe(self) -> None:
        for core, writer in ((ELEMENTS, "sourceId"), (RELATIONS, "writer"), ("nav_runs", "sourceId")):
            ids = [
                each["identity"] for each in self.solr.cursor(core, f"{writer}:{self.source.id}", "identity")
            ]
            self.solr.delete_ids(core, ids)
            self.solr.commit(core, soft=True)


def _record(number: int) -> bytes:
    def vertex(at: int, column: str) -> dict[str, Any]:
        return {"id": at, "vertexType": "COLUMN", "vertexId": column}

    record = {
        # Later records repeat these statements with different query ids.
        "queryText": " ".join(["INSERT INTO", f"s.t{number % 40}", "SELECT a FROM s.o"]),
        "hash": f"{number % 40:032x}",
        "queryId": f"{number:016x}:0000000000000001",
        "user": "etl",
        "timestamp": 1_700_000_000 + number,
        "endTime": 1_700_000_001 + number,
        "edges": [{"sources": [1], "targets": [0], "edgeType": "PROJECTION"}],
        "vertices": [vertex(0, f"s.t{number % 40}.a"), vertex(1, "s.o.a")],
    }
    return json.dumps(record).encode() + b"\n"


# -- Faults in followed logs ---------------------------------------------------------------------------------------------

LogNemesis = Callable[[FollowedLogs, random.Random], None]


def written_to(logs: FollowedLogs, chance: random.Random) -> None:
    logs.write(chance.randrange(1, 20))


def half_a_line_is_there(logs: FollowedLogs, chance: random.Random) -> None:
    """The second half of the line is written after the next poll."""
    logs.written += 1
    whole = _record(logs.written)
    at = chance.randrange(1, len(whole))
    for part in (whole[:at], whole[at:]):
        with logs.log.open("ab") as log:
            log.write(part)
        logs.run()


def rotated(logs: FollowedLogs, chance: random.Random) -> None:
    logs.write(3)
    logs.log.rename(logs.aside())
    logs.write(3)


def rotated_while_it_is_written(logs: FollowedLogs, chance: random.Random) -> None:
    """The writer keeps the rotated file open, and continues to write to it."""
    aside = logs.aside()
    logs.write(2)
    logs.log.rename(aside)
    logs.write(2, to=aside)
    logs.write(1)
    logs.run()
    logs.write(2, to=aside)


def moved_out_of_the_directory(logs: FollowedLogs, chance: random.Random) -> None:
    """The file was polled once before, so its descriptor is held open."""
    logs.write(2)
    logs.run()
    logs.write(2)
    logs.log.rename(logs.elsewhere / f"moved-{logs.written}")
    logs.write(2)


def compressed_as_it_is_rotated(logs: FollowedLogs, chance: random.Random) -> None:
    logs.write(2)
    logs.run()
    logs.write(2)
    aside = logs.aside()
    logs.log.rename(aside)
    with aside.open("rb") as plain, gzip.open(f"{aside}.gz", "wb") as archive:
        shutil.copyfileobj(plain, archive)
    shutil.copystat(aside, f"{aside}.gz")
    aside.unlink()
    logs.write(1)


def copied_and_truncated(logs: FollowedLogs, chance: random.Random) -> None:
    """Rotate like logrotate's ``copytruncate``: the copy is a new file, and the log starts again at its beginning."""
    logs.write(3)
    shutil.copyfile(logs.log, logs.aside())
    os.truncate(logs.log, 0)
    if chance.random() < 0.5:
        logs.run()
    logs.write(3)


def truncated_under_its_writer(logs: FollowedLogs, chance: random.Random) -> None:
    """The log is truncated after it was read to its end. The writer continues at the old offset, so that the log starts
    with a hole of NUL bytes.
    """
    logs.write(1)
    logs.catch_up()
    size = logs.log.stat().st_size
    os.truncate(logs.log, 0)
    os.truncate(logs.log, size)
    logs.write(2)


def removed_when_read(logs: FollowedLogs, chance: random.Random) -> None:
    logs.write(1)
    logs.catch_up()
    logs.log.unlink()
    logs.write(1)


def set_back_to_an_earlier_copy_and_grown_again(logs: FollowedLogs, chance: random.Random) -> None:
    """The log is restored from a backup: it has the same name but ends earlier, and continues with other records. The
    file may be a new one or the old one.
    """
    logs.write(2)
    backup = logs.log.read_bytes()
    logs.write(2)
    logs.catch_up()
    restored = logs.log.with_suffix(".restored")
    restored.write_bytes(backup)
    if chance.random() < 0.5:
        restored.rename(logs.log)
    else:
        logs.log.write_bytes(backup)
        restored.unlink()
    if chance.random() < 0.5:
        logs.run()
    logs.write(chance.choice((1, 2, 8)))


def under_a_second_name(logs: FollowedLogs, chance: random.Random) -> None:
    logs.write(1)
    os.link(logs.log, logs.aside())


def exchanged_for_what_is_no_file(logs: FollowedLogs, chance: random.Random) -> None:
    """The log is replaced for one poll."""
    logs.write(1)
    aside = logs.elsewhere / f"hidden-{logs.written}"
    logs.log.rename(aside)
    other = chance.choice((os.mkfifo, os.mkdir))
    other(logs.log)
    logs.run()
    logs.log.rmdir() if other is os.mkdir else logs.log.unlink()
    aside.rename(logs.log)
    logs.write(1)


OF_LOGS: tuple[LogNemesis, ...] = (
    written_to,
    half_a_line_is_there,
    rotated,
    rotated_while_it_is_written,
    moved_out_of_the_directory,
    compressed_as_it_is_rotated,
    copied_and_truncated,
    truncated_under_its_writer,
    removed_when_read,
    set_back_to_an_earlier_copy_and_grown_again,
    under_a_second_name,
    exchanged_for_what_is_no_file,
)
