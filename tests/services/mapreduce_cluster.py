"""A real cluster that runs jobs of MapReduce: HDFS, YARN and a JobHistoryServer, from the jar set "mapreduce"."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Self
from xml.sax.saxutils import escape

import requests

from navlin.demo.ports import reserved_port
from navlin.java import QUICK
from tests.services.hadoop import Hadoop
from tests.services.job_history import JobHistoryServer

_JVM: Final = " ".join(
    ["-Xmx300m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    + [f"--add-opens=java.base/java.{each}=ALL-UNNAMED" for each in ("lang", "util", "net", "io")]
)
_DIRECTORIES: Final = ("/tmp", "/user", "/tmp/hadoop-yarn", "/mr-history")
CLIENT: Final = (*QUICK, "-Xmx512m", *(each for each in _JVM.split() if each.startswith("--add-opens")))
"""Options of a JVM that submits jobs."""


class MapReduceCluster:
    """HDFS, YARN and a JobHistoryServer in ``directory``. ``jars`` is the directory of the jar set "mapreduce";
    ``of_jobs`` are further jars that the tasks of jobs need, ``more`` further properties of Hadoop. All ends with the
    block.

    A job runs in the JVM of its application master, which takes a third of the time.
    """

    def __init__(
        self,
        directory: Path,
        jars: Path,
        of_jobs: Iterable[Path] = (),
        more: Mapping[str, str] | None = None,
    ) -> None:
        self.jars = sorted(jars.glob("*.jar"))
        self._directory = directory
        classes = [f"{jars}/*", *map(str, of_jobs)]
        self._mapreduce = {
            "mapreduce.framework.name": "yarn",
            "mapreduce.application.classpath": ",".join([f"{directory}/hadoop/conf", *classes]),
            "mapreduce.job.ubertask.enable": "true",
            "mapreduce.job.ubertask.maxmaps": "9",
            "yarn.app.mapreduce.am.command-opts": _JVM,
            "mapreduce.map.java.opts": _JVM,
            "mapreduce.reduce.java.opts": _JVM,
            "yarn.app.mapreduce.am.resource.mb": "512",
            # Otherwise an ended job is listed only after three minutes.
            "mapreduce.jobhistory.move.interval-ms": "2000",
            # Clients ask the JobHistoryServer how a job ended.
            "mapreduce.jobhistory.address": f"127.0.0.1:{reserved_port()}",
            "mapreduce.jobhistory.intermediate-done-dir": "/mr-history/tmp",
            "mapreduce.jobhistory.done-dir": "/mr-history/done",
        }
        self._more = dict(more or {})
        settings = {
            "dfs.permissions.enabled": "false",
            "yarn.nodemanager.aux-services": "mapreduce_shuffle",
            "mapreduce.shuffle.port": "0",
            "yarn.application.classpath": ",".join(classes),
            "yarn.nodemanager.delete.debug-delay-sec": "0",
            **self._more,
        }
        cache = jars.parent / "mapreduce-launcher"
        self.hadoop = Hadoop(directory / "hadoop", jars, cache=cache, settings=settings)
        self.history_url = ""
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with self._stack as stack:
            for each in ("hdfs", "datanode"):  # required at the start, and missing in the jars
                (self._directory / "hadoop" / "classes" / "webapps" / each).mkdir(parents=True)
            stack.callback(self.hadoop.stop)
            # All in one process, which starts faster than two.
            self.hadoop.launch(yarn=True)
            self.hadoop.await_ready()
            for each in _DIRECTORIES:
                made = requests.put(
                    f"{self.hadoop.http[0]}/webhdfs/v1{each}",
                    params={"op": "MKDIRS", "permission": "1777"},
                    timeout=300,
                )
                made.raise_for_status()
            self._write_mapred_site()
            history = JobHistoryServer(
                self._directory / "history",
                self.jars[0].parent,
                settings={**self._mapreduce, **self._more, "fs.defaultFS": self.hadoop.url},
            )
            self.history_url = stack.enter_context(history).url
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def ended_jobs(self, count: int, timeout_s: float = 180) -> list[dict[str, Any]]:
        """Wait until the JobHistoryServer lists so many jobs, and return them. Raises TimeoutError."""
        deadline_s = time.monotonic() + timeout_s
        found: list[dict[str, Any]] = []
        while time.monotonic() < deadline_s:
            answer = requests.get(f"{self.history_url}/ws/v1/history/mapreduce/jobs", timeout=300).json()
            found = (answer.get("jobs") or {}).get("job") or []
            if len(found) >= count:
                return found
            time.sleep(1)
        raise TimeoutError(f"after {timeout_s} s {len(found)} of {count} jobs are listed")

    def _write_mapred_site(self) -> None:
        text = "".join(
            f"<property><name>{name}</name><value>{escape(value)}</value></property>\n"
            for name, value in self._mapreduce.items()
        )
        for each in (self._directory / "hadoop").glob("conf*"):
            (each / "mapred-site.xml").write_text(f"<configuration>\n{text}</configuration>\n")
