"""Handmade export items: datasets and operations as they are read from the graph. Names are ``db.table``,
``db.table.column`` or a path; equal names have equal ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from navlin.export.values import (
    ColumnEnd,
    ColumnLineage,
    ColumnName,
    DatasetEnd,
    DatasetName,
    ExportedColumn,
    ExportedDataset,
    ExportedExecution,
    ExportedOperation,
    ExportedRun,
    FlowRole,
    Item,
    RunName,
    UnlinkedEnd,
)
from navlin.index.graph.details import (
    Annotations,
    ColumnDetails,
    Details,
    ExecutionDetails,
    PartDetails,
    StatementDetails,
    Storage,
)
from navlin.index.graph.entity import PurgedExecutions
from navlin.index.graph.sources import KnownSource
from navlin.index.journal.removals import Removal
from navlin.model.identity import identify

METASTORE = KnownSource(
    "metastore", "HIVE", "hms", "cm", ("thrift://hms:9083",), placeholder=False, metastore=True
)
CLAIMED = KnownSource(
    "claimed", "HIVE", "thrift://other:9083", "cm", ("thrift://other:9083",), placeholder=True
)
QUERIES = KnownSource("hive", "HIVE", "hive", "cm", (), placeholder=False)
HDFS = KnownSource("hdfs", "HDFS", "hdfs", "cm", ("hdfs://ns1",), placeholder=False)
LOCAL = KnownSource("local", "LOCAL", "file://", "cm", ("file://",), placeholder=True)
SPARK = KnownSource("spark", "SPARK", "spark", "cm", (), placeholder=False)
AT_MS = 1_700_000_000_000


def bucket(scheme: str, host: str) -> KnownSource:
    """A granted source for a bucket that no configured source serves."""
    authority = f"{scheme}://{host}"
    return KnownSource(
        authority, "S3" if scheme == "s3" else scheme.upper(), authority, "cm", (authority,), placeholder=True
    )


def dataset(name: str, kind: str = "", source: KnownSource | None = None) -> DatasetName:
    """A dataset: a directory if the name begins with a slash, otherwise a table. ``kind`` overrides the type."""
    if name.startswith("/"):
        return DatasetName(identify("path", name), kind or "DIRECTORY", source or HDFS, name)
    database, _, table = name.rpartition(".")
    return DatasetName(identify("table", name), kind or "TABLE", source or METASTORE, table, database)


def database(name: str) -> DatasetName:
    return DatasetName(identify("database", name), "DATABASE", METASTORE, name)


def column(name: str, kind: str = "") -> ColumnName:
    """A column by its full name. If the name ends in a dot, it is the dataset as a whole."""
    table, _, own = name.rpartition(".")
    return ColumnName(identify("column", name), dataset(table, kind), own)


def described(name: DatasetName, columns: Sequence[tuple[str, str]] = (), **known: object) -> ExportedDataset:
    """A dataset with columns given as (name, type). ``known`` are fields of `ExportedDataset`."""
    found = tuple(
        ExportedColumn(
            ColumnName(identify("column", f"{name.full_name}.{own}"), name, own),
            ColumnDetails(kind, "", at),
            Annotations(),
        )
        for at, (own, kind) in enumerate(columns)
    )
    return ExportedDataset(name, columns=found, **known)  # type: ignore[arg-type]


def part(
    outputs: Sequence[str] = (),
    data: Sequence[str] = (),
    control: Sequence[str] = (),
    *,
    kind: str = "PROJECTION",
    expression: str = "",
    transformation: str = "",
    label: str = "",
    into: str = "",
    inferred: bool = False,
) -> ColumnLineage:
    """A sub-operation. ``into`` is the type of the dataset that contains the output columns."""
    ends = [
        *(ColumnEnd(column(each)) for each in data),
        *(ColumnEnd(column(each), FlowRole.CONTROL) for each in control),
    ]
    named = "|".join((kind, expression, label, *outputs, "<", *data, "<", *control))
    details = PartDetails(kind, expression, transformation, inferred=inferred)
    return ColumnLineage(
        identify("part", named), tuple(ends), tuple(column(each, into) for each in outputs), details, label
    )


def predicate(outputs: Sequence[str] = (), control: Sequence[str] = (), into: str = "") -> ColumnLineage:
    """A sub-operation that filters rows."""
    return part(outputs, (), control, kind="PREDICATE", into=into)


def operation(
    text: str = "",
    kind: str = "",
    *parts: ColumnLineage,
    reads: Iterable[str | DatasetName | DatasetEnd] = (),
    writes: Iterable[str | DatasetName | DatasetEnd] = (),
    engine: str = "HIVE",
    source: KnownSource = QUERIES,
    derived: bool = False,
    deleted: bool = False,
    **known: object,
) -> ExportedOperation:
    """An operation that reads and writes at least the datasets of its sub-operations. An input with both data flow and
    control flow counts as data flow.
    """
    inputs = {end.dataset.id: end for end in map(_end, reads)}
    outputs = {end.dataset.id: end for end in map(_end, writes)}
    for each in parts:
        for end in each.inputs:
            of = end.column.dataset
            if of.id not in inputs or end.flow is FlowRole.DATA:
                inputs[of.id] = (
                    inputs.get(of.id, DatasetEnd(of, end.flow))
                    if end.flow is not FlowRole.DATA
                    else DatasetEnd(of)
                )
        outputs.update(
            {
                name.dataset.id: DatasetEnd(name.dataset)
                for name in each.outputs
                if name.dataset.id not in outputs
            }
        )
    target = next(iter(outputs), "")
    return ExportedOperation(
        target if derived else identify("operation", text, kind),
        " ".join(text.split()),
        source,
        StatementDetails(engine, kind, text),
        tuple(inputs.values()),
        tuple(outputs.values()),
        parts,
        derived=derived,
        deleted=deleted,
        **known,  # type: ignore[arg-type]
    )


def _end(given: str | DatasetName | DatasetEnd) -> DatasetEnd:
    if isinstance(given, DatasetEnd):
        return given
    return DatasetEnd(dataset(given) if isinstance(given, str) else given)


def run(of: ExportedOperation, details: ExecutionDetails, **known: object) -> ExportedRun:
    """A run of an operation; ``known`` are fields of `ExportedExecution`."""
    return ExportedRun(of, ExportedExecution(identify("run", of.id, details.name), details, **known))  # type: ignore[arg-type]


def every_kind() -> list[Item]:
    """Items of every kind that an export can contain, with a variety of names, types and statuses."""
    types = (
        "boolean tinyint smallint int bigint float double decimal(10,2) string varchar(20) char(3) binary date timestamp"
        " interval_day_time array<int> map<string,int> struct<a:int> uniontype<int,string> void"
    ).split()
    orders = described(
        dataset("sales.orders"),
        [(f"c{at}", each) for at, each in enumerate(types)],
        details=Details(
            "etl",
            "hadoop",
            "all orders",
            AT_MS,
            AT_MS + 1,
            parameters={"k": "v"},
            kind="EXTERNAL_TABLE",
            storage=Storage(
                "hdfs://ns1/warehouse/orders", "I", "O", bucket_columns=("c0",), sort_columns=("c0 ASC",)
            ),
            partition_columns=("c19",),
        ),
        annotations=Annotations("Orders", "who bought", ("pii", "a,b (c)"), {"team": ("x", "y")}, ("gold",)),
        locations=(dataset("/warehouse/orders"),),
    )
    view = described(
        dataset("sales.v", "VIEW"),
        [("a", "int")],
        details=Details(text="select a from sales.orders", kind="VIRTUAL_VIEW"),
    )
    paths = [
        described(name, details=Details("hdfs", "hadoop", permissions="rwxr-x---", replication=3))
        for name in (
            dataset("/warehouse/orders"),
            dataset("/warehouse/orders/part, (1)", "FILE"),
            dataset("/clicks"),
            dataset("/data", source=bucket("s3", "b")),
            dataset("/data", source=bucket("gs", "b")),
            dataset("/data", source=bucket("abfss", "c@account.dfs.core.windows.net")),
            dataset("/data", source=LOCAL),
            dataset("/data", source=bucket("dbfs", "")),
            dataset("/", "S3BUCKET", bucket("s3", "b")),
        )
    ]
    made = operation(
        "insert overwrite table sales.daily select c0, sum(c6) from sales.orders where c3 > 1 group by c0",
        "INSERT_OVERWRITE",
        part(["sales.daily.day"], ["sales.orders.c0"], transformation="IDENTITY"),
        part(["sales.daily.total"], ["sales.orders.c6"], ["sales.orders.c0"], expression="sum(c6)"),
        predicate(["sales.daily.day", "sales.daily.total"], ["sales.orders.c3"]),
        part(["sales.daily.rest"], ["sales.orders."], inferred=True),
        unlinked=(UnlinkedEnd("1", "tmp.gone", "TABLE", "HIVE", False, FlowRole.DATA, "no match"),),
        annotations=Annotations(tags=("nightly",), properties={"owner": ("ann",)}),
        runs=PurgedExecutions(3, AT_MS, "ann"),
    )
    select = operation(
        "select c0 from sales.orders", "SELECT", part(data=["sales.orders.c0"], label="c0"), engine="IMPALA"
    )
    stream = operation(
        "clicks", "STREAM", reads=["/warehouse/orders"], writes=["/clicks"], engine="SPARK", source=SPARK
    )
    derived = operation(
        "select a from sales.orders",
        "CREATEVIEW",
        part(["sales.v.a"], ["sales.orders.c3"], ["sales.orders.c4"], kind="", into="VIEW"),
        derived=True,
    )
    yarn = RunName(identify("application_1_0001"), "application_1_0001", QUERIES)
    oozie = RunName(identify("workflow"), "0000001-W", QUERIES)
    runs = [
        run(
            made,
            ExecutionDetails(
                f"run {status} {started_ms}", started_ms, ended_ms, AT_MS + 5, "ann", status, "q1"
            ),
            run_as=(yarn,),
            run_for=(oozie,),
        )
        for status in ("SUCCEEDED", "FAILED", "KILLED", "RUNNING", "UNKNOWN", "")
        for started_ms, ended_ms in ((AT_MS, AT_MS + 15_000), (AT_MS, 0), (0, AT_MS), (0, 0))
    ]
    return [
        described(database("sales"), details=Details("etl", comment="sales", created_ms=AT_MS)),
        orders,
        described(dataset("sales.daily"), [("day", "date"), ("total", "double"), ("rest", "int")]),
        view,
        *paths,
        ExportedDataset(DatasetName(identify("topic"), "DATASET", bucket("kafka", "broker:9092"), "clicks")),
        ExportedDataset(dataset("tmp.never_seen"), placeholder=True),
        described(dataset("sales.dropped"), deleted=True),
        described(database("gone"), deleted=True),
        made,
        *runs,
        select,
        run(select, ExecutionDetails("select", AT_MS, AT_MS + 1, AT_MS + 1, "bob")),
        stream,
        run(stream, ExecutionDetails("stream", AT_MS, 0, AT_MS, "bob", "RUNNING")),
        derived,
        operation("dropped", "INSERT", reads=["sales.orders"], deleted=True),
        Removal("entity", "1"),
    ]
