"""Damaged tables and partitions in responses of a Hive Metastore."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, Final

from extractors.hms import HiveMetastore, idl
from navlin.model.plan import Positions
from navlin.model.source import HIVE
from navlin.pipeline.reading import ReadSummary
from tests.services.thrift_metastore import ThriftMetastore
from tests.support.damaged.tallies import (
    TEXTS_ON_THE_WIRE,
    Damaged,
    Outcome,
    Tally,
    Task,
    damaged_source,
    in_a_task,
    in_time,
)

TABLES_A_DATABASE: Final = 150
I32: Final = (0, -1, (1 << 31) - 1, -(1 << 31), 1)


def hms(folder: Path, chance: random.Random, count: int, corpora: Sequence[Path]) -> Tally:
    """Damage fields of tables and partitions, and bytes of the responses that contain tables."""
    tally = Tally()
    with ThriftMetastore() as metastore:
        source, estate = damaged_source("hms", HIVE)
        extractor = HiveMetastore(source, estate, (metastore.uri,), call_timeout_s=0.3)
        while tally.total < count:
            metastore.tables, metastore.partitions, metastore.damage = {}, {}, {}
            ways: dict[str, str] = {}
            for number in range(min(TABLES_A_DATABASE, count - tally.total)):
                name = f"t{number:03d}"
                table = _table(name)
                ways[name] = _damage_fields(table, chance)
                metastore.tables[name] = table
                if chance.random() < 0.3:
                    partition = _partition(name)
                    _damage_fields(partition, chance)
                    metastore.partitions[name] = {"ds=1": partition, "ds=2": _partition(name, "2")}
            for name in chance.sample(sorted(ways), chance.random() < 0.4):
                of_bytes = chance.choice(WIRE)
                ways[name] = f"on the wire, {of_bytes.__name__}"
                metastore.tables[name] = _table(name, owner="damaged on the wire")
                metastore.damage[name] = partial(of_bytes, chance=chance)
            metastore.tables |= {each: _table(each) for each in ("sound_a", "sound_b")}
            _of_a_database(extractor, tally, ways)
    return tally


def wrong_utf_8(record: bytes, chance: random.Random) -> bytes:
    """Make a string invalid UTF-8; Thrift checks only its length."""
    return record.replace(b"damaged on the wire", b"damaged \xff\xfe the wire")


def other_bytes(record: bytes, chance: random.Random) -> bytes:
    """Change random bytes after the message header."""
    damaged = bytearray(record)
    for _ in range(chance.choice((1, 3, 20))):
        damaged[chance.randrange(30, len(damaged))] = chance.randrange(256)
    return bytes(damaged)


def cut_on_the_wire(record: bytes, chance: random.Random) -> bytes:
    return record[: chance.randrange(len(record))]


WIRE: Final = (wrong_utf_8, other_bytes, cut_on_the_wire)


def _of_a_database(extractor: HiveMetastore, tally: Tally, ways: Mapping[str, str]) -> None:
    plan = extractor.plan(Positions(now_ms=1))
    task = Task((), ReadSummary())
    for split in plan.splits:
        with in_time(split.name):
            of_split = in_a_task(extractor, split)
        task = Task(task.documents + of_split.documents, task.summary + of_split.summary)
    if task.summary.failures:
        raise Damaged(f"splits failed: {task.summary.failures}")
    paths = {each["treePath"] for each in task.documents}
    if lost := {"/DAMAGED/SOUND_A", "/DAMAGED/SOUND_B"} - paths:
        raise Damaged(f"sound tables are lost: {lost}")
    for reject in task.summary.rejects:
        if "thrift://" not in reject.place or not reject.reason:
            raise Damaged(f"{reject} does not name the metastore")
    rejected = " ".join(reject.place for reject in task.summary.rejects).upper()
    for name, way in ways.items():
        if f"DAMAGED.{name}".upper() in rejected or f"/DAMAGED/{name}".upper() in rejected:
            tally.add(way, Outcome.REJECTED)
        elif f"/DAMAGED/{name}".upper() in paths:
            tally.add(way, Outcome.VALID)
        else:
            raise Damaged(f"{name} is neither read nor rejected: {way}")


def _table(name: str, **more: Any) -> idl.Table:
    return idl.Table(
        tableName=name,
        dbName="damaged",
        owner=more.get("owner", "etl"),
        createTime=1_700_000_000,
        lastAccessTime=1_700_000_000,
        sd=_descriptor(f"hdfs://ns1/w/{name}"),
        partitionKeys=[idl.FieldSchema("ds", "string", None)],
        parameters={"comment": "a table", "numRows": "3", "transient_lastDdlTime": "1700000000"},
        viewExpandedText="SELECT 1",
        tableType="EXTERNAL_TABLE",
    )


def _partition(table: str, value: str = "1") -> idl.Partition:
    location = f"hdfs://ns1/w/{table}/ds={value}"
    return idl.Partition([value], "damaged", table, 1_700_000_000, 0, _descriptor(location), {"numRows": "1"})


def _descriptor(location: str) -> idl.StorageDescriptor:
    return idl.StorageDescriptor(
        cols=[idl.FieldSchema("id", "int", None), idl.FieldSchema("amount", "decimal(9,2)", "how much")],
        location=location,
        inputFormat="I",
        outputFormat="O",
        compressed=False,
        numBuckets=-1,
        serdeInfo=idl.SerDeInfo("s", "lib", {"path": location}),
        bucketCols=["id"],
        sortCols=[idl.Order("id", 1)],
        parameters={},
    )


def _damage_fields(struct: Any, chance: random.Random) -> str:
    """Replace a field of a struct, or of a nested struct, with another value that Thrift can encode. Return the name of
    the damage.
    """
    name = chance.choice([each.name for each in fields(struct)])
    value = getattr(struct, name)
    match value:
        case idl.StorageDescriptor() | idl.SerDeInfo() if chance.random() < 0.8:
            return _damage_fields(value, chance)
        case [idl.FieldSchema() | idl.Order(), *_] if chance.random() < 0.6:
            return _damage_fields(chance.choice(value), chance)
    way, other = _other_field(name, value, chance)
    setattr(struct, name, other)
    return way


def _other_field(name: str, value: Any, chance: random.Random) -> tuple[str, Any]:
    if chance.random() < 0.2:
        return "a field is missing", None
    match value:
        case bool():
            return "a flag turned", not value
        case int():
            return "another number", chance.choice(I32)
        case str() | None if not isinstance(value, int):
            return "an odd text", chance.choice(TEXTS_ON_THE_WIRE) if name not in (
                "sd",
                "serdeInfo",
            ) else None
        case list():
            return "a list cut, or many times", chance.choice(([], value[:0], value * 300))
        case dict():
            odd = {
                chance.choice(TEXTS_ON_THE_WIRE): chance.choice(TEXTS_ON_THE_WIRE)
                for _ in range(chance.choice((0, 1, 40)))
            }
            spark = {
                "spark.sql.sources.schema": chance.choice(('{"type":', "[" * 5_000, "null", '{"fields":7}'))
            }
            return "other parameters", chance.choice((odd, {**value, **odd}, {**value, **spark}))
    return "a field is missing", None
