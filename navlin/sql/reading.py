"""Effects of a SQL text: the tables that it reads, and the sources of each column that it produces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple

METASTORES: Final = frozenset({"spark_catalog", "hive_metastore", "hive"})
"""Names that engines give the metastore's catalog."""


class Name(NamedTuple):
    """A table or view, in the spelling that the text uses first, or the path of files that a query reads or writes in
    place of a table. The database of a table in another catalog is ``catalog.database``."""

    database: str
    table: str
    is_path: bool = False

    @property
    def folded(self) -> tuple[str, str]:
        """Key that identifies the table or path: engines fold the case of tables, but never that of paths."""
        return ("", self.table) if self.is_path else (self.database.lower(), self.table.lower())

    def __str__(self) -> str:
        return f"{self.database}.{self.table}" if self.database else self.table


class SourceColumn(NamedTuple):
    """A column of a table that a text reads. ``known``: the column is in the table's schema; otherwise only the text
    names it."""

    table: Name
    column: str
    known: bool


@dataclass(frozen=True, slots=True)
class ReadTable:
    """A table that a text reads. ``control``: the table only decides which rows there are."""

    name: Name
    control: bool


@dataclass(frozen=True, slots=True)
class MadeColumn:
    """A column that a text produces. ``name`` is the name in the target or, without a target, in the query; "" if the
    target's columns are unknown. ``output`` is always the name in the query.

    ``data`` are the columns that the value is computed from. ``control`` are the columns that affect only this column
    without being part of its value (a window's partition and order, conditions inside a scalar subquery); columns that
    affect all columns alike are in `ParsedStatement.control`. No column is in both ``data`` and ``control``.
    ``complete`` is False if some source is unknown.
    """

    name: str
    data: tuple[SourceColumn, ...] = ()
    control: tuple[SourceColumn, ...] = ()
    complete: bool = True
    output: str = ""


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """Effect of one statement of a text.

    ``kind`` is the statement type as extractors name it (SELECT, INSERT, CREATEVIEW …). ``control`` are the columns
    that decide which rows there are. ``whole`` is True if ``columns`` has all columns, in order. ``complete`` is False
    if some columns, or some of their sources, are unknown. ``maybe_nested`` are names that are tables unless they mean data
    nested in a row, and the tables that may contain such data.
    """

    kind: str
    target: Name | None = None
    tables: tuple[ReadTable, ...] = ()
    columns: tuple[MadeColumn, ...] = ()
    control: tuple[SourceColumn, ...] = ()
    whole: bool = True
    complete: bool = True
    maybe_nested: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class TextToRead:
    """A text, and the known tables in it.

    ``schema`` maps ``database.table`` in lower case to the column names in order. Tables without a database are in
    ``database``; if that is "", they stay without one. A ``database`` in another catalog is ``catalog.database``:
    tables with a database are then in that catalog, too. ``dialects`` are tried in order until one parses.
    """

    text: str
    schema: Mapping[str, Sequence[str]]
    database: str = ""
    dialects: tuple[str, ...] = ("hive", "spark")


@dataclass(frozen=True, slots=True)
class ReadText:
    """Effects of a text's statements. If the text is not understood, ``made`` is empty and ``problem`` gives the reason
    in a few words."""

    made: tuple[ParsedStatement, ...] = ()
    problem: str = ""


def as_json(value: Any) -> dict[str, Any]:
    """Convert one of the classes above for `json.dumps`, as its ``default``."""
    return {each.name: getattr(value, each.name) for each in fields(value)}


def question_of(payload: Mapping[str, Any]) -> TextToRead:
    """Restore a question that was sent to the child."""
    return TextToRead(payload["text"], payload["schema"], payload["database"], tuple(payload["dialects"]))


def answer_of(payload: Mapping[str, Any]) -> ReadText:
    """Restore an answer that the child sent."""
    return ReadText(tuple(map(_made, payload["made"])), payload["problem"])


def _made(payload: Mapping[str, Any]) -> ParsedStatement:
    return ParsedStatement(
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
        tuple(Name(*each) for each in payload["maybe_nested"]),
    )


def _sources(payload: Sequence[Sequence[Any]]) -> tuple[SourceColumn, ...]:
    return tuple(SourceColumn(Name(*table), column, known) for table, column, known in payload)
