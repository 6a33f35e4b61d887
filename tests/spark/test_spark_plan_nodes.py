"""The table of plan nodes is complete, well formed, and includes all nodes of the installed Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.plan_nodes import main, plan_nodes, shipped
from extractors.spark.plan.kinds import CARRIES, PLAN_NODES

REPOSITORY = Path(__file__).parents[2]
KINDS = ("physical", "logical", "command")


def test_every_row_has_a_known_kind_and_category() -> None:
    assert [node for node in PLAN_NODES if node.kind not in KINDS or node.carries not in CARRIES] == []
    assert [node for node in PLAN_NODES if not (node.project and node.name and node.versions)] == []


def test_names_are_unique_within_project_and_kind_and_sorted() -> None:
    keys = [(node.project.lower(), node.name.lower(), node.name, node.kind) for node in PLAN_NODES]
    assert keys == sorted(set(keys))


def test_every_line_of_the_table_has_seven_fields() -> None:
    assert [
        line
        for line in (REPOSITORY / "extractors/spark/plan/nodes.tsv").read_text("utf-8").splitlines()
        if line.count("\t") != 6
    ] == []


def test_every_node_and_command_of_the_installed_spark_has_a_row() -> None:
    rows = {(node.name, node.kind) for node in PLAN_NODES if node.project == "Spark"}
    found = set(plan_nodes(shipped()))
    assert len(found) > 500
    assert sorted(each for each in found if (each.name, each.kind) not in rows) == []


@pytest.mark.services
def test_a_class_without_a_row_is_listed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    catalyst = next(jar for jar in shipped() if jar.name.startswith("spark-catalyst"))
    monkeypatch.setattr("sys.argv", ["plan_nodes", str(catalyst)])
    monkeypatch.setattr(
        "bench.plan_nodes.PLAN_NODES", [node for node in PLAN_NODES if node.name != "MergeRows"]
    )
    with pytest.raises(SystemExit):
        main()
    assert (
        capsys.readouterr().out
        == "MergeRows\tlogical\torg.apache.spark.sql.catalyst.plans.logical.MergeRows\n"
    )
