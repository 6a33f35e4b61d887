"""Impossible times never reach the index, whichever extractor read them. Their records are indexed without these
times."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest

from extractors.hive_events import HiveEvents
from extractors.impala_events import ImpalaEvents
from extractors.spark import SparkEvents, SparkLineageEvents
from extractors.yarn import SqoopPublications
from navlin.index.schema.fields import DATES, date_ms, is_date, odd_dates, to_fields
from navlin.index.write.listing import listing_envelopes, odd_dates_of
from navlin.model.extractor import Extractor
from navlin.model.plan import Positions
from navlin.model.records import Listing, Reject, Split
from navlin.model.source import Estate, Source
from navlin.pipeline.reading import read_splits, summarize
from tests.services.rest import ResourceManager
from tests.support import yarn_rounds
from tests.support.spark_logs import (
    application,
    application_end,
    end,
    insert,
    log_start,
    scan,
    start,
    write_log,
)
from tests.support.yarn_rounds import Following, app
from tests.yarn import test_sqoop_publications

NOW_MS = 1_700_000_000_000

TIMES: dict[str, Any] = {
    "negative": -1,
    "very negative": -(1 << 63),
    "microseconds": NOW_MS * 1_000,
    "nanoseconds": NOW_MS * 1_000_000,
    "the year 2100": 4_102_444_800_000,
    "the year 9999": 253_402_300_799_999,
    "the year 10000": 253_402_300_800_000,
    "the largest": (1 << 63) - 1,
    "beyond all numbers": 10**30,
    "text": "soon",
    "a number as text": str(NOW_MS * 1_000),
    "a float": 1.7e18,
    "true": True,
    "false": False,
}
"""Values that are not times in milliseconds."""

SOURCE = Source("a" * 32, "HDFS", "S", "c", ("hdfs://nn:8020",))
ESTATE = Estate("c", (SOURCE,))


@pytest.mark.parametrize("name", TIMES)
@pytest.mark.parametrize("field", DATES)
def test_an_impossible_date_is_dropped_and_reported(field: str, name: str) -> None:
    value = TIMES[name]
    assert to_fields({field: value, "owner": "ana"}) == {"owner": "ana"}
    (odd,) = odd_dates({field: value})
    assert odd.startswith(field)


@pytest.mark.parametrize("value", [0, 1, 1_700_000_000, NOW_MS, float(NOW_MS), 4_102_444_799_999])
def test_a_possible_date_is_kept(value: float) -> None:
    assert date_ms(to_fields({"created": value})["created"]) == value
    assert list(odd_dates({"created": value})) == []


def test_a_listing_drops_impossible_dates_and_reports_them() -> None:
    values: list[Any] = [
        each for each in TIMES.values() if type(each) is int and -(1 << 63) <= each < 1 << 63
    ]
    values = [*values, NOW_MS, None, 0]
    paths = [f"/a/{number}" for number in range(len(values))]
    column = pa.array(values, pa.int64())
    listing = Listing(
        SOURCE, NOW_MS, paths, [False] * len(values), {"lastModified": column}, {"lastAccessed": column}
    )
    documents = [
        orjson.loads(document)
        for batch in listing_envelopes(listing)
        for document in batch.column("document").to_pylist()
    ]
    found = [date_ms(each["lastModified"]) if "lastModified" in each else None for each in documents]
    assert found == [each if each is not None and is_date(each) else None for each in values]
    count = len(values) - 3
    assert [(path, many) for path, _, many in odd_dates_of(listing)] == [("/a/0", count)] * 2


def through_the_task(
    extractor: Extractor, split: Split
) -> tuple[list[dict[str, Any]], tuple[Reject, ...], Mapping[str, str]]:
    """Run a Spark task on a split. Return its documents, its rejects, and its failures by split."""
    batch = pa.RecordBatch.from_arrays([pa.array([pickle.dumps(split)], pa.binary())], names=["split"])
    rows = [row for out in read_splits(extractor)([batch]) for row in out.to_pylist()]
    documents = [orjson.loads(row["document"]) for row in rows if row["core"] == "nav_elements"]
    as_of = [row["as_of"] for row in rows if row["core"].startswith("nav_")]
    assert all(is_date(each) for each in as_of), as_of
    summary = summarize(rows)
    return documents, summary.rejects, summary.failures


def stands_without_it(extractor: Extractor) -> None:
    """Assert that the execution is indexed, no field has an impossible time, and a reject reports it."""
    (split,) = extractor.plan(Positions(now_ms=NOW_MS)).splits
    documents, rejects, failures = through_the_task(extractor, split)
    assert not failures
    assert rejects
    assert any(each.get("type") == "OPERATION_EXECUTION" for each in documents)
    for document in documents:
        assert not [field for field in DATES if field in document and not is_date(date_ms(document[field]))]


def hive(time: Any) -> dict[str, Any]:
    return GRAPH | {"timestamp": time, "duration": 5}


def impala(time: Any) -> dict[str, Any]:
    return GRAPH | {"timestamp": NOW_MS // 1000, "endTime": time}


def spark_lineage(time: Any) -> dict[str, Any]:
    ends = [{"source": "db.t", "dataSourceType": "HIVE"}]
    return {"applicationID": "app-1", "timestamp": time, "duration": 5, "inputs": ends, "outputs": ends}


def sqoop(time: Any) -> dict[str, Any]:
    return {**test_sqoop_publications.RECORD, "startTime": NOW_MS - 60_000, "endTime": time}


GRAPH: dict[str, Any] = {
    "queryText": "INSERT INTO s.u SELECT a FROM s.t",
    "edges": [{"sources": [1], "targets": [0], "edgeType": "PROJECTION"}],
    "vertices": [
        {"id": 0, "vertexType": "COLUMN", "vertexId": "s.u.b"},
        {"id": 1, "vertexType": "COLUMN", "vertexId": "s.t.a"},
    ],
}
FOLLOWERS: dict[str, tuple[Callable[..., Extractor], Callable[[Any], dict[str, Any]]]] = {
    "hive_events": (HiveEvents, hive),
    "impala_events": (ImpalaEvents, impala),
    "spark_lineage_events": (SparkLineageEvents, spark_lineage),
    "sqoop_publications": (SqoopPublications, sqoop),
}


@pytest.mark.parametrize("name", TIMES)
@pytest.mark.parametrize("follower", FOLLOWERS)
def test_a_record_with_an_impossible_time_is_kept_without_it(
    tmp_path: Path, follower: str, name: str
) -> None:
    make, record = FOLLOWERS[follower]
    (tmp_path / "log").write_text(json.dumps(record(TIMES[name])) + "\n")
    extractor = make(SOURCE, ESTATE, str(tmp_path), "*")
    stands_without_it(extractor)


COPY = insert("/w/b", scan("db.a"), table="db.b")
SPARK_TIMES: dict[str, Callable[[Any], tuple[dict[str, Any], ...]]] = {
    "the start of the application": lambda time: (
        log_start(),
        application() | {"Timestamp": time},
        start(0, COPY),
        end(0),
        application_end(),
    ),
    "the start of the execution": lambda time: (
        log_start(),
        application(),
        start(0, COPY) | {"time": time},
        end(0),
        application_end(),
    ),
    "the end of the execution": lambda time: (
        log_start(),
        application(),
        start(0, COPY),
        end(0) | {"time": time},
        application_end(),
    ),
    "the end of the application": lambda time: (
        log_start(),
        application(),
        start(0, COPY),
        end(0),
        application_end() | {"Timestamp": time},
    ),
}


@pytest.mark.parametrize("name", TIMES)
@pytest.mark.parametrize("place", SPARK_TIMES)
def test_a_spark_event_with_an_impossible_time_is_kept_without_it(
    tmp_path: Path, place: str, name: str
) -> None:
    write_log(tmp_path, *SPARK_TIMES[place](TIMES[name]))
    extractor = SparkEvents(SOURCE, ESTATE, str(tmp_path))
    stands_without_it(extractor)


@pytest.mark.parametrize("name", TIMES)
def test_a_yarn_application_with_an_impossible_time_is_kept_without_it(
    resource_manager: ResourceManager, name: str
) -> None:
    resource_manager.apps = [app(1), app(2, startedTime=TIMES[name])]
    extractor = Following(resource_manager).extractor
    seen, *odd = extractor.plan(Positions(now_ms=yarn_rounds.NOW_MS)).splits
    documents, rejects, failures = through_the_task(extractor, seen)
    rejected = [*rejects, *(each for split in odd for each in through_the_task(extractor, split)[1])]
    assert not failures
    # With a negative value, YARN says that it does not know the time. An application that never started has -1.
    assert bool(rejected) == (name not in {"negative", "very negative"})
    executions = [each for each in documents if each["type"] == "OPERATION_EXECUTION"]
    assert ["started" in each for each in executions] == [True, False]
