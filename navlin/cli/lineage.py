"""``navlin lineage``."""

from __future__ import annotations

import click

from navlin.cli.invocation import Invocation, entity_id, json_option
from navlin.cli.terminal import console, print_json


@click.command("lineage")
@click.argument("entity")
@click.option(
    "--direction", type=click.Choice(["upstream", "downstream", "both"]), default="both", show_default=True
)
@click.option(
    "--depth", type=click.IntRange(1), help="How many shown hops in each direction; all without it."
)
@click.option("--columns", is_flag=True, help="Columns inside tables.")
@click.option("--operations", is_flag=True, help="The statements and jobs in between.")
@click.option(
    "--deleted", is_flag=True, help="What is flagged deleted; it is walked through without this too."
)
@click.option("--control-flow", is_flag=True, help="Also what only steers: predicates, joins.")
@click.option("--unlinked", is_flag=True, help="Also what was named and never captured.")
@click.option("--all-executions", is_flag=True, help="Of an operation all executions, not only the latest.")
@click.option(
    "--go-on",
    metavar="ID",
    multiple=True,
    help="Goes one hop further than the depth at this node; repeatable.",
)
@json_option
@click.pass_obj
def command(
    invocation: Invocation,
    entity: str,
    *,
    direction: str,
    depth: int | None,
    columns: bool,
    operations: bool,
    deleted: bool,
    control_flow: bool,
    unlinked: bool,
    all_executions: bool,
    go_on: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show where the data of ENTITY comes from and where it goes.

    ENTITY is db.table, db.table.column, a path, or an id. At most 400 nodes are shown; truncation is reported.

    \b
    Examples:
      navlin lineage sales.orders
      navlin lineage sales.orders.amount --columns --direction upstream
      navlin lineage hdfs://ns1/data/orders --operations --depth 2
    """
    from navlin.query.answer import Direction
    from navlin.query.lineage import lineage
    from navlin.query.options import Options

    options = Options(
        Direction(direction),
        depth,
        columns,
        operations,
        deleted,
        control_flow,
        unlinked=unlinked,
        all_executions=all_executions,
        go_on=frozenset(go_on),
    )
    with invocation.solr() as solr:
        answer = lineage(solr, entity_id(solr, entity), options)
    if as_json:
        print_json(answer.to_json())
    else:
        from navlin.render import lineage_view

        console().show(lineage_view(answer))
