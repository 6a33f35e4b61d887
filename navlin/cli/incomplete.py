"""``navlin incomplete``."""

from __future__ import annotations

import click

from navlin.cli.invocation import Invocation, json_option
from navlin.cli.pages import page_options, reason_option, show_page, source_option


@click.command("incomplete", short_help="Of which operations something is not known, and why.")
@source_option
@reason_option
@page_options
@json_option
@click.pass_obj
def command(
    invocation: Invocation, *, source: str, reason: str, limit: int, offset: int, as_json: bool
) -> None:
    """List operations that lack inputs, outputs or columns, and the reasons.

    \b
    Examples:
      navlin incomplete
      navlin incomplete --source SPARK-1 --json
    """
    from navlin.query.incomplete import IncompleteOperation, incomplete
    from navlin.render.pages import incomplete_view

    show_page(
        invocation,
        lambda solr: incomplete(solr, source=source, reason=reason, limit=limit, offset=offset),
        IncompleteOperation.to_json,
        incomplete_view,
        as_json=as_json,
    )
