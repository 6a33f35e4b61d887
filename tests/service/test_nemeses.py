"""After random faults in Solr, its disk, processes, clocks, sources and logs, the index equals that of undisturbed
runs."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from navlin.index.solr.solr import Solr
from navlin.solr_server.embedded import EmbeddedSolr
from tests.support import full_disk
from tests.support.another_process import AnotherProcess
from tests.support.followed_logs import OF_LOGS, FollowedLogs
from tests.support.killed_runs import GENERATIONS, REPOSITORY, Played, differences, index_of, wipe
from tests.support.nemeses import OF_PROCESSES, World, disk_is_full, in_words, play_among
from tests.support.pipeline_estate import SmallEstate
from tests.support.soaked import Soaked
from tests.support.solr_proxy import SolrProxy

SMALL = 6
"""Number of runs before the runs that write more than one batch."""
ALL = 2 * len(GENERATIONS)


def compare_with_undisturbed(
    solr_server: EmbeddedSolr,
    spark: Callable[[], SparkSession],
    folder: Path,
    *,
    seed: object,
    runs: int,
    faults_a_run: int,
    another: Callable[[], AnotherProcess] | None = None,
    with_logs: bool = False,
    disk: Path | None = None,
    soaked: Soaked | None = None,
) -> str:
    """Play runs with random faults, and return a one-line summary. Fail if any document differs.

    ``another`` navlin sometimes runs the same sources; ``with_logs`` follows logs too; ``disk`` holds Solr's state
    and may be filled.
    """
    with Solr(solr_server.start()) as solr:
        undisturbed = SmallEstate(solr, spark, folder)
        Played(undisturbed).play(last=runs)
        expected = index_of(undisturbed)
        wipe(undisturbed)
        with SolrProxy(solr.address) as proxy, Solr(proxy.address) as through_the_proxy:
            estate = SmallEstate(through_the_proxy, spark, folder, cluster=undisturbed.cluster)
            logs = FollowedLogs(solr, spark, folder) if with_logs else None
            chance = random.Random(str(seed))
            world = World(estate, proxy, solr_server, chance, another=another, logs=logs, disk=disk)
            further = (*(OF_PROCESSES if another else ()), *((disk_is_full,) if disk else ()))
            play_among(world, runs=runs, faults_a_run=faults_a_run, further=further)
            unlike = differences(expected, index_of(estate))
            wipe(estate)
        compared = len(expected)
        if logs is not None:
            compared += len(logs.index())
            unlike += unlike_in_one_file(logs, spark, folder)
    if soaked is not None:
        soaked.add_struck(world.struck)
        soaked.add_compared(compared, len(unlike))
    assert unlike == [], "\n".join((in_words(world), *unlike))
    return f"{in_words(world)}; {compared} documents compared, 0 differences"


def unlike_in_one_file(logs: FollowedLogs, spark: Callable[[], SparkSession], folder: Path) -> list[str]:
    """Return the differences between the index of the followed logs and the index of one file with the same
    records, read once."""
    found = logs.index()
    logs.wipe()
    in_one_file = FollowedLogs(logs.solr, spark, folder, logs.cluster)
    in_one_file.write(logs.written)
    in_one_file.catch_up()
    unlike = differences(in_one_file.index(), found)
    in_one_file.wipe()
    return unlike


@pytest.fixture
def another(tmp_path: Path) -> Iterator[Callable[[], AnotherProcess]]:
    """Return a function that returns another navlin process, starting a new one if the last was killed."""
    started: list[AnotherProcess] = []

    def process() -> AnotherProcess:
        if not started or not started[-1].alive:
            started.append(AnotherProcess(tmp_path, tmp_path / f"scratch-{len(started)}"))
        return started[-1]

    yield process
    for each in started:
        each.close()


@pytest.mark.services
def test_some_faults_leave_no_trace(
    solr_server: EmbeddedSolr,
    spark: Callable[[], SparkSession],
    tmp_path: Path,
    another: Callable[[], AnotherProcess],
    capsys: pytest.CaptureFixture[str],
) -> None:
    done = compare_with_undisturbed(
        solr_server, spark, tmp_path, seed=2, runs=SMALL, faults_a_run=2, another=another, with_logs=True
    )
    with capsys.disabled():
        sys.stdout.write(f"\n{done}\n")


@pytest.mark.services
def test_rotated_truncated_and_restored_logs_lose_and_duplicate_nothing(
    solr: Solr, spark: Callable[[], SparkSession], tmp_path: Path
) -> None:
    """Each nemesis of logs happens once, in random order, and usually a run follows."""
    chance = random.Random(4)
    logs = FollowedLogs(solr, spark, tmp_path)
    for nemesis in chance.sample(OF_LOGS, len(OF_LOGS)):
        logs.write(1)
        nemesis(logs, chance)
        if chance.random() < 0.7:
            logs.run()
    logs.catch_up()
    assert unlike_in_one_file(logs, spark, tmp_path) == []


@pytest.mark.soak
def test_an_intermittently_full_disk_leaves_no_trace(
    tmp_path: Path, solr_jars: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = on_a_small_disk(tmp_path, "3", runs=SMALL, faults_a_run=2)
    with capsys.disabled():
        sys.stdout.write(f"\n{done}\n")


@pytest.mark.soak
def test_continual_faults_leave_no_trace(
    solr_server: EmbeddedSolr,
    spark: Callable[[], SparkSession],
    tmp_path: Path,
    another: Callable[[], AnotherProcess],
    capsys: pytest.CaptureFixture[str],
    seed: str,
    soaked: Soaked,
) -> None:
    done = compare_with_undisturbed(
        solr_server,
        spark,
        tmp_path,
        seed=seed,
        runs=ALL,
        faults_a_run=3,
        another=another,
        with_logs=True,
        soaked=soaked,
    )
    with capsys.disabled():
        sys.stdout.write(f"\n{done}\n")


@pytest.mark.soak
def test_a_repeatedly_full_disk_leaves_no_trace(
    tmp_path: Path, solr_jars: Path, capsys: pytest.CaptureFixture[str], seed: str, soaked: Soaked
) -> None:
    done = on_a_small_disk(tmp_path, seed, runs=ALL, faults_a_run=2)
    soaked.other_faults += int(done.split()[0])
    with capsys.disabled():
        sys.stdout.write(f"\n{done}\n")


def on_a_small_disk(folder: Path, seed: str, *, runs: int, faults_a_run: int) -> str:
    """Run `compare_with_undisturbed` in a mount namespace in which Solr's state has its own small disk."""
    if reason := full_disk.refused():
        pytest.skip(f"no disk of its own can be mounted here: {reason}")
    module = "tests.support.nemeses_on_full_disk"
    arguments = [str(folder), seed, str(runs), str(faults_a_run)]
    command = [*full_disk.NAMESPACE, sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=1_500)
    assert done.returncode == 0, done.stderr[-8_000:]
    return done.stdout.splitlines()[-1]
