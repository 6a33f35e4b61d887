"""``navlin runs``."""

from __future__ import annotations

import click

from navlin.cli.invocation import Invocation, json_option
from navlin.cli.pages import page_options, show_page, source_option


@click.command("runs", short_help="What ran, when, and what became of it.")
@source_option
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice(["running", "finished", "held", "failed"]),
    help="Only those. Repeatable.",
)
@page_options
@json_option
@click.pass_obj
def command(
    invocation: Invocation, *, source: str, statuses: tuple[str, ...], limit: int, offset: int, as_json: bool
) -> None:
    """List the runs of sources, newest first: counts, result, and the reason why one failed or is held.

    A run that found nothing to read leaves no record. The last 20,000 of each source are kept.

    \b
    Examples:
      navlin runs
      navlin runs --source HIVE-1 --status failed --status held
      navlin runs --limit 1000 --json | jq '.results[] | {source, started_ms, status}'
    """
    from navlin.index.runs import Status
    from navlin.query.runs import run_json, runs
    from navlin.render.pages import runs_view

    show_page(
        invocation,
        lambda solr: runs(
            solr, source=source, status=[Status(each) for each in statuses], limit=limit, offset=offset
        ),
        run_json,
        runs_view,
        as_json=as_json,
    )
