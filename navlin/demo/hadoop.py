"""A real HDFS, and optionally a real YARN, for the demo, from PySpark's jars and Hadoop's own test jar."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from typing import Final
from xml.sax.saxutils import escape

from navlin.demo import DemoFailed
from navlin.demo.ports import reserved_port
from navlin.java import QUICK, JavaProgram, find_java, pyspark_jars

SOURCE: Final = Path(__file__).with_name("HadoopServices.java")
START_S: Final = 600.0
COMMAND_S: Final = 120.0
PORTS: Final = 14
"""Number of ports that one Hadoop needs."""


class HadoopNotStarted(DemoFailed):
    """A Hadoop service ended, does not answer, or failed to execute a command; the message contains the last output."""


@dataclass(frozen=True, slots=True)
class NameNode:
    """The addresses (``host:port``) of one NameNode."""

    id: str
    rpc: str
    http: str


class Hadoop:
    """A separate HDFS in ``directory`` on ports of this machine: NameNode and DataNode in one process.

    All services end with the process that started them. ``jars`` contains the jars of the set "hadoop", ``cache`` the
    compiled launcher. ``ports`` has `PORTS` port numbers; if None, reserved ports are used.
    """

    def __init__(
        self, directory: Path, jars: Path, *, cache: Path | None = None, ports: Iterable[int] | None = None
    ) -> None:
        self.directory = directory.resolve()
        self.configuration_directory = self.directory / "conf"
        """Directory of core-site.xml, hdfs-site.xml and yarn-site.xml for clients."""
        jar_files = (*sorted(jars.resolve().glob("*.jar")), *sorted(pyspark_jars().glob("*.jar")))
        self._program = JavaProgram(SOURCE, jar_files, cache or self.directory / "launcher")
        self._java_options: tuple[str, ...] = ()
        addresses = iter([f"127.0.0.1:{port}" for port in ports or (reserved_port() for _ in range(PORTS))])
        self._namenodes: tuple[NameNode, ...] = (NameNode("nn1", next(addresses), next(addresses)),)
        self._ports = {key: next(addresses) for key in (*_DATANODE_PORTS, *YARN_PORTS)}
        self._processes: dict[str, _Process] = {}

    @property
    def url(self) -> str:
        """``hdfs://host:port``."""
        return f"hdfs://{self._namenodes[0].rpc}"

    @property
    def http(self) -> tuple[str, ...]:
        """``http://host:port`` of each NameNode, for WebHDFS and imagetransfer."""
        return tuple(f"http://{each.http}" for each in self._namenodes)

    @property
    def yarn(self) -> str:
        """``http://host:port`` of the ResourceManager."""
        return f"http://{self._ports['yarn.resourcemanager.webapp.address']}"

    def launch(self, *, yarn: bool = False) -> None:
        """Start HDFS. `await_ready` waits until it is ready.

        With ``yarn``, ResourceManager and NodeManager are in the same process, which starts faster than two processes.
        """
        (only,) = self._namenodes
        self._write_configuration()
        services = ("namenode", "datanode", *(YARN_SERVICES if yarn else ()))
        self._start(only.id, services, wait=False)

    def await_ready(self) -> None:
        """Wait until all started services accept work (some 6 to 10 s). If one does not, kill all and raise the
        error."""
        try:
            for process in self._processes.values():
                process.await_ready()
        except BaseException:
            for name in list(self._processes):
                self._processes.pop(name).kill()
            raise

    def stop(self) -> None:
        """End all services, and wait until they have ended."""
        for name in list(self._processes):
            self._processes.pop(name).stop()

    def _start(self, name: str, services: Sequence[str], *, wait: bool = True) -> None:
        if name in self._processes:
            return
        options = [
            *QUICK,
            "-Xmx1g",
            f"-Dhadoop.home.dir={self.directory}",
            f"-Djava.io.tmpdir={self._temporary()}",
            *self._java_options,
        ]
        folders = (self.directory / f"conf-{name}", self.directory / "classes")
        command = self._program.command(options, services, archive_classes=False, before=folders)
        process = _Process(command, self.directory / name)
        try:
            if wait:
                process.await_ready()
        except BaseException:
            process.kill()
            raise
        self._processes[name] = process

    def _temporary(self) -> Path:
        # Jetty unpacks files into this directory, and only cleans up if it ends normally.
        directory = self.directory / "tmp"
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    def _write_configuration(self) -> None:
        for webapp in (
            "cluster",
            "node",
            "proxy",
            "jobhistory",
        ):  # required at the start, and missing in the jar
            (self.directory / "classes" / "webapps" / webapp).mkdir(parents=True, exist_ok=True)
        core = {"fs.defaultFS": self.url, "hadoop.tmp.dir": str(self._temporary())}
        hdfs = {**_HDFS, **self._hdfs_addresses(), "dfs.datanode.data.dir": f"{self.directory}/data"}
        hdfs |= {key: self._ports[key] for key in _DATANODE_PORTS}
        yarn = {**_YARN, **{key: self._ports[key] for key in YARN_PORTS}}
        yarn["yarn.nodemanager.local-dirs"] = f"{self.directory}/yarn/local"
        yarn["yarn.nodemanager.log-dirs"] = f"{self.directory}/yarn/logs"
        yarn["yarn.node-attribute.fs-store.root-dir"] = f"file://{self.directory}/yarn/attributes"
        self._write_sites(self.configuration_directory, core, hdfs, yarn)
        self._write_sites(self.directory / "conf-yarn", core, hdfs, yarn)
        for each in self._namenodes:
            self._write_sites(self.directory / f"conf-{each.id}", core, hdfs | self._own_settings(each), yarn)

    def _write_sites(self, directory: Path, *sites: dict[str, str]) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        for name, properties in zip(("core-site.xml", "hdfs-site.xml", "yarn-site.xml"), sites, strict=True):
            lines = [
                f"<property><name>{key}</name><value>{escape(value)}</value></property>\n"
                for key, value in properties.items()
            ]
            (directory / name).write_text(f"<configuration>\n{''.join(lines)}</configuration>\n")

    def _hdfs_addresses(self) -> dict[str, str]:
        (only,) = self._namenodes
        return {"dfs.namenode.rpc-address": only.rpc, "dfs.namenode.http-address": only.http}

    def _own_settings(self, namenode: NameNode) -> dict[str, str]:
        """Return the properties that only this NameNode has."""
        return {"dfs.namenode.name.dir": f"{self.directory}/{namenode.id}/name"}


YARN_SERVICES: Final = ("resourcemanager", "nodemanager")
_DATANODE_PORTS: Final = ("dfs.datanode.address", "dfs.datanode.http.address", "dfs.datanode.ipc.address")
YARN_PORTS: Final = (
    "yarn.resourcemanager.address",
    "yarn.resourcemanager.scheduler.address",
    "yarn.resourcemanager.resource-tracker.address",
    "yarn.resourcemanager.admin.address",
    "yarn.resourcemanager.webapp.address",
    "yarn.nodemanager.address",
    "yarn.nodemanager.localizer.address",
    "yarn.nodemanager.collector-service.address",
    "yarn.nodemanager.webapp.address",
)
_HDFS: Final = {
    "dfs.replication": "1",
    "dfs.namenode.safemode.extension": "0",
    "dfs.blockreport.initialDelay": "0",
    "dfs.heartbeat.interval": "1",
    # A small minimum block size makes files with many blocks cheap to write.
    "dfs.namenode.fs-limits.min-block-size": "512",
    # Otherwise a nearly full disk puts the NameNode into safe mode.
    "dfs.namenode.resource.du.reserved": "0",
    # Edits reach the operating system at once but the disk only later, which is enough to survive kill -9.
    "dfs.namenode.edits.noeditlogchannelflush": "true",
    # No other DataNode could replace the only one.
    "dfs.client.block.write.replace-datanode-on-failure.policy": "NEVER",
}
_YARN: Final = {
    "yarn.resourcemanager.hostname": "127.0.0.1",
    "yarn.nodemanager.hostname": "127.0.0.1",
    "yarn.resourcemanager.scheduler.class": (
        "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler"
    ),
    # Containers are allocated and started, and their end is noticed, only at heartbeats.
    "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "100",
    "yarn.scheduler.minimum-allocation-mb": "128",
    "yarn.nodemanager.resource.memory-mb": "8192",
    "yarn.nodemanager.resource.cpu-vcores": "8",
    "yarn.nodemanager.pmem-check-enabled": "false",
    "yarn.nodemanager.vmem-check-enabled": "false",
    "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.5",
    "yarn.nodemanager.delete.debug-delay-sec": "600",
}


class _Process:
    """One process of HadoopServices. It prints one line when it has started, and one after each command."""

    def __init__(self, command: Sequence[str], directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._log = directory / "console.log"
        java_home = Path(shutil.which(find_java()) or "java").resolve().parents[1]
        with self._log.open("ab") as log:
            self._child = subprocess.Popen(
                command,
                cwd=directory,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                # YARN starts containers with this Java.
                env={**os.environ, "JAVA_HOME": str(java_home)},
            )
        self._answers: Queue[str | None] = Queue()
        self._ready = False
        threading.Thread(target=self._read_answers, name="hadoop-stdout", daemon=True).start()

    def await_ready(self) -> None:
        if not self._ready:
            self._await("HDFS and YARN did not start", START_S)
            self._ready = True

    def send(self, command: str) -> None:
        self.await_ready()
        assert self._child.stdin is not None
        self._child.stdin.write(f"{command}\n".encode())
        self._child.stdin.flush()
        self._await(command, COMMAND_S)

    def stop(self) -> None:
        assert self._child.stdin is not None
        self._child.stdin.close()
        try:
            self._child.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        self._child.kill()
        self._child.wait()

    def _read_answers(self) -> None:
        assert self._child.stdout is not None
        with self._child.stdout as lines:
            for line in lines:
                self._answers.put(line.decode(errors="replace").strip())
        self._answers.put(None)

    def _await(self, what: str, timeout_s: float) -> None:
        try:
            answer = self._answers.get(timeout=timeout_s)
        except Empty:
            answer = f"no answer within {timeout_s:.0f} s"
        if answer != "READY":
            output = self._log.read_text(errors="replace")[-3000:]
            raise HadoopNotStarted(f"{what}: {answer or 'the process ended'}\n{output}".rstrip())
