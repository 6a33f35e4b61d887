"""``/unused``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from navlin.access.roles import Role
from navlin.api.endpoint import Asked, Endpoint
from navlin.model.spreadsheet import csv_lines
from navlin.query.judged import COLUMNS, Of, Question, Verdict
from navlin.query.unused_places import judged_of
from navlin.query.unused_report import Totals, counted, json_pieces
from navlin.questions.declare.question import JSON, Lines


class Engine(StrEnum):
    """The engines that read tables."""

    HIVE = "hive"
    IMPALA = "impala"
    SPARK = "spark"


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters like the options of ``navlin unused``."""

    days: Annotated[int, "For how many days nothing read them.", range(1, 100_001)]
    of: Annotated[Of, "What is judged: tables, their partitions, or directories that belong to no table."] = (
        Of.TABLES
    )
    without_engine: Annotated[
        tuple[Engine, ...], "The caller vouches that nothing of this engine reads here. Repeatable."
    ] = ()
    despite_gaps: Annotated[
        bool,
        "The caller vouches that no read of these was in records or files that would not read, operations or views known"
        " incompletely, silent weeks.",
    ] = False
    csv: Annotated[bool, "The answer as CSV."] = False


def _answer(asked: Asked) -> Lines:
    given: Parameters = asked.parameters
    engines = tuple(each.value for each in given.without_engine)
    question = Question(given.days, asked.service.now_ms(), engines, given.despite_gaps)
    totals = Totals(given.of)
    known, judged = judged_of(asked.solr, question, totals.of)

    def code() -> int:
        return 0 if totals.tables[Verdict.UNUSED.value] else 3

    if given.csv:
        lines = csv_lines(COLUMNS, (each.to_json() for each in counted(judged, totals)))
        return Lines(lines, exit_code=code)
    return Lines(json_pieces(question, known, judged, totals), JSON, code)


ENDPOINT = Endpoint(
    "GET",
    "/unused",
    Role.LINEAGE_VIEWER,
    "What nothing is known to have read for some days, and how much it holds.",
    Parameters,
    _answer,
    returns=json_pieces.__doc__ or "",
    walks=True,
)
