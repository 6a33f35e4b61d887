"""A real JobHistoryServer without HDFS; the job histories are in a local directory."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from navlin.demo.children import end_with_parent
from navlin.demo.ports import reserved_port
from navlin.java import QUICK, JavaProgram

SOURCE: Final = Path(__file__).with_name("JobHistory.java")


class JobHistoryServer:
    """A JobHistoryServer in ``directory``, on loopback. ``jars`` is the directory of the jar set "mapreduce";
    ``settings`` are additional Hadoop properties.
    """

    def __init__(
        self, directory: Path, jars: Path, *, settings: Mapping[str, str], java_options: Sequence[str] = ()
    ) -> None:
        port = reserved_port()
        self.url = f"http://localhost:{port}"
        self._directory = directory
        self._settings = {
            "fs.defaultFS": "file:///",
            "hadoop.tmp.dir": str(directory / "tmp"),
            "mapreduce.jobhistory.webapp.address": f"127.0.0.1:{port}",
            "mapreduce.jobhistory.address": f"127.0.0.1:{reserved_port()}",
            "mapreduce.jobhistory.admin.address": f"127.0.0.1:{reserved_port()}",
            "mapreduce.jobhistory.intermediate-done-dir": str(directory / "intermediate"),
            "mapreduce.jobhistory.done-dir": str(directory / "done"),
            **settings,
        }
        self._java_options = tuple(java_options)
        self._program = JavaProgram(SOURCE, sorted(jars.glob("*.jar")), jars.parent / "hadoop-launcher")
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        conf = self._directory / "conf"
        (conf / "webapps" / "jobhistory").mkdir(parents=True)
        properties = "".join(
            f"<property><name>{key}</name><value>{value}</value></property>"
            for key, value in self._settings.items()
        )
        # Hadoop reads each file after its own defaults, so a property that is set in only one file may be
        # overridden by the defaults of another.
        for name in ("core-site.xml", "yarn-site.xml", "mapred-site.xml"):
            (conf / name).write_text(f"<configuration>{properties}</configuration>")
        options = [*QUICK, "-Xmx512m", *self._java_options]
        log = self._directory / "history.log"
        self._process = subprocess.Popen(
            self._program.command(options, (), archive_classes=False, before=[conf]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log.open("ab"),
            text=True,
            preexec_fn=end_with_parent,
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "READY\n":
            self.__exit__()
            raise RuntimeError(f"the JobHistoryServer did not start: {log.read_text()[-3000:]}")
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
