"""A real Hive metastore for the demo and the tests, from the classes in PySpark's jars and one HCatalog jar."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self
from xml.sax.saxutils import escape

from navlin.demo import DemoFailed
from navlin.demo.children import end_with_parent
from navlin.java import QUICK, JavaProgram, pyspark_jars

SOURCE: Final = Path(__file__).with_name("MetastoreServer.java")
START_S: Final = 120


class MetastoreNotStarted(DemoFailed):
    """The metastore ended, or does not answer; the message contains the last output."""


class Metastore:
    """A separate metastore in ``directory``, on ``port`` or a free port. It ends with the thread that started it.

    It can be ended and started again with the same data. ``jars`` contains the jar of the notification listener;
    without ``listener`` the metastore records no events. ``short_lived`` makes it quick to start rather than quick to
    run. ``settings`` are additional properties of Hive and Hadoop; ``java_options`` are passed to the JVM.
    """

    def __init__(
        self,
        directory: Path,
        jars: Path,
        *,
        listener: bool = True,
        short_lived: bool = True,
        port: int | None = None,
        settings: Mapping[str, str] | None = None,
        java_options: Sequence[str] = (),
    ) -> None:
        self.directory = directory.resolve()
        self.jars = jars.resolve()
        self._listener = listener
        self._short_lived = short_lived
        self._settings = dict(settings or {})
        self._java_options = tuple(java_options)
        self.port = port or _free_port()
        self.uri = f"thrift://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def warehouse(self) -> Path:
        """The directory of managed tables."""
        return self.directory / "warehouse"

    def class_path(self) -> list[Path]:
        """Return the jars with the metastore's classes."""
        return [*sorted(self.jars.glob("*.jar")), *sorted(pyspark_jars().glob("*.jar"))]

    def command(self, options: Sequence[str], configuration: Path) -> list[str]:
        """Return the command line that starts the server on loopback."""
        program = JavaProgram(SOURCE, self.class_path(), self.jars.parent / "metastore-launcher")
        return program.command(options, [str(self.port)], archive_classes=False, before=(configuration,))

    def start(self) -> None:
        """Start the metastore on the existing data in the directory, and wait until it answers (some 6 to 10 s)."""
        self.launch()
        self.await_ready()

    def launch(self) -> None:
        """Start the metastore without waiting for it. It ends with the calling *thread*, because of how the system
        signals the death of a parent."""
        conf = self.directory / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        (conf / "hive-site.xml").write_text(self._hive_site())
        (conf / "core-site.xml").write_text(_site(self._settings))
        opens = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("lang", "net", "util")]
        options = [
            *(QUICK if self._short_lived else ()),
            "-Xmx512m",
            "-Dderby.system.durability=test",
            f"-Dderby.stream.error.file={conf}/derby.log",
            f"-Djava.io.tmpdir={conf}",
            *self._java_options,
            *opens,
        ]
        with (self.directory / "metastore.log").open("ab") as log:
            self._process = subprocess.Popen(
                self.command(options, conf),
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
            if self._process.poll() is not None or time.monotonic() > deadline_s:
                self.kill()
                raise MetastoreNotStarted((self.directory / "metastore.log").read_text()[-2000:])
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

    def _hive_site(self) -> str:
        properties = {
            "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={self.directory}/db;create=true",
            "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
            "datanucleus.schema.autoCreateAll": "true",
            "hive.metastore.schema.verification": "false",
            "hive.metastore.warehouse.dir": f"file:{self.warehouse}",
            # Otherwise the metastore dies at start, because the asynchronous logger's library is not among PySpark's
            # jars.
            "hive.async.log.enabled": "false",
            # Otherwise no database can be dropped, because the default pool's library is not among PySpark's jars
            # either.
            "datanucleus.connectionPoolingType": "none",
            "hive.metastore.event.db.listener.timetolive": "86400s",
        }
        if self._listener:
            properties["hive.metastore.transactional.event.listeners"] = (
                "org.apache.hive.hcatalog.listener.DbNotificationListener"
            )
        return _site(properties | self._settings)


def _site(properties: Mapping[str, str]) -> str:
    lines = (
        f"<property><name>{k}</name><value>{escape(v)}</value></property>" for k, v in properties.items()
    )
    return "<configuration>" + "".join(lines) + "</configuration>"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
