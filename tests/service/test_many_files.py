"""Directories with too many files for the driver: Spark tasks list, cover and flag the files."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from navlin.index.graph.presentation import presented
from navlin.index.journal.runs import RunRecord, Status
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS
from navlin.model.keys import EntityType, listed_path_key, path_column_key, path_key
from navlin.model.source import Estate, Source, source_id
from navlin.pipeline.comparison import CARRIED_DOCUMENTS
from navlin.pipeline.guard import Guard
from navlin.pipeline.run import Pipeline
from tests.support.scripted_extractors import Folders, Happenings

MANY = CARRIED_DOCUMENTS + 500


class FileSystem:
    """A file system for one test, and an engine that reads it."""

    def __init__(self, solr: Solr, spark: Callable[[], SparkSession], folder: Path) -> None:
        self.solr = solr
        cluster = f"cluster-{uuid.uuid4().hex[:8]}"
        self.source = Source(source_id(cluster, "HDFS-1"), "HDFS", "HDFS-1", cluster, ("hdfs://nn:8020",))
        self.engine = Source(source_id(cluster, "impala"), "IMPALA", "impala", cluster)
        self.estate = Estate(cluster, (self.source, self.engine))
        self.file, self.lines = folder / "folders.json", folder / "lines.jsonl"
        self.now_ms = 1_800_000_000_000
        self.pipeline = Pipeline(solr.address, spark, self._clock, Guard())

    def _clock(self) -> int:
        self.now_ms += 1
        return self.now_ms

    def list(self, folders: dict[str, int], *covers: dict[str, Any], **more: Any) -> RunRecord:
        """Run the extractor once. ``folders`` maps directories to their numbers of files."""
        self.file.write_text(json.dumps({"folders": folders, "covers": covers, **more}))
        extractor = Folders(self.source, self.estate, str(self.file))
        record = self.pipeline.run(EXTRACTORS["folders"], extractor)
        assert record.status is Status.FINISHED, (record.error, record.failures, record.note)
        return record

    def reads(self, path: str, column: str = "") -> None:
        uri = f"hdfs://nn:8020{path}"
        record = {"text": "load", "reads": [uri], "writes": ["db.t"], "at_ms": self.now_ms}
        if column:
            record["parts"] = [[f"{uri}.{column}", f"db.t.{column}"]]
        self.lines.write_text(json.dumps(record) + "\n")
        extractor = Happenings(self.engine, self.estate, str(self.lines))
        assert self.pipeline.run(EXTRACTORS["happenings"], extractor).status is Status.FINISHED

    def of(self, path: str) -> dict[str, Any]:
        (document,) = self.solr.get(ELEMENTS, [path_key(self.source, path).identity])
        return document

    def count(self, *, below: str, deleted: bool) -> int:
        """Count the files and directories at and below a directory."""
        flagged = str(deleted).lower()
        return self.solr.count(
            ELEMENTS,
            q.at_or_below("fileSystemPath", below),
            f"sourceId:{self.source.id}",
            f"deleted:{flagged}",
        )


@pytest.fixture
def files(solr: Solr, spark: Callable[[], SparkSession], tmp_path: Path) -> FileSystem:
    return FileSystem(solr, spark, tmp_path)


@pytest.mark.services
def test_deleting_a_directory_deletes_all_its_files_and_no_sibling(files: FileSystem) -> None:
    files.list({"/a": MANY, "/a_old": 3, "/b": 3}, {"path": "/"})
    assert files.count(below="/a", deleted=False) == MANY + 1

    record = files.list({"/b": 4}, {"path": "/a", "reported": True})

    assert record.counts.deleted == MANY + 1
    assert files.count(below="/a", deleted=True) == MANY + 1
    assert files.count(below="/a_old", deleted=False) == 4
    assert files.count(below="/b", deleted=False) == 5
    # The run compared files outside the covered paths too, and wrote only the new one.
    assert record.counts.new == 1
    assert record.counts.unchanged == 4


@pytest.mark.services
def test_relisting_a_directory_deletes_only_the_missing_files(files: FileSystem) -> None:
    files.list({"/a": MANY}, {"path": "/"})

    record = files.list({"/a": MANY - 7}, {"path": "/a", "reported": True})

    assert (record.counts.deleted, record.counts.unchanged) == (7, MANY - 6)
    assert files.list({"/a": MANY - 7}, {"path": "/a", "reported": True}).counts.deleted == 0


@pytest.mark.services
def test_more_covered_paths_than_one_solr_query_allows_are_all_covered(files: FileSystem) -> None:
    """Solr allows 10,000 clauses per query, but the events of one run may name more paths."""
    files.list({"/a": MANY, "/b": 3, "/c": 3}, {"path": "/"})
    gone = [{"path": f"/b/part-0000{n}", "reported": True} for n in range(2)]
    never_seen = [{"path": f"/d/{number}", "reported": True} for number in range(10_500)]

    record = files.list({}, {"path": "/a", "reported": True}, *gone, *never_seen)

    assert record.counts.deleted == MANY + 1 + 2
    assert files.count(below="/b", deleted=False) == 2
    assert files.count(below="/c", deleted=False) == 4


@pytest.mark.services
def test_filtered_out_paths_are_never_flagged_deleted(files: FileSystem) -> None:
    files.list({"/a": 3, "/tmp": 3, "/tmp/x": 2}, {"path": "/"})

    files.list({"/a": 2}, {"path": "/", "matching": "(?!/tmp(/|$)).*"})

    assert files.count(below="/a", deleted=True) == 1
    assert files.count(below="/tmp", deleted=False) == 7


def test_a_directory_is_the_parent_of_its_listed_files(files: FileSystem) -> None:
    files.list({"/a": 2}, {"path": "/"})

    (directory, file) = (listed_path_key(files.source, "/a", EntityType.DIRECTORY), "/a/part-00001")
    contained = files.solr.cursor(RELATIONS, f"+type:PARENT_CHILD +endpoint1Ids:{directory.identity}", "*")
    named = presented(files.solr, RELATIONS, contained)
    assert file in [relation["endpoint2Name"] for relation in named]


def test_sidecar_metadata_is_replaced_once_a_user_edits_it(files: FileSystem) -> None:
    words = {"/a": {"description": "from the sidecar", "tags": ["raw"], "up_contact": "etl"}}
    files.list({"/a": 0}, {"path": "/"}, words=words)
    assert (files.of("/a")["description"], files.of("/a")["tags"]) == ("from the sidecar", ["raw"])

    # A description written by a user takes precedence over the sidecar's.
    mine = files.of("/a")
    mine.update(description="mine", sourceWords=["tags", "up_contact"])
    files.solr.add(ELEMENTS, [mine])
    files.solr.commit(ELEMENTS, soft=True)
    files.list(
        {"/a": 0}, {"path": "/"}, words={"/a": {"description": "from another sidecar", "tags": ["clean"]}}
    )

    assert (files.of("/a")["description"], files.of("/a")["tags"]) == ("mine", ["clean"])
    assert "up_contact" not in files.of("/a")


@pytest.mark.services
def test_unreferenced_files_are_skipped_if_only_claimed_ones_are_kept(
    files: FileSystem,
) -> None:
    files.list({"/a": 50}, {"path": "/"}, where_claimed=True)
    assert files.count(below="/a", deleted=False) == 1
    files.reads("/a/part-00007")

    record = files.list({"/a": 50}, {"path": "/"}, where_claimed=True)

    assert record.counts.unclaimed == 49
    assert files.of("/a/part-00007")["size"] == 7
    # A file read by an engine stays indexed when it is listed again, and is flagged when it disappears.
    assert files.list({"/a": 7}, {"path": "/", "reported": True}, where_claimed=True).counts.deleted == 1


@pytest.mark.services
def test_a_path_column_is_granted_and_no_listing_deletes_it(files: FileSystem) -> None:
    files.reads("/a", "amount")
    column = path_column_key(path_key(files.source, "/a"), "AMOUNT")
    assert files.solr.get(ELEMENTS, [path_key(files.source, "/a").identity]) == []

    files.list({"/a": 1}, {"path": "/"})
    files.list({"/b": 1}, {"path": "/"})

    (document,) = files.solr.get(ELEMENTS, [column.identity])
    assert (document["originalName"], document["fileSystemPath"], document["granted"]) == (
        "amount",
        "/a",
        True,
    )
    assert document["deleted"] is False
    assert files.of("/a")["deleted"] is True
