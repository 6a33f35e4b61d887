"""README's table of what each model cannot say: held to what the targets make of it.

A row is a part of navlin's graph, and a probe: items with the one value and with the other. What a model tells or folds
differs between the two; what it drops does not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from navlin.export.target import targets
from navlin.export.values import (
    Column,
    Dataset,
    DatasetName,
    Details,
    End,
    ExecutionDetails,
    Flow,
    Item,
    RunName,
    StatementDetails,
    Unlinked,
    Words,
)
from navlin.index.details import ColumnDetails, Storage
from tests.support.exported import (
    AT_MS,
    METASTORE,
    QUERIES,
    bucket,
    column,
    dataset,
    described,
    operation,
    part,
    predicate,
    run,
)

README = Path(__file__).parents[1] / "README.md"
TABLE = dataset("sales.orders")
INSERT = operation("insert", "INSERT", reads=["sales.raw"], writes=["sales.orders"])


def table(**known: Any) -> list[Item]:
    return [Dataset(TABLE, **known)]


def of_table(**known: Any) -> list[Item]:
    return table(details=Details(**known))


def of_column(**known: Any) -> list[Item]:
    return table(columns=(Column(column("sales.orders.x"), ColumnDetails(**known), Words()),))


def of_words(**known: Any) -> list[Item]:
    return table(words=Words(**known))


def of_insert(**known: Any) -> list[Item]:
    return [replace(INSERT, **known)]


def of_run(**known: Any) -> list[Item]:
    return [
        INSERT,
        run(INSERT, replace(ExecutionDetails("r", AT_MS, AT_MS + 1, AT_MS, "ann", "SUCCEEDED"), **known)),
    ]


def with_run(**known: Any) -> list[Item]:
    return [INSERT, run(INSERT, ExecutionDetails("r", AT_MS), **known)]


def computed(**known: Any) -> list[Item]:
    made = part(["sales.orders.x"], ["sales.raw.y"])
    return of_insert(columns=(replace(made, details=replace(made.details, **known)),))


def read(end: End) -> list[Item]:
    return of_insert(inputs=(end,))


RAW = End(dataset("sales.raw"))
YARN = RunName("a", "application_1_0001", QUERIES)
PROBES: dict[str, tuple[Sequence[Item], Sequence[Item]]] = {
    "SOURCE": (table(), [Dataset(replace(TABLE, source=replace(METASTORE, name="other")))]),
    "DATABASE": (table(), [described(dataset("other.orders"))]),
    "TABLE": ([], table()),
    "VIEW": (table(), [Dataset(replace(TABLE, type="VIEW"))]),
    "FIELD": (table(), of_column()),
    "DIRECTORY, FILE": ([], [described(dataset("/landing"))]),
    "DATASET": ([], [Dataset(DatasetName("1", "DATASET", bucket("kafka", "b"), "clicks"))]),
    "OPERATION": ([], of_insert()),
    "SUB_OPERATION": (of_insert(), computed()),
    "OPERATION_EXECUTION": ([INSERT], of_run()),
    "DATA_FLOW between tables": (of_insert(), read(End(dataset("sales.other")))),
    "DATA_FLOW between columns": (
        computed(),
        of_insert(columns=(part(["sales.orders.x"], ["sales.raw.z"]),)),
    ),
    "CONTROL_FLOW from a table": (of_insert(), read(replace(RAW, flow=Flow.CONTROL))),
    "CONTROL_FLOW from a column": (
        of_insert(columns=(predicate(["sales.orders.x"], ["sales.raw.a"]),)),
        of_insert(columns=(predicate(["sales.orders.x"], ["sales.raw.b"]),)),
    ),
    "LOGICAL_PHYSICAL, table to path": (
        of_table(kind="EXTERNAL_TABLE"),
        table(
            details=Details(kind="EXTERNAL_TABLE", storage=Storage("hdfs://ns1/orders")),
            locations=(dataset("/orders"),),
        ),
    ),
    "LOGICAL_PHYSICAL, run to YARN": (with_run(), with_run(run_as=(YARN,))),
    "INSTANCE_OF": (of_run(), [INSERT, run(replace(INSERT, id="other"), ExecutionDetails("r", AT_MS))]),
    "deleted": ([], table(deleted=True)),
    "unlinked ends": (
        of_insert(),
        of_insert(unlinked=(Unlinked("1", "tmp.x", "TABLE", "HIVE", False, Flow.DATA, "no match"),)),
    ),
    "inferred": (computed(inferred=False), computed(inferred=True)),
    "incomplete": (of_insert(), of_insert(statement=replace(INSERT.statement, incomplete=True))),
    "owner": (of_table(owner="a"), of_table(owner="b")),
    "group, permissions": (of_table(group="a"), of_table(group="b", permissions="rwx------")),
    "comment of the source": (of_table(comment="a"), of_table(comment="b")),
    "name, description of people": (of_words(name="a"), of_words(name="b", description="c")),
    "tags": (of_words(tags=("a",)), of_words(tags=("b",))),
    "inherited tags": (of_words(inherited_tags=("a",)), of_words(inherited_tags=("b",))),
    "properties of people": (of_words(properties={"k": ("a",)}), of_words(properties={"k": ("b",)})),
    "type and comment of a column": (of_column(type="int"), of_column(type="date", comment="c")),
    "partition keys": (of_table(partition_columns=("a",)), of_table(partition_columns=("b",))),
    "location, formats, parameters": (
        of_table(parameters={"k": "a"}),
        of_table(parameters={"k": "b"}, storage=Storage("hdfs://ns1/x", "I")),
    ),
    "size, last access": (of_table(size_bytes=1), of_table(size_bytes=2, accessed_ms=AT_MS)),
    "text of a view": (
        [Dataset(replace(TABLE, type="VIEW"), Details(text="select 1"))],
        [Dataset(replace(TABLE, type="VIEW"), Details(text="select 2"))],
    ),
    "text of a statement": (
        of_insert(statement=StatementDetails("HIVE", "INSERT", "a")),
        of_insert(statement=StatementDetails("HIVE", "INSERT", "b")),
    ),
    "kind of statement": (of_insert(), of_insert(statement=replace(INSERT.statement, type="UPDATE"))),
    "expression": (computed(expression="f(y)"), computed(expression="g(y)")),
    "who ran it, when, and how it ended": (
        of_run(),
        of_run(principal="bob", ended_ms=AT_MS + 2, status="FAILED"),
    ),
    "error message": (of_run(), of_run(error="out of memory")),
}
NOT_PROBED = {
    "PARTITION": "a reading yields its table",
    "PARENT_CHILD": "it stands in the names",
}
"""Rows of which no item tells apart whether they are there."""


def readme() -> tuple[list[str], dict[str, list[str]]]:
    """The targets that README's table names, and its rows: the cells of each, without the first."""
    section = README.read_text().split("### What each model cannot say", 1)[1].split("\n#", 1)[0]
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line[:1] == "|"
    ]
    head, _, *body = lines
    return [cell.strip("`") for cell in head[1:]], {cells[0].replace("`", ""): cells[1:] for cells in body}


def test_readme_has_a_row_for_each_part_of_the_graph_and_nothing_else() -> None:
    _, rows = readme()

    assert list(rows) and set(rows) == PROBES.keys() | NOT_PROBED.keys()
    assert [
        cell for cells in rows.values() for cell in cells if not re.match(r"(told|folded|dropped)\b", cell)
    ] == []


COLUMNS = readme()[0]


@pytest.mark.parametrize("row", PROBES)
@pytest.mark.parametrize("target", COLUMNS)
def test_what_readme_says_becomes_of_it(target: str, row: str) -> None:
    model = targets()[target]
    (one, other) = (b"".join(model.records(iter(items), model.options())) for items in PROBES[row])
    said = readme()[1][row][COLUMNS.index(target)]

    assert (one != other) is not said.startswith("dropped"), said
