"""The demo's Hadoop with what tests do to it: pairs of NameNodes, properties, failures, images and edits on demand."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from navlin.demo import hadoop
from navlin.demo.hadoop import YARN_SERVICES, NameNode
from navlin.demo.ports import reserved_port

NAMESERVICE: Final = "ns1"


class Hadoop(hadoop.Hadoop):
    """A Hadoop whose services can be killed, and started again with the same data and ports.

    ``settings`` are additional Hadoop properties; ``java_options`` are passed to the JVMs. With ``ha``, one nameservice
    has two NameNodes, each in its own process; the DataNode is in the second process. The NameNodes share a directory
    of edits, and the first is active. `start_yarn` adds ResourceManager and NodeManager.
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
        super().__init__(directory, jars, cache=cache, ports=ports)
        self._java_options = tuple(java_options)
        self._settings = dict(settings or {})
        if ha:
            rpc, http = (f"127.0.0.1:{port}" for port in (reserved_port(), reserved_port()))
            self._namenodes = (*self._namenodes, NameNode("nn2", rpc, http))

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
        return f"hdfs://{NAMESERVICE}" if self.ha else super().url

    @property
    def namenodes(self) -> tuple[str, ...]:
        """``host:port`` of each NameNode."""
        return tuple(each.rpc for each in self._namenodes)

    def name_directory(self, which: int = 0) -> Path:
        """Return the directory in which a NameNode keeps fsimage and edits."""
        return self.directory / self._namenodes[which].id / "name" / "current"

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
        """Start YARN next to a running HDFS (some 6 to 10 s). Harmless if YARN runs."""
        if "yarn" not in self._processes:
            self._start("yarn", YARN_SERVICES)

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

    def _write_sites(self, directory: Path, *sites: dict[str, str]) -> None:
        super()._write_sites(directory, *(properties | self._settings for properties in sites))

    def _hdfs_addresses(self) -> dict[str, str]:
        if not self.ha:
            return super()._hdfs_addresses()
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

    def _own_settings(self, namenode: NameNode) -> dict[str, str]:
        own = super()._own_settings(namenode)
        return own | {"dfs.ha.namenode.id": namenode.id} if self.ha else own


def _only_image(_: str, names: list[str]) -> list[str]:
    return [name for name in names if name.startswith("edits")]
