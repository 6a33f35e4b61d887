"""Read the plan in the start event of an execution."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from extractors.spark.columns.written import WrittenColumns, result_columns, written_columns
from extractors.spark.incomplete import Incomplete
from extractors.spark.plan.conditions import Conditions
from extractors.spark.plan.jdbc import on_one_line
from extractors.spark.plan.kinds import unknown_operators
from extractors.spark.plan.local_rows import (
    makes_view_of_driver_rows,
    may_be_of_driver,
    reads_view_of_driver_rows,
)
from extractors.spark.plan.reads import Reads, cached_reads, logical_reads, physical_reads, without_plan
from extractors.spark.plan.shape import shape
from extractors.spark.plan.text import PlanText, read_text
from extractors.spark.plan.tree import OperatorNode, walk
from extractors.spark.plan.writes import Write, write_of


@dataclass(frozen=True, slots=True)
class PlanReading:
    """The reads and writes of one execution's plan, and its shape.

    ``named`` are the inputs that the logical plan below a command names. They are used if the scans do not show the
    inputs. ``columns`` are the columns of each write, in the order of ``writes``.
    """

    writes: tuple[Write, ...]
    reads: Reads
    named: Reads
    shape: tuple[str, ...]
    root: str = ""
    columns: tuple[WrittenColumns, ...] = ()
    unknown_operators: tuple[str, ...] = ()
    result: WrittenColumns | None = None
    """For an execution within another execution, without a command: the columns that it computes."""
    mentions: frozenset[int] = frozenset()
    """For a command whose rows another execution computes: the expression ids in the command's arguments."""
    assigned: frozenset[str] = frozenset()
    """For a command that changes rows: names of the columns to which it assigns values."""
    aggregates: bool = False
    """For a command whose rows another execution computes: whether the query of the command aggregates columns."""
    defines: Mapping[int, str] = field(default_factory=dict)
    """Expression id → name, for the columns of ``result``."""
    shares_rows: bool = False
    """Whether the execution creates a temporary view of rows from a program's driver."""
    has_own_rows: bool = False
    """Whether the logical plan shows that the execution does not read a temporary view of rows from the driver."""
    conditions: Conditions = field(default_factory=Conditions)


NOTHING: Final = Reads(())
_CHANGES: Final = re.compile(r"\b(?:MERGE|UPDATE) operation\b")
"""Delta's description of an execution that rewrites a table's files."""
MAX_QUERIES: Final = 100
"""Maximum number of multi-line queries in one plan."""
_SOURCE: Final = " materialize source"
"""Suffix of Delta's description of the execution that materializes a source, before any row of the table is changed."""
_ID: Final = re.compile(r"#(\d{1,18})")
_AGGREGATES: Final = re.compile(r"\b(?:count|min|max|sum|avg)\((?:distinct )?(?!1\)|\*\))[^()]+\)")
_ASSIGNED: Final = re.compile(r"`((?:[^`]|``)+)` = ")
_DELTA_ACTIONS: Final = re.compile(
    r"\badd#\d+.*\bremove#\d+|\bpartitionValues#\d+.*\bmodificationTime#\d+", re.DOTALL
)


def read_plan(start: Mapping[str, Any], *, shared_rows: bool = False) -> PlanReading:
    """Read the plan of a ``SparkListenerSQLExecutionStart``.

    ``shared_rows`` is true if SQL statements may read rows from a program's driver through a temporary view.

    The tree takes precedence. The printed text is used only if the tree lacks something, because it has a command
    without arguments or a scan whose path was cut.
    """
    nodes, printed = _on_lines(tuple(walk(start.get("sparkPlanInfo"))), start.get("physicalPlanDescription"))
    text = read_text(printed) if isinstance(printed, str) and _needs_text(nodes) else PlanText()
    commands = [(node, write) for node in nodes if (write := write_of(node, text)) is not None]
    if any(write.end for _, write in commands):
        # An accelerator splits a write into two, and the upper one names the target.
        commands = [each for each in commands if each[1].end or not each[1].moves_data or each[0].depth == 0]
    writes = tuple(write for _, write in commands)
    own = any(write.logical for write in writes) and text.verified and not reads_view_of_driver_rows(text)
    of_driver = may_be_of_driver(start, shared=shared_rows and not own)
    columns = written_columns(
        commands, text, nodes, has_root="rootExecutionId" in start, driver_rows=of_driver
    )
    description = start.get("description")
    inner = "rootExecutionId" in start and start["rootExecutionId"] != start.get("executionId")
    result: WrittenColumns | None = None
    defines: Mapping[int, str] = {}
    if inner and not commands and not _is_bookkeeping(nodes) and isinstance(printed, str):
        said = description if isinstance(description, str) else ""
        change = _CHANGES.search(said) is not None and not said.endswith(_SOURCE)
        result, defines = result_columns(
            read_text(printed), nodes, changes_rows=change, driver_rows=of_driver
        )
    named = logical_reads(text) if any(write.logical for write in writes) else NOTHING
    own_reads = tuple(end for write in writes for end in write.reads)
    reads = physical_reads(nodes, text)
    if without_plan(nodes):
        reads = reads.and_those(cached_reads(nodes, read_text(printed) if isinstance(printed, str) else text))
    if any(write.hides_reads for write in writes):
        reads = reads.and_those(Reads((), (Incomplete.UNKNOWN_INPUT,), (nodes[0].name,)))
    if own_reads:
        reads = Reads((*own_reads, *reads.ends), reads.reasons, reads.unknown)
    carried = " ".join(f"{node.text} {text.arguments}" for node, write in commands if write.carried)
    mentions = frozenset(int(number) for number in _ID.findall(carried))
    assigned = frozenset(_ASSIGNED.findall(carried))
    return PlanReading(
        writes,
        reads,
        named,
        tuple(shape(nodes)),
        nodes[0].name if nodes else "",
        columns,
        unknown_operators(nodes),
        result,
        mentions,
        assigned,
        _AGGREGATES.search(carried) is not None,
        defines,
        any(makes_view_of_driver_rows(write, text) for write in writes),
        own,
        Conditions() if _is_bookkeeping(nodes) else Conditions.of(nodes),
    )


def _on_lines(nodes: tuple[OperatorNode, ...], printed: object) -> tuple[tuple[OperatorNode, ...], object]:
    """Put each operator of the plan on one line. The name of a scan may have several lines if it contains a query for
    a database.
    """
    names = {node.name for node in nodes if node.name.startswith("Scan JDBCRelation(") and "\n" in node.name}
    if not 0 < len(names) <= MAX_QUERIES or not isinstance(printed, str):
        return nodes, printed
    flat = {name: on_one_line(name) for name in names}
    for name, line in flat.items():
        printed = printed.replace(name, line)
    nodes = tuple(
        replace(node, name=flat[node.name], text=node.text.replace(node.name, flat[node.name]))
        if node.name in flat
        else node
        for node in nodes
    )
    return nodes, printed


def _is_bookkeeping(nodes: tuple[OperatorNode, ...]) -> bool:
    """Whether a plan reads Delta's own log of a table."""
    return any(
        "Scan" in node.name
        and not node.name.startswith("Scan DeltaCDFRelation")
        and (
            _DELTA_ACTIONS.search(node.text) or "_delta_log" in node.text or "DeltaLogFileIndex" in node.text
        )
        for node in nodes
    )


def _needs_text(nodes: tuple[Any, ...]) -> bool:
    return any(
        node.name.startswith(("Execute ", "BatchScan"))
        or (node.depth == 0 and not node.wraps and "Scan" not in node.name)
        or node.name.startswith(("AppendData", "Overwrite", "ReplaceData", "WriteDelta"))
        for node in nodes
    )
