"""``navlin link``."""

from __future__ import annotations

from collections.abc import Mapping

import click

from navlin.cli.invocation import Exit, Invocation, json_option
from navlin.cli.terminal import print_json, say


@click.command("link", short_help="Link what broken runs left unlinked, or everything anew.")
@click.option(
    "--all", "everything", is_flag=True, help="The whole index, not only what runs left unfinished."
)
@json_option
@click.pass_obj
def command(invocation: Invocation, *, everything: bool, as_json: bool) -> None:
    """Link relations whose other end has arrived, give the reasons for those that stay unlinked, relate paths to tables,
    and views to the tables that their texts read. Then update inherited tags.

    Every run links its own relations, so this is seldom needed. With --all the whole index is linked again, in Spark; the
    result is the same. Linking twice changes nothing. If `navlin serve` runs here, it does the work.

    \b
    Examples:
      navlin link
      navlin link --all
    """
    from navlin.cli.requested import answer_of_daemon
    from navlin.index.requests import Job
    from navlin.service import jobs
    from navlin.service.spark_session import LazySparkSession

    configuration = invocation.configuration()
    state_directory = configuration.navlin.state_directory
    with invocation.solr(configuration) as solr:
        changed = answer_of_daemon(solr, state_directory, Job.LINK, {"everything": everything})
        if changed is None:
            configured = invocation.configured_sources(configuration, solr)
            with LazySparkSession.of(configuration) as spark:
                changed = jobs.link(solr, configured, spark, invocation.now_ms, everything=everything)
    if as_json:
        print_json(changed)
    else:
        print_answer(changed)
    raise SystemExit(exit_code(changed))


def print_answer(changed: Mapping[str, int]) -> None:
    """Print the number of relations that each rule changed, and of entities whose inheritance changed."""
    for rule, count in changed.items():
        say(f"{rule}: {count:,} changed")


def exit_code(_changed: Mapping[str, int]) -> Exit:
    """Return the command's exit code."""
    return Exit.OK
