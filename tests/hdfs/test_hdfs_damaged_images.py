"""Damaged images in the pipeline: the run fails with the error and its location, and no file is flagged deleted."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from extractors.hdfs import Hdfs
from navlin.index.journal.runs import RunRecord, Status
from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS
from navlin.model.source import HDFS, Estate, Source, source_id
from navlin.pipeline.run import Pipeline
from tests.support.images import ROOT_ID, Tree

HOUR_MS = 3_600_000


class Checkpoints:
    """A standby's directory of checkpoints, and a source whose runs each read the newest checkpoint."""

    def __init__(self, solr: Solr, spark: Callable[[], SparkSession], folder: Path) -> None:
        self.solr, self.folder = solr, folder / "current"
        self.folder.mkdir()
        cluster = f"cluster-{uuid.uuid4().hex[:8]}"
        self.source = Source(source_id(cluster, "HDFS"), HDFS, "HDFS", cluster, ("hdfs://ns1",))
        estate = Estate(cluster, (self.source,), spool=str(folder / "spool"))
        self.hdfs = Hdfs(self.source, estate, "hdfs://ns1", image=str(self.folder), events=False)
        self.now_ms = 1_800_000_000_000
        self.pipeline = Pipeline(solr.address, spark, self._clock)

    def _clock(self) -> int:
        self.now_ms += 1
        return self.now_ms

    def image(self, transaction: int, *without: str) -> tuple[Tree, Path]:
        """Write a checkpoint of thirty files in three directories, except the paths in ``without``."""
        tree = Tree(transaction_id=transaction)
        for at in range(30):
            if (path := f"/data/d{at % 3}/f{at}") not in without:
                tree.file(path)
        return tree, tree.write(self.folder / f"fsimage_{transaction:019}")

    def run(self, image: Path | None = None) -> RunRecord:
        self.now_ms += HOUR_MS
        return self.pipeline.run(EXTRACTORS["hdfs"], replace(self.hdfs, image=str(image or self.folder)))

    def paths(self, *, deleted: bool) -> set[str]:
        documents = self.solr.cursor(
            ELEMENTS, f"sourceId:{self.source.id} AND type:(FILE OR DIRECTORY)", "fileSystemPath,deleted"
        )
        return {each["fileSystemPath"] for each in documents if each["deleted"] is deleted}


@pytest.fixture
def checkpoints(solr: Solr, spark: Callable[[], SparkSession], tmp_path: Path) -> Checkpoints:
    return Checkpoints(solr, spark, tmp_path)


def without_sum(image: Path) -> None:
    image.with_name(f"{image.name}.md5").unlink()


def cut_off(image: Path, _tree: Tree) -> None:
    without_sum(image)
    image.write_bytes(image.read_bytes()[:-700])


def cut_off_with_its_sum(image: Path, _tree: Tree) -> None:
    image.write_bytes(image.read_bytes()[:-1])


def of_another_time(image: Path, _tree: Tree) -> None:
    """Change one byte of a file name, which only the checksum detects."""
    content = bytearray(image.read_bytes())
    content[content.index(b"f7")] ^= 1
    image.write_bytes(content)


def under_another_sum(image: Path, _tree: Tree) -> None:
    image.with_name(f"{image.name}.md5").write_text(f"{'0' * 32} *{image.name}\n")


def without_a_section(image: Path, _tree: Tree) -> None:
    without_sum(image)
    image.write_bytes(image.read_bytes().replace(b"\x09INODE_DIR", b"\x09INODE_OLD"))


def with_a_child_of_nobody(image: Path, tree: Tree) -> None:
    tree.children[ROOT_ID].append(999_999)
    tree.write(image)


def with_too_few_inodes(image: Path, tree: Tree) -> None:
    tree.inodes_in_header = len(tree.inodes) + 5
    tree.write(image)


DAMAGES: tuple[tuple[Callable[[Path, Tree], None], str], ...] = (
    (cut_off, "cut off"),
    (cut_off_with_its_sum, "cut off"),
    (of_another_time, "MD5"),
    (under_another_sum, "MD5"),
    (without_a_section, "INODE_DIR"),
    (with_a_child_of_nobody, "999999"),
    (with_too_few_inodes, "INODE"),
)


@pytest.mark.services
def test_a_damaged_image_fails_its_run_and_deletes_nothing(checkpoints: Checkpoints) -> None:
    checkpoints.image(100)
    assert checkpoints.run().status is Status.FINISHED
    there = checkpoints.paths(deleted=False)
    assert len(there) == 35

    for damage, reason in DAMAGES:
        tree, image = checkpoints.image(200, "/data/d0/f0")
        damage(image, tree)
        # A directory's newest image is the newest one that is complete. An image without its checksum is not complete,
        # so it must be named in the settings.
        named = not image.with_name(f"{image.name}.md5").exists()
        failed = checkpoints.run(image if named else None)
        text = " ".join((failed.error, *failed.failures))
        assert failed.status is Status.FAILED, damage.__name__
        assert reason in text and image.name in text, f"{damage.__name__}: {text}"
        assert (checkpoints.paths(deleted=False), checkpoints.paths(deleted=True)) == (there, set())

    checkpoints.image(200, "/data/d0/f0")
    assert checkpoints.run().status is Status.FINISHED
    assert checkpoints.paths(deleted=True) == {"/data/d0/f0"}
