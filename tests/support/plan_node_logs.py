"""Event logs that real Sparks wrote for ``bench/every_node.py``, kept small beside the tests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import zstandard

from extractors.spark.plan.kinds import PLAN_NODES, PlanNode

LOGS = Path(__file__).parents[1] / "plan_nodes"
TABLE_FORMATS = LOGS.with_name("table_formats")
NOT_RUN = "not run"


def log_of(name: str) -> bytes:
    """The lines of a kept log, all files of it."""
    files = sorted((TABLE_FORMATS / name).glob("*.zst")) or [LOGS / f"{name}.zst"]
    unpack = zstandard.ZstdDecompressor().decompress
    return b"".join(unpack(each.read_bytes(), max_output_size=1 << 30) for each in files)


@cache
def starts_of(name: str) -> tuple[dict[str, Any], ...]:
    """The events of a kept log that start an execution."""
    events = [json.loads(line) for line in log_of(name).splitlines()]
    return tuple(each for each in events if each["Event"].endswith("SparkListenerSQLExecutionStart"))


PROJECTS = {
    "spark-4.3": ("Spark",),
    "delta-3.3": ("Spark", "Delta"),
    "delta-4": ("Spark", "Delta"),
    "iceberg-1.9": ("Spark", "Iceberg"),
    "iceberg-1.12": ("Spark", "Iceberg"),
}
"""The kept logs, and the projects whose nodes their plans have. The first log that shows a node counts."""
_SPARKS = {(node.name, node.kind) for node in PLAN_NODES if node.project == "Spark"}
_LINE = re.compile(
    r"^[ :+|*-]*?(?:\*(?:\(\d+\))? )?(?P<name>[A-Za-z][^\n]*?)(?: \(\d+\)(?:, \[[^\n]*)?)?$", re.MULTILINE
)


@cache
def names_in(log: str) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """By execution of a kept log: the names of its plan's tree, and the operators' lines of its text."""
    return tuple(
        (frozenset(_tree(event["sparkPlanInfo"])), frozenset(_printed(event["physicalPlanDescription"])))
        for event in starts_of(log)
    )


def executions_with(node: PlanNode, log: str) -> list[dict[str, Any]]:
    """The executions of a kept log whose plans have a node."""
    if node.project not in PROJECTS[log] or (
        node.project != "Spark" and (node.name, node.kind) in _SPARKS  # Spark's own took its place
    ):
        return []
    found = zip(starts_of(log), names_in(log), strict=True)
    return [event for event, (tree, text) in found if _has(node, tree, text)]


def shown_in(node: PlanNode) -> str:
    """The kept log that shows a node in a plan that ran."""
    return next((log for log in PROJECTS if executions_with(node, log)), NOT_RUN)


def _has(node: PlanNode, tree: frozenset[str], text: frozenset[str]) -> bool:
    if node.kind == "logical":
        return any(_is(node.name, each) for each in text)
    if node.kind == "command":
        return any(_is(name, each) for name in (node.name, f"Execute {node.name}") for each in tree | text)
    # Some names are of the printed text alone.
    return any(_is(node.name, each) for each in (tree | text if "text form" in node.note else tree))


def _is(name: str, printed: str) -> bool:
    return printed == name or printed.startswith((f"{name} ", f"{name}(", f"{name}[", f"{name},"))


def _tree(node: dict[str, Any]) -> Iterator[str]:
    yield node["nodeName"].strip()
    for child in node["children"]:
        yield from _tree(child)


def _printed(text: str) -> Iterator[str]:
    """The lines of the trees: formatted ones end where the blocks begin; of the others all are trees."""
    trees = text.partition("\n\n(1) ")[0] if text.startswith("== Physical Plan ==") else text
    for match in _LINE.finditer(trees):
        yield match["name"]
