"""``navlin unused``."""

from __future__ import annotations

import click

from navlin.cli.invocation import Exit, Failure, Invocation, csv_option, json_option
from navlin.cli.terminal import console, print_csv, print_pieces, say


@click.command("unused", short_help="What nothing is known to have read for some days.")
@click.option("--days", type=click.IntRange(1), required=True, help="For how many days nothing read them.")
@click.option(
    "--of",
    type=click.Choice(["tables", "partitions", "directories"]),
    default="tables",
    show_default=True,
    help="What is judged: tables, their partitions, or directories that belong to no table.",
)
@click.option(
    "--without-engine",
    "without_engine",
    type=click.Choice(["hive", "impala", "spark"]),
    multiple=True,
    help="You vouch that nothing of this engine reads here: no source need record it. Repeatable.",
)
@click.option(
    "--despite-gaps",
    is_flag=True,
    help="You vouch that no read of these was in records or files that would not read, operations or views known"
    " incompletely, silent weeks.",
)
@json_option
@csv_option
@click.pass_obj
def command(
    invocation: Invocation,
    *,
    days: int,
    of: str,
    without_engine: tuple[str, ...],
    despite_gaps: bool,
    as_json: bool,
    as_csv: bool,
) -> None:
    """List data without a known read for so many days: its size, its owner, and the evidence.

    A table is unused only if everything that would have shown a read was there for all of that time and shows none.
    Otherwise the answer is "not known", with the reason. Partitions and directories are judged by the access times of the
    last whole image of HDFS, and by the reads that engines recorded since. --json and --csv have everything that was not
    read; progress is on standard error.

    \b
    Examples:
      navlin unused --days 90
      navlin unused --days 90 --of partitions --json
      navlin unused --days 30 --without-engine hive --csv > unused.csv
    """
    from navlin.model.spreadsheet import csv_lines
    from navlin.query.judged import COLUMNS, Of, Question, Verdict
    from navlin.query.unused_places import judged_of
    from navlin.query.unused_report import Totals, counted, json_pieces, largest_unused
    from navlin.render.unused import LISTED, unused_view

    if as_json and as_csv:
        raise Failure("--json or --csv, not both", Exit.USAGE)
    question = Question(days, invocation.now_ms(), without_engine, despite_gaps)
    totals = Totals(Of(of))

    def progress(done: int, every: int) -> None:
        say(f"{done:,} of {every:,} {'directories' if of == 'directories' else 'tables'}", on_stderr=True)

    with invocation.solr() as solr:
        known, judged = judged_of(solr, question, totals.of, progress)
        if as_json:
            print_pieces(json_pieces(question, known, judged, totals))
        elif as_csv:
            print_csv(csv_lines(COLUMNS, (each.to_json() for each in counted(judged, totals))))
        else:
            largest = largest_unused(counted(judged, totals), LISTED)
            console().show(unused_view(known, largest, totals))
    raise SystemExit(Exit.OK if totals.tables[Verdict.UNUSED.value] else Exit.NOTHING)
