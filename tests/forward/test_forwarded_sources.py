"""Sources read what other hosts sent: as further directories, with the host of each execution."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from extractors.impala_events import ImpalaEvents
from extractors.spark import SparkEvents
from navlin.model.extractor import Extractor
from navlin.model.keys import EntityType
from navlin.model.plan import Positions
from navlin.model.records import Entity, Position, Record, Reject
from navlin.model.source import IMPALA, SPARK, Estate, Source
from tests.support.spark_logs import application, log_start, write_log
from tests.support.stream_logs import progress

SOURCE = Source("1", IMPALA, "IMPALA-1", "estate", claimable=False)
LOGS = Source("2", SPARK, "SPARK-1", "estate", claimable=False)
QUERY = "insert into d.tN select a from d.s"
PLANNED_MS = 1_800_000_000_000


def line(number: int) -> bytes:
    record = {
        "queryText": QUERY.replace("N", str(number)),
        "hash": f"{number:032d}",
        "user": "ann",
        "timestamp": 1_700_000_000 + number,
        "endTime": 1_700_000_001 + number,
        "edges": [{"sources": [1], "targets": [0], "edgeType": "PROJECTION"}],
        "vertices": [
            {"id": 0, "vertexType": "COLUMN", "vertexId": f"d.t{number}.a"},
            {"id": 1, "vertexType": "COLUMN", "vertexId": "d.s.a"},
        ],
    }
    return json.dumps(record).encode() + b"\n"


class Following:
    """Reads a source as the pipeline does, and saves its positions."""

    def __init__(self, extractor: Extractor) -> None:
        self.extractor, self.saved = extractor, dict[str, Any]()

    def read(self) -> list[Record]:
        plan = self.extractor.plan(Positions(self.saved, now_ms=PLANNED_MS))
        records = [record for split in plan.splits for record in self.extractor.read(split)]
        for each in (*plan.positions, *records):
            if isinstance(each, Position):
                self.saved[each.key] = json.loads(json.dumps(each.value))
        return records


def executions(records: list[Record]) -> list[tuple[Any, Any]]:
    """Return (start in epoch s, host) of the executions."""
    return sorted(
        (each.attributes["started"] // 1000, each.volatile.get("arrivedFrom"))
        for each in records
        if isinstance(each, Entity) and each.key.type is EntityType.OPERATION_EXECUTION
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "forwarded"


def impala(root: Path, own: tuple[str, ...] = ()) -> Following:
    return Following(ImpalaEvents(SOURCE, Estate("estate", (SOURCE,), forwarded=str(root)), own))


def files_of(root: Path, host: str, source: str = "IMPALA-1") -> Path:
    directory = root / "hosts" / host / source
    directory.mkdir(parents=True)
    return directory


def test_files_and_lines_of_other_hosts_are_read_with_their_host(root: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "impala_lineage_log_1.0-1").write_bytes(line(1))
    (files_of(root, "two.example") / "impala_lineage_log_1.0-1").write_bytes(line(2))
    lines = root / "lines" / "IMPALA-1"
    lines.mkdir(parents=True)
    (lines / "events-20231114-1-1-three.example.jsonl").write_bytes(line(3))
    following = impala(root, (str(own),))
    begun_s = 1_700_000_000
    assert executions(following.read()) == [
        (begun_s + 1, None), (begun_s + 2, "two.example"), (begun_s + 3, "three.example"),
    ]  # fmt: skip
    assert following.extractor.directories() == (str(own), str(lines))
    assert following.read() == []


def test_without_a_directory_of_its_own_a_source_waits_for_other_hosts(root: Path) -> None:
    following = impala(root)
    assert following.read() == []
    (files_of(root, "one") / "impala_lineage_log_1.0-1").write_bytes(line(1))
    assert len(executions(following.read())) == 1


def test_a_directory_is_listed_again_when_it_is_touched(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = files_of(root, "one") / "impala_lineage_log_1.0-1"
    log.write_bytes(line(1))
    os.utime(log.parent, (1_700_000_000, 1_700_000_000))
    following = impala(root)
    following.read()
    with log.open("ab") as more:
        more.write(line(2))
    assert following.read() == []
    os.utime(log.parent, (1_700_000_001, 1_700_000_001))
    assert len(executions(following.read())) == 1
    # Without a touch, it is listed after a while.
    with log.open("ab") as more:
        more.write(line(3))
    monkeypatch.setattr("extractors.lineage.remembered_files.RELISTED_S", 0.0)
    assert len(executions(following.read())) == 1


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (8_096, "rsyslog, whose maxMessageSize is 8k"),
        (1_048_576, "OpenTelemetry Collector, whose max_log_size is 1MiB"),
        (5_000, ""),
    ],
)
def test_the_reject_of_a_cut_line_names_the_limit_that_cut_it(root: Path, length: int, words: str) -> None:
    log = files_of(root, "one") / "impala_lineage_log_1.0-1"
    log.write_bytes((b'{"queryText": "' + b"x" * length)[:length] + b"\n" + line(1))
    following = impala(root)
    checked = list(following.extractor.check())
    (reject,) = [each for each in following.read() if isinstance(each, Reject)]
    assert (words in reject.reason, "may have been cut" in reject.reason) == (True, bool(words))
    assert [words in each for each in checked[1:]] == ([True] if words and length < 1 << 20 else [])


def test_a_streaming_query_has_the_host_of_its_log(root: Path) -> None:
    write_log(
        files_of(root, "one", "SPARK-1"),
        log_start(),
        application(),
        progress(["FileStreamSource[hdfs://nn/in]"]),
    )
    following = Following(SparkEvents(LOGS, Estate("estate", (LOGS,), forwarded=str(root)), ()))
    assert [host for _, host in executions(following.read())] == ["one"]


def test_spark_logs_are_read_from_several_directories_globs_and_hosts(root: Path, tmp_path: Path) -> None:
    for name in ("a/app-1", "b/app-2", "c/app-3"):
        log = tmp_path / name
        log.parent.mkdir()
        log.write_bytes(b'{"Event": "SparkListenerLogStart", "Spark Version": "3.5.0"}\n')
    (files_of(root, "one", "SPARK-1") / "app-4").write_bytes((tmp_path / "a" / "app-1").read_bytes())
    estate = Estate("estate", (LOGS,), forwarded=str(root))
    extractor = SparkEvents(LOGS, estate, (str(tmp_path / "[ab]"), f"file://{tmp_path}/c"))
    names = sorted(Path(split.name).name for split in extractor.plan(Positions(now_ms=PLANNED_MS)).splits)
    assert names == ["app-1", "app-2", "app-3", "app-4"]
    assert extractor.directories() == tuple(str(tmp_path / each) for each in "abc")
    gone = SparkEvents(LOGS, estate, (str(tmp_path / "absent"), str(tmp_path / "a")))
    plan = gone.plan(Positions(now_ms=PLANNED_MS))
    assert (len(plan.splits), "absent" in plan.note) == (2, True)
