"""An estate frozen at one moment: data of real services, stored in ``tests/data/estate`` and served again.

HDFS and the metastore start on their stored disk contents, at their former ports, because URLs with ports are in
the metadata. `tests.services.rest` serves the ResourceManager's responses, because a ResourceManager forgets its
applications when it ends. Spark's event logs are in the stored HDFS; the lineage logs of Impala and Hive are files.

``python -m tests.services.frozen OUT`` runs the real services in /tmp/estate once and stores their data in OUT.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from getpass import getuser
from pathlib import Path
from typing import Final, Self

import requests
import zstandard

from navlin.demo.impala import write_records
from tests.services.hadoop import Hadoop
from tests.services.hive import run_hive
from tests.services.metastore import Metastore
from tests.services.rest import ResourceManager
from tests.services.yarn_jobs import await_state, submit

KEPT: Final = Path(__file__).parents[1] / "data" / "estate"
MADE_IN: Final = Path("/tmp/estate")
"""Directory in which the services ran, so that their data contain no path of a developer."""
FIRST_PORT: Final = 24_100
PORTS: Final = 18
"""Ports of Hadoop, before those of other services. The kept data name the ports."""
HADOOP_PORTS: Final = range(FIRST_PORT, FIRST_PORT + PORTS)
METASTORE_PORT: Final = FIRST_PORT + PORTS
YARN_PORT: Final = FIRST_PORT + PORTS + 1
NOW_MS: Final = 1_800_000_000_000
"""A time after every event in the estate."""

USER: Final = {"user.name": getuser()}

SOURCES: Final = """
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
directory = "{files}"

[[source]]
name = "HIVE-EVENTS-1"
extractor = "hive_events"
directory = "{files}"
pattern = "hive-lineage.log"
"""
IN_ORDER: Final = ("HIVE-1", "HDFS-1", "YARN-1", "SPARK-1", "IMPALA-1", "HIVE-EVENTS-1")

HIVE_STATEMENTS: Final = (
    "CREATE DATABASE web",
    "CREATE TABLE web.clicks (customer INT, page STRING, at BIGINT)",
    "INSERT INTO web.clicks VALUES (1, 'home', 100), (2, 'cart', 200)",
    "CREATE TABLE web.pages AS SELECT page, count(*) AS clicks, max(at) AS last FROM web.clicks GROUP BY page",
    "CREATE TABLE web.by_day (customer INT, page STRING) PARTITIONED BY (day STRING) CLUSTERED BY (customer) INTO 2 BUCKETS",
    "INSERT OVERWRITE TABLE web.by_day PARTITION (day = '2026-01-01') SELECT customer, page FROM web.clicks WHERE at < 150",
    "CREATE VIEW web.carts AS SELECT customer, at FROM web.clicks WHERE page = 'cart'",
    "CREATE TABLE web.old_pages AS SELECT page FROM web.pages",
    "ALTER TABLE web.old_pages RENAME TO web.former_pages",
)


class FrozenEstate:
    """The estate, which is served while the context lasts. ``directory`` starts empty and receives everything that
    changes."""

    def __init__(self, directory: Path, jars: Path) -> None:
        self._directory = directory
        self._stack = ExitStack()
        self._hadoop = Hadoop(
            directory / "hadoop",
            jars / "hadoop",
            cache=jars / "hadoop-launcher",
            # By default, reading a file changes its access time.
            settings={"dfs.namenode.accesstime.precision": "0"},
            ports=HADOOP_PORTS,
        )
        self._metastore = Metastore(directory / "metastore", jars / "hive-metastore", port=METASTORE_PORT)
        applications = json.loads((KEPT / "applications.json").read_text())
        self._yarn = ResourceManager(*applications, now_ms=NOW_MS, port=YARN_PORT)

    def __enter__(self) -> Self:
        # The ports are fixed, so two estates cannot run at once.
        lock = self._stack.enter_context(
            (Path(tempfile.gettempdir()) / "navlin-frozen-estate.lock").open("w")
        )
        fcntl.flock(lock, fcntl.LOCK_EX)
        with tarfile.open(KEPT / "services.tar.xz") as archive:
            archive.extractall(self._directory, filter="data")
        shutil.copytree(KEPT / "files", self._directory / "files")
        with self._stack as stack:
            self._hadoop.launch()
            stack.callback(self._hadoop.stop)
            stack.enter_context(self._metastore)
            stack.enter_context(self._yarn)
            self._hadoop.await_ready()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def sources(self) -> str:
        """Return the part of a configuration that lists all sources of the estate."""
        return SOURCES.format(
            metastore=self._metastore.uri,
            hdfs=self._hadoop.url,
            namenode=self._hadoop.http[0],
            yarn=self._yarn.url,
            files=self._directory / "files",
        )


def make(kept: Path, jars: Path) -> None:
    """Run the real services once and store their data in ``kept``."""
    home = MADE_IN
    home.mkdir()
    kept.mkdir(parents=True, exist_ok=True)
    hadoop = Hadoop(home / "hadoop", jars / "hadoop", cache=jars / "hadoop-launcher", ports=HADOOP_PORTS)
    metastore = Metastore(home / "metastore", jars / "hive-metastore", port=METASTORE_PORT)
    hadoop.launch(yarn=True)
    with metastore:
        try:
            hadoop.await_ready()
            made = requests.put(
                f"{hadoop.http[0]}/webhdfs/v1/spark-events", params={"op": "MKDIRS", **USER}, timeout=300
            )
            made.raise_for_status()
            _run_spark(home, hadoop, metastore)
            for path in _files_below(hadoop.http[0], "/spark-events"):
                _make_neutral(hadoop.http[0], path)
            files = kept / "files"
            shutil.rmtree(files, ignore_errors=True)
            files.mkdir()
            write_records(files, int(time.time()))
            log = run_hive(HIVE_STATEMENTS, home / "hive", jars / "hive", metastore.uri)
            # The view's record is left out, because the view's text must suffice.
            lines = [line for line in log.read_text().splitlines() if "CREATE VIEW" not in line]
            (files / "hive-lineage.log").write_text("".join(f"{line}\n" for line in lines))
            await_state(hadoop, submit(hadoop.yarn, "nightly check", "exit 3"), "FAILED", "FINISHED")
            listed = requests.get(f"{hadoop.yarn}/ws/v1/cluster/apps", timeout=300).json()["apps"]["app"]
            (kept / "applications.json").write_text(json.dumps(listed, indent=1) + "\n")
            time.sleep(10)  # until the blocks of rewritten files are deleted
            hadoop.save_namespace()
        finally:
            hadoop.stop()
        time.sleep(5)  # until Derby has written its data
    with tarfile.open(kept / "services.tar.xz", "w:xz", preset=9) as archive:
        for folder in ("hadoop/nn1/name", "hadoop/data", "metastore/db"):
            archive.add(home / folder, folder, filter=_neutral)


def _run_spark(home: Path, hadoop: Hadoop, metastore: Metastore) -> None:
    job = home / "job"
    job.mkdir()
    subprocess.run(
        [sys.executable, "-m", "navlin.demo.job", metastore.uri, hadoop.url],
        cwd=job,
        env={**os.environ, "HADOOP_CONF_DIR": str(hadoop.configuration_directory)},
        check=True,
    )


def _files_below(http: str, directory: str) -> Iterator[str]:
    listed = requests.get(f"{http}/webhdfs/v1{directory}", params={"op": "LISTSTATUS", **USER}, timeout=300)
    listed.raise_for_status()
    for status in listed.json()["FileStatuses"]["FileStatus"]:
        path = f"{directory}/{status['pathSuffix']}"
        if status["type"] == "DIRECTORY":
            yield from _files_below(http, path)
        else:
            yield path


def _make_neutral(http: str, log: str) -> None:
    """Remove everything specific to this machine and this checkout from an event log."""
    url = f"{http}/webhdfs/v1{log}"
    packed = requests.get(url, params={"op": "OPEN", **USER}, timeout=300).content
    if not packed:
        return
    with zstandard.ZstdDecompressor().stream_reader(packed) as reader:
        text = reader.read().decode().replace(str(Path(__file__).parents[2]), "/opt/navlin")
    events = [json.loads(line) for line in text.splitlines()]
    for event in events:
        if event["Event"] == "SparkListenerEnvironmentUpdate":
            event |= {"Classpath Entries": {}, "System Properties": {}, "Hadoop Properties": {}}
    neutral = "".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events)
    created = requests.put(
        url,
        params={"op": "CREATE", "overwrite": "true", **USER},
        data=zstandard.ZstdCompressor().compress(neutral.encode()),
        timeout=300,
    )
    created.raise_for_status()


def _neutral(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if Path(member.name).name == "in_use.lock":
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


if __name__ == "__main__":
    make(Path(sys.argv[1]), Path(__file__).parents[2] / ".jars")
