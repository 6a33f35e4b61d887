"""``navlin search``."""

from __future__ import annotations

import click

from navlin.cli.invocation import Exit, Failure, Invocation, json_option
from navlin.cli.terminal import console, print_json


@click.command("search", short_help="Search entities and relations.")
@click.argument("query")
@click.option("--limit", default=25, show_default=True, help="How many results at most.")
@click.option("--offset", default=0, show_default=True, help="How many of the first to pass over.")
@click.option(
    "--sort", default="", metavar="FIELD [asc|desc]", help="The order; the best match first without it."
)
@click.option(
    "--filter", "filters", multiple=True, metavar="QUERY", help="What must match as well. Repeatable."
)
@click.option(
    "--facet", "facets", multiple=True, metavar="FIELD", help="Count the values of a field. Repeatable."
)
@json_option
@click.pass_obj
def command(
    invocation: Invocation,
    query: str,
    *,
    limit: int,
    offset: int,
    sort: str,
    filters: tuple[str, ...],
    facets: tuple[str, ...],
    as_json: bool,
) -> None:
    """Search entities and relations, in Solr's syntax as users of Navigator typed it.

    \b
    Examples:
      navlin search orders
      navlin search 'type:TABLE AND owner:etl -deleted:true'
      navlin search 'sourceType:IMPALA AND queryText:*temp_sample_08*' --json
      navlin search 'type:OPERATION_EXECUTION AND started:[NOW/DAY-5DAYS TO NOW]' --sort 'started desc'
      navlin search '*' --facet type --facet sourceType --limit 3
    """
    from navlin.query.scanner import QueryError
    from navlin.query.search import search

    with invocation.solr() as solr:
        try:
            answer = search(
                solr, query, limit=limit, offset=offset, sort=sort, filters=filters, facets=facets
            )
        except QueryError as error:
            raise Failure(str(error), Exit.USAGE) from error
        if as_json:
            print_json(answer.to_json())
        else:
            from navlin.render import search_view

            console().show(search_view(answer))
    raise SystemExit(Exit.OK if answer.total else Exit.NOTHING)
