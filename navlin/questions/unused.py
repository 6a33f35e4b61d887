"""``unused``: tables, partitions and directories that nothing is known to have read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal, get_args

from navlin.questions.declare.question import JSON, Lines, Question, QuestionRequest, Views
from navlin.questions.declare.shared import Csv

if TYPE_CHECKING:
    from rich.console import RenderableType

Kind = Literal["tables", "partitions", "directories"]
Engine = Literal["hive", "impala", "spark"]
KINDS: Final[tuple[str, ...]] = get_args(Kind)
ENGINES: Final[tuple[str, ...]] = get_args(Engine)
MOST_DAYS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Parameters:
    days: Annotated[int, "Period without a recorded read, in days.", range(1, MOST_DAYS + 1)]
    of: Annotated[
        Kind, "What to check: tables, their partitions, or directories that belong to no table."
    ] = "tables"
    without_engine: Annotated[
        tuple[Engine, ...],
        "Assume that nothing reads with this engine, even if no source records it. Repeatable.",
    ] = ()
    despite_gaps: Annotated[
        bool,
        "Assume that gaps (unreadable records, incomplete operations, idle weeks) contain no reads.",
    ] = False
    csv: Csv = False


def _ask(request: QuestionRequest) -> Lines | Views:
    from navlin.model.spreadsheet import csv_lines
    from navlin.query.unused_places import usages_of
    from navlin.query.unused_report import Totals, counted, json_pieces, largest_unused
    from navlin.query.usage_status import COLUMNS, JudgedKind, UsageStatus
    from navlin.query.usage_status import UsageQuestion as Judging

    given: Parameters = request.parameters
    judging = Judging(given.days, request.now_ms, given.without_engine, given.despite_gaps)
    totals = Totals(JudgedKind(given.of))
    unit = "directories" if given.of == "directories" else "tables"
    known, usages = usages_of(
        request.solr, judging, totals.of, lambda done, every: request.progress(done, every, unit)
    )

    def exit_code() -> int:
        return 0 if totals.tables[UsageStatus.UNUSED.value] else 3

    def views() -> Iterator[RenderableType]:
        from navlin.render.unused import LISTED, unused_view

        yield unused_view(known, largest_unused(counted(usages, totals), LISTED), totals)

    if given.csv:
        return Lines(
            csv_lines(COLUMNS, (each.to_json() for each in counted(usages, totals))), exit_code=exit_code
        )
    if request.text:
        return Views(views(), exit_code)
    return Lines(json_pieces(judging, known, usages, totals), JSON, exit_code)


QUESTION = Question(
    name="unused",
    summary="Tables, partitions and directories with no recorded reads.",
    about="""
    Tables, partitions and directories without a recorded read in the period: their size, their owner, and the evidence.

    A table is unused only if everything that could show a read was complete for the whole period, and shows none.
    Otherwise the answer is "not known", with the reason. Partitions and directories are judged by the access times in the
    last whole image of HDFS, and by what engines recorded since then. --json and --csv contain everything that is not in
    use; progress is on standard error.
    """,
    examples=(
        "navlin unused --days 90",
        "navlin unused --days 90 --of partitions --json",
        "navlin unused --days 30 --without-engine hive --csv > unused.csv",
    ),
    parameters=Parameters,
    ask=_ask,
    answers="navlin.query.unused_report:json_pieces",
    walks=True,
    page="/unused",
)
