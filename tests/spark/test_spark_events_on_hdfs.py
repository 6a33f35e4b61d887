"""Event logs on a real HDFS: in every form, while a real Spark job writes them, and without permission to read
them."""

from __future__ import annotations

import json
import pickle
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from extractors.hdfs.client import HdfsRefused
from extractors.lineage.listed_files import NothingToFollow
from extractors.spark import SparkEvents
from navlin.model.plan import Positions
from navlin.model.source import Estate
from tests.services.hadoop import Hadoop
from tests.services.hdfs import Writer
from tests.services.spark_application import SparkApplications
from tests.services.spark_jobs import CODECS
from tests.support.spark_logs import (
    ESTATE,
    NOW_MS,
    SOURCE,
    Follower,
    application,
    application_end,
    end,
    insert,
    lines,
    log_start,
    read_once,
    scan,
    start,
)

COPY = insert("/w/b", scan("db.a"), table="db.b")
BEGINNING = lines(log_start(), application())
DAY_MS = 86_400_000


pytestmark = pytest.mark.services


@pytest.fixture
def directory(hdfs: Hadoop, hdfs_writer: Writer, request: pytest.FixtureRequest) -> str:
    """Create a directory for one test, and return its path."""
    path = f"/logs/{re.sub(r'[^a-z0-9_]', '-', request.node.name)}"
    hdfs_writer.mkdirs(path)
    return path


@pytest.fixture
def follower(hdfs: Hadoop, hadoop_jars: Path, directory: str) -> Callable[..., Follower]:
    """Return a factory of followers for that directory. The spool keeps the compiled child program between
    sessions."""
    estate = Estate(ESTATE.cluster, ESTATE.sources, spool=str(hadoop_jars.parent / "hadoop-launcher"))

    def of(**settings: object) -> Follower:
        return Follower(f"{hdfs.url}{directory}", estate, **settings)

    return of


def put(writer: Writer, local: Path, path: str) -> None:
    """Copy a file or the contents of a directory."""
    if local.is_dir():
        writer.mkdirs(path)
        for each in local.iterdir():
            put(writer, each, f"{path}/{each.name}")
    else:
        writer.create(path, local.read_bytes())


def executions(follower: Follower, now_ms: int = NOW_MS) -> list[str]:
    """Poll, and return the numbers of all executions extracted so far."""
    return sorted(each.key.name.rpartition(".")[2] for each in follower.poll(now_ms).executions)


# -- Every form -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["default", "plain", *(f"codecs/{codec}" for codec in CODECS)])
def test_a_log_on_hdfs_reads_the_same_as_a_local_one(
    spark_logs: Path, hdfs_writer: Writer, directory: str, follower: Callable[..., Follower], form: str
) -> None:
    put(hdfs_writer, spark_logs / form, directory)
    assert follower().poll().everything() == read_once(spark_logs / form).everything()


def test_an_archive_on_hdfs_reads_the_same_as_its_log(
    spark_logs: Path, hdfs_writer: Writer, directory: str, follower: Callable[..., Follower], tmp_path: Path
) -> None:
    archive = shutil.make_archive(str(tmp_path / "eventLogs"), "zip", spark_logs / "default")
    put(hdfs_writer, Path(archive), f"{directory}/eventLogs.zip")
    assert follower().poll().everything() == read_once(spark_logs / "default").everything()


def test_a_databricks_log_on_hdfs_is_read_in_file_order(
    hdfs_writer: Writer, directory: str, follower: Callable[..., Follower]
) -> None:
    hdfs_writer.create(f"{directory}/1234/eventlog-2026-01-02--03-00", BEGINNING + lines(start(0, COPY)))
    hdfs_writer.create(f"{directory}/1234/eventlog", lines(end(0), application_end()))
    assert executions(follower()) == ["0"]


# -- While it is written ----------------------------------------------------------------------------------------------


def test_a_log_in_progress_is_followed_beyond_its_listed_length(
    hdfs: Hadoop, hdfs_writer: Writer, directory: str, follower: Callable[..., Follower]
) -> None:
    path = f"{directory}/application_1_0001.inprogress"
    hdfs_writer.create(path, BEGINNING + lines(start(0, COPY), end(0), start(1, COPY)), close=False)
    followed = follower()
    assert executions(followed) == ["0"]
    assert followed.plan() == (), "nothing was flushed since"
    known = listed_length(hdfs, path)
    hdfs_writer.write(path, lines(end(1)))
    assert listed_length(hdfs, path) == known, "else this shows nothing"
    assert executions(followed) == ["0", "1"]
    hdfs_writer.write(path, lines(start(2, COPY), end(2), application_end()))
    hdfs_writer.close(path)
    hdfs_writer.rename(path, path.removesuffix(".inprogress"))
    read_before = followed.splits
    assert executions(followed) == ["0", "1", "2"]
    assert followed.splits == read_before + 1, "the renamed log is read on, not again"
    assert followed.plan() == ()
    assert not followed.extracted.rejects


def within(limit_s: float, condition: Callable[[], bool]) -> bool:
    """Wait until a condition is true. Return False if the time limit is exceeded."""
    deadline_s = time.monotonic() + limit_s
    while not (true := condition()) and time.monotonic() < deadline_s:
        time.sleep(0.1)
    return true


def listed_length(hdfs: Hadoop, path: str) -> int:
    with urlopen(f"{hdfs.http[0]}/webhdfs/v1{path}?op=GETFILESTATUS") as answer:
        return int(json.load(answer)["FileStatus"]["length"])


def test_a_rolling_log_is_followed_from_part_to_part(
    hdfs_writer: Writer, directory: str, follower: Callable[..., Follower]
) -> None:
    log = f"{directory}/eventlog_v2_application_1_0001"
    hdfs_writer.create(f"{log}/appstatus_application_1_0001.inprogress")
    hdfs_writer.create(f"{log}/events_1_application_1_0001", BEGINNING + lines(start(0, COPY)), close=False)
    followed = follower()
    assert executions(followed) == []
    hdfs_writer.close(f"{log}/events_1_application_1_0001")
    hdfs_writer.create(f"{log}/events_2_application_1_0001", lines(end(0)), close=False)
    assert executions(followed) == ["0"]
    hdfs_writer.write(f"{log}/events_2_application_1_0001", lines(start(1, COPY), end(1), application_end()))
    hdfs_writer.close(f"{log}/events_2_application_1_0001")
    hdfs_writer.rename(
        f"{log}/appstatus_application_1_0001.inprogress", f"{log}/appstatus_application_1_0001"
    )
    assert executions(followed) == ["0", "1"]
    assert followed.plan() == ()


def test_only_a_log_not_held_open_becomes_stale(
    hdfs_writer: Writer, directory: str, follower: Callable[..., Follower]
) -> None:
    path = f"{directory}/application_1_0001.inprogress"
    hdfs_writer.create(path, BEGINNING + lines(start(0, COPY)), close=False)
    hdfs_writer.touch(path, NOW_MS)
    followed = follower()
    assert executions(followed, NOW_MS + 30 * DAY_MS) == [], "its driver may be idle for a month"
    hdfs_writer.close(path)
    hdfs_writer.touch(path, NOW_MS)
    assert executions(followed, NOW_MS + 30 * DAY_MS) == ["0"]
    [extracted] = followed.extracted.executions
    assert extracted.attributes["status"] == "UNKNOWN"


@pytest.fixture(scope="module")
def real_spark() -> Iterator[SparkApplications]:
    with SparkApplications() as spark:
        yield spark


@pytest.mark.parametrize(
    "settings",
    [{}, {"spark.eventLog.rolling.enabled": "false", "spark.eventLog.compress": "false"}],
    ids=["with Spark's defaults", "single and plain"],
)
def test_a_real_application_is_followed_while_it_runs(
    hdfs: Hadoop,
    directory: str,
    follower: Callable[..., Follower],
    real_spark: SparkApplications,
    settings: dict[str, str],
) -> None:
    followed = follower()
    data = f"{hdfs.url}{directory}-data"

    def written() -> set[str]:
        return {path for _, _, path in followed.poll().flows}

    real_spark.start(f"{hdfs.url}{directory}", settings)
    real_spark.write(f"{data}/one")
    # Spark writes its log asynchronously, after the statement has returned.
    assert within(120, lambda: written() == {f"{data}/one"})
    real_spark.write(f"{data}/two")
    assert within(120, lambda: written() == {f"{data}/one", f"{data}/two"})
    real_spark.stop()
    assert written() == {f"{data}/one", f"{data}/two"}
    assert {each.attributes["status"] for each in followed.extracted.executions} == {"SUCCEEDED"}
    assert followed.plan() == ()
    assert followed.extracted.everything() == follower().poll().everything(), "in steps as at once"
    assert not followed.extracted.rejects


# -- Permissions ------------------------------------------------------------------------------------------------------


def test_an_unreadable_rolling_log_names_the_missing_group(
    hdfs: Hadoop, hdfs_writer: Writer, directory: str, follower: Callable[..., Follower]
) -> None:
    log = f"{directory}/eventlog_v2_application_1_0001"
    hdfs_writer.create(f"{log}/events_1_application_1_0001", BEGINNING + lines(start(0, COPY), end(0)))
    hdfs_writer.create(f"{log}/appstatus_application_1_0001")
    hdfs_writer.create(f"{directory}/application_1_0002", BEGINNING + lines(start(5, COPY), end(5)))
    hdfs_writer.chown(log, "alice", "analysts")
    hdfs_writer.chmod(log, "770")
    bob, carol = follower(hadoop_user="bob"), follower(hadoop_user="carol")
    extracted = (
        f"1 event log cannot be read, such as {hdfs.url}{log}: bob may not list {log} "
        "(owner alice, group analysts, drwxrwx---): add bob to the group analysts"
    )

    assert bob.extractor.plan(Positions({}, NOW_MS)).note == extracted
    assert list(bob.extractor.check()) == [f"{hdfs.url}{directory}: 1 event log", extracted]
    assert executions(bob) == ["5"], "the others are read all the same"
    assert executions(carol) == ["0", "5"]


def test_an_unreadable_single_log_names_the_missing_group(
    hdfs_writer: Writer, directory: str, follower: Callable[..., Follower]
) -> None:
    path = f"{directory}/application_1_0001"
    hdfs_writer.create(path, BEGINNING)
    hdfs_writer.chown(path, "alice", "analysts")
    hdfs_writer.chmod(path, "660")
    with pytest.raises(HdfsRefused, match=r"bob may not read .*: add bob to the group analysts"):
        follower(hadoop_user="bob").poll()


def test_an_unlistable_directory_is_reported(hdfs: Hadoop, directory: str) -> None:
    with pytest.raises(NothingToFollow, match=f"cannot list the event logs: {hdfs.url}{directory}/no"):
        Follower(f"{hdfs.url}{directory}/no").plan()


# -- Cost, and data transferred ---------------------------------------------------------------------------------------


def test_finished_logs_in_a_quiet_directory_are_not_opened(
    hdfs_writer: Writer, directory: str, follower: Callable[..., Follower]
) -> None:
    log = BEGINNING + lines(application_end())
    rolling = [f"{directory}/eventlog_v2_application_1_{n:04}" for n in range(5)]
    for n, each in enumerate(rolling):
        hdfs_writer.create(f"{each}/events_1_application_1_{n:04}", log)
        hdfs_writer.create(f"{each}/appstatus_application_1_{n:04}")
    followed = follower(hadoop_user="bob")
    followed.poll()
    assert len(followed.saved) == 5
    for each in rolling:
        hdfs_writer.chmod(each, "700")  # reads fail after this
    plan = followed.extractor.plan(Positions(followed.saved, NOW_MS))
    assert (plan.splits, plan.note) == ((), "")
    assert "5 event logs cannot be read" in followed.extractor.plan(Positions({}, NOW_MS)).note


def test_splits_may_be_read_anywhere_with_the_same_result(
    hdfs_writer: Writer, directory: str, follower: Callable[..., Follower], spark_logs: Path
) -> None:
    put(hdfs_writer, spark_logs / "default", directory)
    followed = follower()
    [split] = followed.plan()
    assert not split.local
    extractor = pickle.loads(pickle.dumps(followed.extractor))  # noqa: S301 - made here
    first = list(extractor.read(pickle.loads(pickle.dumps(split))))  # noqa: S301 - made here
    assert first == list(followed.extractor.read(split))


def test_settings_without_a_place_on_hdfs_are_refused() -> None:
    nowhere = SparkEvents(SOURCE, ESTATE, "hdfs:///logs")
    both = SparkEvents(SOURCE, ESTATE, "hdfs://host:8020/logs", namenodes=("host:8020",))
    for each in (nowhere, both):
        with pytest.raises(ValueError, match="name"):
            each.directories()
    on_hdfs = SparkEvents(SOURCE, ESTATE, "hdfs://ns1/a b%20c/")
    assert on_hdfs.directories() == ()
    assert on_hdfs.roots() == ["hdfs://ns1/a b%20c"]
