"""Times in the records of Hive and Impala: every unit that occurs, and values that cannot be times."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from extractors.hive_events import HiveEvents
from extractors.impala_events import ImpalaEvents
from navlin.model.extractor import Extractor
from navlin.model.keys import EntityType
from navlin.model.plan import Positions
from navlin.model.source import HIVE, IMPALA, Estate, Source, source_id
from tests.support.record_edges import Read, read_all

STARTED, TOOK_MS = 1_700_000_000, 42_500
STARTED_MS = STARTED * 1000
ENDED_MS = STARTED_MS + TOOK_MS
FILE_MS = STARTED_MS + 3_600_000
"""Time of the file's last modification, and of the read."""
DAY_MS = 86_400_000
YEAR_2100 = 4_102_444_800

Ms = int | None


def after(start: int) -> int:
    """The duration, in ms, that Hive computes if the start comes from another clock: now, in epoch ms, minus that
    start."""
    return ENDED_MS - start


HOUR_NS = 3_600 * 1_000_000_000

HIVES: dict[str, tuple[Any, Any, Ms, Ms, bool]] = {
    "seconds, and milliseconds": (STARTED, TOOK_MS, STARTED_MS, ENDED_MS, True),
    "as text": (str(STARTED), str(TOOK_MS), STARTED_MS, ENDED_MS, True),
    "milliseconds": (STARTED_MS, TOOK_MS, STARTED_MS, ENDED_MS, True),
    "at once": (STARTED, 0, STARTED_MS, STARTED_MS, True),
    "without a duration": (STARTED, None, STARTED_MS, None, True),
    "milliseconds without a duration": (STARTED_MS, None, STARTED_MS, None, True),
    "without either": (None, None, None, None, True),
    "without a start": (None, TOOK_MS, None, None, True),
    # Hive takes these starts from a clock in nanoseconds since the host's boot, and divides them by a thousand.
    "a host that is up for three minutes: 1975": (158 * 10**6, after(158 * 10**9), None, ENDED_MS, True),
    "for 20 hours: 4251": (20 * HOUR_NS // 1000, after(20 * HOUR_NS), None, ENDED_MS, True),
    "for 27 minutes: 2021": (1_620 * 10**6, after(1_620 * 10**9), None, ENDED_MS, True),
    "for 12 days: 2002, in milliseconds": (290 * HOUR_NS // 1000, after(290 * HOUR_NS), None, ENDED_MS, True),
    "for two years": (17_520 * HOUR_NS // 1000, after(17_520 * HOUR_NS), None, ENDED_MS, True),
    "a clock that is not there yet": (-5 * 10**9, after(-5 * 10**12), None, ENDED_MS, True),
    "a clock that begins": (0, after(0), None, ENDED_MS, True),
    "a start in microseconds": (STARTED_MS, after(STARTED_MS * 1000), None, ENDED_MS, True),
    "a clock that was set back meanwhile": (STARTED, -1_500, None, STARTED_MS - 1_500, True),
    "nothing": (0, 0, None, None, False),
    "less than nothing": (-1, -1, None, None, False),
    "zero alone": (0, None, None, None, False),
    "1975 alone": (158 * 10**6, None, None, None, False),
    "4251 alone": (72 * 10**9, None, None, None, False),
    "1985 in milliseconds": (500_000_000_000, TOOK_MS, None, None, False),
    "the next century": (YEAR_2100, TOOK_MS, None, None, False),
    "the next century in milliseconds": (YEAR_2100 * 1000, TOOK_MS, None, None, False),
    "next week": (STARTED + 7 * 86_400, TOOK_MS, None, None, False),
    "longer than it can take": (STARTED, 10**15, STARTED_MS, None, False),
    "past all numbers": (10**30, TOOK_MS, None, None, False),
    "no number": (True, TOOK_MS, None, None, False),
    "a list": ([STARTED], TOOK_MS, None, None, False),
    "no number for a duration": (STARTED, "long", STARTED_MS, None, False),
}

IMPALAS: dict[str, tuple[Any, Any, Ms, Ms, bool]] = {
    "seconds": (STARTED, STARTED + 42, STARTED_MS, STARTED_MS + 42_000, True),
    "milliseconds": (STARTED_MS, STARTED_MS + 42, STARTED_MS, STARTED_MS + 42, True),
    "at once": (STARTED, STARTED, STARTED_MS, STARTED_MS, True),
    "without an end": (STARTED, None, STARTED_MS, None, True),
    "without a start": (None, STARTED, None, STARTED_MS, True),
    "a start of nothing": (0, STARTED, None, STARTED_MS, False),
    "a start of less": (-1, STARTED, None, STARTED_MS, False),
    "a start of 1975": (158 * 10**6, STARTED, None, STARTED_MS, False),
    "a start of 4251": (72 * 10**9, STARTED, None, STARTED_MS, False),
    "a start in nanoseconds": (STARTED_MS * 10**6, STARTED, None, STARTED_MS, False),
    "an end in the next century": (STARTED, YEAR_2100, STARTED_MS, None, False),
    "an end next week": (STARTED, STARTED + 7 * 86_400, STARTED_MS, None, False),
    "an end before its start": (STARTED, STARTED - 5, STARTED_MS, None, False),
    "an end that is no number": (STARTED, "soon", STARTED_MS, None, False),
}

GRAPH: dict[str, Any] = {
    "queryText": "INSERT INTO s.u SELECT a FROM s.t",
    "hash": "0" * 32,
    "user": "ana",
    "edges": [{"sources": [1], "targets": [0], "edgeType": "PROJECTION"}],
    "vertices": [
        {"id": 0, "vertexType": "COLUMN", "vertexId": "s.u.b"},
        {"id": 1, "vertexType": "COLUMN", "vertexId": "s.t.a"},
    ],
}


def hive(directory: Path) -> Extractor:
    source = Source(source_id("c", "HIVESERVER2-1"), HIVE, "HIVESERVER2-1", "c", claimable=False)
    return HiveEvents(source, Estate("c", (source,)), str(directory))


def impala(directory: Path) -> Extractor:
    source = Source(source_id("c", "IMPALA-1"), IMPALA, "IMPALA-1", "c")
    return ImpalaEvents(source, Estate("c", (source,)), str(directory), "*")


def read(
    extractor: Callable[[Path], Extractor],
    directory: Path,
    *records: dict[str, Any],
    file_ms: int = FILE_MS,
    now_ms: int = FILE_MS,
) -> Read:
    log = directory / "records"
    lines = ({name: value for name, value in each.items() if value is not None} for each in records)
    log.write_text("".join(json.dumps(each) + "\n" for each in lines))
    os.utime(log, ns=(file_ms * 1_000_000, file_ms * 1_000_000))
    made = extractor(directory)
    return Read(read_all(made, made.plan(Positions(now_ms=now_ms))))


def stands(got: Read) -> bool:
    """Return whether everything in a record except its times was read."""
    complete = "incomplete" not in got.operation.attributes and len(got.covers) == 1
    return complete and got.columns == {"PROJECTION s.t.a -> s.u.b"}


@pytest.mark.parametrize("case", HIVES)
def test_hives_times_are_computed_or_rejected_and_the_lineage_is_kept(tmp_path: Path, case: str) -> None:
    timestamp, duration, started_ms, ended_ms, fine = HIVES[case]
    got = read(hive, tmp_path, GRAPH | {"timestamp": timestamp, "duration": duration})
    run = got.execution.attributes
    assert (run["started"], run["ended"]) == (started_ms, ended_ms)
    assert got.times_ms == {ended_ms or started_ms or FILE_MS}
    assert [reject.reason.partition(":")[0] for reject in got.rejects] == (
        [] if fine else ["invalid time in the record"]
    )
    assert not any(reject.tree_path for reject in got.rejects)
    assert stands(got)


@pytest.mark.parametrize("case", IMPALAS)
def test_impalas_times_are_used_or_rejected_and_the_lineage_is_kept(tmp_path: Path, case: str) -> None:
    timestamp, end_time, started_ms, ended_ms, fine = IMPALAS[case]
    got = read(impala, tmp_path, GRAPH | {"timestamp": timestamp, "endTime": end_time})
    run = got.execution.attributes
    assert (run["started"], run["ended"]) == (started_ms, ended_ms)
    assert got.times_ms == {ended_ms or started_ms}
    assert [reject.reason.partition(":")[0] for reject in got.rejects] == (
        [] if fine else ["invalid time in the record"]
    )
    assert stands(got)


def test_an_impala_record_without_a_valid_time_is_rejected_with_its_values(tmp_path: Path) -> None:
    got = read(impala, tmp_path, GRAPH | {"timestamp": 0, "endTime": YEAR_2100})
    (reject,) = got.rejects
    assert "neither endTime nor timestamp" in reject.reason
    assert str(YEAR_2100) in reject.reason
    assert got.entities == []


@pytest.mark.parametrize(
    ("created", "expected", "fine"),
    [
        (STARTED - 9, (STARTED - 9) * 1000, True),
        (-1, STARTED_MS, True),
        (0, None, True),
        (-2, None, False),
        (YEAR_2100, None, False),
    ],
)
def test_a_table_creation_time_is_validated_too(
    tmp_path: Path, created: int, expected: Ms, fine: bool
) -> None:
    vertices = [dict(GRAPH["vertices"][0]), GRAPH["vertices"][1]]
    vertices[0] |= {"metadata": {"tableName": "s.u", "tableCreateTime": created}}
    got = read(impala, tmp_path, GRAPH | {"timestamp": STARTED, "vertices": vertices})
    (wrote,) = (each for each in got.relations if each.ep1.type is EntityType.OPERATION)
    assert wrote.attributes.get("tableCreateTime") == expected
    assert (got.rejects == []) is fine


def test_runs_with_invalid_times_remain_distinct(tmp_path: Path) -> None:
    records = [GRAPH | {"timestamp": 72 * 10**9 + at, "duration": after(72 * 10**12)} for at in (0, 1, 1)]
    got = read(hive, tmp_path, *records)
    assert len({run.key.identity for run in got.of(EntityType.OPERATION_EXECUTION)}) == 2


@pytest.mark.parametrize("made_by", [hive, impala])
def test_a_file_without_a_modification_time_is_read_by_the_clock(
    tmp_path: Path, made_by: Callable[[Path], Extractor]
) -> None:
    got = read(made_by, tmp_path, GRAPH | {"timestamp": STARTED}, file_ms=0)
    assert got.execution.attributes["started"] == STARTED_MS
    assert got.rejects == []


@pytest.mark.parametrize("made_by", [hive, impala])
def test_a_clock_hours_ahead_is_believed(tmp_path: Path, made_by: Callable[[Path], Extractor]) -> None:
    ahead_s = (FILE_MS + DAY_MS // 2) // 1000
    got = read(made_by, tmp_path, GRAPH | {"timestamp": ahead_s})
    assert got.execution.attributes["started"] == ahead_s * 1000
    assert got.rejects == []
