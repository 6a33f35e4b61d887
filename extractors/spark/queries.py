"""Parse the queries that a run sent to a database, with `navlin.sql`, for the tables that they read and the sources of
their columns.

In a plan, a query is an input, like a table. Here it is replaced with the tables and columns in the query's text,
marked `parsed`. If the text cannot be parsed, the operation is incomplete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from extractors.spark.columns.databases import ROWS
from extractors.spark.columns.flow import FlowKind, PlanColumn
from extractors.spark.columns.replacing import replaced
from extractors.spark.columns.written import ColumnFlow
from extractors.spark.effect import OutputColumns, RunEffect
from extractors.spark.incomplete import Incomplete
from extractors.spark.plan.jdbc import question
from extractors.spark.plan.reads import EndKind, PlanEnd
from navlin.model.redaction import redact
from navlin.sql.bounded import SqlReader
from navlin.sql.reading import Name, ParsedStatement, TextToRead
from navlin.sql.reading import SourceColumn as NamedColumn

MAX_CHARS: Final = 65_536
CPU_S: Final = 2
"""Maximum number of characters in one query (`MAX_CHARS`), and of CPU seconds for parsing it."""
_DIALECTS: Final = ("postgres", "oracle", "tsql", "snowflake")
_QUOTED_OTHERWISE: Final = ("mysql", "bigquery")


_PSEUDO: Final = frozenset({"rownum", "rowid", "sysdate", "systimestamp"})
"""Oracle's pseudocolumns and functions that look like columns."""
_UNREAD: Final = ColumnFlow("", (), (), FlowKind.IDENTITY, "", incomplete=True, parsed=True)


@dataclass(frozen=True, slots=True)
class _ParsedQuery:
    tables: tuple[PlanEnd, ...]
    columns: Mapping[str, ColumnFlow]
    complete: bool


@dataclass(slots=True)
class QueryParser:
    """Parses queries, each text only once. It must be closed."""

    _reader: SqlReader = field(default_factory=lambda: SqlReader(MAX_CHARS, CPU_S))
    _known: dict[str, ParsedStatement | None] = field(default_factory=dict)

    def close(self) -> None:
        """End the child process that parses texts."""
        self._reader.close()

    def told(self, effect: RunEffect) -> RunEffect:
        """Return the effect with queries replaced by the tables and columns that they read."""
        columns = [
            each for output in effect.columns for flow in output.flows for each in (*flow.data, *flow.control)
        ]
        ends = dict.fromkeys((*effect.inputs, *(each.end for each in columns)))
        asked: dict[PlanEnd, set[str]] = {end: set() for end in ends if end.kind is EndKind.QUERY}
        if not asked:
            return effect
        for each in columns:
            if each.end in asked:
                asked[each.end].add(each.name)
        read = {end: self._read(end, sorted(names)) for end, names in asked.items()}
        return _replaced(effect, read)

    def _read(self, end: PlanEnd, asked: list[str]) -> _ParsedQuery | None:
        names = [name for name in asked if name != ROWS]
        made = self._made(end.name if end.database else question(end.name, names))
        if made is None:
            return None
        columns = {ROWS: _column((), _sources(end, made.control))}
        if made.whole:
            # Columns of a query pushed down by Spark are identified by position, columns of other queries by name.
            keys = names if not end.database else [str(place) for place in range(len(made.columns))]
            for name, column in zip(keys, made.columns, strict=False):
                data, control = _sources(end, column.data), _sources(end, column.control)
                columns[name] = _column(data, control, complete=column.complete)
        return _ParsedQuery(tuple(_table(end, each.name) for each in made.tables), columns, made.complete)

    def _made(self, text: str) -> ParsedStatement | None:
        if text not in self._known:
            dialects = _QUOTED_OTHERWISE if "`" in text else _DIALECTS
            made = self._reader.read(TextToRead(text, {}, dialects=dialects)).made
            self._known[text] = made[0] if len(made) == 1 and made[0].kind == "SELECT" else None
        return self._known[text]


def _column(
    data: tuple[PlanColumn, ...], control: tuple[PlanColumn, ...], *, complete: bool = True
) -> ColumnFlow:
    return ColumnFlow("", data, control, FlowKind.IDENTITY, "", incomplete=not complete, parsed=True)


def _table(end: PlanEnd, name: Name) -> PlanEnd:
    return PlanEnd(EndKind.JDBC, str(name), end.database, end.url)


def _sources(end: PlanEnd, columns: Iterable[NamedColumn]) -> tuple[PlanColumn, ...]:
    return tuple(
        PlanColumn(_table(end, each.table), each.column)
        for each in columns
        if each.column.lower() not in _PSEUDO
    )


def _replaced(effect: RunEffect, read: Mapping[PlanEnd, _ParsedQuery | None]) -> RunEffect:
    inputs: dict[PlanEnd, None] = {}
    unread: dict[str, None] = {}
    for end in effect.inputs:
        found = read.get(end)
        if end.kind is not EndKind.QUERY:
            inputs[end] = None
        elif found is None:
            unread[redact(end.name)[:200]] = None
        else:
            inputs |= dict.fromkeys(found.tables)
    outputs = [
        OutputColumns(
            output.end, tuple(replaced(flow, lambda each: _meaning(each, read)) for flow in output.flows)
        )
        for output in effect.columns
    ]
    uncertain = any(
        flow.incomplete and not before.incomplete
        for output, old in zip(outputs, effect.columns, strict=True)
        for flow, before in zip(output.flows, old.flows, strict=True)
    )
    uncertainty = unread or uncertain or any(each is None or not each.complete for each in read.values())
    reasons = dict.fromkeys((*effect.reasons, *([Incomplete.QUERY] if uncertainty else [])))
    return replace(
        effect,
        inputs=tuple(inputs),
        columns=tuple(outputs),
        complete=effect.complete and not unread,
        columns_complete=effect.columns_complete and not uncertainty,
        unknown=(*effect.unknown, *unread),
        reasons=tuple(reasons),
    )


def _meaning(column: PlanColumn, read: Mapping[PlanEnd, _ParsedQuery | None]) -> ColumnFlow | None:
    if column.end not in read:
        return None
    query = read[column.end]
    return query.columns.get(column.name, _UNREAD) if query is not None else _UNREAD
