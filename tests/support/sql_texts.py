"""SQL texts with their expected lineage, and the comparison with the lineage that navlin reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from navlin.sql.bounded import SqlReader
from navlin.sql.reading import Answer, Made, MadeColumn, Question

DIALECTS: Final = {"ansi": "", "sparksql": "spark", "mariadb": "mysql", "db2": ""}
"""The parser's name of a dialect, if it differs."""

Pair = tuple[str, str]
"""A source column and the column made of it, ``table.column``."""


@dataclass(frozen=True, slots=True)
class Case:
    """One text. ``tables`` are its (sources, targets), ``columns`` its pairs; one of the two is None."""

    name: str
    sql: str
    dialect: str
    schema: Mapping[str, Sequence[str]]
    tables: tuple[frozenset[str], frozenset[str]] | None
    columns: tuple[Pair, ...] | None

    @property
    def implied_schema(self) -> Mapping[str, Sequence[str]]:
        """The schema, plus the columns of further tables in the expected lineage: a metastore would know at least these."""
        schema: dict[str, list[str]] = {}
        for column in (column for pair in self.columns or () for column in pair):
            table, _, name = column.rpartition(".")
            if name not in schema.setdefault(_with_database(table), []):
                schema[_with_database(table)].append(name)
        return {**schema, **self.schema}


def cases(file: Path) -> Iterator[Case]:
    """The cases of a corpus: one JSON object per line."""
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


def read(reader: SqlReader, case: Case, schema: Mapping[str, Sequence[str]]) -> Answer:
    """The lineage that navlin reads in a case's text."""
    dialect = DIALECTS.get(case.dialect, case.dialect)
    return reader.read(Question(case.sql, schema, DATABASE, (dialect,)))


def tables_of(answer: Answer) -> tuple[frozenset[str], frozenset[str]]:
    """The (sources, targets) of a text as a whole, without tables that one statement writes for a later one to read."""
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


def columns_of(answer: Answer, *, own_names: bool = False) -> frozenset[Pair]:
    """The pairs of a text as a whole, through tables that one statement writes for a later one. With ``own_names`` the
    columns of a target with unknown columns are assumed to be named as in the query.
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
            if sources or made.kind not in ("UPDATE", "MERGE"):  # these two keep other values as they were
                made_of.setdefault(target, set()).update(sources)
    return frozenset(
        (source, target)
        for target, sources in made_of.items()
        if target not in passed_on
        for source in sources
    )


def _named(made: Made, *, own_names: bool) -> Iterator[tuple[str, MadeColumn]]:
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
