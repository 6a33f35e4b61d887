"""Items of an export by hand: datasets and operations as a reading of the graph yields them. Names are ``db.table``,
``db.table.column`` or a path; what has the same name has the same id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from navlin.export.values import (
    Column,
    ColumnEnd,
    ColumnLineage,
    ColumnName,
    Dataset,
    DatasetName,
    End,
    Execution,
    ExecutionDetails,
    Flow,
    KnownSource,
    Operation,
    PartDetails,
    Run,
    StatementDetails,
    Words,
)
from navlin.index.details import ColumnDetails
from navlin.model.identity import identify

METASTORE = KnownSource(
    "metastore", "HIVE", "hms", "cm", ("thrift://hms:9083",), granted=False, metastore=True
)
CLAIMED = KnownSource("claimed", "HIVE", "thrift://other:9083", "cm", ("thrift://other:9083",), granted=True)
QUERIES = KnownSource("hive", "HIVE", "hive", "cm", (), granted=False)
HDFS = KnownSource("hdfs", "HDFS", "hdfs", "cm", ("hdfs://ns1",), granted=False)
LOCAL = KnownSource("local", "LOCAL", "file://", "cm", ("file://",), granted=True)
SPARK = KnownSource("spark", "SPARK", "spark", "cm", (), granted=False)
AT_MS = 1_700_000_000_000
"""2023-11-14."""


def bucket(scheme: str, host: str) -> KnownSource:
    """The source of a bucket that is only claimed."""
    authority = f"{scheme}://{host}"
    return KnownSource(
        authority, "S3" if scheme == "s3" else scheme.upper(), authority, "cm", (authority,), granted=True
    )


def dataset(name: str, kind: str = "", source: KnownSource | None = None) -> DatasetName:
    """A table, or a view if ``kind`` says so; what begins with a slash is a directory."""
    if name.startswith("/"):
        return DatasetName(identify("path", name), kind or "DIRECTORY", source or HDFS, name)
    database, _, table = name.rpartition(".")
    return DatasetName(identify("table", name), kind or "TABLE", source or METASTORE, table, database)


def database(name: str) -> DatasetName:
    """A database of the metastore."""
    return DatasetName(identify("database", name), "DATABASE", METASTORE, name)


def column(name: str, kind: str = "") -> ColumnName:
    """A column by its full name; a name that ends in a dot is the dataset as a whole."""
    table, _, own = name.rpartition(".")
    return ColumnName(identify("column", name), dataset(table, kind), own)


def described(name: DatasetName, columns: Sequence[tuple[str, str]] = (), **known: object) -> Dataset:
    """A dataset with its columns, each with its type; ``known`` are fields of `Dataset`."""
    found = tuple(
        Column(
            ColumnName(identify("column", f"{name.full_name}.{own}"), name, own),
            ColumnDetails(kind, "", at),
            Words(),
        )
        for at, (own, kind) in enumerate(columns)
    )
    return Dataset(name, columns=found, **known)  # type: ignore[arg-type]


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
    """A part of an operation; ``into`` is the type of what its outputs are columns of."""
    ends = [
        *(ColumnEnd(column(each)) for each in data),
        *(ColumnEnd(column(each), Flow.CONTROL) for each in control),
    ]
    named = "|".join((kind, expression, label, *outputs, "<", *data, "<", *control))
    details = PartDetails(kind, expression, transformation, inferred=inferred)
    return ColumnLineage(
        identify("part", named), tuple(ends), tuple(column(each, into) for each in outputs), details, label
    )


def predicate(outputs: Sequence[str] = (), control: Sequence[str] = (), into: str = "") -> ColumnLineage:
    """A part that decides which rows there are."""
    return part(outputs, (), control, kind="PREDICATE", into=into)


def operation(
    text: str = "",
    kind: str = "",
    *parts: ColumnLineage,
    reads: Iterable[str | DatasetName | End] = (),
    writes: Iterable[str | DatasetName | End] = (),
    engine: str = "HIVE",
    source: KnownSource = QUERIES,
    derived: bool = False,
    deleted: bool = False,
    **known: object,
) -> Operation:
    """An operation. What its parts read and write, it reads and writes; data outweigh control."""
    inputs = {end.dataset.id: end for end in map(_end, reads)}
    outputs = {end.dataset.id: end for end in map(_end, writes)}
    for each in parts:
        for end in each.inputs:
            of = end.column.dataset
            if of.id not in inputs or end.flow is Flow.DATA:
                inputs[of.id] = inputs.get(of.id, End(of, end.flow)) if end.flow is not Flow.DATA else End(of)
        outputs.update(
            {name.dataset.id: End(name.dataset) for name in each.outputs if name.dataset.id not in outputs}
        )
    target = next(iter(outputs), "")
    return Operation(
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


def _end(given: str | DatasetName | End) -> End:
    if isinstance(given, End):
        return given
    return End(dataset(given) if isinstance(given, str) else given)


def run(of: Operation, details: ExecutionDetails, **known: object) -> Run:
    """A run of an operation; ``known`` are fields of `Execution`."""
    return Run(of, Execution(identify("run", of.id, details.name), details, **known))  # type: ignore[arg-type]
