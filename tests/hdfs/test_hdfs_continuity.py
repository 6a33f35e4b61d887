"""A position is valid for one namespace and one history only. If either differs, the source notices and reads the
complete image.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from extractors.hdfs import Hdfs
from extractors.hdfs.client import HdfsAddress, HdfsClient, HdfsEvent, hdfs
from extractors.hdfs.continuity import (
    BLOCK_POOL_ID,
    CLUSTER_ID,
    EDITS,
    NAMESPACE_ID,
    TRANSACTIONS_KEPT,
    LastEdits,
    NamespaceIds,
    why_another,
)
from extractors.hdfs.errors import HdfsError
from extractors.hdfs.plan import IMAGE_MD5, TRANSACTION
from extractors.hdfs.splits import ImageSplit
from navlin.model.image_positions import IMAGE
from navlin.model.plan import Plan, Positions
from navlin.model.source import HDFS, Estate, Source, source_id
from tests.services.hadoop import Hadoop
from tests.services.hdfs import Writer
from tests.support.hdfs_runs import Follower
from tests.support.images import Tree

SOURCE = Source(source_id("cluster", "continued"), HDFS, "HDFS", "cluster", ("hdfs://ns1",))


# -- A NameNode --------------------------------------------------------------------------------------------------------


class Estranged:
    """An HDFS that can be formatted and restored from a copy, and a source that follows it."""

    def __init__(self, hadoop: Hadoop, cache: Path, spool: Path) -> None:
        self.hadoop, self._cache = hadoop, cache
        address = HdfsAddress(hadoop.url, http=hadoop.http, cache=str(cache))
        self._client = HdfsClient(address)
        estate = Estate("cluster", (SOURCE,), spool=str(spool))
        directory = str(hadoop.configuration_directory)
        self.hdfs = Hdfs(SOURCE, estate, hadoop.url, hadoop_configuration_directory=directory)
        self.follower = Follower(self.hdfs)

    def restart(self) -> None:
        """Start the stopped NameNode, and stop the clients, whose connections are broken; they are started again when
        needed.
        """
        self.hadoop.start()
        self._client.stop()
        hdfs(self.hdfs._address).stop()

    def stop(self) -> None:
        self._client.stop()
        hdfs(self.hdfs._address).stop()

    def write(self, *paths: str) -> None:
        """Make directories, each in a transaction of its own."""
        with Writer(self.hadoop, self._cache) as writer:
            for path in paths:
                writer.mkdirs(path)

    def follow_to_the_end(self) -> None:
        while self.follower.hdfs.plan(Positions(self.follower.saved, self.follower.now_ms)) != Plan():
            self.follower.run()

    def newest(self) -> int:
        return self._client.transaction()

    def grow_to(self, transaction: int) -> None:
        """Make changes that differ from all earlier ones, until the NameNode has reached this transaction id."""
        count = transaction - self.newest()
        assert count > 0
        self.write(*(f"/other{number}" for number in range(count)))
        assert self.newest() == transaction


@pytest.fixture
def estranged(tmp_path: Path, hadoop_jars: Path) -> Iterator[Estranged]:
    cache = hadoop_jars.parent / "hadoop-launcher"
    with Hadoop(tmp_path / "hadoop", hadoop_jars, cache=cache) as hadoop:
        made = Estranged(hadoop, cache, tmp_path)
        try:
            yield made
        finally:
            made.stop()


@pytest.mark.services
def test_a_reformatted_namenode_is_read_completely_even_past_the_position(
    estranged: Estranged,
) -> None:
    estranged.write("/before", "/kept")
    estranged.follow_to_the_end()
    before = dict(estranged.follower.saved)
    estranged.hadoop.stop()
    for directory in (estranged.hadoop.name_directory().parent, estranged.hadoop.directory / "data"):
        shutil.rmtree(directory)
    estranged.restart()
    estranged.write("/kept", "/after")
    estranged.grow_to(before[TRANSACTION] + 5)
    run = estranged.follower.run()
    estranged.follow_to_the_end()
    after = estranged.follower.saved

    assert "a different HDFS from the one that was followed: its cluster id is" in run.plan.note
    assert any(isinstance(split, ImageSplit) for split in run.splits)
    assert "/before" not in estranged.follower.known
    assert {"/kept", "/after"} <= set(estranged.follower.known)
    for key in (CLUSTER_ID, BLOCK_POOL_ID, NAMESPACE_ID):
        assert before[key] and after[key] and before[key] != after[key]


@pytest.mark.services
@pytest.mark.parametrize("past", [0, 7], ids=["at the position", "past the position"])
def test_a_restored_namenode_is_read_completely_even_past_the_position(
    estranged: Estranged, tmp_path: Path, past: int
) -> None:
    estranged.write("/before")
    estranged.hadoop.save_namespace()
    estranged.hadoop.stop()
    shutil.copytree(estranged.hadoop.name_directory(), tmp_path / "backup")
    estranged.restart()
    estranged.write(*(f"/lost{number}" for number in range(20)))
    estranged.follow_to_the_end()
    followed = estranged.follower.saved[TRANSACTION]
    assert "/lost19" in estranged.follower.known
    estranged.hadoop.stop()
    shutil.rmtree(estranged.hadoop.name_directory())
    shutil.copytree(tmp_path / "backup", estranged.hadoop.name_directory())
    estranged.restart()
    estranged.grow_to(followed + past)
    run = estranged.follower.run()
    estranged.follow_to_the_end()

    assert "the NameNode was restored: its edits up to transaction" in run.plan.note
    assert not [path for path in estranged.follower.known if path.startswith("/lost")]
    assert {"/before", "/other0"} <= set(estranged.follower.known)


@pytest.mark.services
def test_a_restarted_namenode_is_followed_without_a_complete_reading(estranged: Estranged) -> None:
    estranged.write("/before")
    estranged.follow_to_the_end()
    assert estranged.follower.saved[EDITS][1] <= estranged.follower.saved[TRANSACTION]
    estranged.hadoop.stop()
    estranged.restart()
    estranged.write("/after")
    run = estranged.follower.run()

    assert not run.plan.note and "/after" in run.rows
    assert not any(isinstance(split, ImageSplit) for split in run.splits)


# -- Images ------------------------------------------------------------------------------------------------------------


class Checkpoints:
    """A directory of checkpoints, and a source that reads only these images."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "current"
        self.directory.mkdir()
        estate = Estate("cluster", (SOURCE,), spool=str(directory))
        hdfs = Hdfs(SOURCE, estate, "hdfs://ns1", image=str(self.directory), events=False)
        self.follower = Follower(replace(hdfs, sidecars=False))

    def write(self, transaction: int, path: str, *, namespace_id: int = 1, version: str = "") -> None:
        """Replace the image, and write a VERSION file with the contents ``version`` unless that is empty."""
        for each in self.directory.iterdir():
            each.unlink()
        tree = Tree(transaction_id=transaction, namespace_id=namespace_id)
        tree.file(path)
        tree.write(self.directory / f"fsimage_{transaction:019}")
        if version:
            (self.directory / "VERSION").write_text(version)


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path)


VERSION = "#Sun Nov 22\nnamespaceID={}\nblockpoolID={}\nclusterID={}\ncTime=0\nlayoutVersion=-66\n"
OTHERS = {
    "another namespace id": ({"namespace_id": 2}, "its namespace id is 2, not 1"),
    "another block pool": ({"version": VERSION.format(1, "BP-2", "CID-1")}, "its block pool id is BP-2"),
    "another cluster": ({"version": VERSION.format(1, "BP-1", "CID-2")}, "its cluster id is CID-2"),
}


@pytest.mark.parametrize("transaction", [50, 100, 150], ids=["older", "as old", "newer"])
@pytest.mark.parametrize(("other", "why"), OTHERS.values(), ids=OTHERS)
def test_an_image_of_another_namespace_is_read_completely_whatever_its_transaction(
    checkpoints: Checkpoints, other: dict[str, int | str], why: str, transaction: int
) -> None:
    checkpoints.write(100, "/before", version=VERSION.format(1, "BP-1", "CID-1"))
    checkpoints.follower.run()
    checkpoints.write(transaction, "/after", **other)  # type: ignore[arg-type]
    run = checkpoints.follower.run()

    assert why in run.plan.note
    assert set(checkpoints.follower.known) == {"/", "/after"}
    assert checkpoints.follower.saved[IMAGE] == transaction
    assert {listing.as_of_ms for listing in run.listings} == {checkpoints.follower.now_ms}


def test_another_image_of_the_same_transaction_is_read(checkpoints: Checkpoints) -> None:
    checkpoints.write(100, "/before")
    checkpoints.follower.run()
    first = checkpoints.follower.saved[IMAGE_MD5]
    assert checkpoints.follower.run().splits == []
    checkpoints.write(100, "/after")
    run = checkpoints.follower.run()

    assert "its image of transaction 100 is another than before" in run.plan.note
    assert set(checkpoints.follower.known) == {"/", "/after"}
    assert checkpoints.follower.saved[IMAGE_MD5] != first
    assert checkpoints.follower.run().splits == []


def test_an_older_image_of_the_same_namespace_is_not_read(checkpoints: Checkpoints) -> None:
    checkpoints.write(100, "/before")
    checkpoints.follower.run()
    checkpoints.write(50, "/earlier")

    assert checkpoints.follower.run().splits == []


@pytest.mark.services
def test_an_image_file_of_another_namespace_than_the_namenodes_is_refused(
    estranged: Estranged, checkpoints: Checkpoints
) -> None:
    checkpoints.write(1, "/foreign", version=VERSION.format(1, "BP-1", "CID-1"))
    estranged.follower.hdfs = replace(estranged.hdfs, image=str(checkpoints.directory))

    with pytest.raises(HdfsError, match="the image is of another HDFS than"):
        estranged.follower.run()


# -- Components --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("followed", "now", "another"),
    [
        (NamespaceIds(), NamespaceIds(1, "CID-1", "BP-1"), False),
        (NamespaceIds(1, "CID-1", "BP-1"), NamespaceIds(), False),
        (NamespaceIds(1, "CID-1", "BP-1"), NamespaceIds(1, "CID-1", "BP-1"), False),
        (NamespaceIds(1, "", ""), NamespaceIds(0, "CID-1", "BP-1"), False),
        (NamespaceIds(1, "CID-1", "BP-1"), NamespaceIds(2, "CID-1", "BP-1"), True),
        (NamespaceIds(1, "CID-1", "BP-1"), NamespaceIds(1, "CID-2", "BP-1"), True),
        (NamespaceIds(1, "CID-1", "BP-1"), NamespaceIds(0, "CID-1", "BP-2"), True),
    ],
)
def test_only_an_id_known_to_both_distinguishes_two_namespaces(
    followed: NamespaceIds, now: NamespaceIds, another: bool
) -> None:
    assert bool(why_another(followed, now)) is another


def test_the_last_events_are_remembered_with_every_field() -> None:
    def last(*events: HdfsEvent) -> list[object] | None:
        kept = LastEdits()
        for event in events:
            kept.add(event)
        return kept.position()

    many = [HdfsEvent(number, "CREATE", f"/{number}", "", False, 5) for number in range(1, 100)]
    base = HdfsEvent(7, "RENAME", "/a", "/b", False, 5)
    others = [HdfsEvent(**{**base._asdict(), name: value}) for name, value in OTHER_VALUES.items()]

    assert last() is None
    assert last(*many) == last(*many[-TRANSACTIONS_KEPT:]) and last(*many)[:2] == [84, 99]  # type: ignore[index]
    assert set(OTHER_VALUES) == set(HdfsEvent._fields)
    assert len({str(last(event)) for event in (base, *others)}) == len(OTHER_VALUES) + 1
    assert last(base, base) != last(base)


OTHER_VALUES = {"txid": 8, "kind": "CREATE", "path": "/c", "to": "/d", "directory": True, "time_ms": 6}
