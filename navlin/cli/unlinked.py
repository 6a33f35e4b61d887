"""``navlin unlinked``."""

from __future__ import annotations

import click

from navlin.cli.invocation import Invocation, json_option
from navlin.cli.pages import page_options, reason_option, show_page, source_option


@click.command("unlinked", short_help="Which relations wait for an end, and why.")
@source_option
@reason_option
@page_options
@json_option
@click.pass_obj
def command(
    invocation: Invocation, *, source: str, reason: str, limit: int, offset: int, as_json: bool
) -> None:
    """List relations with an end that is not in the index, newest first, and the reasons.

    \b
    Examples:
      navlin unlinked
      navlin unlinked --source IMPALA-1 --limit 1000 --json
      navlin unlinked --reason 'not looked for yet'
    """
    from navlin.query.unlinked import UnlinkedRelation, unlinked
    from navlin.render.pages import unlinked_view

    show_page(
        invocation,
        lambda solr: unlinked(solr, source=source, reason=reason, limit=limit, offset=offset),
        UnlinkedRelation.to_json,
        unlinked_view,
        as_json=as_json,
    )
