"""``navlin demo``: a small estate of real parts, extracted, linked and asked.

A real HDFS, YARN and metastore, a real Spark job and records as Impala writes them; all in a temporary directory, on
loopback.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path

import click
import requests

from navlin.demo.hadoop import Hadoop
from navlin.demo.impala import write_records
from navlin.demo.metastore import Metastore
from navlin.index.jars import fetch
from navlin.index.runs import RunRecord, Status
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
name = "HDFS-1"
extractor = "hdfs"
url = "{hdfs}"
http = ["{namenode}"]

[[source]]
name = "YARN-1"
extractor = "yarn"
urls = ["{yarn}"]

[[source]]
name = "SPARK-1"
extractor = "spark_events"
directory = "{hdfs}/spark-events"

[[source]]
name = "IMPALA-1"
extractor = "impala_events"
directory = "{home}/impala-lineage"
"""

Say = Callable[[str], None]

QUESTIONS = (
    ("lineage", "shop.board_report"),
    ("lineage", "shop.board_report.revenue", "--columns"),
    ("lineage", "/exports/revenue", "--operations"),
    ("search", "type:TABLE AND parentPath:\\/shop"),
    ("status",),
)


@dataclass(frozen=True, slots=True)
class Estate:
    """What is extracted: services that are started, and where all of it lies."""

    home: Path
    metastore: Metastore
    hadoop: Hadoop

    def start(self, beside: ThreadPoolExecutor) -> list[Future[None]]:
        """Starts the services side by side."""
        return [beside.submit(self.metastore.start), beside.submit(self._start_hadoop)]

    def _start_hadoop(self) -> None:
        self.hadoop.start()
        self.hadoop.start_yarn()
        # Spark makes no directory for its event logs.
        answer = requests.put(
            f"{self.hadoop.http[0]}/webhdfs/v1/spark-events",
            params={"op": "MKDIRS", "user.name": getuser()},
            timeout=60,
        )
        answer.raise_for_status()

    def run_job(self) -> None:
        """Runs the Spark job on YARN, in a process of its own."""
        finished = subprocess.run(
            [sys.executable, "-m", "navlin.demo.job", self.metastore.uri, self.hadoop.url],
            cwd=self.home,
            env={**os.environ, "HADOOP_CONF_DIR": str(self.hadoop.configuration_directory)},
            capture_output=True,
            text=True,
            check=False,
        )
        if finished.returncode:
            raise RuntimeError(f"the demo's Spark job failed:\n{finished.stderr[-3000:]}")

    def stop(self) -> None:
        """Ends the services."""
        self.metastore.kill()
        self.hadoop.stop()


def demo(*, once: bool) -> int:
    """Runs the demo and returns an exit code; without ``once`` it goes on serving until Ctrl-C."""
    started_s = time.monotonic()

    def say(line: str) -> None:
        click.secho(f"[{time.monotonic() - started_s:5.1f} s] {line}", bold=True)

    with tempfile.TemporaryDirectory(prefix="navlin-demo-") as directory:
        home = Path(directory)
        jars = _jars(say)
        metastore = Metastore(home / "metastore", jars / "hive-metastore")
        hadoop = Hadoop(home / "hadoop", jars / "hadoop", cache=jars / "hadoop-launcher")
        estate = Estate(home, metastore, hadoop)
        configuration = _configure(estate, jars)
        configure_logs(LogSettings("console", "warning"))
        try:
            code = _show(estate, configuration, say)
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
            estate.stop()


def _show(estate: Estate, configuration: Configuration, say: Say) -> int:
    say("starting a Hive metastore, HDFS, YARN and Solr")
    with ThreadPoolExecutor() as beside:
        starting = estate.start(beside)
        with reachable_solr(configuration, os.environ) as address:
            for service in starting:
                service.result()
            return _run(estate, configuration, address, beside, say)


def _run(
    estate: Estate, configuration: Configuration, address: SolrAddress, beside: ThreadPoolExecutor, say: Say
) -> int:
    spark = Spark(configuration.spark, configuration.navlin.state_directory)
    try:
        say(
            "running a Spark job on YARN with its event log on: a join, a CTAS, an aggregate, a view, a path write"
        )
        warming = beside.submit(spark)
        estate.run_job()
        warming.result()
        write_records(estate.home / "impala-lineage", int(time.time()))
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
        more = True
        while more:
            record = pipeline.run(loaded.settings.registration, loaded.extractor)
            if record.status not in (Status.FINISHED, Status.IDLE):
                click.echo(f"{loaded.name}: {record.status.value} {record.error} {record.failures}", err=True)
                return False
            took_s = (record.ended_ms - record.started_ms) / 1000
            read = record.counts.get("records", 0)
            say(f"extracted and linked {loaded.name}: {read} records in {took_s:.1f} s {_why(record)}")
            more = record.more
    return True


def _why(record: RunRecord) -> str:
    return f"({record.note})" if record.note else ""


def _configure(estate: Estate, jars: Path) -> Configuration:
    for name in ("state", "impala-lineage", "metastore"):
        (estate.home / name).mkdir()
    file = estate.home / "navlin.toml"
    file.write_text(
        CONFIGURATION.format(
            home=estate.home,
            jars=jars,
            metastore=estate.metastore.uri,
            hdfs=estate.hadoop.url,
            namenode=estate.hadoop.http[0],
            yarn=estate.hadoop.yarn,
        )
    )
    return read_configuration(file, load_extractors(), os.environ)


def _jars(say: Say) -> Path:
    in_checkout = CONF.parent / ".jars"
    jars = in_checkout if in_checkout.is_dir() else Path.home() / ".cache" / "navlin" / "jars"
    for jar_set in ("solr", "hive-metastore", "hadoop"):
        fetch(jar_set, jars / jar_set, report=say)
    return jars


def _program(file: Path) -> list[str]:
    return [sys.executable, "-m", "navlin", "--config", str(file)]


def _command(file: Path) -> str:
    return " ".join(["navlin", "--config", str(file)])
