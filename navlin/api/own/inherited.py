"""``/inherited``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from navlin.access.roles import Role
from navlin.api.answers import Problem
from navlin.api.endpoint import Asked, Endpoint
from navlin.model.spreadsheet import csv_lines
from navlin.query.inherited import COLUMNS, Word, inherited, json_pieces
from navlin.query.scanner import QueryError
from navlin.questions.declare.question import JSON, Lines


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters like the options of ``navlin inherited``."""

    word: Annotated[str, "A tag, or a property as NAMESPACE.KEY:VALUE."]
    control_flow: Annotated[bool, "Also what the data only decides: predicates, joins."] = False
    since: Annotated[str, "Only by paths of which something was first seen since then: 2026-01-01. UTC."] = ""
    csv: Annotated[bool, "The answer as CSV."] = False


def _answer(asked: Asked) -> Lines:
    given: Parameters = asked.parameters
    word = Word(given.word)
    bearing = 0

    def count(done: int, _: int) -> None:
        nonlocal bearing
        bearing = done

    def code() -> int:
        return 0 if bearing else 3

    since_ms = _since_ms(given.since)
    try:
        origins = inherited(
            asked.solr, word, control_flow=given.control_flow, since_ms=since_ms, progress=count
        )
    except QueryError as error:
        raise Problem(400, str(error)) from error
    if given.csv:
        lines = csv_lines(COLUMNS, (row for each in origins for row in each.rows(word)))
        return Lines(lines, exit_code=code)
    return Lines(json_pieces(word, origins), JSON, code)


def _since_ms(text: str) -> int:
    if not text:
        return 0
    try:
        since = datetime.fromisoformat(text)
    except ValueError as error:
        raise Problem(400, f"since must be a date such as 2026-01-01: {error}") from error
    return round((since if since.tzinfo else since.replace(tzinfo=UTC)).timestamp() * 1000)


ENDPOINT = Endpoint(
    "GET",
    "/inherited",
    Role.LINEAGE_VIEWER,
    "What carries the data of something that bears a tag or a property.",
    Parameters,
    _answer,
    returns=json_pieces.__doc__ or "",
    walks=True,
)
