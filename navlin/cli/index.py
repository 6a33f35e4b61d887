"""``navlin index``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from navlin.cli.invocation import Invocation, json_option, print_json


@click.group("index")
def command() -> None:
    """The index itself: its cores and what runs them."""


@command.command("create")
@json_option
@click.pass_obj
def create(invocation: Invocation, *, as_json: bool) -> None:
    """Make the cores, or collections, that are missing. What is there keeps its documents and gets the present schema.

    For the embedded Solr this fetches Solr's jars, if they are not there, and starts it once. What makes later starts
    quick, archives of the classes of Solr and Spark, is made too: once, half a minute.

    \b
    Examples:
      navlin index create
    """
    from navlin.index.cores import CORES, create
    from navlin.index.solr import Solr
    from navlin.service.solr import external_address
    from navlin.shipped import CONF

    configuration = invocation.configuration()
    made: Sequence[str]
    if configuration.solr.embedded:
        made = _embedded(invocation)
    else:
        solr = configuration.solr
        with Solr(external_address(solr, invocation.environment)) as connected:
            made = create(connected, CONF / "solr", shards=solr.shards, replicas=solr.replicas)
    _archive_spark(configuration.navlin.state_directory)
    if as_json:
        print_json({"made": list(made), "there": [core for core in CORES if core not in made]})
    else:
        for core in CORES:
            click.echo(f"{core}: {'made' if core in made else 'was there'}")


def _archive_spark(state_directory: Path) -> None:
    from navlin.service.spark_session import ArchiveProcess

    archiving = ArchiveProcess(state_directory)
    if archiving.start():
        click.echo("making the archive of Spark's classes, once, half a minute", err=True)
    if not archiving.wait():
        click.echo("it could not be made: starts take longer without it", err=True)


def _embedded(invocation: Invocation) -> Sequence[str]:
    from navlin.index.cores import CORES
    from navlin.service.solr import jars_directory, reachable_solr
    from navlin.solr_server import jars

    configuration = invocation.configuration()
    home = configuration.navlin.state_directory / "solr"
    absent = [core for core in CORES if not (home / core).is_dir()]
    into = jars_directory(configuration)
    java_home = invocation.environment.get("JAVA_HOME")
    with jars.progress_on(sys.stderr) as report:
        jars.fetch("solr", into, report=report, java=f"{java_home}/bin/java" if java_home else "java")
    with reachable_solr(configuration, invocation.environment):
        return absent
