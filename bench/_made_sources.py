"""Generated sources for benches that fill an index: a metastore, an engine's log and an HDFS image."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from extractors.hdfs import Hdfs
from navlin.model.extractor import EXTRACTORS, PULL, Extractor, Registration
from navlin.model.keys import (
    Key,
    RelationType,
    column_key,
    database_key,
    execution_key,
    operation_key,
    sub_operation_key,
    table_key,
)
from navlin.model.plan import Plan, Positions
from navlin.model.records import Covered, Entity, Record, Relation, Split
from navlin.model.source import HDFS, HIVE, IMPALA, Estate, Source, source_id
from tests.support.large_images import write_large_image

IN_SPLIT: Final = 200
AT_MS: Final = 1_800_000_000_000
STATEMENT: Final = (
    "INSERT OVERWRITE TABLE {} SELECT customer, region, sum(amount) AS amount, count(*) AS orders FROM {} o JOIN {} c"
    " ON o.customer = c.id WHERE o.ds = '{}' GROUP BY customer, region"
)


@dataclass(frozen=True, slots=True)
class Numbers(Split):
    """Items numbered from ``first`` up to but not including ``before``."""

    first: int
    before: int

    @property
    def name(self) -> str:
        return f"{self.first} to {self.before - 1}"


@dataclass(frozen=True, slots=True)
class Made(Extractor):
    """A source of ``count`` tables, statements or other items; a subclass yields the records of each."""

    source: Source
    estate: Estate
    count: int

    def plan(self, positions: Positions) -> Plan:
        firsts = range(0, self.count, IN_SPLIT)
        splits = tuple(Numbers(first, min(first + IN_SPLIT, self.count)) for first in firsts)
        return Plan(splits, covers=(Covered("/", positions.now_ms),))

    def read(self, split: Split) -> Iterator[Record]:
        assert isinstance(split, Numbers)
        for number in range(split.first, split.before):
            yield from self.records(number)

    @abstractmethod
    def records(self, number: int) -> Iterator[Record]:
        """Yield the records of one item."""


class MadeTables(Made):
    """A metastore with tables of 15 columns. Every third column flows into the column at the same position in the
    next table."""

    COLUMNS: ClassVar = 15

    def records(self, number: int) -> Iterator[Record]:
        table = a_table(self.source, number)
        if number < 50:
            yield Entity(database_key(self.source, f"database_{number}"), AT_MS)
        yield Entity(table, AT_MS, _of_table(number), {"numRows": number, "totalSize": 12_345_678})
        for position in range(self.COLUMNS):
            column = a_column(table, position)
            yield Entity(column, AT_MS, _of_column(position))
            if position % 3 == 0:
                flows_to = a_column(a_table(self.source, number + 1), position)
                yield Relation(RelationType.DATA_FLOW, column, flows_to, column.tree_path, AT_MS)


class MadeOperations(Made):
    """An engine's log: multi-line statements between tables of a metastore, each with an execution and a sub-operation."""

    def records(self, number: int) -> Iterator[Record]:
        names = [f"database_{number % 50}.{kind}_{number}" for kind in ("sums", "orders", "customers")]
        text = STATEMENT.format(*names, f"2026-01-{number % 28 + 1:02d}")
        operation = operation_key(self.source, text, ())
        execution = execution_key(operation, f"{number:016x}:0000000000000001")
        part = sub_operation_key(operation, "amount")
        queried = {"queryText": text, "principal": f"etl_{number % 30}"}
        yield Entity(operation, AT_MS, queried)
        yield Entity(part, AT_MS, {})
        yield Entity(
            execution, AT_MS, {"started": AT_MS - number, "ended": AT_MS, "principal": f"etl_{number % 30}"}
        )
        yield Relation(RelationType.INSTANCE_OF, operation, execution, operation.tree_path, AT_MS)
        yield Relation(
            RelationType.DATA_FLOW, a_table(self.source, number + 1), operation, operation.tree_path, AT_MS
        )
        yield Relation(
            RelationType.DATA_FLOW, operation, a_table(self.source, number), operation.tree_path, AT_MS
        )


class MadeFlows(Made):
    """Almost only relations: the twenty columns of each table flow into those of the next table."""

    COLUMNS: ClassVar = 20

    def records(self, number: int) -> Iterator[Record]:
        table, to = a_table(self.source, number), a_table(self.source, number + 1)
        yield Entity(table, AT_MS, {})
        for position in range(self.COLUMNS):
            flows_to = a_column(to, position)
            yield Relation(
                RelationType.DATA_FLOW, a_column(table, position), flows_to, table.tree_path, AT_MS
            )


@dataclass(frozen=True, slots=True)
class Filling:
    """A source that fills an index; ``units`` is its number of tables, operations or the like, as ``unit`` says."""

    registration: Registration
    extractor: Extractor
    unit: str
    units: int


def tables(_folder: Path, count: int) -> Filling:
    """Return a metastore of about ``count`` documents."""
    return _made(MadeTables, HIVE, count // (MadeTables.COLUMNS * 2 + MadeTables.COLUMNS // 3 + 2))


def operations(_folder: Path, count: int) -> Filling:
    """Return an engine's log of about ``count`` documents."""
    return _made(MadeOperations, IMPALA, count // 7)


def flows(_folder: Path, count: int) -> Filling:
    """Return a source of about ``count`` documents, almost all of them relations."""
    return _made(MadeFlows, IMPALA, count // (MadeFlows.COLUMNS + 1))


def image(folder: Path, count: int, *, entries: Literal["all", "directories"] = "all") -> Filling:
    """Return an HDFS image of about ``count`` documents, read by the real extractor."""
    source = Source(source_id("bench", "HDFS"), HDFS, "HDFS", "bench", ("hdfs://bench",))
    estate = Estate("bench", (source,), spool=str(folder / "spool"))
    written = write_large_image(folder / "fsimage_0000000000000001000", count // 2)
    hdfs = Hdfs(
        source, estate, "hdfs://bench", image=str(written.path), events=False, exclude=(), entries=entries
    )
    return Filling(EXTRACTORS["hdfs"], hdfs, "inodes", written.inodes)


def directories(folder: Path, count: int) -> Filling:
    """Return the same image as `image`, with only its directories extracted."""
    return image(folder, count, entries="directories")


FILLINGS: Final[dict[str, Callable[[Path, int], Filling]]] = {
    "tables": tables,
    "operations": operations,
    "flows": flows,
    "hdfs": image,
    "directories": directories,
}
"""Name given to a bench → function that makes the source."""


def a_table(source: Source, number: int) -> Key:
    return table_key(source, f"database_{number % 50}", f"a_table_with_a_name_{number}")


def a_column(table: Key, position: int) -> Key:
    return column_key(table, f"column_{position}_of_some_length")


def _made(cls: type[Made], kind: str, count: int) -> Filling:
    source = Source(source_id("bench", "made"), kind, "made", "bench")
    made = cls(source, Estate("bench", (source,)), count)
    return Filling(Registration("made", kind, PULL, 1, cls), made, "records", count)


def _of_table(number: int) -> dict[str, Any]:
    return {
        "owner": f"owner_{number % 30}",
        "created": AT_MS - number,
        "lastModified": AT_MS - number // 2,
        "lastModifiedBy": "etl",
        "originalDescription": f"what table {number} is for, in a line of ordinary length, as people write them",
        "inputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
        "outputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
        "serDeLibName": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
        "partitionColNames": ["ds", "region"],
        "tableType": "MANAGED_TABLE",
        "compressed": False,
        "bucketing_version": "2",
        "spark.sql.sources.provider": "parquet",
    }


def _of_column(position: int) -> dict[str, Any]:
    return {
        "dataType": ("bigint", "string", "decimal(18,2)")[position % 3],
        "originalDescription": f"column {position}, as its comment explains it",
        "fieldIndex": position,
        "owner": "etl",
        "created": AT_MS,
        "lastModified": AT_MS,
        "lastModifiedBy": "etl",
        "classification": "internal",
        "quality": "checked",
        "unit": "EUR",
    }
