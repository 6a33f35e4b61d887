"""Every node and command in the table is extracted, flagged, or known to carry no data. A node without a row is
flagged."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from extractors.spark.incomplete import Incomplete
from extractors.spark.plan.kinds import CARRIES, PLAN_NODES, PlanNode
from extractors.spark.plan.tree import plain_name
from tests.support.spark_logs import (
    FORMATTED,
    Extracted,
    command,
    end,
    extracted_of,
    node,
    read_once,
    scan,
    start,
)
from tests.support.spark_plans import counted, flows, inserting, op, unary
from tests.support.spark_plans import scan as scan_operator

CORPUS = Path(__file__).parents[3] / "shared" / "corpora" / "spark-event-logs"
A_COLUMNS = "id#1L, k#2"
VIEW = re.compile(r"(?:Create|Alter)V2View(?:Exec:)?|CreateView(?:Command)?|AlterViewAs(?:Command)?")
A = scan_operator("d.a", A_COLUMNS)


def rows(*carries: str, kinds: tuple[str, ...] = ("physical", "command")) -> list[object]:
    found = {
        (each.name, each.carries): each
        for each in PLAN_NODES
        if each.carries in carries and each.kind in kinds
    }
    return [pytest.param(each, id=f"{each.project} {each.name}") for each in found.values()]


def printed_name(each: PlanNode) -> str:
    return f"Execute {each.name}" if each.kind == "command" else each.name


def reasons(extracted: Extracted) -> set[str]:
    return {reason for each in extracted.operations for reason in each.attributes["incompleteReasons"]}


def test_every_row_has_a_known_category() -> None:
    assert {each.carries for each in PLAN_NODES} <= set(CARRIES)


# -- Writes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("each", rows("writes"))
def test_a_write_with_an_unknown_target_is_incomplete(each: PlanNode, tmp_path: Path) -> None:
    plan = node(printed_name(each), f"{printed_name(each)} com.vendor.Sink@1f", scan("d.a"))
    extracted = extracted_of(tmp_path, start(0, (plan, FORMATTED)), end(0))
    assert extracted.operations, "it is not seen at all"
    outputs = {output for _, _, output in extracted.flows} - {"-"}
    named = f"navlin does not read the targets of {plain_name(each.name)}"
    assert outputs or reasons(extracted) & {Incomplete.UNKNOWN_OUTPUT, named}


@pytest.mark.parametrize("each", rows("writes"))
def test_an_accelerators_prefix_is_ignored(each: PlanNode, tmp_path: Path) -> None:
    bare = printed_name(each)
    for prefix in ("Gpu", "Photon", "Comet", "Velox", "Native"):
        name = f"Execute {prefix}{each.name}" if bare.startswith("Execute ") else f"{prefix}{bare}"
        assert plain_name(name) == plain_name(bare)


@pytest.mark.parametrize("each", rows("maintains", "defines", "answers", "session"))
def test_a_command_without_data_flow_has_no_flow_and_is_complete(each: PlanNode, tmp_path: Path) -> None:
    if any(other.name == each.name and other.carries == "writes" for other in PLAN_NODES):
        pytest.skip("another project, or another form of it, writes under this name")
    if VIEW.fullmatch(each.name):
        pytest.skip("a view has lineage: see below")
    extracted = extracted_of(tmp_path, start(0, command(each.name, "`spark_catalog`.`d`.`t`, false")), end(0))
    assert extracted.flows == set()
    assert reasons(extracted) <= {Incomplete.AMBIGUOUS, Incomplete.EXPLAIN_MODE}


@pytest.mark.parametrize(
    "each",
    [pytest.param(row, id=f"{row.project} {row.name}") for row in PLAN_NODES if VIEW.fullmatch(row.name)],
)
def test_a_view_without_a_readable_plan_is_incomplete(each: PlanNode, tmp_path: Path) -> None:
    extracted = extracted_of(
        tmp_path, start(0, command(each.name, "`spark_catalog`.`d`.`v`, select a from d.t, true")), end(0)
    )
    assert reasons(extracted)


def test_an_unlisted_command_is_incomplete(tmp_path: Path) -> None:
    extracted = extracted_of(
        tmp_path, start(0, command("ShipToTheMoonCommand", "`spark_catalog`.`d`.`t`, false")), end(0)
    )
    assert reasons(extracted) >= {Incomplete.UNKNOWN_OUTPUT, Incomplete.UNKNOWN_OPERATOR}


# -- Operators --------------------------------------------------------------------------------------------------------


def beneath_a_write(name: str) -> dict[str, str]:
    """Return the columns of a write over this operator, which passes ``id#1L`` and adds ``x#20``, with arguments
    that match no rule."""
    block = f"{counted('Input', 2, A_COLUMNS)}\nArguments: mystery, [x#20]"
    return flows(inserting(op(name, block, A), "id, x", "id#1L, x#20"))


@pytest.mark.parametrize("each", rows("computes", "program", "rows", "wraps", kinds=("physical",)))
def test_columns_added_by_an_operator_are_never_silently_without_a_source(each: PlanNode) -> None:
    found = beneath_a_write(each.name)
    assert not found or found["x"] != "|", "a column that was overlooked looks like a literal"
    assert not found or found["id"] in ("a.id |",) or found["id"].endswith(("incomplete", "opaque"))


@pytest.mark.parametrize("each", rows("rows", "wraps", kinds=("physical",)))
def test_an_operator_that_only_passes_rows_keeps_their_columns(each: PlanNode) -> None:
    if any(other.name == each.name and other.carries not in ("rows", "wraps") for other in PLAN_NODES):
        pytest.skip("under this name another project's operator computes")
    name = plain_name(each.name)
    joins = "Join" in name or name in ("CartesianProduct", "Union", "UnionLoop")
    if joins or name.startswith(
        ("InMemoryTableScan", "Scan In-memory", "ReusedExchange", "ReusedSubquery", "Subquery")
    ):
        pytest.skip("it has two inputs, or its input stands within it or at another place")
    below = unary(each.name, "mystery", A, A_COLUMNS)
    assert flows(inserting(below, "id, k", A_COLUMNS)) == {"id": "a.id |", "k": "a.k |"}


@pytest.mark.parametrize("each", rows("reads", kinds=("physical",)))
def test_a_scan_with_an_unknown_source_is_incomplete(each: PlanNode, tmp_path: Path) -> None:
    # A node named "Scan" contains its relation in its name. Without a relation, a program made its rows.
    name = f"{each.name} com.vendor.Relation@1f" if plain_name(each.name) == "Scan" else each.name
    plan = node(name, f"{each.name} com.vendor.Relation@1f")
    write = node(
        "Execute InsertIntoHadoopFsRelationCommand",
        "Execute InsertIntoHadoopFsRelationCommand hdfs://nn/o, false, Parquet, [], Append, [id]",
        plan,
    )
    extracted = extracted_of(tmp_path, start(0, (write, FORMATTED)), end(0))
    inputs = {each for each, _, _ in extracted.flows} - {"-"}
    named = f"navlin does not read the sources of {plain_name(each.name).removesuffix('.')}"
    assert inputs or reasons(extracted) & {Incomplete.UNKNOWN_INPUT, named}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "Execute UpdatePaimonTableCommand",
            "navlin does not read the targets of UpdatePaimonTableCommand",
        ),
        ("Execute GpuLowShuffleMergeCommand", "navlin does not read the targets of LowShuffleMergeCommand"),
        # These commands have no row in the table, or a reader that cannot parse these arguments.
        ("Execute ShipToTheMoonCommand", "navlin did not find in the plan what is written"),
        ("AppendData", "navlin did not find in the plan what is written"),
        ("Execute UpdateCommand", "navlin did not find in the plan what is written"),
    ],
)
def test_the_reason_names_the_command_with_an_unread_target(name: str, reason: str, tmp_path: Path) -> None:
    plan = node(name, f"{name} com.vendor.Sink@1f", scan("d.a"))
    extracted = extracted_of(tmp_path, start(0, (plan, FORMATTED)), end(0))
    assert {each for each in reasons(extracted) if "written" in each or "targets" in each} == {reason}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("CassandraDirectJoin", "navlin does not read the sources of CassandraDirectJoin"),
        (
            "Scan com.google.cloud.spark.bigquery.DirectRelation@1f",
            "navlin does not read the sources of Scan com.google.cloud.spark.bigquery",
        ),
        ("Scan XmlRelation(a, b)", "navlin does not read the sources of Scan XmlRelation"),
        ("BatchScan class@1f", "navlin did not find in the plan what is read"),
        ("Scan com.vendor.Relation@1f", "navlin did not find in the plan what is read"),
        ("Scan KafkaRelation(strategy=SubscribePattern[a])", "navlin did not find in the plan what is read"),
    ],
)
def test_the_reason_names_the_scan_with_an_unread_source(name: str, reason: str, tmp_path: Path) -> None:
    write = node(
        "Execute InsertIntoHadoopFsRelationCommand",
        "Execute InsertIntoHadoopFsRelationCommand hdfs://nn/o, false, Parquet, [], Append, [id]",
        node(name, name),
    )
    extracted = extracted_of(tmp_path, start(0, (write, FORMATTED)), end(0))
    assert {each for each in reasons(extracted) if "is read" in each or "sources" in each} == {reason}


def test_each_unread_scan_name_is_one_reason(tmp_path: Path) -> None:
    scans = (node(f"Scan XmlRelation({number})", "Scan XmlRelation") for number in range(5))
    other = (node("Scan HBaseRelation(Map())", "Scan HBaseRelation"), node("BatchScan x@1f", "BatchScan"))
    write = node(
        "Execute InsertIntoHadoopFsRelationCommand",
        "Execute InsertIntoHadoopFsRelationCommand hdfs://nn/o, false, Parquet, [], Append, [id]",
        *scans,
        *other,
    )
    extracted = extracted_of(tmp_path, start(0, (write, FORMATTED)), end(0))
    assert {each for each in reasons(extracted) if "is read" in each or "sources" in each} == {
        "navlin does not read the sources of Scan XmlRelation",
        "navlin does not read the sources of Scan HBaseRelation",
        "navlin did not find in the plan what is read",
    }


@pytest.mark.parametrize(
    "name", ["WarpDrive", "Execute WarpDriveCommand", "GpuWarpDrive", "WarpDriveExecTransformer"]
)
def test_an_unlisted_node_makes_the_operation_incomplete(name: str, tmp_path: Path) -> None:
    write = node(
        "Execute InsertIntoHadoopFsRelationCommand",
        "Execute InsertIntoHadoopFsRelationCommand hdfs://nn/o, false, Parquet, [], Append, [id]",
        node(name, name, scan("d.a")),
    )
    extracted = extracted_of(tmp_path, start(0, (write, FORMATTED)), end(0))
    assert Incomplete.UNKNOWN_OPERATOR in reasons(extracted)


# -- Nodes in other people's logs -------------------------------------------------------------------------------------


def test_every_write_in_the_corpora_has_an_output_or_is_incomplete(tmp_path: Path) -> None:
    if not CORPUS.is_dir():
        pytest.skip("there are no corpora beside this checkout")
    writes = [json.loads(line) for line in (CORPUS / "plan_nodes_distinct.jsonl").read_text().splitlines()]
    silent = []
    for number, each in enumerate(writes):
        name, text = each["nodeName"], each.get("simpleString", "")
        if not (
            name.startswith(("Execute ", "AppendData", "Overwrite", "Atomic", "Replace"))
            or "TableAsSelect" in name
        ):
            continue
        directory = tmp_path / str(number)
        extracted = extracted_of(directory, start(0, (node(name, text, scan("d.a")), FORMATTED)), end(0))
        outputs = {output for _, _, output in extracted.flows} - {"-"}
        moves = any(row.carries == "writes" and row.name in name for row in PLAN_NODES)
        if moves and not outputs and not reasons(extracted):
            silent.append(name)
    assert silent == []


def test_the_corpora_contain_no_unlisted_node() -> None:
    if not CORPUS.is_dir():
        pytest.skip("there are no corpora beside this checkout")
    assert Incomplete.UNKNOWN_OPERATOR not in reasons(read_once(CORPUS))
