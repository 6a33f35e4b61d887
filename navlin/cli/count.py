"""``navlin count``."""

from __future__ import annotations

import click

from navlin.cli.invocation import (
    Exit,
    Failure,
    Invocation,
    csv_option,
    json_option,
    one_query,
    query_of,
    saved_option,
)
from navlin.cli.terminal import console, print_csv, print_json


@click.command("count", short_help="Count what a search finds, by the values of fields.")
@click.argument("query", required=False, default="")
@saved_option
@click.option(
    "--by",
    multiple=True,
    required=True,
    metavar="FIELD[,FIELD…]",
    help="One to three fields, each within the one before. FIELD:month (year, day) of a date, FIELD:WIDTH of a number.",
)
@click.option(
    "--filter", "filters", multiple=True, metavar="QUERY", help="What must match as well. Repeatable."
)
@click.option("--values", default=25, show_default=True, help="How many values of a field at most.")
@json_option
@csv_option
@click.pass_obj
def command(
    invocation: Invocation,
    query: str,
    *,
    saved: str,
    by: tuple[str, ...],
    filters: tuple[str, ...],
    values: int,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Count what a search finds, by the values of up to three fields. The most frequent values come first, ranges in
    their order; results without a value are counted as (none). Values that are left out are reported.

    \b
    Examples:
      navlin count '*' --by sourceType,type
      navlin count 'type:TABLE -deleted:true' --by owner --values 100 --csv > tables.csv
      navlin count 'type:FILE' --by created:month,owner
      navlin count 'type:FILE' --by size:1000000000 --json
    """
    from navlin.model.spreadsheet import csv_lines
    from navlin.query.scanner import QueryError
    from navlin.query.value_counts import count_values

    one_query(query, saved)
    if as_json and as_csv:
        raise Failure("--json or --csv, not both", Exit.USAGE)
    with invocation.solr() as solr:
        try:
            asked = query_of(invocation, solr, query, saved)
            answer = count_values(solr, asked, by, filters=filters, values=values)
        except QueryError as error:
            raise Failure(str(error), Exit.USAGE) from error
    if as_json:
        print_json(answer.to_json())
    elif as_csv:
        print_csv(csv_lines(answer.columns, answer.rows()))
    else:
        from navlin.render.value_counts import value_counts_view

        console().show(value_counts_view(answer))
    raise SystemExit(Exit.OK if answer.counted.total else Exit.NOTHING)
