"""``navlin evidence``."""

from __future__ import annotations

import click

from navlin.cli.invocation import Exit, Failure, Invocation, entity_id, json_option
from navlin.cli.terminal import console, print_json, say


@click.command("evidence", short_help="Where something comes from, as a document for an auditor.")
@click.argument("entity")
@click.option(
    "--max-nodes",
    type=click.IntRange(1),
    default=400,
    show_default=True,
    help="How many tables, paths and operations are looked at.",
)
@click.option("--html", "as_html", is_flag=True, help="The whole document as a page to be printed.")
@json_option
@click.pass_obj
def command(invocation: Invocation, entity: str, *, max_nodes: int, as_html: bool, as_json: bool) -> None:
    """Show the origin of ENTITY, as one document.

    The whole upstream with statements, executions, times and users; everything on that path that is inferred, parsed,
    unlinked, incomplete or truncated; the last reading of each source, and its errors; people's words on it.

    \b
    Examples:
      navlin evidence sales.report.revenue
      navlin evidence sales.report.revenue --html > revenue.html
      navlin evidence sales.report --max-nodes 5000 --json
    """
    from navlin.query.evidence import evidence

    if as_json and as_html:
        raise Failure("--json or --html, not both", Exit.USAGE)
    with invocation.solr() as solr:
        answer = evidence(solr, entity_id(solr, entity), invocation.now_ms(), max_nodes=max_nodes)
    if as_json:
        print_json(answer.to_json())
    elif as_html:
        from navlin.render.evidence import evidence_html

        say(evidence_html(answer))
    else:
        from navlin.render.evidence import evidence_view

        console().show(evidence_view(answer))
