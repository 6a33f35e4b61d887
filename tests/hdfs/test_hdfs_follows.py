"""navlin follows a real NameNode: after any events, the index equals one built from a fresh image, document by
document.
"""

from __future__ import annotations

import shutil
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from extractors.hdfs.client import HdfsAddress, HdfsClient
from extractors.hdfs.errors import MissingEvents
from navlin.index.journal.runs import RunRecord, Status
from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import Solr
from navlin.solr_server.embedded import EmbeddedSolr
from tests.services.hadoop import Hadoop
from tests.services.hdfs import Writer
from tests.support.hdfs_estate import HdfsEstate, Killed, differences
from tests.support.hdfs_operations import Operations
from tests.support.hdfs_runs import Follower

FORGETFUL = {"dfs.namenode.num.extra.edits.retained": "2", "dfs.namenode.num.checkpoints.retained": "1"}


@pytest.fixture(scope="module")
def forgetful(tmp_path_factory: pytest.TempPathFactory, hadoop_jars: Path) -> Iterator[Hadoop]:
    """An HDFS that deletes edits as soon as they are part of an image."""
    cache = hadoop_jars.parent / "hadoop-launcher"
    directory = tmp_path_factory.mktemp("forgetful")
    with Hadoop(directory, hadoop_jars, cache=cache, settings=FORGETFUL) as running:
        yield running


@pytest.fixture(scope="module")
def writer(forgetful: Hadoop, hadoop_jars: Path) -> Iterator[Writer]:
    with Writer(forgetful, hadoop_jars.parent / "hadoop-launcher") as writer:
        yield writer


@pytest.fixture(scope="module")
def estate(
    forgetful: Hadoop,
    solr_server: EmbeddedSolr,
    spark: Callable[[], SparkSession],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[HdfsEstate]:
    """One source for all tests, so that only the first test starts with an image. Each test begins with `caught_up`."""
    directory = str(forgetful.configuration_directory)
    settings = {"url": forgetful.url, "hadoop_configuration_directory": directory}
    with Solr(solr_server.start()) as solr:
        yield HdfsEstate(solr, spark, tmp_path_factory.getbasetemp() / "hdfs-spool", settings)


def follow(estate: HdfsEstate) -> RunRecord:
    record = estate.follow()
    assert record.status in (Status.FINISHED, Status.IDLE) and record.failures == (), record
    return record


def caught_up(estate: HdfsEstate) -> RunRecord:
    """Follow until nothing is left, and return the record of the last run, which is idle."""
    while (record := follow(estate)).status is not Status.IDLE:
        pass
    return record


def forget(hadoop: Hadoop, happen: Callable[[], None]) -> None:
    """Make changes twice, saving the namespace after each time, so that edits that are not yet followed are deleted."""
    for _ in range(2):
        happen()
        hadoop.roll_edits()
        hadoop.save_namespace()


@pytest.mark.services
def test_the_index_equals_a_fresh_image_after_random_operations(
    forgetful: Hadoop, writer: Writer, estate: HdfsEstate, tmp_path: Path
) -> None:
    follow_and_compare(forgetful, writer, estate, tmp_path, 4)


@pytest.mark.soak
def test_the_index_equals_a_fresh_image_for_another_seed(
    forgetful: Hadoop, writer: Writer, estate: HdfsEstate, tmp_path: Path, seed: str
) -> None:
    follow_and_compare(forgetful, writer, estate, tmp_path, seed)


def follow_and_compare(
    forgetful: Hadoop, writer: Writer, estate: HdfsEstate, tmp_path: Path, seed: int | str
) -> None:
    killed = Killed(estate, tmp_path / "scratch")
    try:
        happening = Operations(writer, f"/follows-{seed}".replace(" ", "-"), seed)
        happening.do(60)
        forgetful.save_namespace()
        follow(estate)
        forget(forgetful, lambda: happening.do(30))
        gap = follow(estate)
        assert "has no edits of transaction" in gap.note
        happening.do(80)
        assert killed.follow_until("link")[-1] == "link"
        estate.now_ms += 100_000
        follow(estate)
        # Make more changes while navlin follows.
        meanwhile = threading.Thread(target=happening.do, args=(100,))
        meanwhile.start()
        while meanwhile.is_alive():
            follow(estate)
        happening.close()
        follow(estate)

        forgetful.save_namespace()
        followed, fresh = estate.documents(), estate.fresh()
        assert differences(followed, fresh) == []
        assert len(followed) > 50
    finally:
        killed.kill()


@pytest.mark.services
def test_repeatedly_missed_events_name_the_setting_to_raise(
    forgetful: Hadoop, writer: Writer, estate: HdfsEstate
) -> None:
    def happen() -> None:
        writer.mkdirs(f"/forgotten/{uuid.uuid4().hex}")

    follower = Follower(estate.extractor("gaps"))
    follower.run()
    follower.run()
    forget(forgetful, happen)
    once = follower.run().plan.note
    forget(forgetful, happen)
    twice = follower.run().plan.note
    writer.mkdirs("/followed")
    follower.run()
    forget(forgetful, happen)

    assert "has no edits of transaction" in once and "dfs.namenode" not in once
    assert "dfs.namenode.num.extra.edits.retained" in twice
    assert "dfs.namenode" not in follower.run().plan.note, "in between they were followed"


@pytest.mark.services
def test_after_a_gap_an_image_older_than_the_position_is_not_read(
    forgetful: Hadoop, writer: Writer, estate: HdfsEstate, tmp_path: Path
) -> None:
    shutil.copytree(forgetful.name_directory(), tmp_path / "checkpoints")
    follower = Follower(estate.extractor("stale", image=str(tmp_path / "checkpoints")))
    follower.run()
    writer.mkdirs("/followed/further")
    follower.run()
    forget(forgetful, lambda: writer.mkdirs(f"/forgotten/{uuid.uuid4().hex}"))
    run = follower.run()

    assert run.splits == [] and run.covers == []
    assert "waiting for a newer image" in run.plan.note


@pytest.mark.services
def test_a_gap_in_the_events_is_distinguished_from_their_end(
    forgetful: Hadoop, writer: Writer, tmp_path: Path, hadoop_jars: Path
) -> None:
    cache = str(hadoop_jars.parent / "hadoop-launcher")
    client = HdfsClient(HdfsAddress(forgetful.url, http=forgetful.http, cache=cache))
    forget(forgetful, lambda: writer.mkdirs(f"/forgotten/{uuid.uuid4().hex}"))
    with pytest.raises(MissingEvents) as missed:
        list(client.events(0))
    position = int(client.fetch_image(tmp_path).name.removeprefix("fsimage_"))
    writer.mkdirs("/later")
    after = [event.path for event in client.events(position)]
    with pytest.raises(MissingEvents) as ahead:
        list(client.events(1_000_000))
    client.stop()

    assert (missed.value.expected_txid, missed.value.actual_txid > 1) == (1, True)
    assert after == ["/later"]
    assert ahead.value.expected_txid == 1_000_001, "a NameNode set back to an older image is no quiet one"


@pytest.mark.services
def test_only_a_round_with_changes_starts_a_spark_job(
    writer: Writer, estate: HdfsEstate, spark: Callable[[], SparkSession]
) -> None:
    tracker = spark().sparkContext.statusTracker()
    caught_up(estate)
    spark().sparkContext.setJobGroup("quiet", "a round in which nothing happened")
    assert follow(estate).status is Status.IDLE
    assert list(tracker.getJobIdsForGroup("quiet")) == []

    writer.mkdirs(f"/happened/{uuid.uuid4().hex}")
    follow(estate)
    assert list(tracker.getJobIdsForGroup("quiet"))


@pytest.mark.services
def test_only_changed_files_are_written(writer: Writer, estate: HdfsEstate) -> None:
    for number in range(30):
        writer.create(f"/many/f{number}", b"1")
    caught_up(estate)
    before = versions(estate)
    for number in range(10):
        writer.append(f"/many/f{number}", b"2")
    record = follow(estate)

    assert record.counts.changed == record.counts.records == 10
    after = versions(estate)
    assert {path for path in after if after[path] != before.get(path)} == {f"/many/f{n}" for n in range(10)}


def versions(estate: HdfsEstate) -> dict[str, int]:
    """Path → version of the document."""
    found = estate.solr.cursor(
        ELEMENTS, f"sourceId:{estate.extractor().source.id}", "fileSystemPath,_version_,type,identity"
    )
    return {each["fileSystemPath"]: each["_version_"] for each in found if each["type"] != "SOURCE"}
