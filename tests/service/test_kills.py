"""navlin killed at any point and restarted, restored from an older copy, or run twice: the same inputs produce the same
index.
"""

from __future__ import annotations

import random
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from navlin.index.admin.cores import CORES
from navlin.index.journal.runs import Status
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS
from navlin.index.solr.solr import Solr
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr
from tests.support.killed_runs import GENERATIONS, Life, Played, differences, index_of, wipe
from tests.support.pipeline_estate import SmallEstate
from tests.support.soaked import Soaked
from tests.support.solr_proxy import Call, SolrProxy

Point = Callable[[Call], bool]
BATCH = 500
"""A number of documents that only a batch of records exceeds."""


# -- Points just before or after the last request that arrives --------------------------------------------------------


def _runs(call: Call, kind: str, *, answered: bool, status: str = "") -> bool:
    return (
        call.core == RUNS
        and call.answered is answered
        and any(d.get("kind") == kind and d.get("status", "") == status for d in call.documents)
    )


def lease_taken(call: Call) -> bool:
    return _runs(call, "lease", answered=True)


def run_opened(call: Call) -> bool:
    return _runs(call, "run", answered=True, status="running")


def implied_relations_written(call: Call) -> bool:
    return call.core == RELATIONS and call.answered and any(d.get("implied") for d in call.documents)


def first_batch_written(call: Call) -> bool:
    return call.core == ELEMENTS and call.answered and len(call.documents) > BATCH


def elements_written_relations_not(call: Call) -> bool:
    return call.core == RELATIONS and not call.answered and any("implied" not in d for d in call.documents)


def about_to_commit(call: Call) -> bool:
    return call.core == ELEMENTS and not call.answered and call.commits == "soft"


def second_time(point: Point) -> Point:
    met = [0]

    def again(call: Call) -> bool:
        met[0] += point(call)
        return met[0] >= 2

    return again


def written_not_committed() -> Point:
    """Just before the second commit. A run commits twice: at its start, which covers writes left by other runs, and
    after its own writes.
    """
    return second_time(about_to_commit)


def elements_flagged_relations_not(call: Call) -> bool:
    return call.core == ELEMENTS and call.answered and any(d.get("deleted") is True for d in call.documents)


def about_to_link(call: Call) -> bool:
    return (
        call.core == RELATIONS
        and not call.answered
        and any(d.get("unlinked") is False for d in call.documents)
    )


def rejects_saved(call: Call) -> bool:
    return _runs(call, "reject", answered=True)


def about_to_commit_hard(call: Call) -> bool:
    return call.core == ELEMENTS and not call.answered and call.commits == "hard"


def committed_positions_not_saved(call: Call) -> bool:
    return _runs(call, "position", answered=False)


def positions_saved_run_record_not(call: Call) -> bool:
    return _runs(call, "position", answered=True)


def run_record_saved_not_committed(call: Call) -> bool:
    return call.core == RUNS and not call.answered and call.commits == "hard"


def all_done_but_the_lease(call: Call) -> bool:
    return call.core == RUNS and call.answered and call.commits == "hard"


ALL = 2 * len(GENERATIONS)
"""Number of runs: one of the metastore and one of the engine in each generation."""
SMALL = 6
"""Number of runs at the start that write no more than one batch."""


def cuts() -> dict[int, Point]:
    """Run number → the point where that run is cut off."""
    return {
        0: lease_taken,
        1: run_opened,
        2: implied_relations_written,
        3: rejects_saved,
        4: written_not_committed(),
        5: elements_flagged_relations_not,
        6: first_batch_written,
        7: elements_written_relations_not,
        8: about_to_commit_hard,
        9: about_to_link,
        10: committed_positions_not_saved,
        11: positions_saved_run_record_not,
        12: run_record_saved_not_committed,
        13: all_done_but_the_lease,
    }


@dataclass(frozen=True)
class Uninterrupted:
    """The index that the inputs produce without interruptions, which was then removed from Solr."""

    folder: Path
    cluster: str
    index: dict[tuple[str, str], dict[str, Any]]


@pytest.fixture(scope="module")
def uninterrupted(
    solr_server: EmbeddedSolr,
    spark: Callable[[], SparkSession],
    tmp_path_factory: pytest.TempPathFactory,
) -> Uninterrupted:
    folder = tmp_path_factory.mktemp("inputs")
    with Solr(solr_server.start()) as solr:
        estate = SmallEstate(solr, spark, folder)
        played = Played(estate)
        played.play()
        index = index_of(estate)
        wipe(estate)
        played.begin()
    return Uninterrupted(folder, estate.cluster, index)


@pytest.fixture
def emptied(solr: Solr, spark: Callable[[], SparkSession], uninterrupted: Uninterrupted) -> Iterator[Played]:
    """The estate of `uninterrupted` again, whose documents have been removed from the index."""
    estate = SmallEstate(solr, spark, uninterrupted.folder, cluster=uninterrupted.cluster)
    yield Played(estate)
    wipe(estate)
    Played(estate).begin()


@pytest.mark.services
def test_the_inputs_produce_every_kind_of_document(uninterrupted: Uninterrupted) -> None:
    """Otherwise the comparisons with this index would cover too little."""
    flagged = [d for d in uninterrupted.index.values() if d.get("deleted")]
    kinds = {
        core: sum(1 for of, _ in uninterrupted.index if of == core) for core in (ELEMENTS, RELATIONS, RUNS)
    }
    assert kinds[ELEMENTS] > 1_300
    assert kinds[RELATIONS] > 1_300
    assert kinds[RUNS] == 3
    assert {d["type"] for d in flagged} >= {"TABLE", "FIELD", "SUB_OPERATION", "DATA_FLOW"}
    assert any(d.get("granted") for d in uninterrupted.index.values())


def play_with_cuts(
    solr: Solr, spark: Callable[[], SparkSession], folder: Path, cluster: str, points: Mapping[int, Point]
) -> list[int]:
    """Run the inputs. After the point given for a run, no request of that run reaches Solr, and the run is repeated.
    Return the numbers of the runs that were cut off; a run that never reaches its point is not.
    """
    cut_off: list[int] = []
    dead = threading.Event()

    def until(point: Point) -> Callable[[Call], bool]:
        def passes(call: Call) -> bool:
            if point(call):
                dead.set()
            return not dead.is_set()

        return passes

    with SolrProxy(solr.address) as proxy, Solr(proxy.address) as through_the_proxy:
        played = Played(SmallEstate(through_the_proxy, spark, folder, cluster=cluster))
        for run, point in points.items():
            dead.clear()
            proxy.passes = until(point)
            try:
                played.play(last=run + 1)
            except AssertionError as error:
                if not dead.is_set() or "Solr" not in str(error):
                    raise
                cut_off.append(run)
            proxy.passes = lambda call: True
            played.play(life=1, last=run + 1)
    return cut_off


@pytest.mark.services
def test_a_run_cut_off_between_steps_is_completed_by_the_next(
    estate: SmallEstate, spark: Callable[[], SparkSession], solr: Solr, tmp_path: Path
) -> None:
    played = Played(estate)
    played.play(last=SMALL)
    index = index_of(estate)
    assert {"TABLE", "DATA_FLOW"} <= {d["type"] for d in index.values() if d.get("deleted")}
    wipe(estate)
    played.begin()

    points = {run: point for run, point in cuts().items() if run < SMALL}
    cut_off = play_with_cuts(solr, spark, tmp_path, estate.cluster, points)

    assert cut_off == list(range(SMALL))
    assert differences(index, index_of(estate)) == []


@pytest.mark.services
def test_a_run_cut_off_between_any_two_steps_is_completed_by_the_next(
    emptied: Played, uninterrupted: Uninterrupted, spark: Callable[[], SparkSession], solr: Solr
) -> None:
    cut_off = play_with_cuts(solr, spark, uninterrupted.folder, uninterrupted.cluster, cuts())

    assert cut_off == list(range(ALL))
    assert differences(uninterrupted.index, index_of(emptied.estate)) == []


def after_requests(number: int) -> Point:
    left = [number]

    def reached(call: Call) -> bool:
        left[0] -= not call.answered
        return left[0] < 0

    return reached


@pytest.mark.soak
def test_a_run_cut_off_after_any_request_is_completed_by_the_next(
    emptied: Played,
    uninterrupted: Uninterrupted,
    spark: Callable[[], SparkSession],
    solr: Solr,
    seed: str,
    soaked: Soaked,
) -> None:
    chance = random.Random(seed)
    points = {run: after_requests(chance.randrange(30)) for run in range(ALL)}

    cut_off = play_with_cuts(solr, spark, uninterrupted.folder, uninterrupted.cluster, points)

    unlike = differences(uninterrupted.index, index_of(emptied.estate))
    soaked.killed_at_requests += len(cut_off)
    soaked.add_compared(len(uninterrupted.index), len(unlike))
    assert cut_off
    assert unlike == []


KILLS: tuple[tuple[int, str | Point], ...] = (
    (0, "plan"),
    (1, "read"),
    (6, first_batch_written),
    (7, elements_written_relations_not),
    (9, "link"),
    (10, committed_positions_not_saved),
    (11, positions_saved_run_record_not),
)
"""(run number, place where its process is killed). The place is the start of a step or a point between two requests."""


@pytest.mark.services
def test_runs_killed_at_every_step_and_restarted_give_the_same_index(
    emptied: Played, uninterrupted: Uninterrupted, solr: Solr
) -> None:
    folder, cluster = uninterrupted.folder, uninterrupted.cluster
    lives = [Life(folder, 1)]
    try:
        with SolrProxy(solr.address) as proxy:
            for run, at in KILLS:
                life = lives[-1]
                lives.append(Life(folder, life.number + 1))
                proxy.passes = _kills(life, emptied, run, at) if callable(at) else lambda call: True
                life.begin(proxy.address, cluster)
                while step_name := life.next_step():
                    if emptied.through == run and isinstance(at, str) and step_name.endswith(": " + at):
                        life.kill()
                assert emptied.through == run, f"killed elsewhere: {life.steps[-3:]}"
            proxy.passes = _dies_after(lives[-1], random.Random(3).randrange(60))
            lives[-1].begin(proxy.address, cluster)
            lives[-1].end()
            proxy.passes = lambda call: True
            lives.append(Life(folder, lives[-1].number + 1))
            lives[-1].begin(proxy.address, cluster)
            assert lives[-1].end() == 0
    finally:
        for life in lives:
            life.close()
    assert differences(uninterrupted.index, index_of(emptied.estate)) == []


@pytest.mark.soak
def test_runs_killed_repeatedly_and_restarted_give_the_same_index(
    emptied: Played, uninterrupted: Uninterrupted, solr: Solr, seed: str, soaked: Soaked
) -> None:
    chance = random.Random(seed)
    lives = [Life(uninterrupted.folder, 1)]
    try:
        with SolrProxy(solr.address) as proxy:
            exit_code = None
            while exit_code != 0:
                life = lives[-1]
                # The next process starts its Spark in the meantime.
                lives.append(Life(uninterrupted.folder, life.number + 1))
                proxy.passes = _dies_after(life, chance.randrange(150))
                life.begin(proxy.address, uninterrupted.cluster)
                exit_code = life.end()
                soaked.processes_killed += exit_code == -signal.SIGKILL
    finally:
        for life in lives:
            life.close()
    unlike = differences(uninterrupted.index, index_of(emptied.estate))
    soaked.add_compared(len(uninterrupted.index), len(unlike))
    assert len(lives) > 3, "it was not killed"
    assert unlike == []


def _kills(life: Life, played: Played, run: int, point: Point) -> Callable[[Call], bool]:
    def passes(call: Call) -> bool:
        if played.through == run and point(call):
            life.kill()
            return False
        return True

    return passes


def _dies_after(life: Life, requests: int) -> Callable[[Call], bool]:
    left = [requests]

    def passes(call: Call) -> bool:
        left[0] -= 1
        if left[0] < 0:
            life.kill()
        return left[0] >= 0

    return passes


def test_uncommitted_writes_of_a_dead_run_are_seen_by_the_next(
    estate: SmallEstate, spark: Callable[[], SparkSession], solr: Solr, tmp_path: Path
) -> None:
    """A run wrote a table without committing and died. The table is dropped before the next run, which must therefore
    know about it.
    """
    with (
        SolrProxy(solr.address) as proxy,
        Solr(proxy.address) as cut,
    ):
        dead = written_not_committed()
        proxy.passes = lambda call: not dead(call)
        dying = SmallEstate(cut, spark, tmp_path, cluster=estate.cluster)
        dying.tables({"sales.orders": ["id"], "sales.items": ["id"]})
        assert dying.pull().status is Status.FAILED
    estate.now_ms += 120_000
    estate.tables({"sales.items": ["id"]})
    assert estate.pull().status is Status.FINISHED
    assert estate.deleted("TABLE") == {"/SALES/ORDERS"}


@pytest.mark.services
@pytest.mark.parametrize("last", [SMALL, ALL])
def test_reading_everything_again_changes_nothing(estate: SmallEstate, last: int) -> None:
    played = Played(estate)
    played.play(last=last)
    before = index_of(estate)
    estate.pull(complete=True)
    estate.follow(complete=True)
    assert differences(before, index_of(estate)) == []


@pytest.mark.services
def test_a_restored_older_copy_of_the_index_catches_up(
    solr_jars: Path, spark: Callable[[], SparkSession], tmp_path: Path
) -> None:
    state = tmp_path / "state"
    launcher = solr_jars.parent / "solr-launcher"
    with (
        EmbeddedSolr(state, solr_jars, CONF / "solr", cores=CORES, cache=launcher) as server,
        Solr(server.start()) as solr,
    ):
        played = Played(SmallEstate(solr, spark, tmp_path))
        played.play(last=2)
        server.stop()
        shutil.copytree(state, tmp_path / "copy")
        server.start()
        played.play(last=6)
        newest = index_of(played.estate)
        server.stop()
        shutil.rmtree(state)
        (tmp_path / "copy").rename(state)
        server.start()
        assert differences(newest, index_of(played.estate))
        played.begin()
        played.play(life=1, first=4, last=6)
        assert differences(newest, index_of(played.estate)) == []
