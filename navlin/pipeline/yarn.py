"""Spark on YARN: the environment of executors, and the files that are copied once to the cluster's file system.

An executor has no installed navlin, Python or Spark. So these are copied to ``.navlin`` in the user's home directory on
the cluster's file system, under names that depend on the content. YARN caches the files on each node, so that later
starts copy nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import uuid4
from zipfile import ZipFile

from navlin.java import pyspark_jars
from navlin.pipeline.packing import LIBRARIES, PACKAGES, PYTHON

ENVIRONMENT: Final = "environment"
"""Name under which YARN unpacks the archive in the working directory of each executor."""
FOLDER: Final = ".navlin"
JARS: Final = ("spark.yarn.jars", "spark.yarn.archive")
"""Settings with which an operator provides Spark's jars. If one is set, navlin ships no jars."""
ARCHIVES: Final = "spark.yarn.dist.archives"
FILES: Final = "spark.yarn.dist.files"


@dataclass(frozen=True, slots=True)
class Cluster:
    """Settings for access to a YARN cluster.

    ``configuration_directory`` contains core-site.xml and yarn-site.xml. ``environment`` is the archive made by
    `navlin.pipeline.packing.pack`; ``python`` is the path of a Python of the same version on each node, "" if Python is
    in the archive. ``principal`` and ``keytab`` are for Kerberos. ``files`` are copied to the working directory of each
    executor.
    """

    configuration_directory: Path
    environment: Path
    python: str = ""
    principal: str = ""
    keytab: Path | None = None
    files: tuple[Path, ...] = ()

    @property
    def executors_python(self) -> str:
        """Path of the Python interpreter for executors."""
        return self.python or f"./{ENVIRONMENT}/{PYTHON}"

    def properties(self) -> dict[str, str]:
        """Return the Spark properties that make executors use their environment."""
        found = {
            "spark.submit.deployMode": "client",
            "spark.executorEnv.PYTHONPATH": f"./{ENVIRONMENT}/{PACKAGES}",
            # Ignore packages in the home directory of the user that YARN runs executors as.
            "spark.executorEnv.PYTHONNOUSERSITE": "1",
        }
        if not self.python:
            found["spark.executorEnv.LD_LIBRARY_PATH"] = f"./{ENVIRONMENT}/{LIBRARIES}"
        if self.keytab is not None:
            found |= {"spark.kerberos.principal": self.principal, "spark.kerberos.keytab": str(self.keytab)}
        return found

    def variables(self) -> dict[str, str]:
        """Return the environment variables for the driver's JVM."""
        folder = str(self.configuration_directory)
        archives = sorted(pyspark_jars().parent.joinpath("python", "lib").glob("*.zip"))
        return {
            "HADOOP_CONF_DIR": folder,
            "YARN_CONF_DIR": folder,
            # Location of PySpark for executors, because there is no SPARK_HOME.
            "PYSPARK_ARCHIVES_PATH": ",".join(map(str, archives)),
        }

    def bring(self, jvm: Any, properties: Mapping[str, str]) -> dict[str, str]:
        """Copy missing files to the cluster's file system, and return the Spark properties that name the files.

        ``jvm`` is Spark's JVM before it has a context; ``properties`` are the Spark properties with which the JVM was
        started.
        """
        depot = _Depot(jvm)
        depot.bring(self.environment)
        archives = [f"{depot.url(self.environment.name)}#{ENVIRONMENT}"]
        files = [each.absolute().as_uri() for each in self.files]
        found = {
            ARCHIVES: ",".join([*filter(None, [properties.get(ARCHIVES)]), *archives]),
            FILES: ",".join([*filter(None, [properties.get(FILES)]), *files]),
        }
        if not any(name in properties for name in JARS):
            found["spark.yarn.archive"] = self._bring_jars(depot, pyspark_jars())
        return {name: value for name, value in found.items() if value}

    def _bring_jars(self, depot: _Depot, jars: Path) -> str:
        name = archive_of_jars(jars)
        if not depot.has(name):
            # Use one archive, because some 250 jars would be written to HDFS, and fetched from it, one after the other.
            with TemporaryDirectory(dir=self.environment.parent, prefix=".packing-") as folder:
                archive = Path(folder) / name
                with ZipFile(archive, "w") as packed:  # jars are compressed already
                    for jar in sorted(jars.glob("*.jar")):
                        packed.write(jar, jar.name)
                depot.bring(archive)
        return depot.url(name)


def archive_of_jars(jars: Path) -> str:
    """Return the name for an archive of the jars in a folder. The name depends on the names and sizes of the jars."""
    known = hashlib.sha256()
    for jar in sorted(jars.glob("*.jar")):
        known.update(f"{jar.name}:{jar.stat().st_size}\n".encode())
    return f"spark-{known.hexdigest()[:16]}.zip"


class _Depot:
    """The folder `FOLDER` in the user's home directory on the cluster's file system, private to the user."""

    def __init__(self, jvm: Any) -> None:
        self._fs = jvm.org.apache.hadoop.fs
        self._files = self._fs.FileSystem.get(jvm.org.apache.hadoop.conf.Configuration())
        self._folder = f"{self._files.getHomeDirectory().toString()}/{FOLDER}"
        path = self._fs.Path(self._folder)
        if not self._files.exists(path):
            self._files.mkdirs(path, self._fs.permission.FsPermission("700"))

    def url(self, name: str) -> str:
        return f"{self._folder}/{name}"

    def has(self, name: str) -> bool:
        return bool(self._files.exists(self._fs.Path(self.url(name))))

    def bring(self, local: Path) -> None:
        """Copy a file to the folder, atomically, unless one with the same name exists."""
        if self.has(local.name):
            return
        unfinished = self._fs.Path(self.url(f".unfinished-{uuid4()}"))
        try:
            self._files.copyFromLocalFile(False, True, self._fs.Path(local.as_uri()), unfinished)
            # If another navlin process was faster, its file remains; the content is the same.
            self._files.rename(unfinished, self._fs.Path(self.url(local.name)))
        finally:
            self._files.delete(unfinished, True)
