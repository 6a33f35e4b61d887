from __future__ import annotations

import click

from navlin.cli.invocation import Exit, Failure, Invocation, json_option, unknown
from navlin.cli.terminal import confirm, print_json, say


@click.command("forget", short_help="Mark as deleted everything from a removed SOURCE.")
@click.argument("source")
@click.argument("path", default="/")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
@click.pass_obj
def command(invocation: Invocation, source: str, path: str, *, yes: bool, as_json: bool) -> None:
    """Flag SOURCE's entities at and below PATH as deleted.

    For a source that was removed from the configuration, or for data that a narrower filter no longer reads: nothing else
    flags these, because data that is not read is not known to be gone. PATH is a place in the source's tree: a directory,
    or DATABASE or DATABASE.TABLE. Without it, the whole source. Nothing is removed; purge does that, later.

    \b
    Examples:
      navlin forget HIVE-OLD
      navlin forget HIVE-1 staging            (a database)
      navlin forget HDFS-1 /tmp --yes
    """
    from navlin.index.graph.sources import known_sources
    from navlin.model.plurals import counted
    from navlin.service.maintenance.forget import forget, to_forget, tree_place

    configuration = invocation.configuration()
    with invocation.solr(configuration) as solr:
        known = {
            each.name: each for each in known_sources(solr) if each.cluster == configuration.navlin.cluster
        }
        if source not in known:
            raise unknown("source", source, sorted(known))
        found = to_forget(solr, known[source], tree_place(path))
        if not found.elements and not found.relations:
            raise Failure(f"{source} has nothing at {found.path} that is not flagged deleted", Exit.NOTHING)
        entities, relations = (
            counted(len(found.elements), "entity"),
            counted(len(found.relations), "relation"),
        )
        what = f"{entities} and {relations} of {source} at {found.path}"
        if not yes:
            confirm(f"Flag deleted {what}?")
        configured = any(settings.name == source for settings in configuration.sources)
        flagged = forget(solr, found, invocation.now_ms, configured=configured)
    if as_json:
        print_json({"source": source, "path": found.path, "flagged": flagged})
    else:
        say(f"flagged deleted: {flagged:,}")
