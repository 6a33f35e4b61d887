"""If fewer tables of a text are known, fewer edges are read, but no wrong edge replaces a lost one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import pytest

from navlin.sql.bounded import SqlReader
from navlin.sql.reading import ParsedStatement, TextToRead
from tests.sql.test_sql_scopes import TABLES as SCOPES
from tests.sql.test_sql_view_texts import TABLES as VIEW_TEXTS
from tests.support.sql_scopes import SCHEMA, Truth, truths

Edge = tuple[int, str, str]
"""(position of the column, source table, source column)"""

EVERYTHING = list(dict.fromkeys(column for name in SCHEMA if name[0] == "s" for column in SCHEMA[name]))


@pytest.fixture(scope="module")
def reader() -> Iterator[SqlReader]:
    with SqlReader() as reader:
        yield reader


def cases() -> Iterator[tuple[tuple[str, ...], Truth]]:
    for kind, table in (*SCOPES.items(), *VIEW_TEXTS.items()):
        for truth in truths(table):
            yield (("spark", "hive") if kind == "spark" else ("hive", "spark")), truth


def made(
    reader: SqlReader, truth: Truth, dialects: tuple[str, ...], schema: Mapping[str, Sequence[str]]
) -> ParsedStatement:
    (only,) = reader.read(TextToRead(truth.text, schema, "s", dialects)).made
    return only


def edges(made: ParsedStatement) -> tuple[set[Edge], set[Edge]]:
    """Return (the data edges, all edges)."""
    data, control = set(), set()
    for at, column in enumerate(made.columns):
        data |= {(at, str(each.table), each.column) for each in column.data if each.known}
        sources = (*column.control, *made.control)
        control |= {(at, str(each.table), each.column) for each in sources if each.known}
    return data, data | control


def added(less: ParsedStatement, more: ParsedStatement) -> set[Edge]:
    """Return the edges of ``less`` that ``more`` does not have."""
    (data, every), (of_data, of_every) = edges(less), edges(more)
    return (data - of_data) | (every - of_every)


@pytest.mark.services
def test_an_unknown_table_adds_no_edge(reader: SqlReader) -> None:
    for dialects, truth in cases():
        if not truth.complete or "?" in "".join((*truth.columns, *truth.rows)):
            continue
        whole = made(reader, truth, dialects, SCHEMA)
        for count in range(len(SCHEMA)):
            for known in combinations(SCHEMA, count):
                less = made(reader, truth, dialects, {name: SCHEMA[name] for name in known})
                if less.whole:
                    assert added(less, whole) == set(), (truth.text, known)


@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.services)])
def test_an_unknown_table_adds_no_edge_if_all_others_share_its_columns(reader: SqlReader, count: int) -> None:
    tables = [name for name in SCHEMA if name[0] == "s"]
    for dialects, truth in cases():
        for forgotten in combinations(tables, count):
            schema = {name: SCHEMA[name] if name in forgotten else EVERYTHING for name in tables}
            whole = made(reader, truth, dialects, schema)
            known = {name: schema[name] for name in tables if name not in forgotten}
            less = made(reader, truth, dialects, known)
            if whole.complete and less.whole:
                assert added(less, whole) == set(), (truth.text, forgotten)
