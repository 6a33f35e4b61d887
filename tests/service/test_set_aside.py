"""A file that fails repeatedly is set aside and reported. Other files are read, and the failing file's resources
are released after a limited time."""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from extractors.lineage.planned_files import GIVEN_UP_AFTER, ROTATED_MS
from navlin.index.journal.overview import source_overview
from navlin.index.journal.runs import RunRecord, Status
from navlin.index.schema.fields import RUNS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS
from navlin.model.plan import Positions
from navlin.model.records import Position, Reject
from navlin.model.source import Estate, Source, source_id
from navlin.pipeline.crashes import SET_ASIDE
from navlin.pipeline.planning import ASIDE_AFTER, ASIDE_MS
from navlin.pipeline.run import Pipeline
from navlin.render.status import backing_off
from tests.support.open_files import open_inodes
from tests.support.poisoned_lines import PoisonedLines

DAY_MS = 86_400_000


class Followed:
    """A source that follows the directories of a folder, with a clock that the test sets."""

    def __init__(self, solr: Solr, spark: Callable[[], SparkSession], folder: Path) -> None:
        self.solr, self.logs = solr, folder / "day-1"
        self.logs.mkdir()
        (folder / "day-2").mkdir()
        cluster = f"aside-{uuid.uuid4().hex[:8]}"
        self.source = Source(source_id(cluster, "P"), "ACME", "P", cluster)
        self.extractor = PoisonedLines(self.source, Estate(cluster, (self.source,)), f"{folder}/day-*")
        self.now_ms = time.time_ns() // 1_000_000
        self.pipeline = Pipeline(solr.address, spark, lambda: self.now_ms)

    def write(self, name: str, line: str) -> Path:
        with (file := self.logs / name).open("a") as log:
            log.write(f"{line}\n")
        return file

    def run(self, *, after_ms: int = ASIDE_MS) -> RunRecord:
        self.now_ms += after_ms
        return self.pipeline.run(EXTRACTORS["poisoned_lines"], self.extractor)

    def rejects(self) -> list[str]:
        filters = ["kind:reject", f"{{!term f=sourceId}}{self.source.id}"]
        found = self.solr.select(RUNS, {"q": "*:*", "fq": filters, "fl": "reason", "rows": 1_000})
        return [row["reason"] for row in found["response"]["docs"]]

    def shown(self) -> list[str]:
        return list(backing_off(asdict(source_overview(self.solr, self.source.id)), self.now_ms))


@pytest.fixture
def followed(solr: Solr, spark: Callable[[], SparkSession], tmp_path: Path) -> Followed:
    return Followed(solr, spark, tmp_path)


@pytest.mark.parametrize(
    ("message", "rejects"),
    [
        ("[Errno 28] No space left on device", []),
        ("java.io.IOException: No space left on device", []),
        ("java.io.IOException: Disk quota exceeded", []),
        ("Python worker exited unexpectedly (crashed)", [SET_ASIDE]),
    ],
)
def test_only_a_crash_sets_a_file_aside_and_a_full_disk_does_not(
    followed: Followed, monkeypatch: pytest.MonkeyPatch, message: str, rejects: list[str]
) -> None:
    def ended(*_: object) -> None:
        raise RuntimeError(message)

    monkeypatch.setattr("navlin.pipeline.run.rows_of_splits", ended)
    followed.write("log", "a line")

    errors = [followed.run(after_ms=1_000).error for _ in range(2)]

    assert all(message in error for error in errors), errors
    followed.solr.commit(RUNS, soft=True)
    assert followed.rejects() == rejects


def test_neither_the_error_of_a_crash_nor_its_reject_quotes_a_literal(
    followed: Followed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: object) -> None:
        raise RuntimeError("Python worker exited unexpectedly (crashed) at 'hunter7Zx'")

    monkeypatch.setattr("navlin.pipeline.run.rows_of_splits", ended)
    masks = replace(followed.extractor.estate, masks_literals=True)
    followed.extractor = replace(followed.extractor, estate=masks)
    followed.write("log", "a line")

    errors = [followed.run(after_ms=1_000).error for _ in range(2)]

    assert all(error.endswith("(crashed) at '?'") for error in errors), errors
    followed.solr.commit(RUNS, soft=True)
    assert "hunter7Zx" not in repr(followed.rejects())


@pytest.mark.services
def test_a_repeatedly_failing_file_is_set_aside_and_the_others_are_read(
    followed: Followed,
) -> None:
    poisoned = followed.write("bad", "poison")
    for number in range(ASIDE_AFTER):
        followed.write(f"good-{number}", f"line {number}")
        run = followed.run(after_ms=ASIDE_MS // 4)
        assert (run.counts.records, run.counts.failed_splits) == (1, 1), run.failures
    aside = f"failed {ASIDE_AFTER} times, again in 60 min: a line is poisoned"
    assert followed.shown() == [f"not read: {poisoned}, {aside}"]
    assert followed.rejects() == [
        f"it is set aside and retried once an hour: reading it failed {ASIDE_AFTER} times in a row, most recently with:"
        " a line is poisoned"
    ]
    # The file is not read again before the hour is over.
    followed.write("good", "one more")
    run = followed.run(after_ms=ASIDE_MS // 2)
    assert (run.counts.records, run.counts.failed_splits) == (1, 0)
    assert len(followed.rejects()) == 1


@pytest.mark.services
def test_a_failed_and_removed_file_is_reported_lost_and_its_descriptor_released_after_a_day(
    followed: Followed,
) -> None:
    poisoned = followed.write("bad", "poison")
    inode = poisoned.stat().st_ino
    followed.run()
    poisoned.unlink()
    assert inode in open_inodes()
    for _ in range(GIVEN_UP_AFTER - 1):
        assert followed.run().counts.failed_splits == 1
    assert inode in open_inodes()

    assert followed.run().counts.failed_splits == 0
    followed.run()
    assert inode not in open_inodes()
    assert any("7 of its bytes, from byte 0 to 7, are not read" in each for each in followed.rejects())
    assert followed.shown() == []
    assert followed.run().status is Status.IDLE


def test_the_descriptor_of_a_removed_file_is_released_after_the_last_failure_to_read_it(
    tmp_path: Path,
) -> None:
    source = Source(source_id("aside", "P"), "ACME", "P", "aside")
    extractor = PoisonedLines(source, Estate("aside", (source,)), str(tmp_path))
    file, now_ms = tmp_path / "bad", time.time_ns() // 1_000_000
    file.write_text("poison\n")
    inode = file.stat().st_ino
    found = extractor.plan(Positions({}, now_ms)).found
    saved = {each.key: each.value for each in found}
    file.unlink()

    for failures in (1, GIVEN_UP_AFTER - 1):
        [split] = extractor.plan(Positions(saved, now_ms, failed={str(file): failures})).splits
        with pytest.raises(ValueError, match="poisoned"):
            list(extractor.read(split))
        assert inode in open_inodes()
    [split] = extractor.plan(Positions(saved, now_ms, failed={str(file): GIVEN_UP_AFTER})).splits
    lost, position = extractor.read(split)

    assert isinstance(lost, Reject)
    assert "7 of its bytes, from byte 0 to 7, are not read" in lost.reason
    assert isinstance(position, Position)
    assert extractor.plan(Positions({position.key: position.value}, now_ms)).splits == ()
    assert inode not in open_inodes()


def test_the_descriptor_of_a_removed_empty_file_is_released_after_a_minute(tmp_path: Path) -> None:
    source = Source(source_id("aside", "P"), "ACME", "P", "aside")
    extractor = PoisonedLines(source, Estate("aside", (source,)), str(tmp_path))
    file, now_ms = tmp_path / "empty", time.time_ns() // 1_000_000
    file.touch()
    inode = file.stat().st_ino
    extractor.plan(Positions({}, now_ms))
    file.unlink()

    extractor.plan(Positions({}, now_ms))
    assert inode in open_inodes(), "its writer may still have it open"
    extractor.plan(Positions({}, now_ms + ROTATED_MS + 1_000))
    assert inode not in open_inodes()


@pytest.mark.services
def test_a_file_removed_with_its_directory_is_read_to_its_end(followed: Followed) -> None:
    file = followed.write("log", "first")
    inode = file.stat().st_ino
    followed.run()
    followed.write("log", "second")
    shutil.rmtree(followed.logs)
    run = followed.run()
    assert (run.counts.records, run.failures) == (1, ())
    followed.run()
    assert inode not in open_inodes()


@pytest.mark.services
def test_positions_are_forgotten_a_week_after_their_directory(followed: Followed) -> None:
    followed.write("log", "first")
    followed.run()
    shutil.rmtree(followed.logs)
    followed.run()
    assert source_overview(followed.solr, followed.source.id).position_count == 1
    followed.run(after_ms=8 * DAY_MS)
    assert source_overview(followed.solr, followed.source.id).position_count == 0


@pytest.mark.services
def test_a_failure_no_longer_planned_is_no_longer_listed(followed: Followed) -> None:
    poisoned = followed.write("bad", "poison")
    followed.run()
    poisoned.write_text("")
    assert followed.shown() != []
    followed.run()
    assert followed.shown() == []
