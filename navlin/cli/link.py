"""``navlin link``."""

from __future__ import annotations

import click

from navlin.cli.invocation import Invocation, json_option, print_json


@click.command("link", short_help="Link what broken runs left unlinked, or everything anew.")
@click.option(
    "--all", "everything", is_flag=True, help="The whole index, not only what runs left unfinished."
)
@json_option
@click.pass_obj
def command(invocation: Invocation, *, everything: bool, as_json: bool) -> None:
    """Link relations whose other end has arrived, say why others stay unlinked, relate paths to tables, and views to what
    their texts read.

    Every run links what it wrote, so there is seldom need. With --all the whole index is linked anew, in Spark; the result
    is the same. Linking twice changes nothing.

    \b
    Examples:
      navlin link
      navlin link --all
    """
    from navlin.service.linking import link_everything, link_recent
    from navlin.service.spark_session import LazySparkSession

    configuration = invocation.configuration()
    with invocation.solr(configuration) as solr:
        if everything:
            spark = LazySparkSession(configuration.spark, configuration.navlin.state_directory)
            try:
                changed = link_everything(solr, spark, invocation.now_ms)
            finally:
                spark.stop()
        else:
            sources = invocation.roster(configuration, solr).estate.sources
            changed = link_recent(solr, sources, invocation.now_ms())
    if as_json:
        print_json(changed)
    else:
        for rule, count in changed.items():
            click.echo(f"{rule}: {count:,} changed")
