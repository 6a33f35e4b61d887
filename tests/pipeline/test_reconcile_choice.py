"""Cases of a run's sizes, each with the expected way to compare the run with the index."""

from __future__ import annotations

import pytest

from navlin.pipeline.comparison import (
    CARRIED_DOCUMENTS,
    RECORDS_IN_TASK,
    Comparison,
    Sizes,
    StateAccess,
    choose,
)

NOTHING, CARRIED, EXPORTED = StateAccess.NOTHING, StateAccess.CARRIED, StateAccess.EXPORTED


def listing(records: int, held: int) -> Sizes:
    """Sizes of a run that covers the whole source."""
    return Sizes(records, held, held, everything=True, follows_events=False)


def increment(records: int, held: int | None, covered: int) -> Sizes:
    """Sizes of a run that covers a part of the source."""
    return Sizes(records, held, covered, everything=False, follows_events=False)


def events(records: int, held: int, covered: int) -> Sizes:
    """Sizes of a run that follows events."""
    return Sizes(records, held, covered, everything=False, follows_events=True)


@pytest.mark.parametrize(
    ("sizes", "state", "ranges"),
    [
        pytest.param(listing(0, 0), NOTHING, 1, id="nothing anywhere"),
        pytest.param(listing(100, 0), NOTHING, 1, id="a first small listing"),
        pytest.param(listing(20_000, 0), NOTHING, 1, id="a full task"),
        pytest.param(listing(20_001, 0), NOTHING, 2, id="one record more"),
        pytest.param(listing(70_000_000, 0), NOTHING, 3_500, id="a first image"),
        pytest.param(events(300_000, 0, 0), NOTHING, 15, id="a first log"),
        pytest.param(listing(100, 1), EXPORTED, 1, id="a listing again"),
        pytest.param(listing(30_000, 30_000), EXPORTED, 3, id="both sides count"),
        pytest.param(listing(0, 50_000), EXPORTED, 3, id="everything may be gone"),
        pytest.param(increment(10, 900_000, 0), CARRIED, 1, id="nothing is covered"),
        pytest.param(increment(10, 900_000, 40), CARRIED, 1, id="a table that changed"),
        pytest.param(increment(10, None, 40), CARRIED, 1, id="few records: the source is not counted"),
        pytest.param(
            increment(10, None, 400_000), EXPORTED, 21, id="few records, and a directory that was renamed"
        ),
        pytest.param(increment(45_000, 900_000, 40), CARRIED, 3, id="many changes, few documents covered"),
        pytest.param(increment(10, 900_000, CARRIED_DOCUMENTS), CARRIED, 1, id="as many as are carried"),
        pytest.param(increment(10, 900_000, CARRIED_DOCUMENTS + 1), EXPORTED, 1, id="one more"),
        pytest.param(increment(10, 900_000, 400_000), EXPORTED, 21, id="a directory that was renamed"),
        pytest.param(events(10, 900_000, 900_000), CARRIED, 1, id="events, however much they cover"),
    ],
)
def test_the_comparison_method_depends_on_sizes(sizes: Sizes, state: StateAccess, ranges: int) -> None:
    assert choose(sizes) == Comparison(state, ranges)


def test_no_task_gets_more_than_its_limit_of_records() -> None:
    for records in (1, RECORDS_IN_TASK, 7 * RECORDS_IN_TASK + 1):
        ranges = choose(listing(records, 0)).ranges
        assert (ranges - 1) * RECORDS_IN_TASK < records <= ranges * RECORDS_IN_TASK
