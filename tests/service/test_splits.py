"""Splits of all extractors: each knows whether it must be read on navlin's machine."""

from __future__ import annotations

import importlib
import pickle
import pkgutil
from collections.abc import Iterator

import pytest

import extractors
from extractors.hdfs.splits import ImageSplit, PartSplit
from extractors.lineage.file_split import FileSplit
from extractors.openlineage.openlineage_events import EventsSplit
from extractors.spark.spark_events import LogSplit
from navlin.model.records import Split

SPLITS: dict[str, tuple[Split, bool]] = {
    "lines of a file": (FileSplit("host:1:2", "/logs/one", 1, 2, 10, 0), True),
    "files of events": (EventsSplit((FileSplit("host:1:2", "/events/one", 1, 2, 10, 0),), {}), True),
    "an event log": (LogSplit("/logs/app-1", (), 0, True, True, 0), True),
    "an event log on HDFS": (LogSplit("hdfs://ns1/logs/app-1", (), 0, True, True, 0), False),
    "an image": (ImageSplit("/state/spool/x/7", 7, 0), True),
    "a part of an image": (PartSplit("/state/spool/x/7", None, None, 1, 0), True),  # type: ignore[arg-type]
}
"""kind → (example split, whether it is local because it names a file on navlin's host)"""


def kinds(of: type[Split] = Split) -> Iterator[type[Split]]:
    for kind in of.__subclasses__():
        yield kind
        yield from kinds(kind)


def test_the_table_has_every_kind_of_split_that_may_be_local() -> None:
    for module in pkgutil.walk_packages(extractors.__path__, "extractors."):
        importlib.import_module(module.name)

    # Compared by name, because a dataclass with slots leaves its original class in memory.
    local = {f"{kind.__module__}.{kind.__name__}" for kind in kinds() if kind.local is not Split.local}

    listed = {f"{type(split).__module__}.{type(split).__name__}" for split, _ in SPLITS.values()}
    assert listed == {name for name in local if name.startswith("extractors.")}


@pytest.mark.parametrize(("split", "local"), SPLITS.values(), ids=SPLITS)
def test_only_a_split_that_names_a_local_file_is_local(split: Split, *, local: bool) -> None:
    assert split.local is local
    assert pickle.loads(pickle.dumps(split)).local is local  # noqa: S301
