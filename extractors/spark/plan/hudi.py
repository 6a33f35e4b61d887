"""Recognize Hudi's commands: the tables that they change, and the internal steps that Hudi runs below them."""

from __future__ import annotations

from typing import Final

from extractors.spark.plan.names import dotted_table
from extractors.spark.plan.reads import PlanEnd, table_end
from extractors.spark.plan.text import PlanText

HUDI_CREATES: Final = "CreateHoodie"
"""Prefix of Hudi's CREATE TABLE … AS SELECT. This command computes the rows itself, without another execution."""
_KEY: Final = "_hoodie_record_key#"


def hudi_table(text: PlanText) -> PlanEnd | None:
    """Return the table whose rows an UPDATE or DELETE reads in order to change them, recognized by record keys in the
    output of its scan. Return None unless there is exactly one.
    """
    ends = set()
    for each in text.operators:
        table = dotted_table(each.name.rpartition(" ")[2])
        if "Scan" in each.name and _KEY in each.block and table is not None and table.database:
            ends.add(table_end(table))
    return ends.pop() if len(ends) == 1 else None


def is_hudis_own(command: str, text: PlanText) -> bool:
    """Whether a write is an internal step of a Hudi command above it. Such a step writes rows that Hudi prepared with
    record keys.
    """
    return command == "AppendData" and any(
        each.name.startswith("Scan ExistingRDD") and _KEY in each.block for each in text.operators
    )
