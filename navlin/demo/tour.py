"""``navlin demo``: a small estate of real parts, extracted, linked and asked.

A real metastore, a real Spark job and records as Impala writes them; all in a temporary directory, on loopback.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from navlin.demo.impala import write_records
from navlin.demo.metastore import Metastore
from navlin.index.jars import fetch
from navlin.index.runs import Status
from navlin.index.solr import Solr, SolrAddress
from navlin.index.sources import known_sources
from navlin.pipeline.run import Pipeline
from navlin.service.configuration import Configuration, LogSettings, read_configuration
from navlin.service.daemon import Daemon
from navlin.service.loader import load, load_extractors
from navlin.service.logs import configure_logs
from navlin.service.solr import reachable_solr
from navlin.service.sparks import Spark
from navlin.shipped import CONF

CONFIGURATION = """\
[navlin]
cluster = "demo"
state_directory = "{home}/state"

[solr]
memory = "512m"
jars_directory = "{jars}/solr"

[log]
format = "console"

[[source]]
name = "HIVE-1"
extractor = "hms"
uris = ["{metastore}"]

[[source]]
name = "SPARK-1"
extractor = "spark_events"
directory = "{home}/spark-events"

[[source]]
name = "IMPALA-1"
extractor = "impala_events"
directory = "{home}/impala-lineage"
"""

Say = Callable[[str], None]

QUESTIONS = (
    ("lineage", "shop.board_report"),
    ("lineage", "shop.board_report.revenue", "--columns"),
    ("search", "type:TABLE AND parentPath:\\/shop"),
    ("status",),
)


def demo(*, once: bool) -> int:
    """Runs the demo and returns an exit code; without ``once`` it goes on serving until Ctrl-C."""
    started_s = time.monotonic()

    def say(line: str) -> None:
        click.secho(f"[{time.monotonic() - started_s:5.1f} s] {line}", bold=True)

    with tempfile.TemporaryDirectory(prefix="navlin-demo-") as directory:
        home = Path(directory)
        jars = _jars(say)
        metastore = Metastore(home / "metastore", jars / "hive-metastore")
        configuration = _configure(home, jars, metastore)
        configure_logs(LogSettings("console", "warning"))
        try:
            code = _show(home, configuration, metastore, say)
            if code or once:
                return code
            say(f"navlin serves this estate from {home} until Ctrl-C; ask it from another terminal:")
            click.echo(f"  {_command(configuration.file)} lineage shop.board_report --operations")
            click.echo(f"  append a record to {home}/impala-lineage/* and see it within seconds")
            configure_logs(configuration.log)
            daemon = Daemon(configuration, lambda: configuration, environment=os.environ)
            daemon.handle_signals()
            daemon.run()
            return 0
        finally:
            metastore.kill()


def _show(home: Path, configuration: Configuration, metastore: Metastore, say: Say) -> int:
    say("starting a Hive metastore")
    metastore.start()
    say("starting Solr")
    with reachable_solr(configuration, os.environ) as address:
        spark = Spark(configuration.spark, configuration.navlin.state_directory)
        try:
            say(
                "running a Spark job with its event log on: a join, a CTAS, an aggregate, a view, a path write"
            )
            with ThreadPoolExecutor() as beside:
                starting = beside.submit(spark)
                _run_job(home, metastore)
                starting.result()
            write_records(home / "impala-lineage", int(time.time()))
            say("laid three Impala lineage records beside its tables")
            if not _extract(configuration, address, spark, say):
                return 1
        finally:
            spark.stop()
        for question in QUESTIONS:
            say(f"navlin {' '.join(question)}")
            subprocess.run([*_program(configuration.file), *question], check=True)
    return 0


def _extract(configuration: Configuration, address: SolrAddress, spark: Spark, say: Say) -> bool:
    with Solr(address) as solr:
        roster = load(configuration, known_sources(solr))
    pipeline = Pipeline(address, spark, lambda: time.time_ns() // 1_000_000)
    for loaded in roster.sources:
        record = pipeline.run(loaded.settings.registration, loaded.extractor)
        if record.status is not Status.FINISHED:
            click.echo(f"{loaded.name}: {record.status.value} {record.error} {record.failures}", err=True)
            return False
        took_s = (record.ended_ms - record.started_ms) / 1000
        say(f"extracted and linked {loaded.name}: {record.counts['records']} records in {took_s:.1f} s")
    return True


def _run_job(home: Path, metastore: Metastore) -> None:
    arguments = [metastore.uri, str(metastore.warehouse), str(home / "spark-events"), str(home / "exports")]
    finished = subprocess.run(
        [sys.executable, "-m", "navlin.demo.job", *arguments],
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode:
        raise RuntimeError(f"the demo's Spark job failed:\n{finished.stderr[-3000:]}")


def _configure(home: Path, jars: Path, metastore: Metastore) -> Configuration:
    for name in ("state", "spark-events", "impala-lineage", "exports", "metastore"):
        (home / name).mkdir()
    file = home / "navlin.toml"
    file.write_text(CONFIGURATION.format(home=home, jars=jars, metastore=metastore.uri))
    return read_configuration(file, load_extractors(), os.environ)


def _jars(say: Say) -> Path:
    in_checkout = CONF.parent / ".jars"
    jars = in_checkout if in_checkout.is_dir() else Path.home() / ".cache" / "navlin" / "jars"
    for jar_set in ("solr", "hive-metastore"):
        fetch(jar_set, jars / jar_set, report=say)
    return jars


def _program(file: Path) -> list[str]:
    return [sys.executable, "-m", "navlin", "--config", str(file)]


def _command(file: Path) -> str:
    return " ".join(["navlin", "--config", str(file)])
