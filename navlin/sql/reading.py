"""What a SQL text reads and makes: the tables that it reads, and the columns that each column which it makes is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple

METASTORES: Final = frozenset({"spark_catalog", "hive_metastore", "hive"})
"""What engines call the catalog that is the metastore."""


class Name(NamedTuple):
    """A table or view, spelled as the text does the first time, or the path of files that a query reads or writes in place
    of a table. The database of a table of another catalog is ``catalog.database``."""

    database: str
    table: str
    is_path: bool = False

    @property
    def folded(self) -> tuple[str, str]:
        """What distinguishes it from others: engines fold the case of tables, never that of paths."""
        return ("", self.table) if self.is_path else (self.database.lower(), self.table.lower())

    def __str__(self) -> str:
        return f"{self.database}.{self.table}" if self.database else self.table


class SourceColumn(NamedTuple):
    """A column of a table that a text reads. ``known``: the table's schema has it; else only the text names it."""

    table: Name
    column: str
    known: bool


@dataclass(frozen=True, slots=True)
class ReadTable:
    """A table that a text reads. ``control``: it only decides which rows there are."""

    name: Name
    control: bool


@dataclass(frozen=True, slots=True)
class MadeColumn:
    """A column that a text makes. ``name`` is the target's, or, without a target, the query's own; "" where the target's
    columns are not known. ``output`` is the query's own in any case.

    ``data`` are the columns it is computed from, ``control`` those that decide for this column alone (a window's partition
    and order, what is inside a scalar subquery's conditions); `Made.control` adds those that decide for all alike. A column
    is in one of the two. ``complete`` is False where some source is not known.
    """

    name: str
    data: tuple[SourceColumn, ...] = ()
    control: tuple[SourceColumn, ...] = ()
    complete: bool = True
    output: str = ""


@dataclass(frozen=True, slots=True)
class Made:
    """What one statement of a text does.

    ``kind`` is a word of `extractors`' statements (SELECT, INSERT, CREATEVIEW …). ``control`` are the columns that decide
    which rows there are. ``whole``: these are all its columns, in their order. ``complete`` is False where not all columns,
    or not all of what makes them, are known. ``perhaps`` are tables, unless the text means what is nested in a row,
    and those that what looks like a table may be nested in.
    """

    kind: str
    target: Name | None = None
    tables: tuple[ReadTable, ...] = ()
    columns: tuple[MadeColumn, ...] = ()
    control: tuple[SourceColumn, ...] = ()
    whole: bool = True
    complete: bool = True
    perhaps: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A text, and what is known of the tables in it.

    ``schema``: the columns, in their order, by ``database.table`` in lower case. Tables without a database are of
    ``database``; where that is "", they stay without one. One of another catalog is ``catalog.database``: then tables with
    a database are of that catalog, too. ``dialects`` are tried in their order until one parses.
    """

    text: str
    schema: Mapping[str, Sequence[str]]
    database: str = ""
    dialects: tuple[str, ...] = ("hive", "spark")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a text's statements do, or why that is not known (``problem``, in a few words; then there are none)."""

    made: tuple[Made, ...] = ()
    problem: str = ""


def as_json(value: Any) -> dict[str, Any]:
    """One of the classes above for `json.dumps`, as its ``default``."""
    return {each.name: getattr(value, each.name) for each in fields(value)}


def question_of(payload: Mapping[str, Any]) -> Question:
    """A question as it crosses to the child."""
    return Question(payload["text"], payload["schema"], payload["database"], tuple(payload["dialects"]))


def answer_of(payload: Mapping[str, Any]) -> Answer:
    """An answer as it crosses from the child."""
    return Answer(tuple(map(_made, payload["made"])), payload["problem"])


def _made(payload: Mapping[str, Any]) -> Made:
    return Made(
        payload["kind"],
        Name(*payload["target"]) if payload["target"] else None,
        tuple(ReadTable(Name(*each["name"]), each["control"]) for each in payload["tables"]),
        tuple(
            MadeColumn(
                each["name"],
                _sources(each["data"]),
                _sources(each["control"]),
                each["complete"],
                each["output"],
            )
            for each in payload["columns"]
        ),
        _sources(payload["control"]),
        payload["whole"],
        payload["complete"],
        tuple(Name(*each) for each in payload["perhaps"]),
    )


def _sources(payload: Sequence[Sequence[Any]]) -> tuple[SourceColumn, ...]:
    return tuple(SourceColumn(Name(*table), column, known) for table, column, known in payload)
