"""The spool falls back to an earlier state, as after a power failure. Nothing is doubled, and nothing is lost."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from navlin.forward import agent
from navlin.forward.agent import Agent, Server
from navlin.forward.host_files import HostFiles
from tests.support.other_hosts import EMPTY, Hosts, digest, hosts_of

RANGE_BYTES = 3_000
"""Size of a range here: most steps need several."""
FIRST, AGAIN = "boot-1", "boot-2"
FILE_ID = "a1-00000001"


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with hosts_of(tmp_path_factory.mktemp("power")) as hosts:
        yield hosts


class Machine(Server):
    """A server whose spool of one host can be copied after each request, and put back."""

    def __init__(self, hosts: Hosts, host: str) -> None:
        token = hosts.home / f"{host}.token"
        token.write_text(hosts.token(host))
        super().__init__(hosts.web.url, str(token), None)
        self.spool, self.copies, self.boots = hosts.root / "hosts" / host, list[Path](), 0

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> dict[str, Any]:
        answer = super().ask(method, path, body, **headers)
        if method == "PUT":
            self.copies.append(self.spool.with_name(f"{self.spool.name}.copy{len(self.copies)}"))
            subprocess.run(["cp", "-a", str(self.spool), str(self.copies[-1])], check=True)
        return {**answer, "boot": str(self.boots)} if path == "/alive" else answer

    def fall_back(self, number: int) -> None:
        """Lose everything after a copy, as when the power fails."""
        shutil.rmtree(self.spool)
        subprocess.run(["cp", "-a", str(self.copies[number]), str(self.spool)], check=True)
        self.boots += 1


class Logs:
    """Files that a random writer changes. ``ended`` has the contents that are not on the host any more."""

    def __init__(self, directory: Path, seed: str) -> None:
        self.directory, self.random, self.count = directory, random.Random(seed), 0
        self.ended = list[bytes]()

    def change(self) -> None:
        files = sorted(self.directory.iterdir())
        kind = self.random.choice(("append", "append", "new", "rename", "replace", "remove"))
        self.count += 1
        data = f"{self.count} ".encode() + self.random.randbytes(self.random.randrange(7_000))
        if kind == "new" or not files:
            (self.directory / f"log-{self.count}").write_bytes(data)
            return
        file = self.random.choice(files)
        if kind == "append":
            with file.open("ab") as more:
                more.write(data)
        elif kind == "rename":
            file.rename(self.directory / f"moved-{self.count}")
        else:
            self.ended.append(file.read_bytes())
            file.write_bytes(data) if kind == "replace" else file.unlink()

    def there(self) -> dict[str, bytes]:
        return {each.name: each.read_bytes() for each in self.directory.iterdir()}


def until_sent(sending: Agent) -> None:
    while sending.poll():
        pass
    sending.report_s = 0.0
    sending.report()
    while sending.poll():
        pass


def check(hosts: Hosts, host: str, logs: Logs) -> None:
    """Each file is there once under its name, and every other content once, as far as it was there before."""
    kept, there = hosts.kept(host), logs.there()
    assert {name: kept.get(name) for name in there} == there
    ended = list(logs.ended)
    for name in kept.keys() - there.keys():
        begun = next((each for each in ended if each.startswith(kept[name])), None)
        assert begun is not None, f"{name} has a content that no file had"
        ended.remove(begun)


def fall_back_often(
    hosts: Hosts, directory: Path, monkeypatch: pytest.MonkeyPatch, seed: str, cuts: int
) -> None:
    monkeypatch.setattr(agent, "RANGE_BYTES", RANGE_BYTES)
    host = directory.name
    directory.mkdir()
    logs, machine = Logs(directory, seed), Machine(hosts, host)
    sources = [("IMPALA-1", str(directory), "*")]
    sending = Agent(machine, sources)
    for _ in range(8):
        logs.change()
        until_sent(sending)
    check(hosts, host, logs)
    assert sorted(logs.ended) == sorted(
        each for name, each in hosts.kept(host).items() if name not in logs.there()
    )
    for number in logs.random.sample(range(len(machine.copies)), min(cuts, len(machine.copies))):
        machine.fall_back(number)
        if logs.random.random() < 0.5:
            sending = Agent(machine, sources)  # this host was started again too
        until_sent(sending)
        check(hosts, host, logs)


def test_after_a_power_failure_everything_is_there_once(
    hosts: Hosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fall_back_often(hosts, tmp_path / "few", monkeypatch, "1", 4)


@pytest.mark.services
@pytest.mark.parametrize("number", range(2, 12))
def test_after_any_of_many_power_failures_everything_is_there_once(
    hosts: Hosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    fall_back_often(hosts, tmp_path / f"many-{number}", monkeypatch, str(number), 60)


@pytest.mark.parametrize(
    ("boot", "left", "kept"),
    [
        (FIRST, b"hello wor", b"hello wor"),
        (AGAIN, b"hello world", b"hello world"),
        (AGAIN, b"hello wor", b"hello "),
        (AGAIN, b"hello \0\0\0\0\0", b"hello "),
        (AGAIN, b"hello ", b"hello "),
    ],
)
def test_a_range_that_did_not_reach_the_disk_is_cut_off_after_a_restart_of_the_machine(
    tmp_path: Path, boot: str, left: bytes, kept: bytes
) -> None:
    def files(boot: str) -> HostFiles:
        return HostFiles(tmp_path, lambda sizes_bytes: (), lambda *lost: None, boot=boot)

    before = files(FIRST)
    before.append("one", "IMPALA-1", FILE_ID, 0, EMPTY, b"hello ")
    before.append("one", "IMPALA-1", FILE_ID, 6, digest(b"hello "), b"world")
    before.rename("one", "IMPALA-1", FILE_ID, "log")
    log = tmp_path / "hosts" / "one" / "IMPALA-1" / "log"
    with log.open("r+b") as file:
        file.truncate()
        file.write(left)
    (listed,) = files(boot).files("one")
    assert (log.read_bytes(), listed["size"], listed["mark"]) == (kept, len(kept), digest(kept))
    files(boot).append("one", "IMPALA-1", FILE_ID, len(kept), digest(kept), b"!")
    assert log.read_bytes() == kept + b"!"
