"""A poll loads no position that has not changed, however many positions a source has."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from navlin.index.journal.known_positions import KnownPositions
from navlin.index.journal.leases import lease
from navlin.index.journal.runs import (
    Fence,
    Status,
    forget_positions,
    load_positions,
    save_positions,
)
from navlin.index.schema.fields import RUNS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS
from navlin.model.records import Position
from navlin.model.source import Estate, Source, source_id
from navlin.pipeline.run import Pipeline
from tests.support.scripted_extractors import Happenings

KIND = "f"


@pytest.fixture
def source() -> str:
    return uuid4().hex


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the documents of `nav_runs` that were read page by page."""
    ids: list[str] = []
    real = Solr.cursor

    def cursor(solr: Solr, core: str, query: str, fields: str, **more: Any) -> Iterator[dict[str, Any]]:
        for document in real(solr, core, query, fields, **more):
            ids.extend([document["identity"]] if core == RUNS else [])
            yield document

    monkeypatch.setattr(Solr, "cursor", cursor)
    return ids


def save(solr: Solr, source: str, values: dict[str, Any]) -> None:
    """Save positions as another process does."""
    save_positions(solr, source, KIND, [Position(key, value) for key, value in values.items()], {})
    solr.commit(RUNS, soft=True)


def test_a_second_load_reads_no_position(solr: Solr, source: str, loaded: list[str]) -> None:
    save(solr, source, {str(number): {"offset": number} for number in range(1_000)})
    known = KnownPositions()

    first = known.load(solr, source, KIND)
    assert (len(first.values), len(loaded)) == (1_000, 1_000)

    assert known.load(solr, source, KIND) is first
    assert len(loaded) == 1_000


@pytest.mark.parametrize(
    ("change", "values"),
    [
        pytest.param(lambda solr, source: save(solr, source, {"a": 2}), {"a": 2, "b": 1}, id="changed"),
        pytest.param(lambda solr, source: save(solr, source, {"c": 1}), {"a": 1, "b": 1, "c": 1}, id="added"),
        pytest.param(lambda solr, source: forget_positions(solr, source), {}, id="forgotten"),
    ],
)
def test_changes_of_another_process_are_loaded(
    solr: Solr, source: str, change: Callable[[Solr, str], None], values: dict[str, int]
) -> None:
    save(solr, source, {"a": 1, "b": 1})
    known = KnownPositions()
    assert known.load(solr, source, KIND).values == {"a": 1, "b": 1}

    change(solr, source)
    solr.commit(RUNS, soft=True)

    assert known.load(solr, source, KIND).values == values


def test_a_removed_and_an_added_position_of_another_process_are_loaded(solr: Solr, source: str) -> None:
    save(solr, source, {"a": 1, "b": 1})
    known = KnownPositions()
    known.load(solr, source, KIND)

    save_positions(solr, source, KIND, [Position("a", None), Position("c", 1)], {"a": 1, "b": 1})
    solr.commit(RUNS, soft=True)

    assert known.load(solr, source, KIND).values == {"b": 1, "c": 1}


def test_positions_of_other_settings_are_outdated(solr: Solr, source: str) -> None:
    save(solr, source, {"a": 1})
    known = KnownPositions()
    known.load(solr, source, KIND)

    other = known.load(solr, source, "other")

    assert other.values == {}
    assert [*other.outdated.values()] == [KIND]


def test_a_save_of_this_process_is_known_as_it_is_stored(solr: Solr, source: str, loaded: list[str]) -> None:
    save_positions(solr, source, "old", [Position("outdated", 1)], {})
    save(solr, source, {"a": 1, "b": 1, "gone": 1})
    known = KnownPositions()
    before = known.load(solr, source, KIND)
    positions = [
        Position("a", 2),
        Position("a", 3),
        Position("b", 1),
        Position("gone", None),
        Position("c", 4),
    ]
    with lease(solr, source) as held:
        fence = Fence(held.epoch, before.versions, held.renew)
        removed = tuple(before.outdated)
        versions = save_positions(solr, source, KIND, positions, before.values, outdated=removed, fence=fence)
        solr.commit(RUNS, soft=False)
        known.saved(source, KIND, before, positions, versions, removed)
    loaded.clear()

    after = known.load(solr, source, KIND)

    assert loaded == []
    assert after.values == {"a": 3, "b": 1, "c": 4}
    assert after == load_positions(solr, source, KIND)


def test_a_version_that_solr_does_not_return_is_loaded(solr: Solr, source: str) -> None:
    save(solr, source, {"a": 1})
    known = KnownPositions()
    before = known.load(solr, source, KIND)
    known.forget(source)
    save(solr, source, {"a": 2})

    known.saved(source, KIND, before, [Position("a", 2)], dict.fromkeys(before.versions, 0), ())

    assert known.load(solr, source, KIND) == load_positions(solr, source, KIND)


def test_runs_of_a_source_load_no_position_again(
    solr: Solr, spark: Callable[[], SparkSession], tmp_path: Path, loaded: list[str]
) -> None:
    cluster = f"cluster-{uuid4().hex[:8]}"
    engine = Source(source_id(cluster, "impala"), "IMPALA", "impala", cluster)
    lines = tmp_path / "lines.jsonl"
    pipeline = Pipeline(solr.address, spark, lambda: 1_800_000_000_000)
    extractor = Happenings(engine, Estate(cluster, (engine,)), str(lines))

    def run() -> Status:
        return pipeline.run(EXTRACTORS["happenings"], extractor).status

    def happens(text: str) -> None:
        record = {"text": text, "reads": ["db.s"], "writes": ["db.t"], "at_ms": 1_800_000_000_000}
        with lines.open("a") as file:
            file.write(json.dumps(record) + "\n")

    happens("first")
    assert run() is Status.FINISHED
    loaded.clear()

    happens("second")
    assert (run(), run()) == (Status.FINISHED, Status.IDLE)

    assert [each for each in loaded if each.startswith("position:")] == []
