"""``navlin search``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from navlin.cli.invocation import (
    Exit,
    Failure,
    Invocation,
    csv_option,
    json_option,
    one_query,
    query_of,
    saved_option,
)
from navlin.cli.terminal import console, print_csv, print_json, print_pieces, say, shows_progress

if TYPE_CHECKING:
    from navlin.index.solr import Solr


@click.command("search", short_help="Search entities and relations.")
@click.argument("query", required=False, default="")
@saved_option
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
@csv_option
@click.option("--jsonl", "as_jsonl", is_flag=True, help="The whole result as JSON lines.")
@click.option(
    "--field",
    "fields",
    multiple=True,
    metavar="FIELD",
    help="Of --csv and --jsonl only these fields. Repeatable.",
)
@click.pass_obj
def command(
    invocation: Invocation,
    query: str,
    *,
    saved: str,
    limit: int,
    offset: int,
    sort: str,
    filters: tuple[str, ...],
    facets: tuple[str, ...],
    as_json: bool,
    as_csv: bool,
    as_jsonl: bool,
    fields: tuple[str, ...],
) -> None:
    """Search entities and relations: a name, words of names and comments, or Solr's syntax as users of Navigator typed
    it.

    Entities with exactly this name come first: db.table, db.table.column, a path, a URI, an id. Then come names that
    contain the word, then comments, then statements. Text in quotation marks is exact. Parts of statements, executions
    and partitions are counted, and shown by a filter on their type.

    --csv and --jsonl have the whole result, however large, by identity; --limit and the like do not apply.

    \b
    Examples:
      navlin search shop.orders
      navlin search 'customer orders'
      navlin search 'type:TABLE AND owner:etl -deleted:true'
      navlin search 'sourceType:IMPALA AND queryText:*temp_sample_08*' --json
      navlin search 'type:OPERATION_EXECUTION AND started:[NOW/DAY-5DAYS TO NOW]' --sort 'started desc'
      navlin search '*' --facet type --facet sourceType --limit 3
      navlin search --saved 'personal data' --json
      navlin search 'type:TABLE AND tags:pii' --csv --field parentPath --field originalName --field owner > pii.csv
    """
    from navlin.query.finding import find_for_people
    from navlin.query.scanner import QueryError

    one_query(query, saved)
    if as_json + as_csv + as_jsonl > 1:
        raise Failure("one of --json, --csv and --jsonl", Exit.USAGE)
    if as_csv or as_jsonl:
        if offset or sort or facets:
            raise Failure(
                "--csv and --jsonl have the whole result: no --offset, --sort or --facet", Exit.USAGE
            )
        with invocation.solr() as solr:
            query = query_of(invocation, solr, query, saved)
            _print_whole(solr, query, filters, fields, as_csv=as_csv)
        return
    with invocation.solr() as solr:
        query = query_of(invocation, solr, query, saved)
        try:
            answer = find_for_people(
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


def _print_whole(
    solr: Solr, query: str, filters: tuple[str, ...], fields: tuple[str, ...], *, as_csv: bool
) -> None:
    from navlin.query.scanner import QueryError
    from navlin.query.whole_result import json_lines, table_lines, whole_result

    try:
        columns, documents = whole_result(solr, query, filters, fields)
        counted = _Counted(documents)
        if as_csv:
            print_csv(table_lines(columns, counted))
        else:
            print_pieces(json_lines(counted))
    except QueryError as error:
        raise Failure(str(error), Exit.USAGE) from error
    raise SystemExit(Exit.OK if counted.count else Exit.NOTHING)


class _Counted:
    """Counts documents as they pass: on standard error, if that is a terminal and the result goes elsewhere."""

    def __init__(self, documents: Iterator[Mapping[str, Any]]) -> None:
        self._documents = documents
        self._shown = shows_progress()
        self.count = 0

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        for document in self._documents:
            self.count += 1
            if self._shown and self.count % 10_000 == 0:
                say(f"{self.count:,} found so far", on_stderr=True)
            yield document
