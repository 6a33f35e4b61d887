"""Reasons why an operation is incomplete, as shown by `navlin status`. Each names the setting that helps, if there is
one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final


class Incomplete(StrEnum):
    """A reason why an operation, an input, an output or a column is incomplete."""

    FIELDS_CUT = "Spark cut lists of fields out of the plan: raise spark.sql.debug.maxToStringFields"
    PLAN_CUT = "Spark cut the plan's text: raise spark.sql.maxPlanStringLength"
    PATHS_CUT = "Spark cut paths out of the plan: raise spark.sql.maxMetadataStringLength"
    EXPLAIN_MODE = "the plan's text has no operators: set spark.sql.ui.explainMode=formatted"
    AMBIGUOUS = "a literal makes the plan's text readable in more than one way"
    PROGRAM = "a program made the rows: an RDD, a checkpoint, rows that its driver held"
    UNKNOWN_OPERATOR = "the plan has an operator that navlin does not know"
    UNKNOWN_INPUT = "navlin did not find in the plan what is read"
    UNKNOWN_OUTPUT = "navlin did not find in the plan what is written"
    QUERY = "a query that was sent to a database by JDBC could not be read, or not all of it"
    TOO_MANY = "the statement has more columns, or sources of columns, than navlin follows"
    TOO_MANY_ENDS = "the query has more sources, or targets, than navlin follows"
    GIVEN_UP = "it was open while its log had more open than navlin follows"
    NO_COLUMNS = "navlin did not find in the plan which columns are written"
    UNKNOWN_COLUMN = "navlin did not find in the plan where a column comes from"


_UNREAD: Final = {
    Incomplete.UNKNOWN_INPUT: "navlin does not read the sources of {}",
    Incomplete.UNKNOWN_OUTPUT: "navlin does not read the targets of {}",
}


def in_words(reasons: Iterable[Incomplete], unread: Iterable[tuple[Incomplete, str]]) -> Iterator[str]:
    """Yield each reason as shown to users. ``unread`` are (reason, name) of plan nodes whose sources or targets navlin
    does not read. The name, which is from the node table, replaces the general text of the reason, unless it is "".
    """
    names = [*unread]
    for reason in reasons:
        of_reason = dict.fromkeys(name for each, name in names if each is reason) or [""]
        yield from (_UNREAD[reason].format(name) if name else reason.value for name in of_reason)
