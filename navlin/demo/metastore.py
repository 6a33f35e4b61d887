"""A real Hive metastore for the demo and the tests, from the classes in PySpark's jars and one HCatalog jar."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from navlin.demo import DemoFailed
from navlin.demo.children import end_with_parent
from navlin.demo.ports import reserved_port
from navlin.java import QUICK, JavaProgram, pyspark_jars

SOURCE: Final = Path(__file__).with_name("MetastoreServer.java")
START_S: Final = 600


class MetastoreNotStarted(DemoFailed):
    """The metastore ended, or does not answer; the message contains the last output."""


class Metastore:
    """A separate metastore in ``directory``, on a reserved port. It ends with the thread that started it. ``jars`` contains
    the jar of the notification listener."""

    def __init__(self, directory: Path, jars: Path) -> None:
        self.directory = directory.resolve()
        self.jars = jars.resolve()
        self.port = reserved_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def uri(self) -> str:
        return f"thrift://127.0.0.1:{self.port}"

    def class_path(self) -> list[Path]:
        """Return the jars with the metastore's classes."""
        return [*sorted(self.jars.glob("*.jar")), *sorted(pyspark_jars().glob("*.jar"))]

    def command(self, options: Sequence[str], configuration: Path) -> list[str]:
        """Return the command line that starts the server on loopback."""
        program = JavaProgram(SOURCE, self.class_path(), self.jars.parent / "metastore-launcher")
        return program.command(options, [str(self.port)], archive_classes=False, before=(configuration,))

    def launch(self) -> None:
        """Start the metastore without waiting for it. It ends with the calling *thread*, because of how the system
        signals the death of a parent."""
        conf = self.directory / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        (conf / "hive-site.xml").write_text(site(self.properties()))
        with (self.directory / "metastore.log").open("ab") as log:
            self._process = subprocess.Popen(
                self.command(self.java_options(conf), conf),
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C must reach only the process that started this child, which stops it
                preexec_fn=end_with_parent,
            )

    def await_ready(self) -> None:
        """Wait until the metastore answers. If it does not, kill it and raise `MetastoreNotStarted`."""
        assert self._process is not None
        deadline_s = time.monotonic() + START_S
        while not self._answers():
            if (ended := self._process.poll() is not None) or time.monotonic() > deadline_s:
                self.kill()
                log = (self.directory / "metastore.log").read_text()[-2000:]
                reason = "the process ended" if ended else f"no answer within {START_S} s"
                raise MetastoreNotStarted(f"the Hive metastore did not start: {reason}\n{log}".rstrip())
            time.sleep(0.1)

    def kill(self) -> None:
        """Kill the metastore, like a crash."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        # The metastore listens only when its database is ready.
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def java_options(self, conf: Path) -> list[str]:
        """Return the options of the JVM. ``conf`` is the directory of the configuration, and of temporary files."""
        return [
            *QUICK,
            "-Xmx512m",
            "-Dderby.system.durability=test",
            f"-Dderby.stream.error.file={conf}/derby.log",
            f"-Djava.io.tmpdir={conf}",
            *(f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("lang", "net", "util")),
        ]

    def properties(self) -> dict[str, str]:
        """Return the metastore's own properties."""
        return {
            "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={self.directory}/db;create=true",
            "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
            "datanucleus.schema.autoCreateAll": "true",
            "hive.metastore.schema.verification": "false",
            "hive.metastore.warehouse.dir": f"file:{self.directory}/warehouse",
            # Otherwise the metastore dies at start, because the asynchronous logger's library is not among PySpark's
            # jars.
            "hive.async.log.enabled": "false",
            # Otherwise no database can be dropped, because the default pool's library is not among PySpark's jars
            # either.
            "datanucleus.connectionPoolingType": "none",
            "hive.metastore.event.db.listener.timetolive": "86400s",
            "hive.metastore.transactional.event.listeners": (
                "org.apache.hive.hcatalog.listener.DbNotificationListener"
            ),
        }


def site(properties: Mapping[str, str]) -> str:
    """Return the text of a configuration file of Hive or Hadoop."""
    lines = (
        f"<property><name>{k}</name><value>{escape(v)}</value></property>" for k, v in properties.items()
    )
    return "<configuration>" + "".join(lines) + "</configuration>"
