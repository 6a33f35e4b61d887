"""Why something of an operation is not known, in the words that `navlin status` shows; each names the setting that helps."""

from __future__ import annotations

from enum import StrEnum


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
    TOO_MANY = "the statement has more columns, or sources of columns, than navlin follows"
    NO_COLUMNS = "navlin did not find in the plan which columns are written"
    UNKNOWN_COLUMN = "navlin did not find in the plan where a column comes from"
