"""``count``: the number of entities that a search finds, by the values of fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from navlin.query.bounds import MOST_VALUES, VALUES
from navlin.questions.declare.parameters import Typed
from navlin.questions.declare.question import Lines, Question, QuestionRequest
from navlin.questions.declare.shared import Csv, Filter, Query, Saved

if TYPE_CHECKING:
    from navlin.query.value_counts import ValueCounts


@dataclass(frozen=True, slots=True)
class Parameters:
    by: Annotated[
        tuple[str, ...],
        "One to three fields, each within the one before. FIELD:month (year, day) of a date, FIELD:WIDTH of a number.",
        Typed("FIELD[,FIELD…]"),
    ]
    query: Query = ""
    saved: Saved = ""
    filter: Filter = ()
    values: Annotated[int, "Maximum number of values of a field.", range(1, MOST_VALUES + 1)] = VALUES
    csv: Csv = False


def _ask(request: QuestionRequest) -> ValueCounts | Lines:
    from navlin.model.spreadsheet import csv_lines
    from navlin.query.value_counts import count_values

    given: Parameters = request.parameters
    answer = count_values(request.solr, request.query(), given.by, filters=given.filter, values=given.values)
    if not given.csv:
        return answer
    return Lines(csv_lines(answer.columns, answer.rows()), exit_code=lambda: 0 if answer.counted.total else 3)


QUESTION = Question(
    name="count",
    summary="Count what a search finds, by the values of fields.",
    about="""
    Count what a search finds, by the values of up to three fields. The most frequent values come first, ranges in
    their order; entities without a value are counted as (none). The answer says how many values are left out.
    """,
    examples=(
        "navlin count '*' --by sourceType,type",
        "navlin count 'type:TABLE -deleted:true' --by owner --values 100 --csv > tables.csv",
        "navlin count 'type:FILE' --by created:month,owner",
        "navlin count 'type:FILE' --by size:1000000000 --json",
    ),
    parameters=Parameters,
    ask=_ask,
    answers="navlin.query.value_counts:ValueCounts",
    view="navlin.render.value_counts:value_counts_view",
    without={"page": "/search counts by its filters; more than that is for programs and spreadsheets"},
)
