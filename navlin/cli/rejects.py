"""``navlin rejects``."""

from __future__ import annotations

import click

from navlin.cli.invocation import Invocation, json_option
from navlin.cli.pages import page_options, show_page, source_option


@click.command("rejects", short_help="What did not read, where, and why.")
@source_option
@page_options
@json_option
@click.pass_obj
def command(invocation: Invocation, *, source: str, limit: int, offset: int, as_json: bool) -> None:
    """List lines, records and files that could not be parsed, with place and reason, latest seen first.

    Everything around them was read. A reject that is seen again is listed once, with the time when it was last seen.

    \b
    Examples:
      navlin rejects
      navlin rejects --source IMPALA-1 --json
    """
    from navlin.query.rejects import reject_json, rejects
    from navlin.render.pages import rejects_view

    show_page(
        invocation,
        lambda solr: rejects(solr, source=source, limit=limit, offset=offset),
        reject_json,
        rejects_view,
        as_json=as_json,
    )
