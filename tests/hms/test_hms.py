"""The metastore extractor on a real Hive metastore."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from zlib import crc32

import pytest

from extractors.hms import HiveMetastore, idl
from extractors.hms import plan as hms_plan
from extractors.hms.client import MetastoreConnection, MetastoreError, MetastoreRefused, connected
from extractors.hms.continuity import EVENT_DIGEST, digest_of
from extractors.hms.fetch import VANISHED
from extractors.hms.idl import Database, FieldSchema, NotificationEvent, StorageDescriptor, Table
from extractors.hms.plan import COMPLETE_MS, EVENT_ID
from extractors.hms.splits import PartitionListSplit, PartitionSplit, RenameSplit, TableSplit
from navlin.model.keys import EntityType, RelationType, column_key, database_key, partition_key, table_key
from navlin.model.plan import Plan, Positions
from navlin.model.records import Covered, Depth, Entity, Record, Reject, Relation, Split
from navlin.model.source import HDFS, HIVE, Estate, Source, source_id
from navlin.model.tree import contains, excepted
from tests.services.metastore import (
    ADD_PARTITION,
    ALTER_PARTITION,
    ALTER_TABLE,
    CREATE_DATABASE,
    CREATE_TABLE,
    DROP_DATABASE,
    DROP_PARTITION,
    DROP_TABLE,
    Metastore,
    partition,
    table,
)
from tests.services.thrift_metastore import ThriftMetastore
from tests.services.wire import Wire
from tests.support.stored import stored

NOW_MS = 1_800_000_000_000
DAY_MS = 86_400_000

SOURCE = Source(source_id("cluster", "HIVE"), HIVE, "HIVE", "cluster")
NAMENODE = Source(source_id("cluster", "HDFS"), HDFS, "HDFS", "cluster", ("hdfs://ns1",))
ESTATE = Estate("cluster", (SOURCE, NAMENODE))


@dataclass
class Run:
    """A plan, and all splits and records read for it."""

    plan: Plan
    splits: list[Split] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    @property
    def entities(self) -> dict[str, Entity]:
        """Maps the readable path ``/DB/T/COLUMN`` to an entity."""
        return {one.key.tree_path: one for one in self.records if isinstance(one, Entity)}

    def of(self, kind: EntityType) -> list[str]:
        return sorted(one.key.name for one in self.entities.values() if one.key.type is kind)

    @property
    def rejects(self) -> list[Reject]:
        return [one for one in self.records if isinstance(one, Reject)]

    @property
    def covers(self) -> list[Covered]:
        return [*self.plan.covers, *(one for one in self.records if isinstance(one, Covered))]

    @property
    def tables_read(self) -> list[str]:
        return sorted(
            str(name) for split in self.splits if isinstance(split, TableSplit) for name in split.tables
        )

    def relations(self, kind: RelationType) -> set[tuple[str, str]]:
        return {
            (one.ep1.tree_path, one.ep2.tree_path)
            for one in self.records
            if isinstance(one, Relation) and one.type is kind
        }

    def is_gone(self, path: str) -> bool:
        """Whether a previously known path counts as deleted after this run."""
        if path in self.entities or any(contains(reject.tree_path or "?", path) for reject in self.rejects):
            return False
        return any(_speaks_of(cover, path) for cover in self.covers)

    def saved(self, now_ms: int = NOW_MS) -> Positions:
        return Positions({one.key: one.value for one in self.plan.positions}, now_ms)


def _speaks_of(cover: Covered, path: str) -> bool:
    if excepted(path, cover.except_paths):
        return False
    match cover.depth:
        case Depth.SELF:
            return path == cover.path
        case Depth.CHILDREN:
            return path == cover.path or path.rpartition("/")[0] == cover.path
    return contains(cover.path, path)


def run(hms: HiveMetastore, positions: Positions | None = None) -> Run:
    done = Run(hms.plan(positions or Positions(now_ms=NOW_MS)))
    waiting = list(done.plan.splits)
    while waiting:
        split: Split = pickle.loads(pickle.dumps(waiting.pop(0)))  # noqa: S301  # pickled by this test, as Spark does
        done.splits.append(split)
        for record in hms.read(split):
            if isinstance(record, Split):
                waiting.append(record)
            else:
                done.records.append(record)
    return done


@pytest.fixture
def client(metastore: Metastore) -> Iterator[MetastoreConnection]:
    with connected(metastore.address) as connection:
        yield connection


@pytest.fixture
def databases(client: MetastoreConnection, request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """Two databases used by one test only, ``t<number>_a`` and ``t<number>_b``."""
    stem = f"t{crc32(request.node.name.encode())}"
    names = f"{stem}_a", f"{stem}_b"
    for name in names:
        client.call(CREATE_DATABASE, Database(name, f"about {name}", None, {}))
    yield names
    for name in names:
        if name in client.databases():
            client.call(DROP_DATABASE, name, True, True)


@pytest.fixture
def hms(metastore: Metastore, databases: tuple[str, str]) -> HiveMetastore:
    """The extractor, restricted to the test's databases."""
    return HiveMetastore(SOURCE, ESTATE, (metastore.uri,), databases=(f"{databases[0][:-2]}_*",))


def name_of(database: str, *names: str) -> str:
    return "/" + "/".join(part.upper() for part in (database, *names))


# -- A complete plan -------------------------------------------------------------------------------------


def test_a_first_run_lists_databases_tables_and_columns(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    a, b = databases
    client.call(
        CREATE_TABLE,
        table(a, "Orders", {"id": "int", "Amount": "decimal(10,2)"}, location="file:/data/orders"),
    )
    client.call(CREATE_TABLE, table(b, "customers"))

    done = run(hms)

    assert done.of(EntityType.DATABASE) == [a, b]
    assert done.of(EntityType.TABLE) == ["customers", "orders"]
    amount = done.entities[name_of(a, "orders", "amount")]
    assert amount.attributes == {"dataType": "decimal(10,2)", "columnIndex": 1}
    assert amount.key == column_key(table_key(SOURCE, a, "orders"), "amount")
    orders = done.entities[name_of(a, "orders")]
    assert orders.key.identity == table_key(SOURCE, a.upper(), "ORDERS").identity
    assert orders.attributes["tableType"] == "EXTERNAL_TABLE"
    assert orders.attributes["serDeLibName"].endswith("LazySimpleSerDe")
    assert orders.attributes["fileSystemPath"] == "file:/data/orders"
    assert orders.attributes["params"] == {"EXTERNAL": "TRUE"}
    assert orders.volatile["lastModified"] > 1_500_000_000_000
    assert (orders.key.tree_path, "/data/orders") in done.relations(RelationType.LOGICAL_PHYSICAL)
    assert "first" in done.plan.note
    assert not done.rejects


def test_rereading_a_split_yields_the_same(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    client.call(CREATE_TABLE, table(databases[0], "orders"))
    plan = pickle.loads(pickle.dumps(hms)).plan(Positions(now_ms=NOW_MS))  # noqa: S301

    assert all(list(hms.read(split)) == list(hms.read(split)) for split in plan.splits)


def test_excluded_tables_are_neither_read_nor_deleted(
    hms: HiveMetastore, metastore: Metastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    a, b = databases
    for name in ("orders", "tmp_orders"):
        client.call(CREATE_TABLE, table(a, name))
    client.call(CREATE_TABLE, table(b, "customers"))
    with Wire(metastore.port) as wire:
        filtered = replace(
            hms, uris=(wire.uri,), exclude_databases=(b.upper(),), exclude_tables=(f"{a}.TMP_*", "nothing")
        )
        done = run(filtered)

    assert done.tables_read == [f"{a}.orders"]
    assert wire.calls.count("get_all_tables") == 1
    assert not done.is_gone(name_of(b, "customers"))
    assert not done.is_gone(name_of(a, "tmp_orders", "id"))
    assert done.is_gone(name_of(a, "dropped_long_ago"))
    assert done.is_gone("/NO_SUCH_DATABASE/T/C")


def test_a_listing_does_not_cover_operations(hms: HiveMetastore) -> None:
    assert not run(hms).is_gone("/operations/0123")
    assert not run(hms).is_gone("/executions/0123")


def test_a_view_has_its_text_and_no_location(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    a, _ = databases
    text = "SELECT id FROM orders WHERE password = 'hunter2'"
    client.call(CREATE_TABLE, table(a, "v", {"id": "int"}, kind="VIRTUAL_VIEW", view_text=text))

    done = run(hms)

    view = done.entities[name_of(a, "v")]
    assert view.key.type is EntityType.VIEW
    assert view.attributes["queryText"].startswith("SELECT id FROM orders")
    assert "hunter2" not in stored(done.records)
    assert "fileSystemPath" not in view.attributes
    assert not any(
        logical == view.key.tree_path for logical, _ in done.relations(RelationType.LOGICAL_PHYSICAL)
    )


@pytest.mark.parametrize("parts", [1, 3])
def test_a_spark_table_has_the_columns_in_sparks_schema(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str], parts: int
) -> None:
    a, _ = databases
    schema = json.dumps(
        {
            "type": "struct",
            "fields": [
                {"name": "Id", "type": "long", "nullable": False, "metadata": {"comment": "the id"}},
                {
                    "name": "lines",
                    "type": {
                        "type": "array",
                        "elementType": {
                            "type": "struct",
                            "fields": [{"name": "n", "type": "integer", "nullable": True, "metadata": {}}],
                        },
                        "containsNull": True,
                    },
                    "nullable": True,
                    "metadata": {},
                },
                {"name": "ds", "type": "string", "nullable": True, "metadata": {}},
            ],
        }
    )
    size = len(schema) // parts + 1
    parameters = {
        f"spark.sql.sources.schema.part.{i}": schema[i * size : (i + 1) * size] for i in range(parts)
    }
    parameters |= {"spark.sql.sources.schema.numParts": str(parts), "spark.sql.sources.provider": "delta"}
    stand_in = table(
        a, "events", {"col": "array<string>"}, partitioned_by={"ds": "string"}, parameters=parameters,
        location="file:/data/events-__PLACEHOLDER__",
    )  # fmt: skip
    assert stand_in.sd is not None and stand_in.sd.serdeInfo is not None
    stand_in.sd.serdeInfo.parameters = {"path": "hdfs://ns1/data/Events"}
    client.call(CREATE_TABLE, stand_in)

    done = run(hms)

    columns = {
        one.key.name: one.attributes
        for one in done.entities.values()
        if one.key.parent and one.key.parent.tree_path == name_of(a, "events")
    }
    assert columns == {
        "Id": {"dataType": "bigint", "columnIndex": 0, "originalDescription": "the id"},
        "lines": {"dataType": "array<struct<n:int>>", "columnIndex": 1},
        "ds": {"dataType": "string", "columnIndex": 2},
    }
    claimed = {
        (one.ep2.source.id, one.ep2.file_system_path)
        for one in done.records
        if isinstance(one, Relation) and one.ep1.tree_path == name_of(a, "events")
    }
    assert claimed == {(NAMENODE.id, "/data/Events")}
    assert "spark.sql.sources.schema" not in done.entities[name_of(a, "events")].attributes["params"]


def test_unparsable_columns_are_rejected_and_not_deleted(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    a, _ = databases
    parameters = {"spark.sql.sources.schema.numParts": "2", "spark.sql.sources.schema.part.0": '{"type":'}
    client.call(CREATE_TABLE, table(a, "events", {}, parameters=parameters))

    done = run(hms)

    assert name_of(a, "events") in done.entities
    assert [reject.reason for reject in done.rejects] == ["spark.sql.sources.schema.part.1 of 2 is missing"]
    assert not done.is_gone(name_of(a, "events", "id"))


def test_secrets_in_table_parameters_are_masked(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    a, _ = databases
    client.call(CREATE_TABLE, table(a, "orders", parameters={"jdbc.password": "hunter2", "note": "kept"}))

    orders = run(hms).entities[name_of(a, "orders")]

    assert "hunter2" not in stored([orders])
    assert orders.attributes["params"]["note"] == "kept"


def test_statistics_and_times_are_volatile(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    a, _ = databases
    client.call(
        CREATE_TABLE, table(a, "orders", parameters={"numRows": "12", "spark.sql.statistics.numRows": "12"})
    )

    orders = run(hms).entities[name_of(a, "orders")]

    assert orders.volatile["numRows"] == "12"
    assert orders.attributes["params"] == {"EXTERNAL": "TRUE"}


def test_a_table_of_a_storage_handler_without_files_has_no_location(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    a, _ = databases
    handlers = {
        "kudu_t": "org.apache.hadoop.hive.kudu.KuduStorageHandler",
        "iceberg_t": "org.apache.iceberg.mr.hive.HiveIcebergStorageHandler",
    }
    for name, handler in handlers.items():
        made = table(a, name, parameters={"storage_handler": handler}, location=f"file:/data/{name}")
        client.call(CREATE_TABLE, made)

    stored = {logical for logical, _ in run(hms).relations(RelationType.LOGICAL_PHYSICAL)}

    assert name_of(a, "iceberg_t") in stored
    assert name_of(a, "kudu_t") not in stored


# -- Partitions ------------------------------------------------------------------------------------------

STRANGE = "a b/c=ü%#'\"[x]{y}^?*:\\"


def test_partitions_are_read_in_separate_splits(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    a, _ = databases
    wide = table(a, "wide", partitioned_by={"ds": "string"}, location="file:/data/wide")
    small = table(
        a, "small", partitioned_by={"ds": "string", "Region": "string"}, location="file:/data/small"
    )
    for made in (wide, small):
        client.call(CREATE_TABLE, made)
    for day in range(7):
        client.call(ADD_PARTITION, partition(wide, f"2026-01-0{day}"))
    client.call(ADD_PARTITION, partition(small, "2026-01-01", STRANGE))

    done = run(replace(hms, partition_batch_size=3))

    kinds = [type(split) for split in done.splits]
    assert kinds.count(PartitionListSplit) == 1
    assert kinds.count(PartitionSplit) == 3
    assert len(done.of(EntityType.PARTITION)) == 8
    (strange,) = (
        one for one in done.entities.values() if STRANGE in one.attributes.get("partitionColValues", ())
    )
    assert strange.attributes["partitionColNames"] == ("ds", "region")
    assert strange.key.tree_path.startswith(name_of(a, "small") + "/#partitions/")
    directory = "/data/small/" + strange.key.name.replace("%", "%25")
    assert (strange.key.tree_path, directory) in done.relations(RelationType.LOGICAL_PHYSICAL)
    assert not done.rejects


def test_partition_events_reread_only_those_partitions(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    a, _ = databases
    of = table(a, "orders", partitioned_by={"ds": "string", "region": "string"})
    client.call(CREATE_TABLE, of)
    for value in ("kept", "dropped", "moved"):
        client.call(ADD_PARTITION, partition(of, value, STRANGE))
    before = run(hms)

    client.call(ADD_PARTITION, partition(of, "added", STRANGE))
    client.call(DROP_PARTITION, a, "orders", ["dropped", STRANGE], False)
    moved = partition(of, "moved", STRANGE, location="file:/elsewhere")
    client.call(ALTER_PARTITION, a, "orders", moved)
    after = run(hms, before.saved())

    assert after.tables_read == []
    assert [one.split("/")[0] for one in after.of(EntityType.PARTITION)] == ["ds=added", "ds=moved"]
    earlier = {one.split("/")[0]: one for one in before.of(EntityType.PARTITION)}
    key = table_key(SOURCE, a, "orders")
    gone = {start for start, name in earlier.items() if after.is_gone(partition_key(key, name).tree_path)}
    assert gone == {"ds=dropped"}
    assert all(cover.reported for cover in after.covers)
    assert not after.is_gone(key.tree_path)


def test_with_partitions_off_indexed_partitions_are_kept(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    a, _ = databases
    of = table(a, "orders", partitioned_by={"ds": "string"})
    client.call(CREATE_TABLE, of)
    client.call(ADD_PARTITION, partition(of, "1"))

    done = run(replace(hms, partitions=False))

    assert done.of(EntityType.PARTITION) == []
    assert not done.is_gone(name_of(a, "orders") + "/#partitions/ds=1")


def made_of(one: Table, columns: dict[str, str]) -> StorageDescriptor:
    assert one.sd is not None
    return replace(one.sd, cols=[FieldSchema(name, kind) for name, kind in columns.items()])


# -- Following the notification log ----------------------------------------------------------------------


def test_a_quiet_plan_costs_two_calls_and_no_split(hms: HiveMetastore, metastore: Metastore) -> None:
    first = run(hms)
    with Wire(metastore.port) as wire:
        plan = replace(hms, uris=(wire.uri,)).plan(first.saved())

    assert replace(plan, source_time=None) == Plan()
    assert wire.calls == ["get_current_notificationEventId", "get_next_notification"]


def test_only_changed_tables_are_read_again(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    a, b = databases
    for name in ("untouched", "altered", "dropped", "dropped_and_made_again"):
        client.call(CREATE_TABLE, table(a, name, {"id": "int", "old": "int"}))
    first = run(hms)

    (altered,) = client.tables(a, ["altered"])
    for name in ("added", "newer"):
        altered.sd = made_of(altered, {"id": "int", name: "int"})
        client.call(ALTER_TABLE, a, "altered", altered)
    client.call(CREATE_TABLE, table(b, "created"))
    client.call(DROP_TABLE, a, "dropped", True)
    client.call(DROP_TABLE, a, "dropped_and_made_again", True)
    client.call(CREATE_TABLE, table(a, "dropped_and_made_again", {"id": "int"}))
    second = run(hms, first.saved())

    assert second.tables_read == [f"{a}.altered", f"{a}.dropped_and_made_again", f"{b}.created"]
    assert name_of(a, "altered", "newer") in second.entities
    gone = {path for path in first.entities if second.is_gone(path)}
    assert gone == {
        name_of(a, "altered", "old"),
        name_of(a, "dropped"),
        name_of(a, "dropped", "id"),
        name_of(a, "dropped", "old"),
        name_of(a, "dropped_and_made_again", "old"),
    }
    assert all(cover.reported for cover in second.covers)
    assert second.plan.note == ""
    third = hms.plan(Positions({**first.saved().values, **second.saved().values}, NOW_MS))
    assert (third.splits, third.covers) == ((), ())


def test_a_long_log_is_read_in_pages(
    hms: HiveMetastore,
    metastore: Metastore,
    client: MetastoreConnection,
    databases: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = run(hms)
    names = [f"t{i}" for i in range(5)]
    for name in names:
        client.call(CREATE_TABLE, table(databases[0], name))
    monkeypatch.setattr(hms_plan, "EVENTS_A_CALL", 2)

    with Wire(metastore.port) as wire:
        second = run(replace(hms, uris=(wire.uri,)), first.saved())

    # Requests for the newest event, the last followed event, and three pages.
    assert wire.calls.count("get_next_notification") == 2 + 3
    assert second.of(EntityType.TABLE) == names
    assert second.plan.note == ""


def test_a_dropped_database_deletes_everything_below(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    a, b = databases
    client.call(CREATE_TABLE, table(a, "orders"))
    client.call(CREATE_TABLE, table(b, "orders"))
    first = run(hms)

    client.call(DROP_DATABASE, a, True, True)
    second = run(hms, first.saved())

    assert second.plan.splits == ()
    assert {path for path in first.entities if second.is_gone(path)} == {
        path for path in first.entities if contains(name_of(a), path)
    }


@pytest.mark.parametrize(
    "parameters",
    [
        pytest.param({"transient_lastDdlTime": "1"}, id="time of change"),
        pytest.param({"numRows": "7", "totalSize": "9", "COLUMN_STATS_ACCURATE": "true"}, id="statistics"),
        pytest.param({"spark.sql.statistics.totalSize": "9"}, id="Spark's statistics"),
    ],
)
def test_an_alteration_of_only_times_or_statistics_is_ignored(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str], parameters: dict[str, str]
) -> None:
    a, _ = databases
    client.call(CREATE_TABLE, table(a, "orders"))
    first = run(hms)

    (as_it_is,) = client.tables(a, ["orders"])
    as_it_is.parameters = {**(as_it_is.parameters or {}), **parameters}
    client.call(ALTER_TABLE, a, "orders", as_it_is)
    second = run(hms, first.saved())

    assert second.splits == []
    assert second.saved().values[EVENT_ID] == first.saved().values[EVENT_ID] + 1


def test_a_rename_across_databases_is_an_operation_and_metadata_moves_along(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    a, b = databases
    made = table(a, "orders", {"id": "int"}, partitioned_by={"ds": "string"})
    client.call(CREATE_TABLE, made)
    client.call(ADD_PARTITION, partition(made, "1"))
    first = run(hms)

    (as_it_is,) = client.tables(a, ["orders"])
    as_it_is.dbName, as_it_is.tableName = b, "Sold"
    client.call(ALTER_TABLE, a, "orders", as_it_is)
    second = run(hms, first.saved())

    (operation,) = (one for one in second.entities.values() if one.key.type is EntityType.OPERATION)
    assert operation.attributes["queryText"] == f"ALTER TABLE {a}.orders RENAME TO {b}.sold"
    assert operation.attributes["operationType"] == "ALTERTABLE_RENAME"
    assert second.relations(RelationType.DATA_FLOW) == {
        (name_of(a, "orders"), operation.key.tree_path),
        (operation.key.tree_path, name_of(b, "sold")),
    }
    (execution,) = (one for one in second.entities.values() if one.key.type is EntityType.OPERATION_EXECUTION)
    assert execution.attributes["started"] == execution.as_of_ms > 1_500_000_000_000
    assert execution.key.parent == operation.key
    old = table_key(SOURCE, a, "orders")
    renamed = {one.key.tree_path: one.renamed_from for one in second.entities.values() if one.renamed_from}
    assert renamed == {
        name_of(b, "sold"): old.identity,
        name_of(b, "sold", "id"): column_key(old, "id").identity,
        name_of(b, "sold", "ds"): column_key(old, "ds").identity,
        name_of(b, "sold") + "/#partitions/ds=1": partition_key(old, "ds=1").identity,
    }
    assert {path for path in first.entities if second.is_gone(path)} == {
        path for path in first.entities if contains(name_of(a, "orders"), path)
    }
    assert not second.is_gone(name_of(b, "sold", "id"))


def test_successive_renames_keep_the_first_name(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    a, _ = databases
    client.call(CREATE_TABLE, table(a, "one"))
    client.call(CREATE_TABLE, table(a, "two"))
    first = run(hms)

    for before, after in (("one", "spare"), ("two", "one"), ("spare", "two")):
        (as_it_is,) = client.tables(a, [before])
        as_it_is.tableName = after
        client.call(ALTER_TABLE, a, before, as_it_is)
    second = run(hms, first.saved())

    assert {
        one.key.name: one.renamed_from for one in second.entities.values() if one.key.type is EntityType.TABLE
    } == {
        "one": table_key(SOURCE, a, "two").identity,
        "two": table_key(SOURCE, a, "one").identity,
    }
    assert len(second.relations(RelationType.DATA_FLOW)) == 6
    assert second.is_gone(name_of(a, "spare"))
    assert not any(second.is_gone(name_of(a, name, "id")) for name in ("one", "two"))


def test_a_complete_plan_also_reports_renames(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    a, _ = databases
    client.call(CREATE_TABLE, table(a, "orders"))
    first = run(hms)
    (as_it_is,) = client.tables(a, ["orders"])
    as_it_is.tableName = "sold"
    client.call(ALTER_TABLE, a, "orders", as_it_is)

    second = run(hms, replace(first.saved(), complete=True))

    assert second.plan.note == "full listing: it was requested"
    assert any(isinstance(split, RenameSplit) for split in second.splits)
    assert second.entities[name_of(a, "sold")].renamed_from == table_key(SOURCE, a, "orders").identity


# -- Gaps in the notification log ------------------------------------------------------------------------


def test_missing_events_cause_a_complete_plan(
    hms: HiveMetastore, metastore: Metastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    first = run(hms)
    for name in ("orders", "customers", "lines"):
        client.call(CREATE_TABLE, table(databases[0], name))
    last = first.saved().values[EVENT_ID]

    def forget(sent: bytes) -> bytes:
        # The client asks for the events after ``last``. The changed request makes the metastore answer as if it had
        # already removed the first of them.
        return (
            sent.replace(last.to_bytes(8), (last + 1).to_bytes(8))
            if b"get_next_notification" in sent
            else sent
        )

    with Wire(metastore.port, forget) as wire:
        second = run(replace(hms, uris=(wire.uri,)), first.saved())

    assert "not consecutive" in second.plan.note
    assert second.plan.covers[0].path == "/"
    assert second.of(EntityType.TABLE) == ["customers", "lines", "orders"]
    assert second.saved().values[EVENT_ID] == last + 3
    assert second.saved().values[COMPLETE_MS] == NOW_MS


def test_a_restored_metastore_causes_a_complete_plan(hms: HiveMetastore) -> None:
    first = run(hms)
    last = first.saved().values[EVENT_ID]

    second = run(hms, Positions({EVENT_ID: last + 1_000, COMPLETE_MS: NOW_MS}, NOW_MS))

    assert "restored" in second.plan.note
    assert second.plan.covers[0].path == "/"
    assert second.saved().values[EVENT_ID] == last


def test_a_restored_metastore_beyond_the_position_is_read_completely(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    first = run(hms)
    other = {**first.saved().values, EVENT_DIGEST: digest_of(NotificationEvent(1, 1, "CREATE_TABLE"))}

    at_the_same_event = hms.plan(Positions(other, NOW_MS))
    client.call(CREATE_TABLE, table(databases[0], "made_since"))
    past_it = run(hms, Positions(other, NOW_MS))

    for plan in (at_the_same_event, past_it.plan):
        assert "the metastore was restored: its event" in plan.note
        assert [each.path for each in plan.covers] == ["/"]
    assert "made_since" in past_it.of(EntityType.TABLE)
    assert hms.plan(past_it.saved()).note == "", "from then on it is followed again"


def test_the_newest_event_gives_the_metastores_time(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    client.call(CREATE_TABLE, table(databases[0], "just_now"))

    shown = run(hms).plan.source_time

    assert shown is not None
    assert not shown.exact
    assert abs(shown.at_ms - time.time() * 1000) < 60_000


def test_a_complete_plan_is_made_periodically(hms: HiveMetastore) -> None:
    first = run(hms)

    before = hms.plan(replace(first.saved(), now_ms=NOW_MS + DAY_MS - 1))
    assert (before.splits, before.covers) == ((), ())
    assert "old" in hms.plan(replace(first.saved(), now_ms=NOW_MS + DAY_MS)).note


def test_a_server_without_newer_calls_is_still_read(
    hms: HiveMetastore, metastore: Metastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    client.call(CREATE_TABLE, table(databases[0], "orders"))
    newer = {b"get_table_objects_by_name_req": b"get_table_objects_by_name_???"}
    newer[b"get_current_notificationEventId"] = b"get_current_notificationEvent??"

    def older(sent: bytes) -> bytes:
        for name, unknown in newer.items():
            sent = sent.replace(name, unknown)
        return sent

    with Wire(metastore.port, older) as wire:
        old = replace(hms, uris=(wire.uri,))
        first = run(old)
        second = run(old, first.saved())

    assert first.of(EntityType.TABLE) == second.of(EntityType.TABLE) == ["orders"]
    assert first.saved().values[EVENT_ID] == 0
    assert "no notification log" in second.plan.note


@pytest.fixture(scope="module")
def plain_metastore(tmp_path_factory: pytest.TempPathFactory, metastore_jars: Path) -> Iterator[Metastore]:
    """A metastore without a notification log, which tests may kill."""
    with Metastore(tmp_path_factory.mktemp("plain"), metastore_jars, listener=False) as running:
        with connected(running.address) as client:
            for name in ("orders", "customers", "lines"):
                client.call(CREATE_TABLE, table("default", name))
        yield running


@pytest.mark.services
def test_without_a_notification_log_every_plan_is_complete(plain_metastore: Metastore) -> None:
    hms = HiveMetastore(SOURCE, ESTATE, (plain_metastore.uri,))
    first = run(hms)

    second = run(hms, first.saved())

    assert second.of(EntityType.TABLE) == ["customers", "lines", "orders"]
    assert "DbNotificationListener" in second.plan.note
    assert "no notification log" in " ".join(hms.check())


@pytest.mark.services
def test_a_metastore_that_stops_mid_listing_raises_and_covers_nothing(
    plain_metastore: Metastore,
) -> None:
    # With a batch size of 1, the second of three tables is requested before the first one is yielded, so the second may
    # have arrived.
    hms = HiveMetastore(SOURCE, ESTATE, (plain_metastore.uri,), batch_size=1)
    plan = hms.plan(Positions(now_ms=NOW_MS))
    (split,) = (split for split in plan.splits if isinstance(split, TableSplit))

    records: list[Record] = []
    away = rf"no metastore can be reached.*{plain_metastore.port}.*is it running"
    with pytest.raises(MetastoreError, match=away):
        for record in hms.read(split):
            records.append(record)
            plain_metastore.kill()
    with pytest.raises(MetastoreError, match=away):
        hms.plan(Positions(now_ms=NOW_MS))

    assert records
    assert not [record for record in records if isinstance(record, Covered)]

    plain_metastore.start()
    assert run(hms).of(EntityType.TABLE) == ["customers", "lines", "orders"]


# -- Missing tables and slow answers ---------------------------------------------------------------------


def test_a_table_dropped_between_plan_and_read_is_rejected_and_not_deleted(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    a, b = databases
    for name in ("orders", "customers"):
        client.call(CREATE_TABLE, table(a, name))
    plan = hms.plan(Positions(now_ms=NOW_MS))
    client.call(DROP_TABLE, a, "orders", True)
    client.call(DROP_DATABASE, b, True, True)
    done = Run(plan, records=[record for split in plan.splits for record in hms.read(split)])

    assert done.of(EntityType.TABLE) == ["customers"]
    reasons = {reject.tree_path: reject.reason for reject in done.rejects}
    assert reasons[name_of(a, "orders")] == VANISHED
    assert VANISHED in reasons[name_of(b)]
    assert not done.is_gone(name_of(a, "orders", "id"))


def test_a_slow_batch_is_halved_and_a_slow_table_rejected(
    hms: HiveMetastore, metastore: Metastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    a, _ = databases
    for i in range(7):
        client.call(CREATE_TABLE, table(a, f"t{i}"))
    client.call(CREATE_TABLE, table(a, "slow"))

    with Wire(metastore.port, lambda sent: b"" if b"slow" in sent else sent) as wire:
        done = run(replace(hms, uris=(wire.uri,), call_timeout_s=3.0))

    assert done.of(EntityType.TABLE) == [f"t{i}" for i in range(7)]
    (reject,) = done.rejects
    assert reject.tree_path == name_of(a, "slow")
    assert "no answer within 3 s" in reject.reason
    assert "call_timeout_s" in reject.reason


def test_a_metastore_that_no_longer_answers_raises(
    hms: HiveMetastore, metastore: Metastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    for i in range(9):
        client.call(CREATE_TABLE, table(databases[0], f"t{i}"))

    with Wire(metastore.port, lambda sent: b"" if b"get_table_objects" in sent else sent) as wire:
        silent = replace(hms, uris=(wire.uri,), call_timeout_s=0.1, batch_size=1)
        # The plan has a longer timeout, so that only the read times out.
        plan = replace(silent, call_timeout_s=60).plan(Positions())
        (split,) = (split for split in plan.splits if isinstance(split, TableSplit))
        with pytest.raises(MetastoreError, match="no answer within"):
            list(silent.read(split))


def test_the_next_address_is_tried_if_the_first_does_not_answer(
    hms: HiveMetastore, metastore: Metastore
) -> None:
    behind_nothing = "thrift://127.0.0.1:1"

    first, _ = replace(hms, uris=(behind_nothing, metastore.uri)).check()
    assert first.startswith(metastore.uri)
    with pytest.raises(MetastoreError, match=r"no metastore can be reached \(thrift://127.0.0.1:1: "):
        list(replace(hms, uris=(behind_nothing,)).check())


def test_a_server_that_is_not_a_metastore_is_reported(hms: HiveMetastore, metastore: Metastore) -> None:
    with (
        Wire(metastore.port, lambda sent: None) as wire,
        pytest.raises(MetastoreError, match="check that `framed`"),
    ):
        list(replace(hms, uris=(wire.uri,)).check())


def test_a_metastores_error_is_passed_on(client: MetastoreConnection) -> None:
    with pytest.raises(MetastoreRefused, match=r"get_database: NoSuchObjectException: .*no_such_database"):
        client.database("no_such_database")


def test_kerberos_settings_require_each_other() -> None:
    wrong = HiveMetastore(SOURCE, ESTATE, ("thrift://hms:9083",), keytab="/etc/navlin.keytab")

    assert [name for name, _ in wrong.problems()] == ["keytab", "keytab"]
    assert not list(replace(wrong, sasl="kerberos", principal="navlin@EXAMPLE.ORG").problems())


def test_a_source_serves_the_authorities_of_its_addresses() -> None:
    assert HiveMetastore.serves({"uris": ("thrift://hms1", "thrift://hms2:9084")}) == (
        "thrift://hms1:9083",
        "thrift://hms2:9084",
    )


def test_invalid_settings_are_named() -> None:
    wrong = HiveMetastore(SOURCE, ESTATE, ("http://hms:9083",), batch_size=0)

    assert [name for name, _ in wrong.problems()] == ["uris", "batch_size"]
    assert [name for name, _ in replace(wrong, catalog="Spark").problems()] == [
        "uris",
        "batch_size",
        "catalog",
    ]


def test_entities_missing_from_a_listing_are_looked_up_by_name(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    a, b = databases
    client.call(CREATE_TABLE, table(a, "there"))
    source = hms.source
    there = [database_key(source, a), database_key(source, b), table_key(source, a, "there")]
    gone = [
        database_key(source, f"{a}_gone"),
        table_key(source, a, "gone"),
        table_key(source, f"{a}_gone", "x"),
        partition_key(table_key(source, a, "gone"), "ds=1"),
        column_key(table_key(source, a, "there"), "gone"),
    ]

    found = hms.still_there([key.tree_path for key in (*there, *gone)])

    assert found == {key.tree_path for key in there}


def test_an_undecodable_table_is_rejected_and_the_rest_of_its_batch_read() -> None:
    with ThriftMetastore() as garbled:
        garbled.tables = {name: idl.Table(tableName=name, dbName="damaged") for name in ("a", "b", "c", "d")}
        name, of_no_type = b"\x0b\0\x01\0\0\0\x01c", b"\xbf\0\x01\0\0\0\x01c"
        garbled.damage["c"] = lambda answer: answer.replace(name, of_no_type)
        source = Source(source_id("c", "garbled"), HIVE, "garbled", "c")
        extractor = HiveMetastore(source, Estate("c", (source,)), (garbled.uri,))
        splits = extractor.plan(Positions(now_ms=1)).splits
        records = [record for split in splits for record in extractor.read(split)]
    tables = {each.key.name for each in records if isinstance(each, Entity) and each.key.parent}
    assert tables == {"a", "b", "d"}
    (reject,) = (each for each in records if isinstance(each, Reject))
    assert (reject.place, reject.tree_path) == (f"{garbled.uri} damaged.c", "/DAMAGED/C")
    assert "the answer is not Thrift" in reject.reason
