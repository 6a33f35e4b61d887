"""A real HDFS, and optionally a real YARN, for the demo and the tests, from PySpark's jars and Hadoop's own test
jar."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from typing import Final, Self
from xml.sax.saxutils import escape

from navlin.demo import DemoFailed
from navlin.java import QUICK, JavaProgram, find_java, pyspark_jars

SOURCE: Final = Path(__file__).with_name("HadoopServices.java")
START_S: Final = 180.0
COMMAND_S: Final = 120.0
NAMESERVICE: Final = "ns1"
PORTS: Final = 18
"""Maximum number of ports that one Hadoop needs."""


class HadoopNotStarted(DemoFailed):
    """A Hadoop service ended, does not answer, or failed to execute a command; the message contains the last output."""


@dataclass(frozen=True, slots=True)
class _NameNode:
    """The addresses (``host:port``) of one NameNode."""

    id: str
    rpc: str
    http: str


class Hadoop:
    """A separate HDFS in ``directory`` on ports of this machine: NameNode and DataNode in one process.

    All services end with the process that started them. A service can be killed, and started again with the same data
    and ports. ``settings`` are additional Hadoop properties; ``java_options`` are passed to the JVMs. With ``ha``, one
    nameservice has two NameNodes, each in its own process; the DataNode is in the second process. The NameNodes share a
    directory of edits, and the first is active. `start_yarn` adds ResourceManager and NodeManager. ``jars`` contains
    the jars of the set "hadoop", ``cache`` the compiled launcher. ``ports`` has `PORTS` port numbers; if None, free
    ports are used.
    """

    def __init__(
        self,
        directory: Path,
        jars: Path,
        *,
        cache: Path | None = None,
        settings: Mapping[str, str] | None = None,
        ha: bool = False,
        ports: Iterable[int] | None = None,
        java_options: Sequence[str] = (),
    ) -> None:
        self._java_options = tuple(java_options)
        self.directory = directory.resolve()
        self.configuration_directory = self.directory / "conf"
        """Directory of core-site.xml, hdfs-site.xml and yarn-site.xml for clients."""
        jar_files = (*sorted(jars.resolve().glob("*.jar")), *sorted(pyspark_jars().glob("*.jar")))
        self._program = JavaProgram(SOURCE, jar_files, cache or self.directory / "launcher")
        self._settings = dict(settings or {})
        addresses = iter([f"127.0.0.1:{port}" for port in ports or _free_ports(PORTS)])
        ids = ("nn1", "nn2") if ha else ("nn1",)
        self._namenodes = tuple(_NameNode(each, next(addresses), next(addresses)) for each in ids)
        self._ports = {key: next(addresses) for key in (*_DATANODE_PORTS, *_YARN_PORTS)}
        self._processes: dict[str, _Process] = {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def ha(self) -> bool:
        return len(self._namenodes) > 1

    @property
    def url(self) -> str:
        """``hdfs://host:port``, or ``hdfs://nameservice`` with ``ha``."""
        return f"hdfs://{NAMESERVICE}" if self.ha else f"hdfs://{self._namenodes[0].rpc}"

    @property
    def namenodes(self) -> tuple[str, ...]:
        """``host:port`` of each NameNode."""
        return tuple(each.rpc for each in self._namenodes)

    @property
    def http(self) -> tuple[str, ...]:
        """``http://host:port`` of each NameNode, for WebHDFS and imagetransfer."""
        return tuple(f"http://{each.http}" for each in self._namenodes)

    @property
    def yarn(self) -> str:
        """``http://host:port`` of the ResourceManager."""
        return f"http://{self._ports['yarn.resourcemanager.webapp.address']}"

    def name_directory(self, which: int = 0) -> Path:
        """Return the directory in which a NameNode keeps fsimage and edits."""
        return self.directory / self._namenodes[which].id / "name" / "current"

    def launch(self, *, yarn: bool = False) -> None:
        """Start an HDFS without ``ha``. `await_ready` waits until it is ready.

        With ``yarn``, ResourceManager and NodeManager are in the same process, which starts faster than two processes.
        """
        (only,) = self._namenodes
        self._write_configuration()
        services = ("namenode", "datanode", *(_YARN_SERVICES if yarn else ()))
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

    def start(self) -> None:
        """Start HDFS on the existing data in the directory, and wait until it accepts files (some 6 to 10 s)."""
        if not self.ha:
            self.launch()
            self.await_ready()
            return
        self._write_configuration()
        first, *others = self._namenodes
        if first.id not in self._processes:
            self._start(first.id, ("namenode",))
        for each in others:
            if not (self.directory / each.id / "name").exists():
                # Like `hdfs namenode -bootstrapStandby`: copy the namespace; the edits come from the shared directory.
                shutil.copytree(
                    self.name_directory(), self.directory / each.id / "name" / "current", ignore=_only_image
                )
            self._start(each.id, ("namenode", "datanode"), wait=False)
        self.activate(0)
        for each in self._namenodes:
            self._processes[each.id].await_ready()
            self._processes[each.id].send("await")

    def start_yarn(self) -> None:
        """Start YARN next to a running HDFS (some 6 to 10 s). If a port chosen when HDFS started is no longer free, use
        other ports. Harmless if YARN runs."""
        if "yarn" not in self._processes:
            if not all(_is_free(self._ports[key]) for key in _YARN_PORTS):
                others = _free_ports(len(_YARN_PORTS))
                self._ports |= {
                    key: f"127.0.0.1:{port}" for key, port in zip(_YARN_PORTS, others, strict=True)
                }
                self._write_configuration()
            self._start("yarn", _YARN_SERVICES)

    def stop(self) -> None:
        """End all services, and wait until they have ended."""
        for name in list(self._processes):
            self._processes.pop(name).stop()

    def kill(self, which: int = 0) -> None:
        """Kill the process of a NameNode with kill -9, including the DataNode in that process."""
        self._processes.pop(self._namenodes[which].id).kill()

    def restart(self, which: int = 0) -> None:
        """Start a killed NameNode again, with the same data and ports. With ``ha`` it becomes standby."""
        each = self._namenodes[which]
        datanode = each == self._namenodes[-1]
        self._start(each.id, ("namenode", "datanode") if datanode else ("namenode",))

    def activate(self, which: int) -> None:
        """Fail over: first make the other running NameNodes standby, then make this one active."""
        for each in self._namenodes:
            if each != self._namenodes[which] and each.id in self._processes:
                self._processes[each.id].send("become standby")
        chosen = self._processes[self._namenodes[which].id]
        chosen.send("become active")

    def save_namespace(self, which: int = 0) -> None:
        """Save a new fsimage; the NameNode is in safe mode meanwhile."""
        self.send("enter safe mode", which)
        try:
            self.send("save namespace", which)
        finally:
            self.send("leave safe mode", which)

    def roll_edits(self, which: int = 0) -> None:
        """Close the current segment of edits, and begin a new one."""
        self.send("roll edits", which)

    def send(self, command: str, which: int = 0) -> None:
        """Send a command of HadoopServices to a NameNode, such as ``enter safe mode``. Raises `HadoopNotStarted`."""
        self._processes[self._namenodes[which].id].send(command)

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
        yarn = {**_YARN, **{key: self._ports[key] for key in _YARN_PORTS}}
        yarn["yarn.nodemanager.local-dirs"] = f"{self.directory}/yarn/local"
        yarn["yarn.nodemanager.log-dirs"] = f"{self.directory}/yarn/logs"
        yarn["yarn.node-attribute.fs-store.root-dir"] = f"file://{self.directory}/yarn/attributes"
        self._write_sites(self.configuration_directory, core, hdfs, yarn)
        self._write_sites(self.directory / "conf-yarn", core, hdfs, yarn)
        for each in self._namenodes:
            own = {"dfs.namenode.name.dir": f"{self.directory}/{each.id}/name"}
            if self.ha:
                own["dfs.ha.namenode.id"] = each.id
            self._write_sites(self.directory / f"conf-{each.id}", core, hdfs | own, yarn)

    def _write_sites(self, directory: Path, *sites: dict[str, str]) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        for name, properties in zip(("core-site.xml", "hdfs-site.xml", "yarn-site.xml"), sites, strict=True):
            lines = [
                f"<property><name>{key}</name><value>{escape(value)}</value></property>\n"
                for key, value in (properties | self._settings).items()
            ]
            (directory / name).write_text(f"<configuration>\n{''.join(lines)}</configuration>\n")

    def _hdfs_addresses(self) -> dict[str, str]:
        if not self.ha:
            (only,) = self._namenodes
            return {"dfs.namenode.rpc-address": only.rpc, "dfs.namenode.http-address": only.http}
        found = {
            "dfs.nameservices": NAMESERVICE,
            f"dfs.ha.namenodes.{NAMESERVICE}": ",".join(each.id for each in self._namenodes),
            f"dfs.client.failover.proxy.provider.{NAMESERVICE}": (
                "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
            ),
            "dfs.namenode.shared.edits.dir": f"file://{self.directory}/shared",
            "dfs.ha.tail-edits.period": "1",
        }
        for each in self._namenodes:
            found[f"dfs.namenode.rpc-address.{NAMESERVICE}.{each.id}"] = each.rpc
            found[f"dfs.namenode.http-address.{NAMESERVICE}.{each.id}"] = each.http
        return found


_YARN_SERVICES: Final = ("resourcemanager", "nodemanager")
_DATANODE_PORTS: Final = ("dfs.datanode.address", "dfs.datanode.http.address", "dfs.datanode.ipc.address")
_YARN_PORTS: Final = (
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
            self._await("start", START_S)
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
            raise HadoopNotStarted(f"{what}: {answer or 'it ended'}\n{output}")


def _only_image(_: str, names: list[str]) -> list[str]:
    return [name for name in names if name.startswith("edits")]


def _is_free(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with socket.socket() as probe:
        # As for Java's servers, a recently closed connection does not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
        except OSError:
            return False
    return True


def _free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()
