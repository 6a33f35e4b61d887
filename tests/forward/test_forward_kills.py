"""Three hosts send logs that grow, roll, are renamed, truncated and replaced, while agents and navlin are killed at
random. Each byte arrives once."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from navlin.access.host_tokens import HostTokens
from navlin.forward import agent
from tests.services.certificates import certificate
from tests.support.host_networks import Network, network_of
from tests.support.other_hosts import NO_INDEX, SOURCES
from tests.support.web import CONFIGURATION
from tests.support.writing_hosts import KINDS, WritingHost

NAMES: Final = ("one", "two", "three")
BETWEEN_S: Final = (0.1, 1.0)
"""Shortest and longest time between two kills."""
COMPLETE_WITHIN_S: Final = 900.0
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


def forward_through_kills(home: Path, seed: str, kills: int) -> None:
    """Let three hosts write until each process was killed ``kills`` times, and wait until everything has arrived."""
    chance, spool = random.Random(seed), Spool(home)
    hosts = [
        WritingHost(home / name, number, seed, _arrived(spool, name)) for number, name in enumerate(NAMES, 1)
    ]
    with network_of(NAMES) as network:
        if network.refused:
            warnings.warn(f"all hosts are on loopback: {network.refused}", stacklevel=1)
        processes = Processes(home, network)
        try:
            for host in hosts:
                host.start()
            victims = [name for name in processes.commands for _ in range(kills)]
            chance.shuffle(victims)
            for name in victims:
                time.sleep(chance.uniform(*BETWEEN_S))
                processes.kill(name)
            for host in hosts:
                host.ended.set()
            for host in hosts:
                host.join()
            _await(spool, hosts)
        finally:
            for host in hosts:
                host.ended.set()
            processes.end()


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
def test_each_byte_arrives_once_though_all_ends_are_killed(tmp_path: Path) -> None:
    forward_through_kills(tmp_path, "1", 3)


@pytest.mark.soak
def test_each_byte_arrives_once_though_all_ends_are_killed_often(tmp_path: Path, seed: str) -> None:
    forward_through_kills(tmp_path, seed, 50)
