"""Hosts in network namespaces of their own, which reach this host by a bridge."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Network:
    """``address`` is this host's, and ``prefixes`` maps each host to the prefix of its command lines. ``refused`` is
    the reason why all share the loopback address instead; "" if they do not."""

    address: str
    prefixes: dict[str, tuple[str, ...]]
    refused: str = ""


@contextmanager
def network_of(names: Sequence[str]) -> Iterator[Network]:
    """Connect hosts. Without the right to create namespaces, all hosts are on loopback."""
    number = os.getpid()
    bridge, subnet = f"nv{number}", f"10.{200 + number % 50}.{number // 50 % 250}"
    with ExitStack() as created:
        try:
            _ip(f"link add {bridge} type bridge")
            created.callback(_ip, f"link del {bridge}")
            _ip(f"address add {subnet}.1/24 dev {bridge}")
            _ip(f"link set {bridge} up")
            prefixes = dict[str, tuple[str, ...]]()
            for at, name in enumerate(names):
                space, outer = f"navlin-{number}-{at}", f"nv{number}-{at}"
                _ip(f"netns add {space}")
                created.callback(_ip, f"netns del {space}")
                _ip(f"link add {outer} type veth peer name eth0 netns {space}")
                _ip(f"link set {outer} master {bridge} up")
                _ip(f"-n {space} address add {subnet}.{at + 2}/24 dev eth0")
                _ip(f"-n {space} link set eth0 up")
                prefixes[name] = ("ip", "netns", "exec", space)
        except (OSError, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", "") or str(error)
            yield Network("127.0.0.1", dict.fromkeys(names, ()), said.strip())
            return
        yield Network(f"{subnet}.1", prefixes)


def _ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True, capture_output=True, text=True)
