"""Messages of a metastore's notification log in every known format, and how the events of one poll are merged."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from extractors.hms.events import (
    Change,
    DatabaseChanged,
    PartitionsChanged,
    TableAltered,
    TableCreated,
    TableDropped,
    TableName,
    TableRenamed,
    parse_event,
)
from extractors.hms.idl import NotificationEvent
from extractors.hms.names import partition_name, partition_values
from extractors.hms.touched import MANY_PARTITIONS, TouchedObjects, TouchedTable

ORDERS = TableName("sales", "orders")
SOLD = TableName("archive", "sold")


def tagged(
    database: str, table: str, columns: dict[str, str], parameters: dict[str, str], **more: Any
) -> str:
    """A table as TJSONProtocol text, as a metastore writes it into a message."""
    listed = [{"1": {"str": name}, "2": {"str": kind}} for name, kind in columns.items()]
    return json.dumps(
        {
            "1": {"str": table},
            "2": {"str": database},
            "4": {"i32": 1_700_000_000},
            "7": {"rec": {"1": {"lst": ["rec", len(listed), *listed]}, "5": {"tf": 0}}},
            "9": {"map": ["str", "str", len(parameters), parameters]},
            **more,
        }
    )


def event(
    kind: str, message: Any, name: TableName = ORDERS, form: str | None = "json-0.2"
) -> NotificationEvent:
    text = message if isinstance(message, str) else json.dumps(message)
    return NotificationEvent(5, 1_700_000_000, kind, name.database, name.table, text, form)


def altered(before: str, after: str, name: TableName = ORDERS) -> NotificationEvent:
    message = {"db": "sales", "table": "orders", "tableObjBeforeJson": before, "tableObjAfterJson": after}
    return event("ALTER_TABLE", message, name)


BEFORE = tagged("sales", "orders", {"id": "int"}, {"transient_lastDdlTime": "1"})
PLAIN = {
    "server": "thrift://hms:9083",
    "servicePrincipal": "hive/hms@X",
    "db": "sales",
    "table": "orders",
    "timestamp": 1,
}


@pytest.mark.parametrize(
    ("given", "change"),
    [
        pytest.param(event("CREATE_TABLE", PLAIN), TableCreated(ORDERS), id="create"),
        pytest.param(event("DROP_TABLE", PLAIN), TableDropped(ORDERS), id="drop"),
        pytest.param(
            event("CREATE_TABLE", PLAIN, TableName("Sales", "ORDERS")), TableCreated(ORDERS), id="mixed case"
        ),
        pytest.param(event("CREATE_DATABASE", PLAIN), DatabaseChanged("sales"), id="create database"),
        pytest.param(
            event("DROP_DATABASE", PLAIN), DatabaseChanged("sales", dropped=True), id="drop database"
        ),
        pytest.param(
            altered(BEFORE, tagged("sales", "orders", {"id": "int", "name": "string"}, {})),
            TableAltered(ORDERS),
            id="a column added",
        ),
        pytest.param(
            altered(BEFORE, tagged("sales", "orders", {"id": "int"}, {"comment": "x"})),
            TableAltered(ORDERS),
            id="a parameter added",
        ),
        pytest.param(
            altered(BEFORE, tagged("archive", "Sold", {"id": "int"}, {}), SOLD),
            TableRenamed(ORDERS, SOLD, 5, 1_700_000_000_000),
            id="rename, Hive 2",
        ),
        pytest.param(
            altered(BEFORE, tagged("archive", "sold", {}, {}, **{"12": {"str": "VIRTUAL_VIEW"}}), SOLD),
            TableRenamed(ORDERS, SOLD, 5, 1_700_000_000_000, view=True),
            id="rename of a view",
        ),
        pytest.param(event("ALTER_TABLE", PLAIN, form=None), TableAltered(ORDERS), id="alter, CDH 5"),
        pytest.param(
            event("ALTER_TABLE", PLAIN, SOLD, None),
            TableRenamed(ORDERS, SOLD, 5, 1_700_000_000_000),
            id="rename, CDH 5: the message has the old name",
        ),
        pytest.param(
            event(
                "ALTER_TABLE",
                {"db": "sales", "oldTableName": "orders", "newTableName": "sold"},
                TableName("sales", "sold"),
            ),
            TableRenamed(ORDERS, TableName("sales", "sold"), 5, 1_700_000_000_000),
            id="rename, Sentry",
        ),
        pytest.param(event("ALTER_TABLE", "{torn"), TableAltered(ORDERS), id="a message that does not parse"),
        pytest.param(event("ALTER_TABLE", "[]"), TableAltered(ORDERS), id="a message of another shape"),
        pytest.param(
            event("ALTER_TABLE", {"tableObjBeforeJson": "{", "tableObjAfterJson": 7}),
            TableAltered(ORDERS),
            id="objects that do not parse",
        ),
        pytest.param(
            event(
                "ADD_PARTITION",
                {**PLAIN, "partitions": [{"ds": "a/b", "Region": "eu"}, {"ds": "", "Region": "x"}]},
            ),
            PartitionsChanged(ORDERS, ("ds=a%2Fb/region=eu", "ds=__HIVE_DEFAULT_PARTITION__/region=x")),
            id="partitions added",
        ),
        pytest.param(
            event("DROP_PARTITION", {**PLAIN, "partitions": [{"ds": "1"}]}),
            PartitionsChanged(ORDERS, ("ds=1",), dropped=True),
            id="partitions dropped",
        ),
        pytest.param(
            event("ALTER_PARTITION", {**PLAIN, "keyValues": {"ds": "1"}}),
            PartitionsChanged(ORDERS, ("ds=1",)),
            id="partition altered",
        ),
        pytest.param(
            event("ALTER_PARTITIONS", {**PLAIN, "partitions": [{"ds": "1"}, {"ds": "2"}]}),
            PartitionsChanged(ORDERS, ("ds=1", "ds=2")),
            id="partitions altered at once, Hive 4.1",
        ),
        pytest.param(
            event(
                "ALTER_PARTITIONS",
                {**PLAIN, "partitionKeys": ["ds", "region"], "partitionValues": [["1", "eu"], ["2", "us"]]},
            ),
            PartitionsChanged(ORDERS, ("ds=1/region=eu", "ds=2/region=us")),
            id="partitions altered at once, later",
        ),
        pytest.param(
            event("ALTER_PARTITIONS", {**PLAIN, "partitionKeys": ["ds"]}),
            PartitionsChanged(ORDERS, None),
            id="partitions altered at once: which is not said",
        ),
        pytest.param(
            event("ADD_PARTITION", PLAIN, form=None),
            PartitionsChanged(ORDERS, None),
            id="partitions, CDH 5: which is not said",
        ),
    ],
)
def test_an_event_gives_the_change(given: NotificationEvent, change: Change) -> None:
    assert parse_event(given) == change


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(
            altered(BEFORE, tagged("sales", "orders", {"id": "int"}, {"transient_lastDdlTime": "2"})),
            id="time alone",
        ),
        pytest.param(
            altered(
                BEFORE,
                tagged(
                    "sales", "orders", {"id": "int"}, {"numRows": "7", "spark.sql.statistics.totalSize": "9"}
                ),
            ),
            id="statistics alone",
        ),
        pytest.param(
            altered(
                BEFORE,
                tagged(
                    "sales",
                    "orders",
                    {"id": "int"},
                    {},
                    **{"5": {"i32": 9}, "6": {"i32": 0}, "13": {"rec": {}}, "15": {"tf": 0}},
                ),
            ),
            id="last access, rights, and defaults told on one side only",
        ),
        pytest.param(
            event(
                "ALTER_PARTITION",
                {
                    "keyValues": {"ds": "1"},
                    "partitionObjBeforeJson": json.dumps({"1": {"lst": ["str", 1, "1"]}}),
                    "partitionObjAfterJson": json.dumps(
                        {"1": {"lst": ["str", 1, "1"]}, "7": {"map": ["str", "str", 1, {"numFiles": "3"}]}}
                    ),
                },
            ),
            id="a partition's statistics",
        ),
        pytest.param(
            altered(
                tagged("sales", "orders", {"id": "int"}, {}, **{"19": {"i64": 0}, "25": {"i64": 7}}),
                tagged("sales", "orders", {"id": "int"}, {}, **{"19": {"i64": -1}}),
            ),
            id="numbers of Hive 4's own",
        ),
        pytest.param(event("INSERT", PLAIN), id="insert"),
        pytest.param(event("OPEN_TXN", {}), id="transaction"),
        pytest.param(
            NotificationEvent(5, 1, "CREATE_TABLE", "sales", "orders", "{}", None, "iceberg"),
            id="another catalog",
        ),
    ],
)
def test_an_irrelevant_event_gives_none(given: NotificationEvent) -> None:
    assert parse_event(given) is None


def test_a_configured_catalogs_events_are_followed() -> None:
    created = NotificationEvent(5, 1, "CREATE_TABLE", "sales", "orders", "{}", None, "Spark")

    assert parse_event(created, "spark") == TableCreated(ORDERS)
    assert parse_event(event("CREATE_TABLE", {}), "spark") is None


def test_a_gzipped_message_gives_the_same_change() -> None:
    plain = altered(BEFORE, tagged("archive", "sold", {}, {}), SOLD)
    assert plain.message is not None
    packed = base64.b64encode(gzip.compress(plain.message.encode())).decode()
    torn = packed[: len(packed) // 2]

    assert parse_event(event("ALTER_TABLE", packed, SOLD, "gzip(json-2.0)")) == parse_event(plain)
    # If a message cannot be unpacked, only the database and table columns of the event are used.
    for broken in (torn, "é", '{"table": "é"}'):
        assert parse_event(event("ALTER_TABLE", broken, SOLD, "gzip(json-2.0)")) == TableAltered(SOLD)


RECORDED = Path(__file__).parents[1] / "data" / "hms"
DAILY = TableName("sales", "daily")
SALES_SOLD = TableName("sales", "sold")


@pytest.mark.parametrize("release", ["3.1", "4.0"])
def test_recorded_events_give_the_expected_changes(release: str) -> None:
    lines = (RECORDED / f"events-{release}.jsonl").read_text().splitlines()
    events = [NotificationEvent(**json.loads(line)) for line in lines]
    times_ms = {one.eventId: (one.eventTime or 0) * 1000 for one in events}

    assert [parse_event(one) for one in events] == [
        DatabaseChanged("sales"),
        TableCreated(ORDERS),
        PartitionsChanged(ORDERS, ("ds=a%2Fb",)),
        None,  # statistics of the table
        TableAltered(ORDERS),
        None,  # statistics of the partition
        PartitionsChanged(ORDERS, ("ds=a%2Fb",)),
        TableRenamed(ORDERS, SALES_SOLD, 8, times_ms[8]),
        PartitionsChanged(SALES_SOLD, ("ds=a%2Fb",), dropped=True),
        TableCreated(DAILY),
        TableRenamed(DAILY, TableName("sales", "daily2"), 11, times_ms[11], view=True),
        None,  # databases of other catalogs,
        None,  # even if one has the same name
        TableDropped(SALES_SOLD),
        TableDropped(TableName("sales", "daily2")),
        DatabaseChanged("sales", dropped=True),
    ]


def test_a_partition_name_is_parsed_and_rebuilt() -> None:
    name = "ds=2026-01-01/region=a%2Fb%3Dc"

    assert partition_values(name) == (("ds", "region"), ("2026-01-01", "a/b=c"))
    assert partition_name(*partition_values(name)) == name


# -- Merging ---------------------------------------------------------------------------------------------------


def touched_by(*changes: Change) -> TouchedObjects:
    touched = TouchedObjects()
    for change in changes:
        touched.add(change)
    return touched


def test_many_events_of_a_table_cause_one_reading() -> None:
    touched = touched_by(*[TableAltered(ORDERS)] * 50, PartitionsChanged(ORDERS, ("ds=1",)))

    assert touched.tables == {ORDERS: TouchedTable(itself=True, partitions={"ds=1": True})}


def test_a_partitions_last_event_decides_whether_it_exists() -> None:
    touched = touched_by(
        PartitionsChanged(ORDERS, ("ds=1", "ds=2")),
        PartitionsChanged(ORDERS, ("ds=1",), dropped=True),
        PartitionsChanged(ORDERS, ("ds=3",), dropped=True),
        PartitionsChanged(ORDERS, ("ds=3",)),
    )

    assert touched.tables[ORDERS].partitions == {"ds=1": False, "ds=2": True, "ds=3": True}


def test_many_changed_partitions_cause_a_listing_of_all() -> None:
    names = tuple(f"ds={i}" for i in range(MANY_PARTITIONS + 1))
    touched = touched_by(PartitionsChanged(ORDERS, names), PartitionsChanged(ORDERS, ("ds=x",), dropped=True))

    assert touched.tables == {ORDERS: TouchedTable(all_partitions=True)}


def test_a_table_dropped_last_is_not_read() -> None:
    touched = touched_by(TableCreated(ORDERS), PartitionsChanged(ORDERS, ("ds=1",)), TableDropped(ORDERS))

    assert touched.tables == {}
    assert touched.gone_tables == {ORDERS}


def test_dropping_a_database_discards_earlier_events_of_its_tables() -> None:
    touched = touched_by(
        TableAltered(ORDERS),
        TableAltered(SOLD),
        DatabaseChanged("sales", dropped=True),
        DatabaseChanged("sales"),
        TableCreated(ORDERS),
    )

    assert touched.gone_databases == {"sales"}
    assert touched.databases == {"sales"}
    assert touched.tables == {
        SOLD: TouchedTable(itself=True),
        ORDERS: TouchedTable(itself=True, all_partitions=True),
    }


def test_a_table_renamed_away_and_back_was_not_renamed() -> None:
    touched = touched_by(TableRenamed(ORDERS, SOLD, 1, 1), TableRenamed(SOLD, ORDERS, 2, 2))

    assert touched.renamed_from == {}
    assert list(touched.tables) == [ORDERS]
    assert len(touched.renames) == 2
