"""Event logs that real Spark releases wrote for ``bench/every_node.py``, reduced and stored with the tests."""

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
"""Reasons why none of the logs contains certain nodes of the projects → explanation."""


def log_of(name: str) -> bytes:
    """Return all lines of a stored log, which may consist of several files."""
    one = (folder / f"{name}.zst" for folder in (LOGS, STATEMENTS))
    files = sorted((TABLE_FORMATS / name).glob("*.zst")) or [each for each in one if each.exists()]
    unpack = zstandard.ZstdDecompressor().decompress
    return b"".join(unpack(each.read_bytes(), max_output_size=1 << 30) for each in files)


@cache
def starts_of(name: str) -> tuple[dict[str, Any], ...]:
    """Return the events in a stored log that start an execution."""
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
"""Stored log → the projects whose nodes occur in its plans. For each node, the first log that contains it is used."""
_SPARKS = {(node.name, node.kind) for node in PLAN_NODES if node.project == "Spark"}
_LINE = re.compile(
    r"^[ :+|*~-]*?(?:\*(?:\(\d+\))? )?(?P<name>[A-Za-z][^\n]*?)(?: \(\d+\)(?:, \[[^\n]*)?)?$", re.MULTILINE
)
_ENDS = re.compile(r"[ (\[,@]|\Z")
WORDS = 6
"""Maximum number of words in an operator's name at the start of a line."""


@dataclass(frozen=True)
class Names:
    """Possible names of the nodes of one execution: in the plan's tree, and in the lines of the printed plan."""

    tree: frozenset[str]
    text: frozenset[str]


@cache
def names_in(log: str) -> tuple[Names, ...]:
    """The possible node names of each execution in a stored log."""
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
    """Return the executions in a stored log whose plans contain a node."""
    if node.project not in PROJECTS[log] or (
        # A node with the same name as one of Spark's counts as Spark's if the log contains Spark's nodes.
        node.project != "Spark" and "Spark" in PROJECTS[log] and (node.name, node.kind) in _SPARKS
    ):
        return []
    return [event for event, names in zip(starts_of(log), names_in(log), strict=True) if _has(node, names)]


def shown_in(node: PlanNode) -> str:
    """Return the first stored log with a node in an executed plan; "not run" if there is none."""
    return next((log for log in PROJECTS if executions_with(node, log)), NOT_RUN)


def _has(node: PlanNode, names: Names) -> bool:
    if node.kind == "logical":
        return node.name in names.text
    if node.kind == "command":
        both = names.tree | names.text
        return node.name in both or f"Execute {node.name}" in both
    if node.name.endswith("."):  # the name of a package or a format, not of one node
        return any(each.startswith(node.name) for each in names.tree)
    if node.project == "Hudi" and any(f"{node.name}{version}" in names.tree for version in ("V1", "V2")):
        return True
    # Some names appear only in the printed plan.
    return node.name in names.tree or ("text form" in node.note and node.name in names.text)


def _beginnings(line: str) -> Iterator[str]:
    """Yield each beginning of a line that may be a node's name; the rest of the line may be specific to this plan."""
    for end, _ in zip(_ENDS.finditer(line), range(WORDS), strict=False):
        yield line[: end.start()]


def _tree(node: dict[str, Any]) -> Iterator[str]:
    yield node["nodeName"].strip()
    for child in node["children"]:
        yield from _tree(child)


def _printed(text: str) -> Iterator[str]:
    """Yield the lines of the trees in a printed plan. In a formatted plan, the trees end where the numbered blocks
    begin.
    """
    trees = text.partition("\n\n(1) ")[0] if text.startswith("== Physical Plan ==") else text
    for match in _LINE.finditer(trees):
        yield match["name"]
