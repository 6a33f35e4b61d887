"""An item of a batch with a bad response or none fails alone, and the other items are read.

There is a row for each loop in which an extractor requests items from a service or a file system one by one. If the
whole service is down, the read fails, and everything is read again later.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from extractors.hdfs.client import HdfsAddress, HdfsClient
from extractors.hdfs.errors import HdfsError, HdfsUnavailable, to_error
from extractors.hdfs.filters import PathFilters
from extractors.hdfs.reading import HdfsReading, read_described, read_trees, read_walk
from extractors.hdfs.splits import TreeSplit, WalkSplit
from extractors.hms import HiveMetastore, idl
from extractors.hms.client import MetastoreError
from extractors.lineage.file_split import FileSplit
from extractors.lineage.followed_files import follow
from extractors.openlineage.openlineage_events import EventsSplit
from navlin.model.keys import EntityType
from navlin.model.plan import Positions
from navlin.model.records import Entity, Listing, Position, Record, Reject, Split
from navlin.model.source import HDFS, HIVE, Estate, Source, source_id
from tests.services.thrift_metastore import ThriftMetastore
from tests.support.openlineage import Follower, event, path, table

# -- A metastore ---------------------------------------------------------------------------------------------------------

METASTORE = Source(source_id("c", "HIVE-1"), HIVE, "HIVE-1", "c")
NAMES = [f"n{number}" for number in range(6)]


@contextmanager
def metastore_of(*, databases: Sequence[str] = ("d",)) -> Iterator[ThriftMetastore]:
    with ThriftMetastore() as service:
        service.databases = list(databases)
        for name in NAMES:
            columns = [idl.FieldSchema("c", "string", "")]
            there = idl.StorageDescriptor(columns, f"hdfs://ns1/w/{name}")
            keys = [idl.FieldSchema("day", "string", "")]
            service.tables[name] = idl.Table(name, "d", "etl", 0, sd=there, partitionKeys=keys)
            partition = idl.Partition(["1"], "d", name, sd=there)
            service.partitions[name] = {"day=1": partition}
        yield service


def read_metastore(
    service: ThriftMetastore, call_timeout_s: float = 0.5, **settings: Any
) -> tuple[list[Record], str]:
    estate = Estate("c", (METASTORE,))
    hms = HiveMetastore(METASTORE, estate, (service.uri,), call_timeout_s=call_timeout_s, **settings)
    plan = hms.plan(Positions(now_ms=1_800_000_000_000))
    splits, records = list(plan.splits), list[Record]()
    while splits:
        for record in hms.read(splits.pop(0)):
            if isinstance(record, Split):
                splits.append(record)
            else:
                records.append(record)
    return records, plan.note


def names_of(records: Sequence[Record], kind: EntityType) -> set[str]:
    return {each.key.name for each in records if isinstance(each, Entity) and each.key.type is kind}


def rejected(records: Sequence[Record]) -> list[str]:
    return [each.tree_path for each in records if isinstance(each, Reject)]


MISHAPS = pytest.mark.parametrize("mishap", ["silent", "broken", "refused"])


@MISHAPS
def test_a_failing_database_is_rejected_alone(mishap: str) -> None:
    with metastore_of(databases=NAMES) as service:
        service.tables.clear()
        service.mishaps["get_database", "n2"] = mishap
        records, _ = read_metastore(service)
    assert names_of(records, EntityType.DATABASE) == {*NAMES} - {"n2"}
    assert rejected(records) == ["/N2"]


@MISHAPS
def test_a_failing_table_list_of_one_database_is_noted_alone(mishap: str) -> None:
    with metastore_of(databases=NAMES) as service:
        service.mishaps["get_all_tables", "n2"] = mishap
        records, note = read_metastore(service)
    assert names_of(records, EntityType.DATABASE) == {*NAMES}
    assert names_of(records, EntityType.TABLE) == {*NAMES}
    assert "until the next full listing the tables of n2 are not listed" in note


@MISHAPS
def test_a_failing_table_is_left_out_alone(mishap: str) -> None:
    with metastore_of() as service:
        service.mishaps["get_table_objects_by_name_req", "n2"] = mishap
        records, _ = read_metastore(service)
    assert names_of(records, EntityType.TABLE) == {*NAMES} - {"n2"}


@MISHAPS
def test_a_failing_partition_list_is_left_out_alone(mishap: str) -> None:
    with metastore_of() as service:
        service.mishaps["get_partition_names", "n2"] = mishap
        records, _ = read_metastore(service)
    assert len(names_of(records, EntityType.TABLE)) == 6
    parents = {
        each.key.parent.name
        for each in records
        if isinstance(each, Entity) and each.key.type is EntityType.PARTITION and each.key.parent
    }
    assert parents == {*NAMES} - {"n2"}


@pytest.mark.parametrize(
    "call", ["get_database", "get_all_tables", "get_partition_names", "get_table_objects_by_name_req"]
)
def test_a_call_that_broke_the_connection_once_is_retried(call: str) -> None:
    with metastore_of() as service:
        service.mishaps[call, "d" if call in ("get_database", "get_all_tables") else "n2"] = "broken once"
        records, note = read_metastore(service, batch_size=1)
        assert service.mishaps == {}
    assert names_of(records, EntityType.TABLE) == {*NAMES}
    partitions = [r for r in records if isinstance(r, Entity) and r.key.type is EntityType.PARTITION]
    assert (len(partitions), rejected(records), note) == (6, [], note.partition("; until")[0])


@pytest.mark.parametrize("call", ["get_database", "get_all_tables", "get_partition_names"])
def test_a_metastore_silent_on_every_call_of_a_kind_is_unavailable(call: str) -> None:
    with metastore_of(databases=NAMES) as service:
        service.mishaps.update(dict.fromkeys(((call, name) for name in NAMES), "silent"))
        with pytest.raises(MetastoreError, match="no answer within"):
            read_metastore(service, call_timeout_s=0.2)


def test_a_metastore_that_lists_no_databases_tables_fails_the_plan() -> None:
    with metastore_of(databases=NAMES) as service:
        service.mishaps.update(dict.fromkeys((("get_all_tables", name) for name in NAMES), "refused"))
        with pytest.raises(MetastoreError, match="the tables of no database can be listed"):
            read_metastore(service)


# -- HDFS ----------------------------------------------------------------------------------------------------------------

NAMENODE = Source(source_id("c", "HDFS-1"), HDFS, "HDFS-1", "c", ("hdfs://ns1",))
SILENT = ("java.net.SocketTimeoutException", "no answer")
BROKEN = ("java.lang.IllegalArgumentException", "a name that cannot be")
DENIED = ("org.apache.hadoop.security.AccessControlException", "no")


class Child:
    """Replaces Hadoop's client by directories with entries, and errors for some paths.

    ``mishaps`` maps "<operation> <path>", or "" for all requests, to (exception class, message).
    """

    def __init__(self, tree: Mapping[str, Sequence[str]], **mishaps: tuple[str, str]) -> None:
        self.tree = tree
        self.mishaps = mishaps
        self.pid = 1

    def ask(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        op, asked = request["op"], request.get("paths") or [request.get("path", "")]
        for each in asked:
            if mishap := self.mishaps.get("") or self.mishaps.get(f"{op} {each}"):
                answer = {"class": mishap[0], "message": mishap[1], "path": each}
                raise to_error(answer, "hdfs://ns1")
        if op == "describe":
            return {"rows": [self._row(each) for each in asked]}, b""
        if op == "list":
            above = request["path"].rstrip("/")
            return {"rows": [self._row(f"{above}/{each}") for each in self.tree[request["path"]]]}, b""
        if op == "close":
            return {}, b""
        text = b'{"name": "words of %s"}' % request["path"].encode()
        return ({"file": 1, "length": len(text)}, b"") if op == "open" else ({}, text)

    def _row(self, path: str) -> list[Any] | None:
        above, _, name = path.rpartition("/")
        if path != "/" and name not in self.tree.get(above or "/", ()):
            return None
        known = ["etl", "hdfs", "rwxr-xr-x", 1, 1, 1, None, False, None, None, []]
        return [name, path in self.tree, 1, 1, 1, *known]


TREE = {"/": ["a", "b", "c"], "/a": ["f"], "/b": ["g", "d"], "/b/d": [], "/c": ["h", ".navigator"]}
HDFS_READING = HdfsReading(NAMENODE, "hdfs://ns1", PathFilters(), False, True, 1_800_000_000_000)


def client_of(**mishaps: tuple[str, str]) -> HdfsClient:
    client = HdfsClient(HdfsAddress("hdfs://ns1"))
    client._child = Child(TREE, **mishaps)  # type: ignore[assignment]
    return client


def listed(records: Sequence[Record]) -> set[str]:
    return {path for each in records if isinstance(each, Listing) for path in each.paths}


EVERYTHING = {"/a", "/b", "/c", "/a/f", "/b/g", "/b/d", "/c/h", "/c/.navigator"}


def test_an_unanswered_directory_is_read_as_a_split_of_its_own() -> None:
    client = client_of(**{"list /b": SILENT})
    records = list(read_walk(client, HDFS_READING, ["/"]))
    assert listed(records) == EVERYTHING - {"/b/g", "/b/d"}
    (alone,) = (each for each in records if isinstance(each, WalkSplit))
    assert alone.directories == ("/b",)
    with pytest.raises(HdfsUnavailable):
        list(read_walk(client, HDFS_READING, alone.directories))
    assert listed(list(read_walk(client_of(), HDFS_READING, alone.directories))) == {"/b/g", "/b/d"}


@pytest.mark.parametrize("mishap", [BROKEN, DENIED])
def test_an_unlistable_directory_is_rejected(mishap: tuple[str, str]) -> None:
    records = list(read_walk(client_of(**{"list /b": mishap}), HDFS_READING, ["/"]))
    assert (listed(records), rejected(records)) == (EVERYTHING - {"/b/g", "/b/d"}, ["/b"])


@pytest.mark.parametrize("mishap", [BROKEN, DENIED])
def test_an_undescribable_path_is_rejected(mishap: tuple[str, str]) -> None:
    for read in (
        read_described(client_of(**{"describe /b": mishap}), HDFS_READING, ["/a", "/b", "/c", "/none"]),
        read_trees(
            client_of(**{"describe /b": mishap}),
            HDFS_READING,
            TreeSplit(("/a", "/b", "/c"), HDFS_READING.as_of_ms),
        ),
    ):
        records = list(read)
        assert {"/a", "/c"} <= listed(records)
        assert "/b" not in listed(records)
        assert rejected(records) == ["/b"]


@pytest.mark.parametrize("mishap", [SILENT, BROKEN])
def test_an_unreadable_sidecar_is_rejected(mishap: tuple[str, str]) -> None:
    records = list(read_walk(client_of(**{"open /c/.navigator": mishap}), HDFS_READING, ["/"]))
    assert listed(records) == EVERYTHING
    assert [
        "a sidecar that cannot be read" in each.reason for each in records if isinstance(each, Reject)
    ] == [True]
    fine = [each for each in read_walk(client_of(), HDFS_READING, ["/"]) if isinstance(each, Listing)]
    assert ["words of /c/.navigator"] in [each.attributes.get("name") for each in fine]


@pytest.mark.parametrize("mishap", [SILENT, BROKEN])
def test_an_unavailable_hdfs_fails_the_reading(mishap: tuple[str, str]) -> None:
    split = TreeSplit(("/a", "/b"), HDFS_READING.as_of_ms)
    for read in (read_walk, read_described):
        with pytest.raises(HdfsError):
            list(read(client_of(**{"": mishap}), HDFS_READING, ["/a", "/b"]))
    with pytest.raises(HdfsError):
        list(read_trees(client_of(**{"": mishap}), HDFS_READING, split))


def test_an_hdfs_lost_at_a_sidecar_fails_the_reading() -> None:
    client = client_of(**{"open /c/.navigator": SILENT})
    records = read_walk(client, HDFS_READING, ["/c"])
    client._child.mishaps["describe /"] = SILENT  # type: ignore[attr-defined]
    with pytest.raises(HdfsUnavailable):
        list(records)


# -- Files of OpenLineage events, which are read one after the other -------------------------------------------------------


def test_an_unreadable_file_fails_alone(follower: Follower, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        end = event("COMPLETE", 1, name, job=name, inputs=[table("a.a")], outputs=[path(f"/{name}")])
        follower.write(end, name=f"{name}.jsonl")
    broken = str(follower.directory / "b.jsonl")

    @contextmanager
    def damaged(split: FileSplit, **settings: Any) -> Iterator[Any]:
        if split.path == broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        with follow(split, **settings) as file:
            yield file

    monkeypatch.setattr("extractors.openlineage.openlineage_events.follow", damaged)
    (split,) = follower.extractor.plan(Positions(now_ms=follower.now_ms)).splits
    records = list(follower.extractor.read(split))
    assert names_of(records, EntityType.OPERATION) == {"a", "c"}
    (alone,) = (each for each in records if isinstance(each, EventsSplit))
    assert alone.name == broken != split.name
    with pytest.raises(OSError, match=r"b\.jsonl: Input/output error"):
        list(follower.extractor.read(alone))
    kept = {each.key for each in records if isinstance(each, Position)}
    assert not any(broken in key for key in kept)
    monkeypatch.undo()
    assert {"a", "b", "c"} == {each.key.name for each in follower.read().operations}


@pytest.fixture
def follower(tmp_path: Path) -> Follower:
    return Follower(tmp_path)
