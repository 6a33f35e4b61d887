"""``navlin show``."""

from __future__ import annotations

import click

from navlin.cli.invocation import Invocation, entity_id, json_option
from navlin.cli.terminal import console, print_json


@click.command("show", short_help="Everything that is known of one entity.")
@click.argument("entity")
@json_option
@click.pass_obj
def command(invocation: Invocation, entity: str, *, as_json: bool) -> None:
    """Show everything that is known about ENTITY: db.table, db.table.column, a path, or an id.

    \b
    Examples:
      navlin show sales.orders
      navlin show /data/orders --json
    """
    from navlin.query.show import show
    from navlin.query.statement_names import PART

    with invocation.solr() as solr:
        answer = show(solr, entity_id(solr, entity))
        if not as_json and answer.entity.type == PART and answer.entity.parent_id:
            # People are shown statements, not their parts.
            answer = show(solr, answer.entity.parent_id)
    if as_json:
        print_json(answer.to_json())
    else:
        from navlin.render import show_view

        console().show(show_view(answer))
