"""``inherited``: entities that inherit a tag or a property through their data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from navlin.questions.declare.parameters import Typed
from navlin.questions.declare.question import JSON, Lines, Question, QuestionRequest, Views
from navlin.questions.declare.shared import Csv

if TYPE_CHECKING:
    from rich.console import RenderableType

    from navlin.query.inherited import Origin


@dataclass(frozen=True, slots=True)
class Parameters:
    word: Annotated[str, "A tag, or a property as NAMESPACE.KEY:VALUE.", Typed(first=True)]
    control_flow: Annotated[bool, "Include control flow (filters and joins)."] = False
    since: Annotated[
        datetime | None,
        "Only paths with a part that was first seen since this date, such as 2026-01-01, in UTC.",
        Typed("DATE"),
    ] = None
    csv: Csv = False


def _ask(request: QuestionRequest) -> Lines | Views:
    from navlin.model.spreadsheet import csv_lines
    from navlin.query.inherited import COLUMNS, TagOrProperty, inherited, json_pieces

    given: Parameters = request.parameters
    word, bearing = TagOrProperty(given.word), 0

    def progress(done: int, every: int) -> None:
        nonlocal bearing
        bearing = done
        request.progress(done, every, "with it")

    def exit_code() -> int:
        return 0 if bearing else 3

    since_ms = round(given.since.timestamp() * 1000) if given.since else 0
    origins = inherited(
        request.solr, word, control_flow=given.control_flow, since_ms=since_ms, progress=progress
    )
    if given.csv:
        lines = csv_lines(COLUMNS, (row for each in origins for row in each.rows(word)))
        return Lines(lines, exit_code=exit_code)
    if request.text:
        return Views(_views(word.text, origins), exit_code)
    return Lines(json_pieces(word, origins), JSON, exit_code)


def _views(word: str, origins: Iterator[Origin]) -> Iterator[RenderableType]:
    from rich.text import Text

    from navlin.render.inherited import inherited_view

    origin = None
    for origin in origins:
        yield inherited_view(origin)
    if origin is None:
        yield Text(f"No entity has {word}")


QUESTION = Question(
    name="inherited",
    summary="Entities that inherit a tag.",
    about="""
    Entities whose data comes from columns, tables and paths with WORD: a tag, or a property as NAMESPACE.KEY:VALUE.

    Each has its path; parts that are inferred, parsed or incomplete are marked. Inheritance ends at an entity whose property
    notInherited has the tag's name (or *). To search for entities that inherit a tag: inheritedTag:PII.
    """,
    examples=(
        "navlin inherited PII",
        "navlin inherited PII --since 2026-01-01 --csv > new.csv",
        "navlin inherited 'gov.level:high' --control-flow --json",
    ),
    parameters=Parameters,
    ask=_ask,
    answers="navlin.query.inherited:json_pieces",
    walks=True,
    page="/inherited",
)
