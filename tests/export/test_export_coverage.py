"""Each export target states whether each element of the model is kept, folded or dropped; its output must agree.

Each element has a probe: two sets of items that differ in one value. The output differs between the two if the element
is kept or folded, and is equal if the element is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from navlin.export.target import targets
from navlin.export.values import (
    DatasetEnd,
    DatasetName,
    ExportedColumn,
    ExportedDataset,
    FlowRole,
    Item,
    Renamed,
    RunName,
    UnlinkedEnd,
)
from navlin.index.graph.details import (
    Annotations,
    ColumnDetails,
    Details,
    ExecutionDetails,
    StatementDetails,
    Storage,
)
from tests.support.export_table import FATES, MODEL
from tests.support.exported import (
    AT_MS,
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

TABLE = dataset("sales.orders")
INSERT = operation("insert", "INSERT", reads=["sales.raw"], writes=["sales.orders"])


def table(**known: Any) -> list[Item]:
    return [ExportedDataset(TABLE, **known)]


def of_table(**known: Any) -> list[Item]:
    return table(details=Details(**known))


def of_column(**known: Any) -> list[Item]:
    return table(columns=(ExportedColumn(column("sales.orders.x"), ColumnDetails(**known), Annotations()),))


def of_words(**known: Any) -> list[Item]:
    return table(annotations=Annotations(**known))


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


def decided_by(name: str) -> list[Item]:
    return of_insert(columns=(predicate(["sales.orders.x"], [name]),))


def renamed() -> Item:
    before = DatasetEnd(dataset("sales.old"), deleted=True)
    return operation("ALTER TABLE …", "ALTERTABLE_RENAME", reads=[before], writes=["sales.orders"])


def read(end: DatasetEnd) -> list[Item]:
    return of_insert(inputs=(end,))


RAW = DatasetEnd(dataset("sales.raw"))
YARN = RunName("a", "application_1_0001", QUERIES)
PROBES: dict[str, tuple[Sequence[Item], Sequence[Item]]] = {
    "DATABASE": (table(), [described(dataset("other.orders"))]),
    "TABLE": ([], table()),
    "VIEW": (table(), [ExportedDataset(replace(TABLE, type="VIEW"))]),
    "FIELD": (table(), of_column()),
    "DIRECTORY, FILE": ([], [described(dataset("/landing"))]),
    "DATASET": ([], [ExportedDataset(DatasetName("1", "DATASET", bucket("kafka", "b"), "clicks"))]),
    "OPERATION": ([], of_insert()),
    "OPERATION without output": ([], of_insert(outputs=())),
    "SUB_OPERATION": (of_insert(), computed()),
    "OPERATION_EXECUTION": ([INSERT], of_run()),
    "application of an execution": (with_run(), with_run(run_as=(YARN,))),
    "DATA_FLOW": (of_insert(), read(DatasetEnd(dataset("sales.other")))),
    "CONTROL_FLOW of a table": (of_insert(), read(replace(RAW, flow=FlowRole.CONTROL))),
    "CONTROL_FLOW of a column": (decided_by("sales.raw.a"), decided_by("sales.raw.b")),
    "LOGICAL_PHYSICAL of a table": (
        of_table(kind="EXTERNAL_TABLE"),
        table(
            details=Details(kind="EXTERNAL_TABLE", storage=Storage("hdfs://ns1/orders")),
            locations=(dataset("/orders"),),
        ),
    ),
    "flagged deleted": ([], table(deleted=True)),
    "renamed": ([], [Renamed(dataset("sales.old"), TABLE), renamed()]),
    "unlinked end": (
        of_insert(),
        of_insert(unlinked=(UnlinkedEnd("1", "tmp.x", "TABLE", "HIVE", False, FlowRole.DATA, "no match"),)),
    ),
    "text of a query": (
        of_insert(statement=StatementDetails("HIVE", "INSERT", "a")),
        of_insert(statement=StatementDetails("HIVE", "INSERT", "b")),
    ),
    "expression of a column": (computed(expression="f(y)"), computed(expression="g(y)")),
    "comment": (of_table(comment="a"), of_table(comment="b")),
    "people's name, description": (of_words(name="a"), of_words(name="b", description="c")),
    "people's tags": (of_words(tags=("a",)), of_words(tags=("b",))),
    "inherited tags": (of_words(inherited_tags=("a",)), of_words(inherited_tags=("b",))),
    "people's properties": (of_words(properties={"k": ("a",)}), of_words(properties={"k": ("b",)})),
    "identity": (table(), [ExportedDataset(replace(TABLE, id="other"))]),
    "incomplete, inferred": (
        computed(inferred=False),
        computed(inferred=True),
    ),
}
NOT_PROBED = {
    "SOURCE": "in XML it is dropped, in JSON it is folded",
    "PARTITION": "a reading yields its table",
    "PARENT_CHILD, INSTANCE_OF": "they stand in the names",
}


def test_every_part_of_the_model_has_a_probe_or_a_reason() -> None:
    assert PROBES.keys() | NOT_PROBED.keys() == set(MODEL)


@pytest.mark.parametrize("part_of_model", PROBES)
@pytest.mark.parametrize("target", ["datahub", "sqlflow", "sqlflow-json"])
def test_each_part_is_kept_or_dropped_as_the_target_states(target: str, part_of_model: str) -> None:
    model = targets()[target]
    one, other = (b"".join(model.records(iter(items), model.options())) for items in PROBES[part_of_model])
    said = FATES[target][part_of_model]

    assert (one != other) is not said.startswith("dropped"), said
