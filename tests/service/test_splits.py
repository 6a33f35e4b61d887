"""Splits of all extractors: each knows whether it must be read on navlin's machine."""

from __future__ import annotations

import importlib
import pickle
import pkgutil
from collections.abc import Iterator

import pytest

import extractors
from extractors.hdfs.splits import DescribeSplit, ImageSplit, PartSplit, TreeSplit, WalkSplit
from extractors.hms.events import TableName, TableRenamed
from extractors.hms.splits import DatabaseSplit, PartitionListSplit, PartitionSplit, RenameSplit, TableSplit
from extractors.lineage.file_split import FileSplit
from extractors.odd_entries import OddEntry, OddSplit
from extractors.oozie import wanted as oozie
from extractors.oozie.answers import JobKind
from extractors.openlineage.openlineage_events import EventsSplit
from extractors.s3.splits import BucketSplit, RangeSplit
from extractors.spark.spark_events import LogSplit
from extractors.yarn.engine_runs import MergingSplit
from extractors.yarn.splits import BeyondSplit, SeenSplit, UnansweredSplit
from navlin.model.records import Split

ORDERS, OLD = TableName("sales", "orders"), TableName("sales", "orders_old")

SPLITS: dict[str, tuple[Split, bool]] = {
    "lines of a file": (FileSplit("host:1:2", "/logs/one", 1, 2, 10, 0), True),
    "files of events": (EventsSplit((FileSplit("host:1:2", "/events/one", 1, 2, 10, 0),), {}), True),
    "an event log": (LogSplit("/logs/app-1", (), 0, True, True, 0), True),
    "an event log on HDFS": (LogSplit("hdfs://ns1/logs/app-1", (), 0, True, True, 0), False),
    "an image": (ImageSplit("/state/spool/x/7", 7, 0), True),
    "a part of an image": (PartSplit("/state/spool/x/7", None, None, 1, 0), True),  # type: ignore[arg-type]
    "paths": (DescribeSplit(("/a",), 0), False),
    "trees": (TreeSplit(("/a",), 0), False),
    "the rest of a walk": (WalkSplit(("/a",), 0), False),
    "databases": (DatabaseSplit(("sales",), 0), False),
    "tables": (TableSplit((ORDERS,), 0), False),
    "lists of partitions": (PartitionListSplit((ORDERS,), 0), False),
    "partitions": (PartitionSplit(ORDERS, ("ds=1",), 0), False),
    "renames": (RenameSplit((TableRenamed(OLD, ORDERS, 1, 1),)), False),
    "applications": (SeenSplit(()), False),
    "applications that are not remembered": (BeyondSplit("http://rm", (("ana", 3),)), False),
    "jobs of Oozie": (oozie.JobsSplit(JobKind.WORKFLOW, (oozie.JobToRead("1-W"),), 0, 10), False),
    "jobs of Oozie beyond the bounds": (oozie.LeftOutSplit("http://oozie", (("too many", 3),)), False),
    "jobs of a run that were read apart": (MergingSplit(()), False),
    "entries that cannot be read": (OddSplit((OddEntry("http://rm", "no id", "{}"),)), False),
    "a bucket": (BucketSplit("eu-west-1", 0), False),
    "keys of a bucket": (RangeSplit("a/", "a/b", "", "eu-west-1", 0), False),
    "a service that does not answer": (UnansweredSplit("it is away"), False),
}
"""kind → (example split, whether it is local because it names a file on navlin's host)"""


def kinds(of: type[Split] = Split) -> Iterator[type[Split]]:
    for kind in of.__subclasses__():
        yield kind
        yield from kinds(kind)


def test_the_table_has_every_kind_of_split() -> None:
    for module in pkgutil.walk_packages(extractors.__path__, "extractors."):
        importlib.import_module(module.name)

    # Compared by name, because a dataclass with slots leaves its original class in memory.
    there = {f"{kind.__module__}.{kind.__name__}" for kind in kinds()}

    listed = {f"{type(split).__module__}.{type(split).__name__}" for split, _ in SPLITS.values()}
    assert listed == {name for name in there if name.startswith("extractors.")}


@pytest.mark.parametrize(("split", "local"), SPLITS.values(), ids=SPLITS)
def test_only_a_split_that_names_a_local_file_is_local(split: Split, *, local: bool) -> None:
    assert split.local is local
    assert pickle.loads(pickle.dumps(split)).local is local  # noqa: S301
