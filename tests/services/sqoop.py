"""A real Sqoop 1.4.7, and the database that it reads and writes: HSQLDB."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

from navlin.demo.children import end_with_parent
from navlin.java import QUICK, compile_program, find_java, pyspark_jars
from tests.services.kerberos import free_port
from tests.services.mapreduce_cluster import CLIENT, MapReduceCluster

PUBLISHER: Final = Path(__file__).parents[2] / "conf" / "sqoop" / "NavlinSqoopPublisher.java"
DATABASE: Final = "sales"
_RUN_S: Final = 300
_OF_HIVE: Final = ("hive-common", "hive-shims", "hive-storage-api")
"""Jars of PySpark without which `--hive-import` ends with an error."""


class Hsqldb:
    """A database in memory, on loopback. ``jar`` is the jar of HSQLDB."""

    def __init__(self, directory: Path, jar: Path) -> None:
        self._directory, self._jar = directory, jar
        self._port = free_port()
        self.url = f"jdbc:hsqldb:hsql://127.0.0.1:{self._port}/{DATABASE}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._directory.mkdir(parents=True, exist_ok=True)
        options = ["--address", "127.0.0.1", "--port", str(self._port), "--database.0", f"mem:{DATABASE}"]
        command = [find_java(), *QUICK, "-cp", str(self._jar), "org.hsqldb.server.Server", *options]
        with (self._directory / "hsqldb.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--dbname.0", DATABASE, "--silent", "false"],
                cwd=self._directory,
                stdout=log,
                stderr=log,
                preexec_fn=end_with_parent,
            )
        self.run("SELECT 1 FROM INFORMATION_SCHEMA.SYSTEM_TABLES", attempts=60)
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def run(self, statement: str, *, attempts: int = 1) -> str:
        """Run a statement, and return what it prints. Each further attempt waits for the server."""
        source = Path(__file__).with_name("DatabaseStatement.java")
        command = [
            find_java(),
            *QUICK,
            "-cp",
            str(self._jar),
            str(source),
            self.url,
            statement,
            str(attempts),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            raise RuntimeError(f"{statement!r} failed: {done.stderr[-2000:]}")
        return done.stdout


class Sqoop:
    """Sqoop's command on a cluster. ``jars`` is the directory of the jar set "sqoop". Scripts that it gives to Hive are
    kept in `hive_scripts`; nothing runs them. ``hive_fails`` makes the command of Hive fail.
    """

    def __init__(self, directory: Path, jars: Path, cluster: MapReduceCluster) -> None:
        self._directory, self._cluster = directory, cluster
        self._jars = sorted(jars.glob("*.jar"), key=lambda each: not each.name.startswith("commons-cli"))
        self.published = directory / "published"
        self.hive_fails = False
        self._home = directory / "hive"
        (self._home / "bin").mkdir(parents=True)
        self.published.mkdir()

    @property
    def hive_scripts(self) -> list[str]:
        """The scripts that Sqoop gave to Hive, in order."""
        return [each.read_text() for each in sorted(self._home.glob("script-*"))]

    def run(self, *arguments: str, properties: Sequence[str] = (), fails: bool = False) -> str:
        """Run a command (``import``, …) in the user's directory of HDFS. Return what it printed. ``properties`` have
        the form ``name=value``. Raises RuntimeError if it fails or, with ``fails``, does not.
        """
        hive = self._home / "bin" / "hive"
        number = len(self.hive_scripts)
        kept = shlex.quote(str(self._home / f"script-{number}"))
        hive.write_text(f'#!/bin/sh\ncp "$2" {kept}\nexit {1 if self.hive_fails else 0}\n')
        hive.chmod(0o755)
        folders = [str(self._cluster.hadoop.configuration_directory), str(self._publisher())]
        of_hive = [each for name in _OF_HIVE for each in pyspark_jars().glob(f"{name}*.jar")]
        path = os.pathsep.join(map(str, [*self._jars, *folders, *self._cluster.jars, *of_hive]))
        set_properties = [f"-D{each}" for each in properties]
        tool, *rest = arguments
        done = subprocess.run(
            [find_java(), *CLIENT, "-cp", path, "org.apache.sqoop.Sqoop", tool, *set_properties, *rest],
            cwd=self._directory,
            env=os.environ
            | {"HIVE_HOME": str(self._home), "HADOOP_MAPRED_HOME": str(self._cluster.jars[0].parent)},
            capture_output=True,
            text=True,
            timeout=_RUN_S,
            check=False,
        )
        output = f"{done.stdout}\n{done.stderr}"
        if bool(done.returncode) is not fails:
            raise RuntimeError(f"sqoop {tool} ended with {done.returncode}:\n{output[-6000:]}")
        return output

    def publishing(self) -> list[str]:
        """Return the properties with which Sqoop calls navlin's publisher."""
        return ["sqoop.job.data.publish.class=NavlinSqoopPublisher"]

    def _publisher(self) -> Path:
        """Return a directory with the compiled publisher and the file that names its directory."""
        folder = self._directory / "publisher"
        if not folder.exists():
            folder.mkdir()
            jar = folder / "NavlinSqoopPublisher.jar"
            compile_program(PUBLISHER, [*self._jars, *self._cluster.jars], jar, find_java(), release=8)
            subprocess.run([sys.executable, "-m", "zipfile", "-e", str(jar), str(folder)], check=True)
            (folder / "sqoop-site.xml").write_text(
                "<configuration><property><name>navlin.sqoop.directory</name>"
                f"<value>{self.published}</value></property></configuration>"
            )
        return folder
