"""``navlin edits``."""

from __future__ import annotations

import click

from navlin.cli.invocation import Exit, Invocation, entity_id, json_option
from navlin.cli.terminal import console, print_json


@click.command("edits", short_help="Who changed what people wrote of one entity.")
@click.argument("entity")
@click.option("--limit", default=25, show_default=True, help="How many edits at most, the newest first.")
@click.option("--offset", default=0, show_default=True, help="How many of the newest to pass over.")
@json_option
@click.pass_obj
def command(invocation: Invocation, entity: str, *, limit: int, offset: int, as_json: bool) -> None:
    """Show people's edits of ENTITY (db.table, db.table.column, a path, or an id): user, time, old and new values.

    \b
    Examples:
      navlin edits sales.orders
      navlin edits sales.orders --limit 1 --json
    """
    from navlin.query.edits import history

    with invocation.solr() as solr:
        answer = history(solr, entity_id(solr, entity), limit=limit, offset=offset)
    if as_json:
        print_json(answer.to_json())
    else:
        from navlin.render import history_view

        console().show(history_view(answer))
    raise SystemExit(Exit.OK if answer.total else Exit.NOTHING)
