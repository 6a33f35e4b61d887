"""User edits of files and directories follow renames, together with the edits of everything below the renamed
directory.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from navlin.index.journal.runs import RunRecord, Status
from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import Solr
from tests.pipeline.test_renames import SWAP, Row, after, rows
from tests.services.hadoop import Hadoop
from tests.services.hdfs import Writer
from tests.support.hdfs_estate import HdfsEstate


class Described:
    """A directory used by one test only, followed from an image on, with user edits of its contents."""

    def __init__(self, estate: HdfsEstate, writer: Writer, top: str) -> None:
        self.estate, self.writer, self.top = estate, writer, top

    def follow(self) -> RunRecord:
        record = self.estate.follow()
        assert record.status in (Status.FINISHED, Status.IDLE) and record.failures == (), record
        return record

    def documents(self) -> dict[str, dict[str, object]]:
        """Path relative to the directory → document, for files and directories that are not deleted."""
        self.estate.solr.commit(ELEMENTS, soft=True)
        query = f"sourceId:{self.estate.extractor().source.id} AND deleted:false AND type:(FILE OR DIRECTORY)"
        found = self.estate.solr.cursor(ELEMENTS, query, "identity,fileSystemPath,description,firstSeen")
        return {
            each["fileSystemPath"].removeprefix(f"{self.top}/"): each
            for each in found
            if each["fileSystemPath"].startswith(f"{self.top}/")
        }

    def describe(self, words: dict[str, str]) -> None:
        there = self.documents()
        self.estate.solr.add(
            ELEMENTS,
            [
                {"identity": there[path]["identity"], "description": {"set": text}}
                for path, text in words.items()
            ],
        )
        self.estate.solr.commit(ELEMENTS, soft=True)

    def descriptions(self) -> dict[str, str]:
        return {path: str(each.get("description", "")) for path, each in self.documents().items()}


@pytest.fixture
def described(
    hdfs: Hadoop,
    hdfs_writer: Writer,
    solr: Solr,
    spark: Callable[[], SparkSession],
    tmp_path_factory: pytest.TempPathFactory,
) -> Described:
    top = f"/renames/{uuid.uuid4().hex[:8]}"
    hdfs_writer.mkdirs(top)
    settings = {
        "url": hdfs.url,
        "hadoop_configuration_directory": str(hdfs.configuration_directory),
        "include": (top,),
    }
    hdfs.save_namespace()
    spool = tmp_path_factory.getbasetemp() / "hdfs-spool"
    spool.mkdir(exist_ok=True)
    return Described(HdfsEstate(solr, spark, Path(spool), settings), hdfs_writer, top)


def do_and_compare(described: Described, every: list[Row]) -> None:
    """Perform each row in separate directories: as one batch, and split into two batches at each position."""
    writer, top = described.writer, described.top
    cut = {f"t{at}x{k}": (row, k) for at, row in enumerate(every) for k in range(len(row))}
    for prefix, name in itertools.product(cut, "ab"):
        writer.create(f"{top}/{prefix}/{name}/f", b"1")
    described.follow()
    described.follow()
    described.describe(
        {f"{prefix}/{name}{below}": name.upper() for prefix in cut for name in "ab" for below in ("", "/f")}
    )
    for first in (True, False):
        for prefix, (row, k) in cut.items():
            for step in row[:k] if first else row[k:]:
                match step:
                    case "create", name:
                        writer.create(f"{top}/{prefix}/{name}/f", b"2")
                    case "drop", name:
                        writer.delete(f"{top}/{prefix}/{name}")
                    case "rename", name, to:
                        writer.rename(f"{top}/{prefix}/{name}", f"{top}/{prefix}/{to}")
        described.follow()
    found = described.descriptions()
    for prefix, (row, k) in cut.items():
        owners = {
            f"{prefix}/{name}{below}": words
            for name, words in after(row).things.items()
            for below in ("", "/f")
        }
        assert {path: text for path, text in found.items() if path.startswith(f"{prefix}/")} == owners, (
            row,
            k,
        )


@pytest.mark.services
def test_metadata_follows_a_directory_through_a_rename_and_a_swap(described: Described) -> None:
    do_and_compare(described, [(("rename", "a", "c"),), SWAP])


@pytest.mark.soak
def test_metadata_follows_a_directory_through_every_two_steps(
    described: Described,
) -> None:
    do_and_compare(described, rows(2))


@pytest.mark.soak
def test_metadata_follows_a_directory_through_every_three_steps(
    described: Described,
) -> None:
    do_and_compare(described, [row for row in rows(3) if len(row) == 3])


@pytest.mark.services
def test_a_renamed_file_keeps_its_first_seen_time(described: Described) -> None:
    described.writer.create(f"{described.top}/old", b"1")
    described.follow()
    described.follow()
    before = described.documents()["old"]["firstSeen"]
    described.writer.rename(f"{described.top}/old", f"{described.top}/new")
    described.follow()

    assert described.documents()["new"]["firstSeen"] == before


@pytest.mark.services
def test_metadata_of_a_file_overwritten_by_a_rename_is_kept(described: Described) -> None:
    described.writer.create(f"{described.top}/report", b"1")
    described.follow()
    described.follow()
    described.describe({"report": "sales by day"})
    described.writer.create(f"{described.top}/_temporary/0/report", b"2")
    described.writer.rename(f"{described.top}/_temporary/0/report", f"{described.top}/report")
    described.follow()

    assert described.descriptions()["report"] == "sales by day"
