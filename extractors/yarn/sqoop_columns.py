"""Find the columns that a Sqoop job moves, and the tables from which a query takes them.

The columns of a table are listed by the job's configuration. The text of a query is parsed with `navlin.sql` in the
dialect of the database, so its columns are marked `parsed`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from extractors.yarn.sqoop_job import MAX_TEXT_BYTES, SqoopJob
from navlin.model.databases import Database
from navlin.sql.bounded import SqlReader
from navlin.sql.reading import MadeColumn, Name, ParsedStatement, TextToRead
from navlin.sql.reading import SourceColumn as NamedColumn

CPU_S: Final = 5
_DIALECTS: Final = {
    "postgres": ("postgres",),
    "redshift": ("redshift", "postgres"),
    "mysql": ("mysql",),
    "mariadb": ("mysql",),
    "sqlserver": ("tsql",),
    "oracle": ("oracle",),
    "teradata": ("teradata",),
    "snowflake": ("snowflake",),
}
_OTHERS: Final = ("postgres", "oracle", "tsql", "mysql")
"""Dialects to try for a database without one of its own here, such as DB2 or HSQLDB."""
_CONDITIONS: Final = "$CONDITIONS"
_TRUE: Final = "(1 = 1)"
_PSEUDO: Final = frozenset({"rownum", "rowid", "sysdate", "systimestamp"})
"""Oracle's pseudocolumns and functions that look like columns."""


@dataclass(frozen=True, slots=True)
class ColumnOrigin:
    """A column of a table. ``table`` is the name of the dataset."""

    table: str
    column: str


@dataclass(frozen=True, slots=True)
class MovedColumn:
    """A column that is written, by its ``name`` there, and the columns from which it is computed. ``control`` are the
    columns that only affect its value. ``complete`` is False if some source is unknown.
    """

    name: str
    data: tuple[ColumnOrigin, ...] = ()
    control: tuple[ColumnOrigin, ...] = ()
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Moved:
    """The tables and columns of an import. ``tables`` maps the name of a dataset to whether the table only decides
    which rows there are; ``rows`` are the columns that do. ``parsed`` is true for a query, ``complete`` is False if it
    could not be read, or not all of it.
    """

    tables: dict[str, bool] = field(default_factory=dict)
    columns: tuple[MovedColumn, ...] = ()
    rows: tuple[ColumnOrigin, ...] = ()
    parsed: bool = False
    complete: bool = True


@dataclass(slots=True)
class Queries:
    """Parses queries, each text only once. It must be closed."""

    _reader: SqlReader = field(default_factory=lambda: SqlReader(MAX_TEXT_BYTES, CPU_S))
    _known: dict[tuple[str, str], ParsedStatement | None] = field(default_factory=dict)

    def close(self) -> None:
        """End the child process that parses texts."""
        self._reader.close()

    def moved(self, job: SqoopJob) -> Moved:
        """Return the tables and columns of an import."""
        if not job.query:
            return _of_table(job)
        made = self._made(job)
        if made is None:
            return Moved(columns=_unknown(job.written_as), parsed=True, complete=False)
        return _of_query(job, made)

    def _made(self, job: SqoopJob) -> ParsedStatement | None:
        scheme = job.namespace.partition(":")[0]
        key = (job.query, scheme)
        if key not in self._known:
            text = job.query.replace(_CONDITIONS, _TRUE)
            dialects = _DIALECTS.get(scheme, ("mysql", "bigquery") if "`" in text else _OTHERS)
            made = self._reader.read(TextToRead(text, {}, dialects=dialects)).made
            self._known[key] = made[0] if len(made) == 1 and made[0].kind == "SELECT" else None
        return self._known[key]


def _of_table(job: SqoopJob) -> Moved:
    if not job.table:
        return Moved()
    return Moved(
        {job.table: False},
        tuple(
            MovedColumn(name, (ColumnOrigin(job.table, column),))
            for name, column in zip(_written(job), job.columns, strict=True)
        ),
    )


def _written(job: SqoopJob) -> tuple[str, ...]:
    """Return the names under which the columns of a table are written. The Avro schema has all of them in order, with
    the characters that Avro does not allow replaced.
    """
    return job.written_as if len(job.written_as) == len(job.columns) else job.columns


def _of_query(job: SqoopJob, made: ParsedStatement) -> Moved:
    database = job.in_database
    tables: dict[str, bool] = {}
    for each in made.tables:
        name = _dataset(database, each.name)
        tables[name] = tables.get(name, True) and each.control
    names = job.written_as if made.whole and len(job.written_as) == len(made.columns) else ()
    by_name = {each.name.lower(): each for each in made.columns}
    if names or not job.written_as:
        columns = tuple(
            _column(database, names[place] if names else each.name, each)
            for place, each in enumerate(made.columns)
        )
    else:
        columns = tuple(
            _column(database, name, by_name[name.lower()])
            if name.lower() in by_name
            else MovedColumn(name, complete=False)
            for name in job.written_as
        )
    known = made.complete and made.whole and all(each.name and each.complete for each in columns)
    named = tuple(each for each in columns if each.name)
    return Moved(tables, named, _sources(database, made.control), parsed=True, complete=known)


def _unknown(names: Iterable[str]) -> tuple[MovedColumn, ...]:
    return tuple(MovedColumn(name, complete=False) for name in names)


def _column(database: Database, name: str, made: MadeColumn) -> MovedColumn:
    data, control = _sources(database, made.data), _sources(database, made.control)
    return MovedColumn(name, data, control, made.complete)


def _sources(database: Database, columns: Iterable[NamedColumn]) -> tuple[ColumnOrigin, ...]:
    return tuple(
        ColumnOrigin(_dataset(database, each.table), each.column)
        for each in columns
        if each.column.lower() not in _PSEUDO
    )


def _dataset(database: Database, name: Name) -> str:
    above = name.database.split(".") if name.database else []
    return database.dataset_of((*above, name.table))
