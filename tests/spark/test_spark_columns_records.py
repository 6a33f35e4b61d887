"""Column lineage as records: the sub-operations of an operation, with their inputs and outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from navlin.model.keys import EntityType, Key, RelationType
from navlin.model.records import Entity
from navlin.model.tree import contains
from tests.support.spark_logs import Extracted, command, end, extracted_of, node, read_once, start
from tests.support.spark_plans import WRITE, Op, commanded, inserting, op, printed, project, scan, where
from tests.support.stored import stored

A_COLUMNS = "id#1L, k#2, v#3, n#4"
A, B = scan("d.a", A_COLUMNS), scan("d.b", "id#11L, k#12")


def event(number: int, root: Op, *, of: int | None = None) -> dict[str, object]:
    """Return the start event of an execution whose plan is in the text, with the scans also in the tree."""
    arguments = root.block.partition("Arguments: ")[2]
    scans = [
        node(each.name, f"FileScan parquet [{each.block.partition('[')[2].partition('[')[2]}")
        for each in _scans(root)
    ]
    return start(
        number, (node(root.name, f"{root.name} {arguments}".strip(), *scans), printed(root)), root=of
    )


def _scans(root: Op) -> list[Op]:
    below = [found for child in root.children for found in _scans(child)]
    return [root, *below] if root.name.startswith("Scan ") else below


def named(key: Key) -> str:
    """``db.table.column``, ``path.column``, or ``<name>`` of a sub-operation"""
    if key.type is EntityType.FIELD and key.parent is not None:
        parent = key.parent
        above = parent.file_system_path or f"{parent.parent.name if parent.parent else ''}.{parent.name}"
        return f"{above}.{key.name}"
    return f"<{key.name}>"


def edges(extracted: Extracted) -> set[str]:
    """Return the relations of sub-operations, as ``d.a.id -> <id>``. Control flow has ``-->``, and " inferred"
    follows if the relation is inferred."""
    found = set()
    for each in extracted.relations.values():
        if EntityType.SUB_OPERATION in (each.ep1.type, each.ep2.type):
            arrow = "->" if each.type is RelationType.DATA_FLOW else "-->"
            flag = " inferred" if each.attributes.get("inferred") else ""
            found.add(f"{named(each.ep1)} {arrow} {named(each.ep2)}{flag}")
    return found


def parts(extracted: Extracted) -> dict[str, Entity]:
    return {
        each.key.name: each
        for each in extracted.entities.values()
        if each.key.type is EntityType.SUB_OPERATION
    }


def test_each_written_column_is_a_sub_operation(tmp_path: Path) -> None:
    query = project("id#1L, (v#3 * 2.0) AS w#9", where("(n#4 > 1)", A, A_COLUMNS), A_COLUMNS)
    extracted = extracted_of(tmp_path, event(0, inserting(query, "id, w", "id#1L, w#9")), end(0))
    assert edges(extracted) == {
        "d.a.id -> <id>",
        "d.a.n --> <id>",
        "<id> -> d.out.id",
        "d.a.v -> <w>",
        "d.a.n --> <w>",
        "<w> -> d.out.w",
    }
    [operation] = extracted.operations
    doubled = parts(extracted)["w"]
    assert doubled.key.parent == operation.key
    assert {key: value for key, value in doubled.attributes.items() if value is not None} == {
        "internalType": "spark_sub_operation",
        "engineType": "SPARK",
        "edgeType": "PROJECTION",
        "transformation": "TRANSFORMATION",
        "expression": "(v * 2.0)",
        "inputs": ["d.a.v", "d.a.n"],
        "outputs": ["d.out.w"],
    }
    assert operation.attributes["incomplete"] is None
    assert all(
        each.tree_path.startswith(f"{operation.key.tree_path}/")
        for each in extracted.relations.values()
        if each.ep1.type is not EntityType.OPERATION_EXECUTION
    )


def test_a_table_used_only_in_a_join_condition_is_control_flow(tmp_path: Path) -> None:
    block = "Left keys [1]: [id#1L]\nRight keys [1]: [id#11L]\nJoin type: LeftSemi\nJoin condition: None"
    query = op("SortMergeJoin LeftSemi", block, A, B, title="SortMergeJoin")
    extracted = extracted_of(
        tmp_path, event(0, inserting(project("k#2", query, A_COLUMNS), "k", "k#2")), end(0)
    )
    tables = {
        (each.ep1.name, each.type.value)
        for each in extracted.relations.values()
        if each.ep2.type is EntityType.OPERATION
    }
    assert tables == {("a", "DATA_FLOW"), ("b", "CONTROL_FLOW")}


def test_a_table_whose_rows_are_counted_is_data_flow(tmp_path: Path) -> None:
    count = op(
        "HashAggregate",
        "Input [4]: [id#1L, k#2, v#3, n#4]\nKeys: []\nFunctions [1]: [count(1)]\n"
        "Aggregate Attributes [1]: [count(1)#20L]\nResults [1]: [count(1)#20L AS c#21L]",
        where("(n#4 > 1)", A, A_COLUMNS),
    )
    extracted = extracted_of(tmp_path, event(0, inserting(count, "c", "c#21L")), end(0))
    assert edges(extracted) == {"d.a.n --> <c>", "<c> -> d.out.c"}
    assert ("d.a", "INSERT_INTO", "d.out") in extracted.flows


def test_unknown_columns_flag_the_operation_and_its_output_and_keep_the_tables(tmp_path: Path) -> None:
    extracted = extracted_of(
        tmp_path, start(0, node(WRITE, f"{WRITE} {_written_to('d.out')}", node("Scan parquet d.a"))), end(0)
    )
    [operation] = extracted.operations
    assert operation.attributes["incomplete"] is True
    assert extracted.flows == {("d.a", "INSERT_INTO", "d.out")}
    assert not parts(extracted)
    flows = [each for each in extracted.relations.values() if each.type is RelationType.DATA_FLOW]
    marked = {each.ep1.name: each.attributes.get("incomplete") for each in flows}
    assert marked == {"a": None, operation.key.name: True}


def _written_to(table: str) -> str:
    quoted = table.replace(".", "`.`")
    return f"file:/w/out, false, Parquet, [path=file:/w/out], Append, `{quoted}`, serde, [id]"


def test_an_inferred_column_flags_its_relations(tmp_path: Path) -> None:
    columns = [f"c{each}#{100 + each}" for each in range(30)]
    shown = ", ".join(columns[:25])
    below = scan("d.w", ", ".join(columns))
    given = f"Input [30]: [{', '.join(columns)}]"
    query = op("Project", f"Output [1]: [hash({shown}, ... 6 more fields) AS h#9]\n{given}", below)
    extracted = extracted_of(tmp_path, event(0, inserting(query, "h", "h#9")), end(0))
    assert len(edges(extracted)) == 31
    assert all(each.endswith(" inferred") for each in edges(extracted))
    assert parts(extracted)["h"].attributes["inferred"] is True


def test_columns_are_combined_from_the_two_executions_of_a_table_creation(tmp_path: Path) -> None:
    read = op("Scan parquet ", "Output [1]: [k#2]\nLocation: InMemoryFileIndex [file:/in/x]")
    arguments = "file:/w/t, false, Parquet, [path=file:/w/t], Overwrite, [kk]"
    child = op(WRITE, f"Input: []\nArguments: {arguments}", read)
    relation = op("LogicalRelation", "Arguments: parquet, [k#2], false")
    root = commanded("CreateDataSourceTableAsSelectCommand", "`c`.`d`.`t`, ErrorIfExists, [kk]", relation)
    extracted = extracted_of(
        tmp_path,
        start(0, (node(root.name), printed(root))),
        event(1, child, of=0),
        end(1),
        end(0),
    )
    # The sources come from the inner execution, and the table name comes from the command.
    assert edges(extracted) == {"/in/x.k -> <kk>", "<kk> -> c.d.t.kk"}


def test_conditions_shared_by_many_columns_are_extracted_once(tmp_path: Path) -> None:
    columns = [f"c{each}#{100 + each}" for each in range(60)]
    listed = ", ".join(columns)
    condition = " AND ".join(f"(c{each}#{100 + each} > 1)" for each in range(50))
    query = where(f"({condition})", scan("d.w", listed), listed)
    extracted = extracted_of(
        tmp_path, event(0, inserting(query, ", ".join(f"c{each}" for each in range(60)), listed)), end(0)
    )
    kinds = [each.attributes["edgeType"] for each in parts(extracted).values()]
    assert (kinds.count("PROJECTION"), kinds.count("PREDICATE")) == (60, 1)
    found = edges(extracted)
    assert {"d.w.c0 --> <predicate>", "<predicate> -> d.out.c59", "d.w.c59 -> <c59>"} <= found
    assert len(found) == 60 + 60 + 50 + 60


def test_outputs_have_separate_parts_and_an_output_written_twice_has_both_sources(
    tmp_path: Path,
) -> None:
    first = inserting(project("id#1L, k#2", A, A_COLUMNS), "id, k", "id#1L, k#2")
    again = inserting(
        op("Scan parquet spark_catalog.d.b", "Output [2]: [id#11L, k#12]"), "id, k", "id#11L, k#12"
    )
    root = op("Union", "", first, again)
    trees = [node(WRITE, f"{WRITE} {each.block.partition('Arguments: ')[2]}") for each in (first, again)]
    extracted = extracted_of(tmp_path, start(0, (node("Union", "", *trees), printed(root))), end(0))
    assert {each for each in edges(extracted) if each.endswith("<id>")} == {
        "d.a.id -> <id>",
        "d.b.id -> <id>",
    }
    assert len(parts(extracted)) == 2


def test_secrets_are_removed_from_expressions_and_long_ones_truncated(tmp_path: Path) -> None:
    text = f"concat(k#2, password = 'hunter2secret', {'x' * 9_000})"
    query = op("Project", f"Output [1]: [{text} AS x#9]\nInput [4]: [{A_COLUMNS}]", A)
    extracted = extracted_of(tmp_path, event(0, inserting(query, "x", "x#9")), end(0))
    expression = str(parts(extracted)["x"].attributes["expression"])
    assert "hunter2secret" not in stored(parts(extracted).values())
    assert len(expression.encode()) <= 4 << 10


def test_a_failed_run_has_no_sub_operations(tmp_path: Path) -> None:
    extracted = extracted_of(tmp_path, event(0, inserting(A, "id, k, v, n", A_COLUMNS)), end(0, error="boom"))
    assert not parts(extracted)


def test_two_runs_of_one_job_have_the_same_sub_operations(tmp_path: Path) -> None:
    def run(first: int) -> dict[str, object]:
        ids = f"id#{first}L, v#{first + 1}"
        query = project(f"(v#{first + 1} + 1) AS w#{first + 2}", scan("d.a", ids), ids)
        return event(0, inserting(query, "w", f"w#{first + 2}"))

    one, other = (extracted_of(tmp_path / str(first), run(first), end(0)) for first in (1, 501))
    assert one.lineage() == other.lineage()
    assert {key: each.attributes for key, each in parts(one).items()} == {
        key: each.attributes for key, each in parts(other).items()
    }


def test_a_successful_operation_covers_its_own_branch_and_all_its_relations(tmp_path: Path) -> None:
    extracted = extracted_of(tmp_path, event(0, inserting(A, "id, k, v, n", A_COLUMNS)), end(0))
    [operation] = extracted.operations
    [covered] = extracted.covered
    assert covered.path == operation.key.tree_path
    assert covered.reported
    assert extracted.relations
    assert all(contains(covered.path, each.tree_path) for each in extracted.relations.values())
    assert len({each.tree_path for each in extracted.relations.values()}) == len(extracted.relations)


@pytest.mark.parametrize("cut", ["the text", "the lists of fields"])
def test_a_run_with_a_truncated_plan_keeps_columns_of_an_earlier_run(tmp_path: Path, cut: str) -> None:
    plan = event(0, inserting(project("id#1L, v#3", A, A_COLUMNS), "id, v", "id#1L, v#3"))
    text = str(plan["physicalPlanDescription"])
    poorer = {
        "the text": f"{text[: len(text) // 2]}... 1439 more characters",
        "the lists of fields": text.replace(
            "Output [2]: [id#1L, v#3]", "Output [2]: [id#1L, ... 1 more fields]"
        ),
    }[cut]
    again = plan | {"executionId": 1, "rootExecutionId": 1, "physicalPlanDescription": poorer}
    extracted = extracted_of(tmp_path, plan, end(0), again, end(1))
    [operation] = extracted.operations
    assert len(extracted.executions) == 2
    assert edges(extracted) >= {"d.a.id -> <id>", "<id> -> d.out.id", "d.a.v -> <v>", "<v> -> d.out.v"}
    # Edges that the newest run does not report remain, and the operation is flagged.
    assert operation.attributes["incomplete"] is True


# -- A real job -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("log", ["plain", "default"])
def test_a_real_job_has_the_expected_columns(spark_logs: Path, log: str) -> None:
    extracted = read_once(spark_logs / log)
    found = edges(extracted)
    written = {each.partition(" -> ")[2] for each in found if each.startswith("<")}
    assert {"sales.by_region.name", "sales.by_region.total", "sales.big.name", "sales.big.total"} <= written
    assert {
        "sales.regions.name -> <name>",
        "sales.orders.amount -> <total>",
        "sales.by_region.total -> <total>",
        "sales.orders.region --> <total>",
    } <= found
    daily = {each for each in found if "sales.daily" in each}
    assert {"<id> -> sales.daily.id", "<amount> -> sales.daily.amount", "<ds> -> sales.daily.ds"} <= daily
    assert not [each for each in parts(extracted).values() if each.attributes["opaque"]]


def test_an_empty_table_creation_has_no_sub_operations(tmp_path: Path) -> None:
    plan = command("CreateDataSourceTableCommand", "`c`.`d`.`t`, false")
    assert not parts(extracted_of(tmp_path, start(0, plan), end(0)))
