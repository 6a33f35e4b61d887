"""Three hosts send logs that grow, roll, are renamed, truncated and replaced, while agents and navlin are killed at
random. Each byte arrives once, and the index is that of one host that reads all these logs itself."""

from __future__ import annotations

import json
import random
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from navlin.access.host_tokens import HostTokens
from navlin.forward import agent
from navlin.index.admin.cores import CORES
from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import Solr
from navlin.model.keys import EntityType
from tests.services.certificates import certificate
from tests.support.host_networks import Network, network_of
from tests.support.other_hosts import NO_INDEX, SOURCES
from tests.support.read_sources import Index, ReadSources
from tests.support.web import CONFIGURATION
from tests.support.writing_hosts import EXECUTIONS, KINDS, WritingHost

NAMES: Final = ("one", "two", "three")
BETWEEN_S: Final = (0.1, 1.0)
"""Shortest and longest time between two kills."""
COMPLETE_WITHIN_S: Final = 900.0
HOST: Final = "tp_arrivedFrom"
"""Field with the host from which an execution came, the only one that may differ."""
HIVE_SOURCE: Final = """
[[source]]
name = "HIVE-1"
extractor = "hive_events"
directory = []
"""


class Processes:
    """A navlin web at a fixed port and the agents of the hosts, each started again after it was killed."""

    def __init__(self, home: Path, network: Network) -> None:
        with socket.socket() as free:
            free.bind((network.address, 0))
            port = free.getsockname()[1]
        self.home, self.kills = home, 0
        server = certificate(home / "tls", f"ip:{network.address}")
        text = CONFIGURATION.format(url=NO_INDEX.url, user="").replace("port = 0", f"port = {port}")
        tls = f'address = "{network.address}"\ncertificate_file = "{server.certificate}"\nkey_file = "{server.key}"\n'
        (home / "navlin.toml").write_text(text + tls + SOURCES + HIVE_SOURCE)
        (home / "solr.password").write_text("")
        self.commands = {
            "web": [sys.executable, "-m", "navlin", "--config", str(home / "navlin.toml"), "web"]
        }
        for name, prefix in network.prefixes.items():
            token = home / f"{name}.token"
            token.write_text(HostTokens(home / "state").add(name, tuple(KINDS.values()), 0))
            command = [
                *prefix,
                sys.executable,
                agent.__file__,
                "--url",
                f"https://{network.address}:{port}/navlin",
            ]
            command += ["--token-file", str(token), "--ca-file", str(server.certificate), "--poll", "0.2"]
            sources = [("--source", f"{source}={home / name / kind}") for kind, source in KINDS.items()]
            self.commands[name] = [*command, *(word for pair in sources for word in pair)]
        self.running = {name: self.start(name) for name in self.commands}

    def start(self, name: str) -> subprocess.Popen[bytes]:
        with (self.home / f"{name}.log").open("ab") as log:
            return subprocess.Popen(self.commands[name], stderr=log)

    def kill(self, name: str) -> None:
        self.running[name].send_signal(signal.SIGKILL)
        self.running[name].wait()
        self.running[name] = self.start(name)
        self.kills += 1

    def end(self) -> None:
        for each in self.running.values():
            each.kill()
            each.wait()


class Spool:
    """The files that navlin keeps of the hosts."""

    def __init__(self, home: Path) -> None:
        self.root = home / "state" / "forwarded"

    def contents(self, host: str, source: str) -> list[bytes]:
        found = list[bytes]()
        for each in sorted((self.root / "hosts" / host / source).rglob("*")):
            try:
                found += [each.read_bytes()] if each.is_file() else []
            except FileNotFoundError:
                continue  # it was renamed at this moment
        return sorted(found)

    def names(self, host: str, source: str) -> dict[str, bytes]:
        top = self.root / "hosts" / host / source
        return {str(each.relative_to(top)): each.read_bytes() for each in top.rglob("*") if each.is_file()}

    def ids(self, host: str) -> int:
        top = self.root / "hosts" / host / ".ids"
        return sum(each.is_file() for each in top.rglob("*"))


def forward_through_kills(
    home: Path, seed: str, kills: int, solr: Solr, spark: Callable[[], SparkSession]
) -> None:
    """Let three hosts write until each process was killed ``kills`` times, and wait until everything has arrived. The
    sources read it all the time; in the end, one host reads the same logs itself."""
    chance, spool = random.Random(seed), Spool(home)
    hosts = [
        WritingHost(home / name, number, seed, _arrived(spool, name)) for number, name in enumerate(NAMES, 1)
    ]
    with network_of(NAMES) as network:
        if network.refused:
            warnings.warn(f"all hosts are on loopback: {network.refused}", stacklevel=1)
        processes = Processes(home, network)
        reading = ReadSources(home / "navlin.toml", solr, spark)
        try:
            for host in (*hosts, reading):
                host.start()
            victims = [name for name in processes.commands for _ in range(kills)]
            chance.shuffle(victims)
            for name in victims:
                time.sleep(chance.uniform(*BETWEEN_S))
                processes.kill(name)
            while reading.rounds < 2 and reading.is_alive():
                time.sleep(0.1)
            for host in hosts:
                host.ended.set()
            for host in hosts:
                host.join()
            _await(spool, hosts)
        finally:
            for host in hosts:
                host.ended.set()
            reading.end()
            processes.end()
    forwarded = reading.finish()
    # YARN's own entry of each application came from no log.
    statements = {host.name: host.count + EXECUTIONS for host in hosts}
    assert _arrived_from(forwarded) == {**statements, "": len(hosts)}
    for core in CORES:
        solr.client(core).delete(q="*:*")
        solr.commit(core, soft=True)
    own = ReadSources(_configuration_of_one_host(home, hosts), solr, spark).finish()
    assert _comparable(forwarded) == _comparable(own)


def _configuration_of_one_host(home: Path, hosts: list[WritingHost]) -> Path:
    """Return a configuration whose sources read the directories of all hosts, and what was archived."""
    text = (home / "navlin.toml").read_text().replace('"state"', '"state of one host"')
    for kind, source in KINDS.items():
        directories = [str(top / kind) for host in hosts for top in (host.home, host.archive)]
        before, name, after = text.partition(f'name = "{source}"')
        text = before + name + after.replace("directory = []", f"directory = {json.dumps(directories)}", 1)
    file = home / "one host.toml"
    file.write_text(text)
    return file


def _arrived_from(index: Index) -> Counter[str]:
    """Count the executions by the host from which they came."""
    return Counter(
        " ".join(each.get(HOST, []))
        for (core, _), each in index.items()
        if core == ELEMENTS and each["type"] == EntityType.OPERATION_EXECUTION
    )


def _comparable(index: Index) -> Index:
    """Return the index without the hosts, and without the times at which a source was read or something granted was
    last named. Whichever statement named it in the first run decides that, as equal documents are not written again. An
    implied relation has the time of its entity."""

    def differs(each: dict[str, Any], name: str) -> bool:
        timeless = each.get("granted") or each.get("implied") or each["type"] == EntityType.SOURCE
        return name == HOST or (name == "asOf" and bool(timeless))

    return {
        key: {name: value for name, value in each.items() if not differs(each, name)}
        for key, each in index.items()
    }


def _arrived(spool: Spool, name: str) -> Callable[[str, bytes], bool]:
    return lambda source, content: content in spool.contents(name, source)


def _await(spool: Spool, hosts: list[WritingHost]) -> None:
    """Wait until each content of each host is there once, under its name unless the host has removed it."""
    deadline_s = time.monotonic() + COMPLETE_WITHIN_S
    wanted = {(host.name, kind): host.contents(kind) for host in hosts for kind in KINDS}
    while behind := [
        key for key, contents in wanted.items() if spool.contents(key[0], KINDS[key[1]]) != contents
    ]:
        if time.monotonic() > deadline_s:
            sizes = [(key, [len(each) for each in wanted[key]], _sizes(spool, key)) for key in behind]
            pytest.fail(f"not complete: {sizes}")
        time.sleep(1.0)
    for host in hosts:
        assert spool.ids(host.name) == sum(len(wanted[host.name, kind]) for kind in KINDS)
        for kind, source in KINDS.items():
            top = host.home / kind
            there = {
                str(each.relative_to(top)): each.read_bytes() for each in top.rglob("*") if each.is_file()
            }
            kept = spool.names(host.name, source)
            assert {name: kept.get(name) for name in there} == there


def _sizes(spool: Spool, key: tuple[str, str]) -> dict[str, int]:
    return {name: len(each) for name, each in spool.names(key[0], KINDS[key[1]]).items()}


@pytest.mark.services
def test_each_byte_arrives_once_though_all_ends_are_killed(
    tmp_path: Path, private_solr: Solr, spark: Callable[[], SparkSession]
) -> None:
    forward_through_kills(tmp_path, "1", 3, private_solr, spark)


@pytest.mark.soak
def test_each_byte_arrives_once_though_all_ends_are_killed_often(
    tmp_path: Path, private_solr: Solr, spark: Callable[[], SparkSession], seed: str
) -> None:
    forward_through_kills(tmp_path, seed, 50, private_solr, spark)
