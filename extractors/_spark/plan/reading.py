"""Reading the plan of one execution's start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from extractors._spark.columns.written import WrittenColumns, written_columns
from extractors._spark.plan.reads import Reads, logical_reads, physical_reads
from extractors._spark.plan.shape import shape
from extractors._spark.plan.text import PlanText, read_text
from extractors._spark.plan.tree import walk
from extractors._spark.plan.writes import Write, write_of


@dataclass(frozen=True, slots=True)
class PlanReading:
    """What one execution's plan reads and writes, and its shape.

    ``named`` is what the logical plan below a command names; it counts where no scan tells the same. ``columns`` are those
    of each write.
    """

    writes: tuple[Write, ...]
    reads: Reads
    named: Reads
    shape: tuple[str, ...]
    root: str = ""
    columns: tuple[WrittenColumns, ...] = ()
    unknown_operators: tuple[str, ...] = ()


NOTHING = Reads(())


def read_plan(start: Mapping[str, Any]) -> PlanReading:
    """What the plan of a ``SparkListenerSQLExecutionStart`` reads and writes.

    The tree is believed first. The printed text is looked at only where the tree lacks something: a command without
    arguments, a scan whose path was cut.
    """
    nodes = tuple(walk(start.get("sparkPlanInfo")))
    printed = start.get("physicalPlanDescription")
    text = read_text(printed) if isinstance(printed, str) and _needs_text(nodes) else PlanText()
    commands = [(node, write) for node in nodes if (write := write_of(node, text)) is not None]
    writes = tuple(write for _, write in commands)
    columns = written_columns(commands, text, nodes, has_root="rootExecutionId" in start)
    named = logical_reads(text) if any(write.logical for write in writes) else NOTHING
    own_reads = tuple(end for write in writes for end in write.reads)
    reads = physical_reads(nodes, text)
    if own_reads:
        reads = Reads((*own_reads, *reads.ends), reads.reasons, reads.unknown)
    return PlanReading(writes, reads, named, tuple(shape(nodes)), nodes[0].name if nodes else "", columns)


def _needs_text(nodes: tuple[Any, ...]) -> bool:
    return any(
        node.name.startswith(("Execute ", "BatchScan"))
        or (node.depth == 0 and not node.wraps and "Scan" not in node.name)
        or node.name.startswith(("AppendData", "Overwrite", "ReplaceData", "WriteDelta"))
        for node in nodes
    )
