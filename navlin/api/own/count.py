"""``/count``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from navlin.access.roles import Role
from navlin.api.answers import Problem
from navlin.api.endpoint import Asked, Endpoint
from navlin.api.own.naming import query_of
from navlin.model.spreadsheet import csv_lines
from navlin.query.scanner import QueryError
from navlin.query.value_counts import MOST_VALUES, VALUES, ValueCounts, count_values
from navlin.questions.declare.question import Lines
from navlin.render.value_counts import value_counts_view


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters like the options of ``navlin count``."""

    by: Annotated[
        tuple[str, ...],
        "One to three fields, each within the one before. FIELD:month (year, day) of a date, FIELD:WIDTH of a number.",
    ]
    query: Annotated[str, "Solr's syntax, as users of Navigator typed it."] = ""
    saved: Annotated[str, "In place of the query: the saved search NAME, or OWNER/NAME."] = ""
    filter: Annotated[tuple[str, ...], "What must match as well. Repeatable."] = ()
    values: Annotated[int, "How many values of a field at most.", range(1, MOST_VALUES + 1)] = VALUES
    csv: Annotated[bool, "The answer as CSV."] = False


def _answer(asked: Asked) -> ValueCounts | Lines:
    given: Parameters = asked.parameters
    query = query_of(asked, given.query, given.saved)
    try:
        answer = count_values(asked.solr, query, given.by, filters=given.filter, values=given.values)
    except QueryError as error:
        raise Problem(400, str(error)) from error
    return Lines(csv_lines(answer.columns, answer.rows())) if given.csv else answer


ENDPOINT = Endpoint(
    "GET",
    "/count",
    Role.LINEAGE_VIEWER,
    "Count what a search finds, by the values of fields.",
    Parameters,
    _answer,
    returns=ValueCounts.to_json.__doc__ or "",
    form=ValueCounts.to_json,
    view=value_counts_view,
)
