"""Missing parts of a rolling log: known losses are reported once, and the rest is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from extractors.spark.forms import LogPart
from extractors.spark.lines import Mark
from extractors.spark.rolled import entry_behind, is_compact, number_of
from tests.support.spark_logs import (
    Extracted,
    Follower,
    application,
    application_end,
    end,
    environment,
    insert,
    lines,
    log_start,
    scan,
    start,
)

COPY = insert("hdfs://ns1/out", scan("sales.orders"))
BEGINNING = lines(log_start(), environment(), application())


def whole(*numbers: int) -> bytes:
    """Return the events of executions that start and end."""
    return b"".join(lines(start(number, COPY), end(number)) for number in numbers)


class Rolling:
    """A rolling log, written part by part as Spark and its history server do."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "eventlog_v2_application_1_0001"
        self.directory.mkdir()
        (self.directory / "appstatus_application_1_0001.inprogress").touch()
        self.follower = Follower(directory)

    def part(self, number: int, data: bytes) -> None:
        (self.directory / f"events_{number}_application_1_0001").write_bytes(data)

    def remove(self, *numbers: int) -> None:
        for number in numbers:
            (self.directory / f"events_{number}_application_1_0001").unlink()

    def compact(self, last: int, data: bytes, *, ending: str = "") -> None:
        (self.directory / f"events_{last}_application_1_0001.compact{ending}").write_bytes(data)

    def poll(self) -> tuple[list[int], list[str]]:
        """Return the numbers of all known executions, and the reject reasons of this poll alone."""
        before = len(self.follower.extracted.rejects)
        extracted = self.follower.poll()
        return numbers_in(extracted), [each.reason for each in extracted.rejects[before:]]


def numbers_in(extracted: Extracted) -> list[int]:
    return sorted(int(each.key.name.rpartition(".")[2]) for each in extracted.executions)


@pytest.fixture
def rolling(tmp_path: Path) -> Rolling:
    return Rolling(tmp_path)


# -- First poll --------------------------------------------------------------------------------------------------------


FOUND = {
    "all there": ([1, 2, 3], None, []),
    "the first is missing": (
        [2, 3],
        None,
        [
            "part 1 is missing, and no compacted part replaces it",
            "1 SQL executions are in no part that is left",
        ],
    ),
    "one between is missing": (
        [1, 3],
        None,
        [
            "part 2 is missing, and no compacted part replaces it",
            "1 SQL executions are in no part that is left",
        ],
    ),
    "two are missing": (
        [1, 4],
        None,
        [
            "parts 2 to 3 are missing, and no compacted part replaces it",
            "2 SQL executions are in no part that is left",
        ],
    ),
    "two gaps": (
        [1, 3, 5],
        None,
        [
            "part 2 is missing, and no compacted part replaces it",
            "part 4 is missing, and no compacted part replaces it",
            "2 SQL executions are in no part that is left",
        ],
    ),
    "compacted": ([3, 4], 2, ["2 SQL executions were compacted away before they were read"]),
    "compacted, and one missing behind": (
        [4],
        2,
        [
            "part 3 is missing, and no compacted part replaces it",
            "3 SQL executions were compacted away before they were read",
        ],
    ),
}


@pytest.mark.parametrize(("parts", "compacted", "reasons"), FOUND.values(), ids=FOUND)
def test_missing_parts_are_reported_once_and_the_rest_is_read(
    rolling: Rolling, parts: Sequence[int], compacted: int | None, reasons: list[str]
) -> None:
    # Part n contains execution n - 1, so the first part contains execution 0.
    for number in parts:
        rolling.part(number, (BEGINNING if number == 1 else b"") + whole(number - 1))
    if compacted:
        rolling.compact(compacted, BEGINNING)
    there, rejects = rolling.poll()

    assert there == [number - 1 for number in parts]
    assert rejects == reasons
    rolling.part(6, whole(6))
    rolling.part(7, lines(application_end()))
    again = rolling.poll()[1]
    assert not [each for each in again if each in reasons and "in no part" not in each]
    rolling.part(8, whole(7))
    assert rolling.poll()[1] == []


def test_an_empty_part_is_not_missing(rolling: Rolling) -> None:
    rolling.part(1, BEGINNING + whole(0))
    rolling.part(2, b"")
    rolling.part(3, whole(1))

    assert rolling.poll() == ([0, 1], [])


def test_an_unfinished_compacted_part_replaces_nothing(rolling: Rolling) -> None:
    rolling.part(1, BEGINNING + whole(0))
    rolling.part(2, whole(1))
    rolling.compact(2, BEGINNING[:40], ending=".inprogress")

    assert rolling.poll() == ([0, 1], [])


# -- Between two polls -------------------------------------------------------------------------------------------------


def test_an_unread_part_that_vanished_is_reported_with_its_bytes(
    rolling: Rolling,
) -> None:
    begun = lines(start(1, COPY))[:-30]
    rolling.part(1, BEGINNING + whole(0))
    rolling.part(2, begun)
    assert rolling.poll() == ([0], [])
    rolling.remove(1, 2)
    rolling.part(3, whole(2))
    there, rejects = rolling.poll()

    assert there == [0, 2]
    assert rejects == [
        f"part 2 is missing, and no compacted part replaces it; {len(begun)} bytes of it were seen but not read",
        "1 SQL executions are in no part that is left",
    ]
    operations = {each.key.identity for each in rolling.follower.extracted.operations}
    assert len(operations) == 1, "the application's name is known still, so it is one operation"
    assert rolling.poll() == ([0, 2], [])


def test_parts_read_to_their_end_before_removal_are_not_a_loss(rolling: Rolling) -> None:
    rolling.part(1, BEGINNING + whole(0))
    rolling.part(2, whole(1))
    assert rolling.poll() == ([0, 1], [])
    rolling.remove(1, 2)
    rolling.part(3, whole(2))

    assert rolling.poll() == ([0, 1, 2], [])


def test_an_execution_whose_start_was_removed_is_reported_by_number(rolling: Rolling) -> None:
    rolling.part(1, BEGINNING + lines(start(0, COPY)))
    rolling.part(2, whole(1))
    assert rolling.poll() == ([1], [])
    rolling.remove(1)
    rolling.part(3, lines(end(0)) + whole(2))
    there, rejects = rolling.poll()

    assert there == [1, 2]
    assert rejects == ["the start of execution 0 is no longer in the log"]


def test_compaction_of_read_parts_loses_nothing_and_keeps_open_executions(rolling: Rolling) -> None:
    rolling.part(1, BEGINNING + whole(0) + lines(start(1, COPY)))
    rolling.part(2, whole(2))
    rolling.part(3, whole(3))
    assert rolling.poll() == ([0, 2, 3], [])
    rolling.compact(2, BEGINNING + lines(start(1, COPY)))
    rolling.remove(1, 2)
    rolling.part(4, lines(end(1)) + whole(4))

    assert rolling.poll() == ([0, 1, 2, 3, 4], [])


def test_unread_executions_removed_by_compaction_are_counted(rolling: Rolling) -> None:
    rolling.part(1, BEGINNING + whole(0) + lines(start(1, COPY)))
    assert rolling.poll() == ([0], [])
    # Between the polls, execution 1 ended, 2 to 4 started and ended, and 5 is still open.
    rolling.compact(3, BEGINNING + lines(start(5, COPY)))
    rolling.remove(1)
    rolling.part(4, lines(end(5)) + whole(6))
    there, rejects = rolling.poll()

    assert there == [0, 5, 6]
    assert rejects == ["4 SQL executions were compacted away before they were read"]
    assert rolling.poll() == ([0, 5, 6], [])


def test_a_second_compaction_counts_only_its_own_removals(rolling: Rolling) -> None:
    rolling.compact(2, BEGINNING)
    rolling.part(3, whole(4))
    assert rolling.poll()[1] == ["4 SQL executions were compacted away before they were read"]
    rolling.compact(5, BEGINNING)
    rolling.remove(3)
    rolling.part(6, whole(7))

    assert rolling.poll() == ([4, 7], ["2 SQL executions were compacted away before they were read"])


def test_a_missing_part_is_reported_once_over_several_splits(
    rolling: Rolling, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extractors.spark.spark_events.SPLIT_BYTES", 2_000)
    rolling.part(1, BEGINNING + whole(*range(10)))
    rolling.part(3, whole(*range(12, 30)))
    there, rejects = rolling.poll()

    assert there == [*range(10), *range(12, 30)]
    assert len(rejects) == 2 and rolling.follower.splits > 1
    assert "2 SQL executions" in rejects[1]


# -- Names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "number", "compact"),
    [
        ("events_1_app-1", 1, False),
        ("events_12_app-1_2.zstd", 12, False),
        ("events_3_app-1.compact", 3, True),
        ("events_3_app-1.zstd.compact", 3, True),
        ("appstatus_app-1", 0, False),
        ("eventlog-2024-02-13--19-00", 0, False),
        ("application_1_0001", 0, False),
    ],
)
def test_a_part_name_gives_its_number(name: str, number: int, compact: bool) -> None:
    assert (number_of(name), is_compact(name)) == (number, compact)


@pytest.mark.parametrize(
    ("mark", "parts", "behind"),
    [
        ("events_2_a", ["events_2_a", "events_3_a"], None),
        ("events_2_a", ["events_3_a"], ("events_3_a", False)),
        ("events_2_a", ["events_4_a.compact", "events_5_a"], ("events_4_a.compact", True)),
        ("events_2_a", ["events_1_a"], None),
        ("events_2_a.compact", ["events_4_a.compact"], ("events_4_a.compact", True)),
        ("application_1", ["events_1_a"], None),
    ],
)
def test_reading_resumes_after_a_removed_part(
    mark: str, parts: list[str], behind: tuple[str, bool] | None
) -> None:
    entry = entry_behind(Mark(mark, 5, 0), tuple(LogPart(name, f"/{name}", 1) for name in parts))
    assert (entry and (entry.mark.part, entry.anew)) == behind
