"""Hudi's commands: the tables they change, and the steps that Hudi runs for itself below them."""

from __future__ import annotations

from typing import Final

from extractors.spark.plan.names import dotted_table
from extractors.spark.plan.reads import End, table_end
from extractors.spark.plan.text import PlanText

HUDI_CREATES: Final = "CreateHoodie"
"""Hudi's CREATE TABLE … AS SELECT computes the rows itself, without another execution."""
_KEY: Final = "_hoodie_record_key#"


def hudi_table(text: PlanText) -> End | None:
    """The table whose rows an UPDATE reads to change them: its scan has their keys. None unless there is just one."""
    ends = set()
    for each in text.operators:
        table = dotted_table(each.name.rpartition(" ")[2])
        if "Scan" in each.name and _KEY in each.block and table is not None and table.database:
            ends.add(table_end(table))
    return ends.pop() if len(ends) == 1 else None


def is_hudis_own(command: str, text: PlanText) -> bool:
    """Whether a write without a target is a step of a command above it, on rows that Hudi prepared with their keys."""
    return command == "AppendData" and any(
        each.name.startswith("Scan ExistingRDD") and _KEY in each.block for each in text.operators
    )
