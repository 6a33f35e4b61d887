"""``usage``: who ran what on a table, path or column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from navlin.query.bounds import LIMIT
from navlin.questions.declare.question import Lines, ListPage, Question, QuestionRequest
from navlin.questions.declare.shared import Csv, Entity, Limit, Offset

if TYPE_CHECKING:
    from navlin.query.usage import Usage

DAYS: Final = 30
MOST_DAYS: Final = 3_650


@dataclass(frozen=True, slots=True)
class Parameters:
    entity: Entity
    days: Annotated[int, "Period of executions, in days.", range(1, MOST_DAYS + 1)] = DAYS
    limit: Limit = LIMIT
    offset: Offset = 0
    csv: Csv = False


def _ask(request: QuestionRequest) -> Usage | Lines:
    from navlin.model.spreadsheet import csv_lines
    from navlin.query.usage import COLUMNS, usage

    given: Parameters = request.parameters
    answer = usage(
        request.solr,
        request.entity(),
        request.now_ms,
        days=given.days,
        limit=given.limit,
        offset=given.offset,
    )
    if not given.csv:
        return answer
    return Lines(csv_lines(COLUMNS, answer.rows()), exit_code=lambda: 0 if answer.every else 3)


QUESTION = Question(
    name="usage",
    summary="Who ran what on an entity, by user and operation.",
    about="""
    Who ran what on ENTITY (a table, a path, a column, or an id) in a period: by user and operation, with the number of
    executions, most recent use first.

    Only executions in the index are counted: a purge removes old ones. --csv contains all rows, without --limit.
    """,
    examples=("navlin usage sales.orders", "navlin usage sales.orders --days 90 --csv > usage.csv"),
    parameters=Parameters,
    ask=_ask,
    answers="navlin.query.usage:Usage",
    view="navlin.render.pages:usage_view",
    page=ListPage("Usage"),
)
