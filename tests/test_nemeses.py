"""Whatever chance does to Solr, to the clock and to the sources: the index is in the end what undisturbed runs make."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from navlin.index.solr import Solr
from navlin.solr_server.embedded import EmbeddedSolr
from tests.support.killed_runs import GENERATIONS, Played, differences, index_of, wipe
from tests.support.nemeses import World, in_words, play_among
from tests.support.pipeline_estate import SmallEstate
from tests.support.solr_proxy import SolrProxy

SMALL = 6
"""The runs before those that write more than one batch."""
ALL = 2 * len(GENERATIONS)


def compare_with_undisturbed(
    solr_server: EmbeddedSolr,
    spark: Callable[[], SparkSession],
    folder: Path,
    *,
    seed: object,
    runs: int,
    faults_a_run: int,
) -> str:
    """What was done, in a line. Fails if any document is another one."""
    with Solr(solr_server.start()) as solr:
        undisturbed = SmallEstate(solr, spark, folder)
        Played(undisturbed).play(last=runs)
        expected = index_of(undisturbed)
        wipe(undisturbed)
        with SolrProxy(solr.address) as proxy, Solr(proxy.address) as through_the_proxy:
            estate = SmallEstate(through_the_proxy, spark, folder, cluster=undisturbed.cluster)
            world = World(estate, proxy, solr_server, random.Random(str(seed)))
            play_among(world, runs=runs, faults_a_run=faults_a_run)
            unlike = differences(expected, index_of(estate))
            wipe(estate)
    assert unlike == [], in_words(world)
    return f"{in_words(world)}; {len(expected)} documents compared, 0 differences"


def test_a_few_faults_leave_no_trace(
    solr_server: EmbeddedSolr, spark: Callable[[], SparkSession], tmp_path: Path
) -> None:
    compare_with_undisturbed(solr_server, spark, tmp_path, seed=1, runs=SMALL, faults_a_run=2)


@pytest.mark.services
def test_many_faults_leave_no_trace(
    solr_server: EmbeddedSolr,
    spark: Callable[[], SparkSession],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    done = compare_with_undisturbed(solr_server, spark, tmp_path, seed=2, runs=ALL, faults_a_run=4)
    with capsys.disabled():
        sys.stdout.write(f"\n{done}\n")


@pytest.mark.soak
def test_faults_without_end_leave_no_trace(
    solr_server: EmbeddedSolr,
    spark: Callable[[], SparkSession],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    seed: str,
) -> None:
    done = compare_with_undisturbed(solr_server, spark, tmp_path, seed=seed, runs=ALL, faults_a_run=5)
    with capsys.disabled():
        sys.stdout.write(f"\n{done}\n")
