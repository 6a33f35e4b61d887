"""The estate of the demo: a real HDFS, YARN and metastore, the output of a real Spark job, and Impala lineage
records."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from getpass import getuser
from pathlib import Path
from typing import Final

import requests

from navlin.demo import DemoFailed
from navlin.demo.children import end_with_parent
from navlin.demo.hadoop import Hadoop
from navlin.demo.impala import write_one_more, write_records
from navlin.demo.metastore import Metastore

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
directory = "{impala}"
"""


class DemoEstate:
    """A small estate below ``home``. ``jars`` is the directory of the sets of jars."""

    def __init__(self, home: Path, jars: Path) -> None:
        self._home = home
        self._impala = home / "impala-lineage"
        self._impala.mkdir()
        (home / "metastore").mkdir()
        self._metastore = Metastore(home / "metastore", jars / "hive-metastore")
        self._hadoop = Hadoop(home / "hadoop", jars / "hadoop", cache=jars / "hadoop-launcher")

    def launch_hadoop(self) -> None:
        """Start HDFS and YARN without waiting for them."""
        self._hadoop.launch(yarn=True)

    def launch_metastore(self) -> None:
        """Start the metastore without waiting for it."""
        self._metastore.launch()

    def await_ready(self) -> None:
        """Wait until the services answer."""
        self._hadoop.await_ready()
        try:
            # Spark does not create the directory for its event logs.
            made = requests.put(
                f"{self._hadoop.http[0]}/webhdfs/v1/spark-events",
                params={"op": "MKDIRS", "user.name": getuser()},
                timeout=60,
            )
            made.raise_for_status()
        except requests.RequestException as error:
            raise DemoFailed(f"HDFS makes no directory: {error}") from error
        self._metastore.await_ready()

    def run_job(self) -> None:
        """Run the Spark job on YARN, in a separate process. Raises `DemoFailed`."""
        log = self._home / "job.log"
        with log.open("wb") as console:
            finished = subprocess.run(
                [sys.executable, "-m", "navlin.demo.job", self._metastore.uri, self._hadoop.url],
                cwd=self._home,
                env={**os.environ, "HADOOP_CONF_DIR": str(self._hadoop.configuration_directory)},
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                start_new_session=True,
                preexec_fn=end_with_parent,
                check=False,
            )
        if finished.returncode:
            raise DemoFailed(f"the Spark job failed:\n{log.read_text(errors='replace')[-3000:]}")

    def write_records(self) -> tuple[Path, Path]:
        """Write Impala's lineage records. Return their file, and a file with one more record that may be appended to
        the first."""
        now_s = int(time.time())
        one_more = self._home / "one-more-record"
        write_one_more(one_more, now_s)
        return write_records(self._impala, now_s), one_more

    def sources(self) -> str:
        """Return the ``[[source]]`` sections of a configuration for this estate."""
        return SOURCES.format(
            metastore=self._metastore.uri,
            hdfs=self._hadoop.url,
            namenode=self._hadoop.http[0],
            yarn=self._hadoop.yarn,
            impala=self._impala,
        )
