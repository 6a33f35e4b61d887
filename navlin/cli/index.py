from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from navlin.cli.backup import progress
from navlin.cli.invocation import Invocation, json_option
from navlin.cli.terminal import print_json, say


@click.group("index")
def command() -> None:
    """Manage the index itself: its cores and what runs them."""


@command.command("create")
@json_option
@click.pass_obj
def create(invocation: Invocation, *, as_json: bool) -> None:
    """Create the cores, or collections, that are missing. Existing ones keep their documents and get the present schema.

    For the embedded Solr this fetches Solr's jars, if they are missing, and starts it once. Archives of the classes of
    Solr and Spark, which make later starts quick, are made too: once, half a minute.

    \b
    Examples:
      navlin index create
    """
    from navlin.index.admin.cores import CORES, create
    from navlin.index.solr.solr import Solr
    from navlin.service.solr import external_address
    from navlin.shipped import CONF

    configuration = invocation.configuration()
    made: Sequence[str]
    if configuration.solr.embedded:
        made = _embedded(invocation)
    else:
        solr = configuration.solr
        with Solr(external_address(configuration, invocation.environment)) as connected:
            made = create(connected, CONF / "solr", shards=solr.shards, replicas=solr.replicas)
    if not configuration.spark.on_yarn:
        _archive_spark(configuration.navlin.state_directory)
    if as_json:
        print_json({"made": list(made), "there": [core for core in CORES if core not in made]})
    else:
        for core in CORES:
            say(f"{core}: {'created' if core in made else 'already exists'}")


def _archive_spark(state_directory: Path) -> None:
    from navlin.service.spark_session import ArchiveProcess

    archiving = ArchiveProcess(state_directory)
    if archiving.start():
        say("building an archive of Spark's classes (only once, about half a minute)", on_stderr=True)
    if not archiving.wait():
        say("the archive could not be built: starts take longer without it", on_stderr=True)


def _embedded(invocation: Invocation) -> Sequence[str]:
    from navlin.index.admin.cores import CORES
    from navlin.index.solr.solr import Solr
    from navlin.service.maintenance.opening import open_index
    from navlin.service.solr import jars_directory, jars_repository, reachable_solr
    from navlin.solr_server import jars

    configuration = invocation.configuration()
    home = configuration.navlin.state_directory / "solr"
    absent = () if any(home.glob("*/core.properties")) else CORES
    into = jars_directory(configuration)
    java_home = invocation.environment.get("JAVA_HOME")
    java = f"{java_home}/bin/java" if java_home else "java"
    repository = jars_repository(configuration, invocation.environment)
    with jars.progress_on(sys.stderr) as report:
        jars.fetch("solr", into, report=report, java=java, repository=repository)
    with reachable_solr(configuration, invocation.environment) as reached, Solr(reached.address) as solr:
        open_index(solr, reached.server)
        return absent


@command.command("upgrade")
@json_option
@click.pass_obj
def upgrade(invocation: Invocation, *, as_json: bool) -> None:
    """Upgrade an index that an earlier navlin made. One of the present version is left as it is.

    Everything is copied into new cores, which then replace the old ones: the disk must have room for the index twice.
    Stop every other navlin first. If this is interrupted, the index is as it was, and the next call continues.

    \b
    Examples:
      navlin index upgrade
    """
    from navlin.index.solr.solr import Solr
    from navlin.model.plurals import counted
    from navlin.service.maintenance.opening import open_index
    from navlin.service.maintenance.upgrading import upgrade_index
    from navlin.service.solr import reachable_solr

    configuration = invocation.configuration()
    settings = configuration.solr
    with (
        reachable_solr(configuration, invocation.environment) as reached,
        Solr(reached.address) as solr,
        progress("copying", in_bytes=False) as report,
    ):
        if settings.embedded and reached.server is None:
            # Another navlin runs this Solr, and must be stopped before an upgrade. This raises an error unless the
            # index is current.
            open_index(solr, None)
        done = upgrade_index(
            solr,
            reached.server,
            shards=settings.shards,
            replicas=settings.replicas,
            report=report,
        )
    if as_json:
        print_json({"since": done.since, "version": done.version, "documents": done.documents})
    elif done.since == done.version:
        say(f"the index already has version {done.version}: nothing to do")
    else:
        counts = ", ".join(f"{core}: {counted(count, 'document')}" for core, count in done.documents.items())
        say(f"upgraded from version {done.since} to version {done.version}; {counts}")
