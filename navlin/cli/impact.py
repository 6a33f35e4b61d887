"""``navlin impact``."""

from __future__ import annotations

import click

from navlin.cli.invocation import Exit, Failure, Invocation, csv_option, entity_id, json_option
from navlin.cli.terminal import console, print_csv, print_json


@click.command("impact", short_help="What breaks if this is dropped or changed.")
@click.argument("entity")
@click.option(
    "--max-nodes",
    type=click.IntRange(1),
    default=5_000,
    show_default=True,
    help="How many tables and paths are followed.",
)
@json_option
@csv_option
@click.pass_obj
def command(invocation: Invocation, entity: str, *, max_nodes: int, as_json: bool, as_csv: bool) -> None:
    """Show the entities affected if ENTITY is dropped or changed, by owner.

    Tables, views, paths, columns and operations downstream; each with its last known execution, its user, and the number
    of known executions. Entities that carry data of ENTITY are distinguished from those that it only controls (a
    predicate, a join). The owner of an operation is the user who ran it last. Truncation is reported.

    \b
    Examples:
      navlin impact sales.orders
      navlin impact sales.orders.amount --csv > impact.csv
      navlin impact hdfs://ns1/data/orders --max-nodes 20000 --json
    """
    from navlin.model.spreadsheet import csv_lines
    from navlin.query.impact import COLUMNS, impact

    if as_json and as_csv:
        raise Failure("--json or --csv, not both", Exit.USAGE)
    with invocation.solr() as solr:
        answer = impact(solr, entity_id(solr, entity), max_nodes=max_nodes)
    if as_json:
        print_json(answer.to_json())
    elif as_csv:
        print_csv(csv_lines(COLUMNS, answer.rows()))
    else:
        from navlin.render import impact_view

        console().show(impact_view(answer))
