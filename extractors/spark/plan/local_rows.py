"""Find the origin of the rows that are in a plan itself, in a LocalTableScan or LocalRelation: SQL's VALUES, or a
program.

Both look alike in the plan, because the optimizer folds names and casts into the rows. They can be distinguished by
the call that started the execution. An SQL statement holds only its own rows, unless it reads a temporary view that a
program made of local rows. A DataFrame may hold rows that the driver collected before, for example from a pandas
frame.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from extractors.spark.plan.text import Operator, PlanText
from extractors.spark.plan.writes import Write

_OF_SQL: Final = re.compile(
    r"[^\n]*(?:\b(?:SparkSession|SQLContext|HiveContext)\.sql\(|\bSparkSQL(?:CLI)?Driver\b|\bSparkExecuteStatementOperation\b)"
)
_TEMPORARY: Final = re.compile(r"\b(?:Local|Global)TempView\b")
_OF_VALUES: Final = re.compile(r"\[col1#\d+L?(?:, col\d+#\d+L?)*(?:, [.]{3} \d+ more fields)?\]")
"""The column names that VALUES generates."""


def may_be_of_driver(start: Mapping[str, Any], *, shared: bool) -> bool:
    """Whether local rows of an execution may come from a program. ``shared`` is true if SQL may read a program's rows
    through a temporary view.

    If the event lacks the call that started the execution, ``shared`` decides.
    """
    call = start.get("details")
    if not isinstance(call, str) or not call:
        return shared
    return shared or _OF_SQL.match(call) is None


def makes_view_of_driver_rows(write: Write, text: PlanText) -> bool:
    """Whether a command creates a temporary view of a program's rows. Rows of VALUES are recognized by an alias or by
    the names that VALUES generates.
    """
    if not write.command.startswith("CreateView") or not _TEMPORARY.search(text.arguments):
        return False
    return _holds_driver_rows(text.operators)


def reads_view_of_driver_rows(text: PlanText) -> bool:
    """Whether a logical plan contains a view of a program's rows."""
    return any(_holds_driver_rows(tuple(each.walk())) for each in text.operators if each.name == "View")


def _holds_driver_rows(operators: tuple[Operator, ...]) -> bool:
    aliased = {child.number for each in operators if each.name == "SubqueryAlias" for child in each.children}
    return any(
        each.name == "LocalRelation"
        and each.number not in aliased
        and not each.arguments.startswith("<empty>")
        and not _OF_VALUES.match(each.arguments)
        for each in operators
    )
