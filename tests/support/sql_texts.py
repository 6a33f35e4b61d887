"""SQL texts with their expected lineage, and the lineage that navlin reads from them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from navlin.sql.bounded import SqlReader
from navlin.sql.reading import MadeColumn, ParsedStatement, ReadText, TextToRead

DIALECTS: Final = {"ansi": "", "sparksql": "spark", "mariadb": "mysql", "db2": ""}
"""Name of a dialect in the corpus → name in the parser, if it differs."""

Pair = tuple[str, str]
"""(source column, column derived from it), each as ``table.column``."""


@dataclass(frozen=True, slots=True)
class Case:
    """A text with its expected lineage, either of tables or of columns. ``tables`` is (sources, targets); either
    ``tables`` or ``columns`` is None.
    """

    name: str
    sql: str
    dialect: str
    schema: Mapping[str, Sequence[str]]
    tables: tuple[frozenset[str], frozenset[str]] | None
    columns: tuple[Pair, ...] | None

    @property
    def implied_schema(self) -> Mapping[str, Sequence[str]]:
        """The schema, plus the columns of other tables in the expected lineage. A metastore would know at least these
        columns.
        """
        schema: dict[str, list[str]] = {}
        for column in (column for pair in self.columns or () for column in pair):
            table, _, name = column.rpartition(".")
            if name not in schema.setdefault(_with_database(table), []):
                schema[_with_database(table)].append(name)
        return {**schema, **self.schema}


def cases(file: Path) -> Iterator[Case]:
    """Yield the cases in a file that has one JSON object per line."""
    for line in file.read_text().splitlines():
        reported = json.loads(line)
        tables = columns = None
        if reported["kind"] == "table":
            tables = (_folded(reported["source_tables"]), _folded(reported["target_tables"]))
        else:
            columns = tuple(
                (_column(source), _column(target)) for source, target in reported["column_lineage"]
            )
        schema = {name.lower(): each for name, each in (reported.get("schemas") or {}).items()}
        yield Case(reported["name"], reported["sql"], reported["dialect"], schema, tables, columns)


DATABASE: Final = "default"


def read(reader: SqlReader, case: Case, schema: Mapping[str, Sequence[str]]) -> ReadText:
    """Return the lineage that navlin reads from a case's text."""
    dialect = DIALECTS.get(case.dialect, case.dialect)
    return reader.read(TextToRead(case.sql, schema, DATABASE, (dialect,)))


def tables_of(answer: ReadText) -> tuple[frozenset[str], frozenset[str]]:
    """(sources, targets) of all statements in the text, without tables that one statement writes and a later one reads."""
    sources: set[str] = set()
    targets: set[str] = set()
    passed_on: set[str] = set()
    for made in answer.made:
        read_here = {_short(each.name) for each in made.tables}
        passed_on |= read_here & targets
        sources |= read_here - targets
        if made.target is not None:
            targets.add(_short(made.target))
    return frozenset(sources), frozenset(targets - passed_on)


def columns_of(answer: ReadText, *, own_names: bool = False) -> frozenset[Pair]:
    """Column pairs of all statements in the text, through tables that one statement writes and a later one reads. With
    ``own_names``, a target with unknown columns is assumed to use the column names of the query.
    """
    made_of: dict[str, set[str]] = {}
    passed_on: set[str] = set()
    for made in answer.made:
        for target, column in _named(made, own_names=own_names):
            sources: set[str] = set()
            for source in (*column.data, *column.control):
                name = f"{_short(source.table)}.{source.column.lower()}"
                passed_on.update({name} & made_of.keys())
                sources |= made_of.get(name, {name})
            if sources or made.kind not in (
                "UPDATE",
                "MERGE",
            ):  # without sources, these two leave a column unchanged
                made_of.setdefault(target, set()).update(sources)
    return frozenset(
        (source, target)
        for target, sources in made_of.items()
        if target not in passed_on
        for source in sources
    )


def _named(made: ParsedStatement, *, own_names: bool) -> Iterator[tuple[str, MadeColumn]]:
    if made.target is not None:
        for column in made.columns:
            if name := column.name or (column.output if own_names else ""):
                yield f"{_short(made.target)}.{name.lower()}", column


def _short(name: Any) -> str:
    return str(name).lower().removeprefix(f"{DATABASE}.")


def _with_database(table: str) -> str:
    return table if "." in table else f"{DATABASE}.{table}"


def _folded(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.lower().removeprefix("<default>.") for name in names)


def _column(reported: Mapping[str, str]) -> str:
    table = str(reported["table"] or "").lower().removeprefix("<default>.")
    return f"{table}.{reported['column'].lower()}"
