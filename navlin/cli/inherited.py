"""``navlin inherited``."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click

from navlin.cli.invocation import Exit, Failure, Invocation, csv_option, json_option
from navlin.cli.terminal import console, print_csv, print_pieces, say


class _UtcDate(click.DateTime):
    """A date in UTC, whether the question goes to the index here or to a server in another zone."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        converted: datetime = super().convert(value, param, ctx)
        return converted.replace(tzinfo=UTC)


@click.command("inherited", short_help="What carries the data of something that bears a tag.")
@click.argument("word")
@click.option("--control-flow", is_flag=True, help="Also what the data only decides: predicates, joins.")
@click.option(
    "--since",
    type=_UtcDate(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]),
    help="Only by paths of which something was first seen since then (UTC).",
)
@json_option
@csv_option
@click.pass_obj
def command(
    invocation: Invocation,
    word: str,
    *,
    control_flow: bool,
    since: datetime | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    """Show the entities that carry the data of columns, tables and paths with WORD: a tag, or a property as
    NAMESPACE.KEY:VALUE.

    Each is shown with its path; everything inferred, parsed or incomplete on it is marked. Inheritance ends at an entity
    with the property notInherited that has the tag's name (or *). A search finds entities that inherit a tag:
    inheritedTag:PII.

    \b
    Examples:
      navlin inherited PII
      navlin inherited PII --since 2026-01-01 --csv > new.csv
      navlin inherited 'gov.level:high' --control-flow --json
    """
    from navlin.model.spreadsheet import csv_lines
    from navlin.query.inherited import COLUMNS, Word, inherited, json_pieces
    from navlin.query.scanner import QueryError
    from navlin.render.inherited import inherited_view

    if as_json and as_csv:
        raise Failure("--json or --csv, not both", Exit.USAGE)
    asked = Word(word)
    since_ms = round(since.timestamp() * 1000) if since else 0
    bearing = 0

    def progress(done: int, every: int) -> None:
        nonlocal bearing
        bearing = done
        if done % 100 == 0 or done == every:
            say(f"{done:,} of {every:,} that bear it", on_stderr=True)

    try:
        with invocation.solr() as solr:
            origins = inherited(solr, asked, control_flow=control_flow, since_ms=since_ms, progress=progress)
            if as_json:
                print_pieces(json_pieces(asked, origins))
            elif as_csv:
                rows = (row for origin in origins for row in origin.rows(asked))
                print_csv(csv_lines(COLUMNS, rows))
            else:
                for origin in origins:
                    console().show(inherited_view(origin))
    except QueryError as error:
        raise Failure(str(error), Exit.USAGE) from error
    if not bearing and not (as_json or as_csv):
        say(f"nothing bears {word}")
    raise SystemExit(Exit.OK if bearing else Exit.NOTHING)
