"""Scans of JDBC catalogues. The database may filter, join and aggregate rows before Spark receives them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from extractors.spark.columns.flow import UNKNOWN, FlowKind, OperatorColumn, PlanColumn
from extractors.spark.columns.lists import Attribute, split
from extractors.spark.columns.relations import RowSet
from extractors.spark.columns.steps import OperatorStep
from extractors.spark.plan import jdbc
from extractors.spark.plan.reads import EndKind, PlanEnd, Reads

ROWS: Final = ""
"""Name of a pseudocolumn for the conditions of a query, which determine its rows."""
_PUSHED: Final = re.compile(
    r"^(PushedAggregates|PushedGroupByExpressions|PushedTopN|PushedJoins): (.*)$", re.MULTILINE
)
_COLUMN: Final = re.compile(r"\w+")
_FUNCTION: Final = re.compile(r"\w+\((?:DISTINCT )?(\w+|\*)\)")
_LITERAL: Final = re.compile(r"(?:\b(?:DATE|TIMESTAMP|X|INTERVAL) ?)?'(?:[^']|'')*'")
_NAMED: Final = re.compile(r"\b[^\W\d]\w*\b(?!\()")
_WORDS: Final = frozenset(
    "AND OR NOT IS NULL IN LIKE CASE WHEN THEN ELSE END CAST AS TRUE FALSE ESCAPE BETWEEN ORDER BY ASC DESC NULLS FIRST LAST"
    " LIMIT DISTINCT FROM EXTRACT".split()
)


def catalog_scan(step: OperatorStep, columns: tuple[Attribute, ...], reads: Reads) -> RowSet:
    """Return the output of a scan of a JDBC catalogue. Its columns are the table's own columns, or those that the
    database computes from them.
    """
    pushed = dict(_PUSHED.findall(step.operator.block))
    names = {column.id: column.name for column in columns}
    tables = [end for end in reads.ends if end.kind is EndKind.JDBC]
    query = jdbc.sent_query(step.operator.block)
    if len(tables) != 1 or "PushedJoins" in pushed:
        flows = _of_query(step, columns, query, tables)
        rows = step.sources.bit(PlanColumn(_query_end(query, tables), ROWS)) if query and tables else 0
        return RowSet(columns, flows, names, rows)
    [table] = tables
    groups, functions = (
        _elements(pushed.get(name, "")) for name in ("PushedGroupByExpressions", "PushedAggregates")
    )
    if groups or functions:
        known = _grouped(step, columns, groups, functions, table)
        flows = _of_query(step, columns, query, tables) if known is None else known
    else:
        flows = {
            each.id: OperatorColumn(_bit(step, table, each.name), expression=each.name) for each in columns
        }
    rows = 0
    for name in _names(f"{step.text('PushedFilters')} {pushed.get('PushedTopN', '')}", query):
        rows |= _bit(step, table, name)
    return RowSet(columns, flows, names, rows)


def _names(text: str, query: str) -> Iterator[str]:
    """Yield the names of columns in conditions. These are words other than SQL keywords, functions and literals; if
    the query is known, they must also occur there as quoted names.
    """
    for word in dict.fromkeys(_NAMED.findall(_LITERAL.sub("''", text))):
        if word not in _WORDS and (not query or re.search(rf'["`\[]{word}["`\]]', query)):
            yield word


def _elements(printed: str) -> list[str]:
    return list(split(printed.strip()[1:-1])) if len(printed.strip()) > 2 else []


def _bit(step: OperatorStep, table: PlanEnd, name: str) -> int:
    return step.sources.bit(PlanColumn(table, name))


def _grouped(
    step: OperatorStep,
    columns: tuple[Attribute, ...],
    groups: list[str],
    functions: list[str],
    table: PlanEnd,
) -> dict[int, OperatorColumn] | None:
    """Return column id → flow for grouping columns and functions of one column, matched to ``columns`` by position.
    Return None if any expression is more complex.
    """
    if len(groups) + len(functions) != len(columns) or not all(map(_COLUMN.fullmatch, groups)):
        return None
    flows = {
        each.id: OperatorColumn(_bit(step, table, text), expression=text)
        for each, text in zip(columns, groups, strict=False)
    }
    control = 0
    for each in flows.values():
        control |= each.data
    for column, text in zip(columns[len(groups) :], functions, strict=True):
        function = _FUNCTION.fullmatch(text)
        if function is None:
            return None
        counts = function[1] == "*"
        data = 0 if counts else _bit(step, table, function[1])
        flows[column.id] = OperatorColumn(
            data, control & ~data, FlowKind.AGGREGATION, expression=text, literal=counts
        )
    return flows


def _query_end(query: str, tables: list[PlanEnd]) -> PlanEnd:
    return PlanEnd(EndKind.QUERY, query, tables[0].database)


def _of_query(
    step: OperatorStep, columns: tuple[Attribute, ...], query: str, tables: list[PlanEnd]
) -> dict[int, OperatorColumn]:
    """Return column id → flow. The source of each column is a position in the query that was sent to the database,
    which is parsed later. The flows are unknown if the plan does not contain the query.
    """
    if not query or not tables:
        return dict.fromkeys((column.id for column in columns), UNKNOWN)
    end = _query_end(query, tables)
    return {
        column.id: OperatorColumn(step.sources.bit(PlanColumn(end, str(place))), expression=column.name)
        for place, column in enumerate(columns)
    }
