"""Damaged records in logs with one record per line: lineage of Impala, Hive, Spark and Sqoop."""

from __future__ import annotations

import itertools
import json
import random
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from extractors.hive_events import HiveEvents
from extractors.impala_events import ImpalaEvents
from extractors.lineage.kept_open_files import KeptOpenFiles
from extractors.lineage.line_logs import LineLogs
from extractors.openlineage import OpenLineageEvents
from extractors.spark import SparkLineageEvents
from extractors.yarn import SqoopPublications
from navlin.model.plan import Positions
from navlin.model.source import HIVE, IMPALA, SPARK, SQOOP
from tests.lineage_logs import test_hive_events, test_impala_events
from tests.openlineage import test_openlineage_facets
from tests.pipeline.test_extractor_contract import CASES
from tests.spark import test_spark_lineage_events
from tests.support import damage, openlineage
from tests.support.damaged.tallies import (
    FILES_A_PLAN,
    LARGEST_BYTES,
    Damaged,
    Outcome,
    Reader,
    Tally,
    Task,
    damaged_source,
    in_a_task,
    in_time,
)
from tests.support.own_descriptors import holding
from tests.yarn import test_sqoop_publications


@dataclass(frozen=True, slots=True)
class LineLog:
    """A line-based log that an extractor follows. ``sound`` are the record before and the record after a damaged one, if
    there are any. ``not_ours`` returns whether, by a rule of the format, a text contains no record of the extractor.
    """

    extractor: Callable[[str], LineLogs]
    records: Sequence[Any]
    sound: Sequence[bytes]
    not_ours: Callable[[bytes], bool]
    ways: Callable[[Any, random.Random], tuple[str, bytes]] = damage.damaged_json
    files_a_plan: int = FILES_A_PLAN

    def damage(self, folder: Path, chance: random.Random, count: int) -> Tally:
        tally = Tally()
        sound = self._executions_of_sound(folder / "sound") if self.sound else set()
        for number in itertools.count():
            if tally.total >= count:
                return tally
            directory = folder / str(number)
            directory.mkdir()
            damaged: dict[str, tuple[str, bytes]] = {}
            for file in range(min(self.files_a_plan, count - tally.total)):
                way, text = self.ways(chance.choice(self.records), chance)
                (path := directory / f"log{file}").write_bytes(
                    b"\n".join((*self.sound[:1], text, *self.sound[1:], b""))
                )
                damaged[str(path)] = way, text
            for name, task in self._read(directory).items():
                way, text = damaged[name]
                tally.add(way, self._outcome(task, Path(name), text, sound))
            shutil.rmtree(directory)
        raise AssertionError("it counts for ever")

    def _executions_of_sound(self, directory: Path) -> set[str]:
        directory.mkdir(parents=True)
        (directory / "log").write_bytes(b"\n".join((*self.sound, b"")))
        (task,) = self._read(directory).values()
        if len(task.executions) != len(self.sound):
            raise Damaged(f"the sound records themselves do not read: {task.summary}")
        return task.executions

    def _read(self, directory: Path) -> dict[str, Task]:
        extractor = self.extractor(str(directory))
        tasks = {}
        with holding(KeptOpenFiles()):
            for split in extractor.plan(Positions()).splits:
                with in_time(split.name):
                    tasks[split.name] = in_a_task(extractor, split)
        return tasks

    def _outcome(self, task: Task, path: Path, text: bytes, sound: set[str]) -> Outcome:
        begin = sum(len(each) + 1 for each in self.sound[:1])
        summary = task.summary
        if summary.failures:
            raise Damaged(f"the file failed: {summary.failures}: {text[:2_000]!r}")
        if lost := sound - task.executions:
            raise Damaged(
                f"{len(lost)} sound records beside it are lost, {summary.rejects}: {text[:2_000]!r}"
            )
        for reject in summary.rejects:
            # Beyond the limit for one file, rejects are only counted, in a single reject without an offset.
            placed = reject.count > 1 or begin <= reject.offset <= begin + len(text)
            if reject.place != str(path) or not placed or not reject.reason:
                raise Damaged(f"{reject} is not where the damage is: {text[:2_000]!r}")
        if summary.rejects:
            return Outcome.REJECTED
        if task.executions - sound:
            return Outcome.VALID
        if not self.not_ours(text):
            raise Damaged(f"neither read nor rejected: {text[:2_000]!r}")
        return Outcome.PASSED_OVER


def _blank(text: bytes) -> bool:
    return not text.strip()


def _no_key_of_lineage(text: bytes) -> bool:
    """Hive's hook shares its log with other loggers, whose lines contain none of these keys."""
    return not re.search(rb'"(?:queryText|vertexType|edgeType)"\s*:', text)


def _end_of_an_application(text: bytes) -> bool:
    """Whether the text contains only ends of applications, possibly several on one line."""
    rest = text.decode("utf-8", "replace").strip()
    while rest:
        try:
            record, end = json.JSONDecoder().raw_decode(rest)
        except json.JSONDecodeError:
            return False
        if not (isinstance(record, dict) and record.get("ended") is True):
            return False
        rest = rest[end:].strip()
    return True


def json_lines_of(corpora: Sequence[Path], *names: str) -> list[Any]:
    """Return records from the corpora. Each line of a file is a record; very large records are left out."""
    found = []
    for folder in corpora:
        for name in names:
            for path in sorted(folder.glob(name)):
                for line in path.read_bytes().splitlines():
                    at = line.find(b"{")
                    if at >= 0 and len(line) <= LARGEST_BYTES:
                        found.append(json.loads(line[at:]))
    return found


def line_of(record: Any) -> bytes:
    return damage.to_json(record).encode()


def of_its_case(name: str) -> Reader:
    """Return a reader of an extractor that follows files of lines: it damages the first line of the extractor's `Case`."""

    def damaged(folder: Path, chance: random.Random, count: int, corpora: Sequence[Path]) -> Tally:
        directory = folder / "case"
        directory.mkdir(parents=True)
        with CASES[name](lambda service: None, directory) as case:
            [file] = directory.iterdir()
            line = file.read_bytes().splitlines()[0]

            def follow(directory: str) -> LineLogs:
                extractor: Any = case.extractor
                followed: LineLogs = replace(extractor, directory=directory, pattern="log*")
                return followed

            return LineLog(follow, [json.loads(line)], (), _blank).damage(folder, chance, count)

    return damaged


def impala_events(folder: Path, chance: random.Random, count: int, corpora: Sequence[Path]) -> Tally:
    made = test_impala_events
    records = [made.of_5_0(), made.of_5_0_in_full(), *json_lines_of(corpora, "impala/impala_lineage_log*")]
    before, after = (line_of({**made.of_5_0(), "queryId": f"sound:{each}"}) for each in "ab")

    def follow(directory: str) -> LineLogs:
        return ImpalaEvents(*damaged_source("impala", IMPALA), directory, "log*")

    return LineLog(follow, records, (before, after), _blank).damage(folder, chance, count)


def sqoop_publications(folder: Path, chance: random.Random, count: int, corpora: Sequence[Path]) -> Tally:
    made = test_sqoop_publications
    query = {"storeQuery": "SELECT id FROM crm.lines WHERE $CONDITIONS"}
    records = [
        made.RECORD,
        made.RECORD | query,
        *json_lines_of(corpora, "seed-systems/sqoop/published-*.json"),
    ]
    before, after = (line_of(made.RECORD | {"user": f"sound-{each}"}) for each in "ab")

    def follow(directory: str) -> LineLogs:
        return SqoopPublications(*damaged_source("sqoop", SQOOP), directory, "log*")

    return LineLog(follow, records, (before, after), _blank).damage(folder, chance, count)


def hive_events(folder: Path, chance: random.Random, count: int, corpora: Sequence[Path]) -> Tally:
    made = test_hive_events
    records = [made.record(), *json_lines_of(corpora, "hive/*.log")]
    before, after = (line_of(made.record(user=f"sound-{each}")) for each in "ab")

    def follow(directory: str) -> LineLogs:
        return HiveEvents(*damaged_source("hive", HIVE), directory, "log*")

    return LineLog(follow, records, (before, after), _no_key_of_lineage).damage(folder, chance, count)


def spark_lineage_events(folder: Path, chance: random.Random, count: int, corpora: Sequence[Path]) -> Tally:
    made = test_spark_lineage_events
    ends = [made.table("sales.orders"), made.path("hdfs://ns1/in")], [made.path("hdfs://ns1/out")]
    records = [made.record(*ends), made.record(*ends, errorCode="10", message="failed"), made.END]
    before, after = (
        line_of(made.record(*ends, applicationID=f"application_1700000000000_90{each}", yarnApplicationId=""))
        for each in (1, 2)
    )

    def follow(directory: str) -> LineLogs:
        return SparkLineageEvents(*damaged_source("spark lineage", SPARK), directory, "log*")

    return LineLog(follow, records, (before, after), _end_of_an_application).damage(folder, chance, count)


def openlineage_events(folder: Path, chance: random.Random, count: int, corpora: Sequence[Path]) -> Tally:
    made = openlineage
    facet = made.of_fields({"x": [made.source("a.a", "x", made.SUM), made.source("a.b", "k", made.JOIN)]})
    records = [
        {**made.wrote(facet), "run": {"runId": "damaged", "facets": {}}},
        {**made.COMPLETE, "run": {"runId": "damaged", "facets": {}}},
        *(
            {**each, "eventType": "COMPLETE"}
            for folder in corpora
            for _, each in test_openlineage_facets.examples(folder)
        ),
    ]
    before, after = (line_of(made.event("COMPLETE", 1, f"sound {each}")) for each in "ab")

    def follow(directory: str) -> LineLogs:
        return OpenLineageEvents(*damaged_source("openlineage", "SDK"), directory, "log*")

    # The events of a run may be in several files, so all files of a plan are one unit of work.
    log = LineLog(follow, records, (before, after), _tells_of_no_end, files_a_plan=1)
    return log.damage(folder, chance, count)


def _tells_of_no_end(text: bytes) -> bool:
    """Whether the text reports no end of a run. Events of a run that has not ended, and events without a run, are read
    but do not make an execution yet. Separators between events (RFC 7464, lines of an array) are not events.
    """
    if not text.strip(b" \t\r\n\f\v\0\x1e,[]"):
        return True
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return all(
        isinstance(each, dict)
        and (str(each.get("eventType")).upper() not in ("COMPLETE", "FAIL", "ABORT") or "run" not in each)
        for each in (value if isinstance(value, list) else [value])
    )
