"""Event logs written by real Sparks for ``bench/every_node.py``, reduced and kept with the tests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import zstandard

from extractors.spark.plan.kinds import PLAN_NODES, PlanNode

LOGS = Path(__file__).parents[1] / "plan_nodes"
TABLE_FORMATS = LOGS.with_name("table_formats")
STATEMENTS = LOGS.with_name("spark_statements")
NOT_RUN = "not run"
WHY_NOT_RUN = {
    "replaced in analysis": "analysis or the optimizer puts other nodes in its place before an execution starts",
    "prints under another name": "the plan has it, and calls it as another row's node",
    "run within another command": "that command calls it, and Spark makes no plan of it",
    "of a stream before it runs": "each batch has others in its place, and a stream's own plan is in no event",
    "of declarative pipelines": "they carry it out by themselves: no execution is of it",
    "of a Spark that needs an older Java": "releases before 3.3",
    "of a release that was not run": "a log could hold it: other releases of its project were run",
    "no table format is released for that Spark": "and Spark itself has no tables that it could change",
}
"""Reasons why no log shows a node of the projects that run here."""


def log_of(name: str) -> bytes:
    """The lines of a kept log, from all its files."""
    one = (folder / f"{name}.zst" for folder in (LOGS, STATEMENTS))
    files = sorted((TABLE_FORMATS / name).glob("*.zst")) or [each for each in one if each.exists()]
    unpack = zstandard.ZstdDecompressor().decompress
    return b"".join(unpack(each.read_bytes(), max_output_size=1 << 30) for each in files)


@cache
def starts_of(name: str) -> tuple[dict[str, Any], ...]:
    """The events of a kept log that start an execution."""
    events = [json.loads(line) for line in log_of(name).splitlines()]
    return tuple(each for each in events if each["Event"].endswith("SparkListenerSQLExecutionStart"))


PROJECTS = {
    "spark-4.3": ("Spark",),
    "real-time-4.3": ("Spark",),
    "formats-3.5": ("Spark", "Delta", "Iceberg", "Hudi"),
    "delta-3.3": ("Spark", "Delta"),
    "delta-4": ("Spark", "Delta"),
    "iceberg-1.9": ("Spark", "Iceberg"),
    "iceberg-1.12": ("Spark", "Iceberg"),
    "jdbc-spark-4.3": ("Spark",),
    "jdbc-spark-3.5": ("Spark",),
    "delta-4.4": ("Spark", "Delta"),
    "hudi-1.0": ("Spark", "Hudi"),
    "iceberg-1.4": ("Iceberg",),
    "iceberg-1.5": ("Iceberg",),
}
"""The kept logs, and the projects whose nodes are in their plans. The first log that shows a node counts."""
_SPARKS = {(node.name, node.kind) for node in PLAN_NODES if node.project == "Spark"}
_LINE = re.compile(
    r"^[ :+|*~-]*?(?:\*(?:\(\d+\))? )?(?P<name>[A-Za-z][^\n]*?)(?: \(\d+\)(?:, \[[^\n]*)?)?$", re.MULTILINE
)
_ENDS = re.compile(r"[ (\[,@]|\Z")
WORDS = 6
"""Number of words of a line that may be its operator's name."""


@dataclass(frozen=True)
class Names:
    """Possible names of the nodes of one execution: in its plan's tree, and in the lines of its text."""

    tree: frozenset[str]
    text: frozenset[str]


@cache
def names_in(log: str) -> tuple[Names, ...]:
    """By execution of a kept log."""
    return tuple(
        Names(
            frozenset(name for each in _tree(event["sparkPlanInfo"]) for name in _beginnings(each)),
            frozenset(
                name for each in _printed(event["physicalPlanDescription"]) for name in _beginnings(each)
            ),
        )
        for event in starts_of(log)
    )


def executions_with(node: PlanNode, log: str) -> list[dict[str, Any]]:
    """The executions of a kept log whose plans contain a node."""
    if node.project not in PROJECTS[log] or (
        # In a log that has Spark's nodes too, Spark's own node takes precedence.
        node.project != "Spark" and "Spark" in PROJECTS[log] and (node.name, node.kind) in _SPARKS
    ):
        return []
    return [event for event, names in zip(starts_of(log), names_in(log), strict=True) if _has(node, names)]


def shown_in(node: PlanNode) -> str:
    """The kept log that shows a node in an executed plan; "not run" if none does."""
    return next((log for log in PROJECTS if executions_with(node, log)), NOT_RUN)


def _has(node: PlanNode, names: Names) -> bool:
    if node.kind == "logical":
        return node.name in names.text
    if node.kind == "command":
        both = names.tree | names.text
        return node.name in both or f"Execute {node.name}" in both
    if node.name.endswith("."):  # of a package, or of a format
        return any(each.startswith(node.name) for each in names.tree)
    if node.project == "Hudi" and any(f"{node.name}{version}" in names.tree for version in ("V1", "V2")):
        return True
    # Some names occur only in the printed text.
    return node.name in names.tree or ("text form" in node.note and node.name in names.text)


def _beginnings(line: str) -> Iterator[str]:
    """The beginnings of a line that may be a name, because the rest may belong to this plan only."""
    for end, _ in zip(_ENDS.finditer(line), range(WORDS), strict=False):
        yield line[: end.start()]


def _tree(node: dict[str, Any]) -> Iterator[str]:
    yield node["nodeName"].strip()
    for child in node["children"]:
        yield from _tree(child)


def _printed(text: str) -> Iterator[str]:
    """The lines of the trees: formatted plans end where the blocks begin, others consist of trees only."""
    trees = text.partition("\n\n(1) ")[0] if text.startswith("== Physical Plan ==") else text
    for match in _LINE.finditer(trees):
        yield match["name"]
