"""``navlin status``."""

from __future__ import annotations

import click

from navlin.cli.invocation import Exit, Failure, Invocation, json_option
from navlin.cli.terminal import console, print_json


@click.command("status", short_help="How each source is, and what stays unlinked.")
@json_option
@click.pass_obj
def command(invocation: Invocation, *, as_json: bool) -> None:
    """Show each source's last run, position, lag, errors, rejects and held runs; unlinked relations by reason and age;
    views whose text could not be parsed.

    Lag is the possible age of the index's data about a source. The exit code is 1 if a source's last run failed or is
    held, if an export failed or was partly refused, if the daily purge did not finish, or if there is no space: a monitor
    may call it.

    \b
    Examples:
      navlin status
      navlin status --json | jq '.sources[] | {name, state, lag_s}'
    """
    from navlin.index.solr import SolrError
    from navlin.service.disk_space import space
    from navlin.service.status import status
    from navlin.solr_server.embedded import NoSolr

    configuration = invocation.configuration()
    state, least_free_bytes = configuration.navlin.state_directory, configuration.navlin.least_free_bytes
    try:
        with invocation.solr(configuration) as solr:
            sources = invocation.configured_sources(configuration, solr)
            now_ms = invocation.now_ms()
            overall = status(solr, sources, state, least_free_bytes, now_ms, configuration.exports)
    except (NoSolr, SolrError, OSError) as error:
        # `navlin serve` may be waiting for space: a running Solr may refuse even queries, and no other can be started.
        if not (left := space(state, least_free_bytes)).short:
            raise
        raise Failure(f"no space: {left}. {error}", Exit.FAILED) from error
    if as_json:
        print_json(overall.as_json())
    else:
        from navlin.render.status import status_view

        console().show(status_view(overall.as_json()))
    raise SystemExit(Exit.FAILED if overall.failing or overall.space.short else Exit.OK)
