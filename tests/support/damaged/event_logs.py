"""Damaged events in Spark's event logs, plain and compressed."""

from __future__ import annotations

import itertools
import json
import random
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import cramjam
import zstandard

from extractors.spark import SparkEvents, events
from navlin.model.plan import Positions
from navlin.model.source import SPARK
from tests.support import damage, spark_logs, stream_logs
from tests.support.damaged.tallies import (
    FILES_A_PLAN,
    LARGEST_BYTES,
    Damaged,
    Outcome,
    Tally,
    Task,
    damaged_source,
    in_a_task,
    in_time,
)

_SPARK_EVENT = re.compile(rb'\s*\{\s*"Event"\s*:\s*"([^"]{1,200})"')
_NOT_PARSED: Final = frozenset(
    {None, events.JOB_START, events.JOB_END, events.LOG_START, events.APPLICATION_END}
)
"""Event kinds whose lines are not parsed as JSON. None is for all irrelevant kinds, which are recognized by the first
bytes of a line.
"""
_PACKED: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "zstandard": lambda data: zstandard.ZstdCompressor(level=1, write_checksum=True).compress(data),
    "gzip": lambda data: bytes(cramjam.gzip.compress(data)),
}
"""Compression formats with a checksum; without a checksum, a changed letter could not be detected."""
PACKED_SHARE: Final = 0.15
"""Proportion of logs in which the compressed file is damaged instead of one event."""


def spark_events(folder: Path, chance: random.Random, count: int, corpora: Sequence[Path]) -> Tally:
    made = spark_logs
    copies = [made.insert(f"/w/sound_{each}", made.scan("db.a"), table=f"db.sound_{each}") for each in "ab"]
    beginning = made.lines(
        made.log_start(), made.application(), made.start(900_001, copies[0]), made.end(900_001)
    )
    ending = made.lines(made.start(900_002, copies[1]), made.end(900_002), made.application_end())
    records = [*_spark_records(), *_spark_events_of(corpora)]
    extractor = SparkEvents(*damaged_source("spark", SPARK), str(folder))
    tally = Tally()
    for number in itertools.count():
        if tally.total >= count:
            return tally
        directory = folder / str(number)
        directory.mkdir(parents=True)
        extractor = SparkEvents(extractor.source, extractor.estate, str(directory))
        damaged: dict[str, tuple[str, bytes | None]] = {}
        for _ in range(min(FILES_A_PLAN, count - tally.total)):
            log = directory / f"application_1_{len(damaged):04d}"
            if chance.random() < PACKED_SHARE:
                codec, of_bytes = chance.choice(list(_PACKED)), chance.choice(damage.OF_BYTES)
                log.write_bytes(of_bytes(_PACKED[codec](beginning + ending), chance))
                damaged[str(log)] = f"{codec}, {of_bytes.__name__}", None
            else:
                way, text = damage.damaged_json(chance.choice(records), chance)
                log.write_bytes(beginning + text + b"\n" + ending)
                damaged[str(log)] = way, text
        splits = {split.name: split for split in extractor.plan(Positions()).splits}
        for path, (way, event) in damaged.items():
            if path not in splits:
                if event is not None or Path(path).stat().st_size:
                    raise Damaged(f"{way}: the log is not read at all")
                tally.add(way, Outcome.PASSED_OVER)
                continue
            with in_time(path):
                task = in_a_task(extractor, splits[path])
            tally.add(way, _of_a_log(task, way, path, event))
        shutil.rmtree(directory)
    raise AssertionError("it counts for ever")


def _of_a_log(task: Task, way: str, path: str, event: bytes | None) -> Outcome:
    about = f"{task.summary.rejects}: {(event or b'')[:2_000]!r}"
    if task.summary.failures:
        raise Damaged(f"the log failed: {task.summary.failures}, {about}")
    for reject in task.summary.rejects:
        if reject.place != path or not reject.reason:
            raise Damaged(f"{reject} does not name the log")
    written = {
        name
        for each in task.documents
        if each["type"] == "OPERATION_EXECUTION"
        for name in ("sound_a", "sound_b")
        if name in str(each.get("outputs"))
    }
    if event is not None and len(written) < 2:
        raise Damaged(f"a sound execution beside it is lost, {about}")
    if task.summary.rejects:
        return Outcome.REJECTED
    if event is None:
        if not Path(path).read_bytes().strip(b"\0 \t\r\n"):
            return Outcome.PASSED_OVER
        if len(written) < 2:
            raise Damaged(f"{way}: executions are lost without a word: {task}")
        return Outcome.VALID
    for line in event.split(b"\n"):
        if not _passed_over(line) and not _is_an_event(line):
            raise Damaged(f"neither read nor rejected: {line[:2_000]!r}")
    return Outcome.PASSED_OVER if all(map(_passed_over, event.split(b"\n"))) else Outcome.VALID


def _passed_over(line: bytes) -> bool:
    found = _SPARK_EVENT.match(line)
    return not line.replace(b"\0", b"").strip() or (
        found is not None and events.KINDS.get(found[1]) in _NOT_PARSED
    )


def _is_an_event(line: bytes) -> bool:
    try:
        event = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return False
    return isinstance(event, dict) and isinstance(event.get("Event"), str)


def _spark_records() -> list[Any]:
    made = spark_logs
    plan = made.insert("/w/b", made.scan("db.a"), made.scan("db.c"), table="db.b")
    return [
        made.log_start(),
        made.environment(fs__defaultFS="hdfs://ns1"),
        made.application(),
        made.application_end(),
        made.start(1, plan),
        made.start(2, made.command("CreateViewCommand", "`db`.`v`, select 1"), root=1),
        made.end(1),
        made.end(2, error="it failed"),
        made.job_start(1, 1, group="group"),
        made.job_end(1, failed=True),
        stream_logs.started(),
        stream_logs.terminated(),
    ]


def _spark_events_of(corpora: Sequence[Path]) -> list[Any]:
    """Return up to 60 events of each kind that the extractor reads, from plain and compressed logs."""
    found: dict[str, list[Any]] = {}
    for folder in corpora:
        for path in sorted((folder / "spark-event-logs").iterdir()):
            if not path.is_file() or path.suffix == ".jsonl":
                continue
            data = path.read_bytes()
            if path.suffix == ".zstd":
                with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as reader:
                    data = reader.read()
            for line in data.splitlines():
                known = _SPARK_EVENT.match(line)
                kind = events.KINDS.get(known[1]) if known else None
                if kind and len(line) < LARGEST_BYTES and len(found.setdefault(kind, [])) < 60:
                    try:
                        found[kind].append(json.loads(line))
                    except ValueError:
                        continue
    return [each for of_kind in found.values() for each in of_kind]
