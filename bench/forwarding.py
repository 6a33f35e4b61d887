"""Logs of other hosts: CPU time and memory of both ends for large logs, for logs without news, and for many hosts.

    python -m bench forwarding [--mebibytes 2048] [--hosts 5000] [--seconds 120] [--prototype DIR]

Each log is sent whole over TLS: lines of 2 KB like Impala's, then bytes that cannot be compressed. With ``--prototype``,
the same log is also sent by the agent (``agent``) and the server (``server.py``) in that directory, which uses the same
protocol in an older form. Then an agent whose files do not change is watched. Last, hosts with nothing to send report at
their interval (five minutes) by a new connection each, with as many tokens and files as there are hosts.
"""

from __future__ import annotations

import filecmp
import hashlib
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from bench._machine import load_of_machine, peak_mib, processor_s
from bench._options import options
from bench._shown import table_of
from navlin.access.host_tokens import FILE as TOKENS_FILE
from navlin.access.store import digest_of
from navlin.forward import agent
from navlin.forward.agent import Server
from navlin.forward.contacts import HEARTBEAT_S
from navlin.model.forwarded import HOSTS, folder_name
from tests.services.certificates import Certificate, certificate
from tests.support.other_hosts import NO_INDEX, SOURCES, Hosts
from tests.support.web import running_web

SOURCE: Final = "IMPALA-1"
LOG: Final = "impala_lineage_log_1.0-1"
BLOCK_BYTES: Final = 64 << 20
FILES_A_HOST: Final = 3
SENT_AT_ONCE: Final = 8
PAUSE_S: Final = 0.05
LINE: Final = b"".join(
    (
        b'{"queryText":"insert into t%07d select a, b, c from s where x > 1","queryId":"',
        b"abcdef0123456789" * 6,
        b'","hash":"' + b"0f" * 16 + b'","user":"etl","timestamp":1764028800,"edges":[',
        b'{"sources":[1,2],"targets":[0],"edgeType":"PROJECTION"},' * 30,
        b'],"vertices":[]}\n',
    )
)


# -- Ends ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ends:
    """A server that runs, the command of an agent that sends to it and ends, and the path of the log that arrives."""

    name: str
    server: int
    agent: list[str]
    arrives: Callable[[], Path]


@contextmanager
def navlin(home: Path, tls: Certificate) -> Iterator[Hosts]:
    """Run a navlin web without an index."""
    home.mkdir()
    encrypted = f'certificate_file = "{tls.certificate}"\nkey_file = "{tls.key}"'
    with running_web(NO_INDEX, home, encrypted, SOURCES) as web:
        yield Hosts(web, home)


@contextmanager
def own_ends(home: Path, logs: Path, tls: Certificate) -> Iterator[Ends]:
    with navlin(home, tls) as hosts:
        command = hosts.agent_command(f"{SOURCE}={logs}")
        command += ["--ca-file", str(tls.certificate), "--once"]
        kept = hosts.root / HOSTS / "one" / SOURCE / LOG
        yield Ends("navlin", hosts.web.process.pid, command, lambda: kept)


@contextmanager
def prototype_ends(prototype: Path, home: Path, logs: Path, tls: Certificate) -> Iterator[Ends]:
    spool, tokens, token = home / "spool", home / "tokens.json", home / "token"
    spool.mkdir(parents=True)
    token.write_text("secret")
    tokens.write_text(json.dumps({hashlib.sha256(b"secret").hexdigest(): "one"}))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    serve = [sys.executable, str(prototype / "server.py"), str(port), str(tls.certificate), str(tls.key)]
    environment = {**os.environ, "SPOOL": str(spool), "TOKENS": str(tokens)}
    with subprocess.Popen(serve, env=environment) as server:
        try:
            _await_port(port, server)
            command = [sys.executable, str(prototype / "agent"), "--url", f"https://127.0.0.1:{port}"]
            command += ["--ca", str(tls.certificate), "--token-file", str(token), "--once"]
            command += ["--poll", "0.05", "--source", f"impala={logs}"]
            yield Ends("prototype", server.pid, command, lambda: next((spool / "one" / "impala").iterdir()))
        finally:
            server.kill()


def _await_port(port: int, server: subprocess.Popen[bytes]) -> None:
    while server.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(PAUSE_S)
    raise RuntimeError("the server of the prototype does not start")


# -- A log, whole ----------------------------------------------------------------------------------------------------


def write_lines(log: Path, size_bytes: int) -> int:
    """Write lines. Return their number."""
    count = size_bytes // len(LINE % 0)
    with log.open("wb") as file:
        for number in range(count):
            file.write(LINE % number)
    return count


def write_random(log: Path, size_bytes: int) -> int:
    """Write blocks that cannot be compressed and are not alike. Return the number of lines, 0."""
    block = os.urandom(min(BLOCK_BYTES, size_bytes))
    with log.open("wb") as file:
        for number in range(size_bytes // len(block)):
            file.write(number.to_bytes(8, "big") + block[8:])
    return 0


def measure_log(table: Table, what: str, ends: Ends, log: Path, lines: int) -> None:
    """Let the agent send the log, and add a row."""
    before_s = processor_s(ends.server)
    peak_of_agent_mib = agent_s = 0.0
    with subprocess.Popen(ends.agent) as sending:
        # The CPU time of the last moments is in the waited for status, unlike the peak.
        while os.waitid(os.P_PID, sending.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            with suppress(StopIteration):  # it has just ended
                peak_of_agent_mib = peak_mib(sending.pid)
            time.sleep(PAUSE_S)
        agent_s = processor_s(sending.pid)
    server_s = processor_s(ends.server) - before_s
    megabytes, both_s = log.stat().st_size / 1e6, agent_s + server_s
    table.add_row(
        what,
        ends.name,
        f"{megabytes:,.0f}",
        f"{agent_s:.1f} s",
        f"{server_s:.1f} s",
        f"{both_s / megabytes * 1e3:.1f} ms",
        f"{lines / both_s:,.0f}" if lines else "",
        f"{peak_of_agent_mib:.0f} MiB",
        f"{peak_mib(ends.server):.0f} MiB",
        "yes" if filecmp.cmp(log, ends.arrives(), shallow=False) else "NO",
    )


def measure_logs(folder: Path, tls: Certificate, size_bytes: int, prototype: Path | None) -> Table:
    table = table_of(
        "log", "ends", title="a log sent whole, over TLS",
        figures=(
            "MB", "agent", "server", "both a MB", "lines a CPU second of both", "peak of agent", "of server", "same bytes",
        ),
    )  # fmt: skip
    begun = load_of_machine()
    for what, write in (("lines", write_lines), ("random", write_random)):
        logs = folder / what
        logs.mkdir()
        lines = write(logs / LOG, size_bytes)
        with own_ends(folder / f"{what}-navlin", logs, tls) as ends:
            measure_log(table, what, ends, logs / LOG, lines)
        shutil.rmtree(folder / f"{what}-navlin")
        if prototype:
            with prototype_ends(prototype, folder / f"{what}-prototype", logs, tls) as ends:
                measure_log(table, what, ends, logs / LOG, lines)
            shutil.rmtree(folder / f"{what}-prototype")
        shutil.rmtree(logs)
    table.caption = f"{_code_lines()} lines of agent; load of the machine {begun} to {load_of_machine()}"
    return table


def _code_lines() -> int:
    return len(Path(agent.__file__).read_text().splitlines())


# -- Nothing to send -------------------------------------------------------------------------------------------------


def exact_ms(process: int) -> float:
    """Return the CPU time of a process with one thread so far, in ms, which is more exact than ticks."""
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e6


def measure_idle(folder: Path, tls: Certificate, seconds: int) -> Table:
    """Watch an agent with a hundred files that do not change, after it has sent them."""
    table = table_of("agent with 100 files", figures=("seconds", "CPU"), title="nothing happens")
    logs, home = folder / "idle", folder / "idle-navlin"
    logs.mkdir()
    for number in range(100):
        (logs / f"{LOG}{number:03d}").write_bytes(LINE % number)
    with navlin(home, tls) as hosts:
        command = [*hosts.agent_command(f"{SOURCE}={logs}"), "--ca-file", str(tls.certificate)]
        with subprocess.Popen(command) as idle:
            try:
                while len(hosts.kept()) < 100:
                    time.sleep(PAUSE_S)
                time.sleep(5.0)  # its first heartbeat
                begun, before_ms = load_of_machine(), exact_ms(idle.pid)
                time.sleep(seconds)
                table.add_row("navlin", f"{seconds}", f"{exact_ms(idle.pid) - before_ms:.1f} ms")
            finally:
                idle.kill()
    table.caption = f"load of the machine {begun} to {load_of_machine()}"
    return table


# -- Many hosts ------------------------------------------------------------------------------------------------------


def settle(hosts: Hosts, count: int) -> list[Path]:
    """Create hosts with tokens and files as they are after all was sent. Return the files of the tokens."""
    tokens, files = [], []
    folder = hosts.home / "tokens"
    folder.mkdir()
    for number in range(count):
        host, secret = f"host{number:05d}.example", f"navlin_{number:032d}"
        tokens.append(
            {
                "id": f"{number:08x}", "host": host, "sources": [SOURCE], "created_ms": 0, "expires_ms": 0,
                "digest": digest_of(secret),
            }
        )  # fmt: skip
        files.append(folder / host)
        files[-1].write_text(secret)
        top = hosts.root / HOSTS / host
        ids, names = top / ".ids" / folder_name(SOURCE), top / folder_name(SOURCE)
        for each in (ids, names):
            each.mkdir(parents=True)
        for at in range(FILES_A_HOST):
            (ids / f"{at + 1:x}-00000001").write_bytes(LINE % at)
            os.link(ids / f"{at + 1:x}-00000001", names / f"{LOG}{at}")
    (hosts.home / "state" / TOKENS_FILE).write_text(json.dumps({"tokens": tokens}))
    return files


def report(url: str, token: Path, tls: Certificate) -> None:
    """Report as an agent that has nothing to send, by a connection of its own."""
    server = Server(url, str(token), str(tls.certificate))
    value = {"behind_bytes": 0, "behind_files": 0, "unreadable": 0, "problem": ""}
    server.ask("POST", "/alive", json.dumps(value).encode())
    server.close()


def due_times_s(hosts: int, seconds: int) -> list[float]:
    """Return the times at which hosts report, each at its own, with the agent's jitter."""
    times = []
    for _ in range(hosts):
        due_s = random.uniform(0, HEARTBEAT_S)
        while due_s < seconds:
            times.append(due_s)
            due_s += HEARTBEAT_S * random.uniform(0.9, 1.1)
    return sorted(times)


def measure_hosts(folder: Path, tls: Certificate, hosts_count: int, seconds: int) -> Table:
    table = table_of(
        "hosts", title="hosts with nothing to send",
        figures=("seconds", "reports", "server", "server a report", "of a core, if all are in time"),
    )  # fmt: skip
    with navlin(folder / "hosts-navlin", tls) as hosts:
        tokens = settle(hosts, hosts_count)
        random.shuffle(tokens)
        report(hosts.web.url, tokens[0], tls)
        server, begun = hosts.web.process.pid, load_of_machine()
        before_s, began_s = processor_s(server), time.monotonic()
        time.sleep(seconds)
        table.add_row("none", f"{seconds}", "0", f"{processor_s(server) - before_s:.2f} s", "", "")
        times = due_times_s(hosts_count, seconds)
        before_s, began_s = processor_s(server), time.monotonic()
        with ThreadPoolExecutor(SENT_AT_ONCE) as pool:
            sent = []
            for number, due_s in enumerate(times):
                time.sleep(max(0.0, began_s + due_s - time.monotonic()))
                sent.append(pool.submit(report, hosts.web.url, tokens[number % hosts_count], tls))
            for each in sent:
                each.result()
        took_s, spent_s = time.monotonic() - began_s, processor_s(server) - before_s
        each_ms = spent_s / len(times) * 1e3
        share = each_ms / 1e3 * hosts_count / HEARTBEAT_S
        table.add_row(
            f"{hosts_count:,}", f"{took_s:.0f}", f"{len(times):,}", f"{spent_s:.2f} s",
            f"{each_ms:.2f} ms", f"{share:.1%}",
        )  # fmt: skip
    table.caption = f"load of the machine {begun} to {load_of_machine()}"
    return table


def main() -> None:
    arguments = options(__doc__, mebibytes=2_048, hosts=5_000, seconds=120)
    arguments.add_argument("--prototype", type=Path, metavar="DIR", help="another agent and server")
    asked = arguments.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 200)
    with tempfile.TemporaryDirectory(prefix="forwarding-") as name:
        folder = Path(name)
        tls = certificate(folder / "tls")
        if asked.mebibytes:
            console.print(measure_logs(folder, tls, asked.mebibytes << 20, asked.prototype))
        if asked.seconds:
            console.print(measure_idle(folder, tls, asked.seconds))
            console.print(measure_hosts(folder, tls, asked.hosts, asked.seconds))


if __name__ == "__main__":
    main()
