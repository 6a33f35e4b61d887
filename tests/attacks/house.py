# ruff: noqa: T201 (findings are printed)
"""A separate `navlin serve` for each attack: its configuration, its web address and its processes.

Everything is started in a separate directory, on loopback. A prepared state directory (cores and jars) is copied for
each attack, so that a start takes seconds. `NAVLIN_ATTACKS_JARS` names the directory of Solr's jars (default
`.jars/solr`).
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.attacks.records import impala_record

CHECKOUT = Path(__file__).resolve().parents[2]
PREPARED = Path(tempfile.gettempdir()) / f"navlin-attacks-{os.getuid()}"
NAVLIN = [sys.executable, "-m", "navlin"]
MIB = 1024 * 1024
NOBODY_UID = 65534


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@dataclass
class Answer:
    """An HTTP response; `status` is 0 if there was none."""

    status: int
    headers: dict[str, str]
    body: bytes
    seconds: float

    def json(self) -> Any:
        return json.loads(self.body or b"null")


@dataclass
class Room:
    """The findings of one attack, a line for each: held or broken."""

    number: int
    seen: list[tuple[bool, str]] = field(default_factory=list)
    not_run: str = ""

    def see(self, held: bool, what: str) -> None:
        self.seen.append((held, what))
        print(f"  {'held  ' if held else 'BROKEN'} {what}", flush=True)


class House:
    """A navlin with a small configuration: sources IMPALA-1, OL-1 and SPARK-1, and those that an attack adds."""

    def __init__(self, room: Room, more: str = "", web: str = "", state: Path | None = None) -> None:
        self.room = room
        self.home = Path(tempfile.mkdtemp(prefix=f"attack-{room.number}-"))
        self.state = state or self.home / "state"
        self.impala, self.spark, self.events = (self.home / name for name in ("impala", "spark", "events"))
        for directory in (self.impala, self.spark, self.events):
            directory.mkdir()
        self.port = free_port()
        self.config = self.home / "navlin.toml"
        self.config.write_text(
            f'[navlin]\ncluster = "attacks"\nstate_directory = "{self.state}"\nleast_free = "64m"\n\n'
            '[solr]\nmemory = "256m"\n\n[spark]\ndriver_memory = "700m"\n\n'
            f'[web]\nport = {self.port}\nopenlineage_directory = "events"\n'
            f'openlineage_users = ["agent", "airflow"]\n{web}\n\n[log]\nformat = "json"\n\n'
            '[[source]]\nname = "IMPALA-1"\nextractor = "impala_events"\ndirectory = "impala"\n\n'
            '[[source]]\nname = "OL-1"\nextractor = "openlineage_events"\ndirectory = "events"\n\n'
            f'[[source]]\nname = "SPARK-1"\nextractor = "spark_events"\ndirectory = "spark"\n\n{more}\n'
        )
        self.scheme = "https" if "certificate_file" in web else "http"
        self.people: dict[str, str] = {}
        self.process: subprocess.Popen[bytes] | None = None
        self.quiet_s = 0.0

    # Starting and stopping

    def start(self, limit_s: float = 300, **options: Any) -> None:
        if not self.state.exists() or not any(self.state.iterdir()):
            shutil.copytree(prepared(), self.state, copy_function=_link_jars, dirs_exist_ok=True)
            self.state.chmod(0o700)
        with (self.home / "serve.log").open("ab") as log:
            command = [*NAVLIN, "--config", str(self.config), "serve"]
            self.process = subprocess.Popen(
                command, cwd=CHECKOUT, stderr=log, stdout=log, start_new_session=True, **options
            )
        until = time.monotonic() + limit_s
        while self.ask("/readyz", user=None).status != 200:
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"navlin serve did not become ready: {self.log()[-2000:]}")
            time.sleep(1)
        self.people.setdefault("admin", (self.state / "administrator.password").read_text().strip())

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        process, self.process = self.process, None
        if process is None:
            return
        if process.poll() is not None:  # it ended by itself
            return
        os.kill(process.pid, signal.SIGCONT)
        (os.killpg if how == signal.SIGKILL else os.kill)(process.pid, how)
        try:
            process.wait(120)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(30)

    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def log(self) -> str:
        path = self.home / "serve.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def navlin(self, *words: str, text: str = "", limit_s: float = 300) -> subprocess.CompletedProcess[bytes]:
        command = [*NAVLIN, "--config", str(self.config), *words]
        return subprocess.run(
            command, cwd=CHECKOUT, input=text.encode(), capture_output=True, timeout=limit_s, check=False
        )

    def person(self, name: str, role: str = "lineage-viewer") -> tuple[str, str]:
        password = f"word-of-{name}-{uuid.uuid4().hex}"
        file = self.home / f"{name}.password"
        file.write_text(password)
        made = self.navlin("user", "add", name, "--role", role, "--password-file", str(file))
        if made.returncode:
            raise RuntimeError(made.stderr.decode())
        self.people[name] = password
        return name, password

    def token(self, name: str) -> str:
        out = self.navlin("token", "add", name).stdout.decode()
        found = re.search(r"navlin_\S+", out)
        if not found:
            raise RuntimeError(f"no token in {out!r}")
        return found[0]

    # HTTP

    def ask(
        self,
        path: str,
        data: bytes | Any | None = None,
        user: str | None = "admin",
        method: str | None = None,
        limit_s: float = 60,
        port: int | None = None,
        source: str = "127.0.0.1",
        headers: dict[str, str] | None = None,
        **named: str,
    ) -> Answer:
        """Send one request on a new connection. `data` other than bytes is sent as JSON; `_` in header names becomes
        `-`.
        """
        sent = {**(headers or {}), **{name.replace("_", "-"): value for name, value in named.items()}}
        if user is not None and "Authorization" not in sent:
            sent["Authorization"] = basic(user, self.people.get(user, "none"))
        if data is not None and not isinstance(data, bytes):
            data = json.dumps(data).encode()
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        began = time.monotonic()
        make: Any = http.client.HTTPConnection
        more: dict[str, Any] = {}
        if self.scheme == "https":
            import ssl

            make = http.client.HTTPSConnection
            more["context"] = ssl._create_unverified_context()  # the certificate was made by the attack
        connection = make("127.0.0.1", port or self.port, timeout=limit_s, source_address=(source, 0), **more)
        try:
            connection.request(method or ("GET" if data is None else "POST"), path, body=data, headers=sent)
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, names, answer.read(), time.monotonic() - began)
        except (OSError, http.client.HTTPException) as error:
            return Answer(0, {}, repr(error).encode(), time.monotonic() - began)
        finally:
            connection.close()

    def send(self, events: Any, user: str | None = "agent", **more: Any) -> Answer:
        return self.ask("/api/v1/lineage", events, user=user, **more)

    def say(self, *records: Any, file: str = "impala_lineage_log_1.0-1") -> None:
        """Append records to an Impala log; bytes are appended unchanged."""
        lines = [r if isinstance(r, bytes) else json.dumps(r).encode() + b"\n" for r in records]
        with (self.impala / file).open("ab") as log:
            log.write(b"".join(lines))

    def total(self, query: str) -> int:
        from urllib.parse import quote

        answer = self.ask("/api/navlin/v1/search?limit=1&query=" + quote(query))
        return int(answer.json()["total"]) if answer.status == 200 else -1

    def wait_total(self, query: str, wanted: int, within_s: float) -> tuple[int, float]:
        """Wait until the query finds `wanted` documents or the time is over. Return the number found and the seconds
        elapsed.
        """
        began = time.monotonic()
        while True:
            found = self.total(query)
            if found >= wanted or time.monotonic() - began > within_s:
                return found, time.monotonic() - began
            time.sleep(0.25)

    def line_s(self, within_s: float = 90) -> float:
        """Append a line to Impala's log, and return the seconds until it is found; `within_s` or more if it is not."""
        name = f"line_{uuid.uuid4().hex[:12]}"
        self.say(impala_record(f"shop.{name}"))
        return self.wait_total(f'originalName:"{name}" AND type:TABLE', 1, within_s)[1]

    def rejects(self, source: str = "") -> list[dict[str, Any]]:
        answer = self.ask("/api/navlin/v1/rejects?limit=500" + (f"&source={source}" if source else ""))
        return list(answer.json()["results"]) if answer.status == 200 else []

    def source(self, name: str) -> dict[str, Any]:
        answer = self.ask("/api/navlin/v1/status")
        return (
            next((s for s in answer.json()["sources"] if s["name"] == name), {})
            if answer.status == 200
            else {}
        )

    def run_of(self, source: str, within_s: float) -> tuple[str, float]:
        """Ask for a run of a source, and wait until the request is answered. Return the source's error, "" if the run
        succeeded or did not end in time, and the seconds waited.
        """
        began = time.monotonic()
        answer = self.ask("/api/navlin/v1/extract", {"source": source})
        ident = answer.json()["id"] if answer.status in (200, 202) else ""
        while ident and time.monotonic() - began < within_s:
            asked = self.ask(f"/api/navlin/v1/requests/{ident}")
            if asked.status == 200 and asked.json()["state"] in ("done", "failed"):
                return str(self.source(source).get("error", "")), time.monotonic() - began
            time.sleep(0.5)
        return "", time.monotonic() - began

    def lineage_of(self, query: str) -> bytes:
        """Return the API's lineage of the first entity that `query` finds."""
        from urllib.parse import quote

        found = self.ask("/api/navlin/v1/search?limit=1&query=" + quote(query)).json()["results"]
        if not found:
            return b""
        return self.ask("/api/navlin/v1/lineage?operations=true&entity=" + found[0]["identity"]).body

    # Processes

    def pids(self) -> dict[int, str]:
        """Map the process ids of serve and all its descendants to their command lines."""
        parents, lines = {}, {}
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    stat = Path(f"/proc/{entry}/stat").read_text()
                    lines[int(entry)] = (
                        Path(f"/proc/{entry}/cmdline")
                        .read_bytes()
                        .replace(b"\0", b" ")
                        .decode(errors="replace")
                    )
                    parents[int(entry)] = int(stat.rpartition(")")[2].split()[1])
                except OSError:
                    continue
        own = {self.process.pid} if self.process else set()
        grown = True
        while grown:
            more = {pid for pid, parent in parents.items() if parent in own} - own
            own |= more
            grown = bool(more)
        return {pid: lines.get(pid, "") for pid in own}

    def pid_of(self, word: str) -> int:
        return next((pid for pid, line in sorted(self.pids().items()) if word in line), 0)

    def web_pid(self) -> int:
        return self.pid_of(" web ")

    def closing(self) -> None:
        """Check the promises that must hold at the end of every attack."""
        log = self.log()
        bad = [word for word in ("MemoryError", "OutOfMemoryError") if word in log]
        self.room.see(self.alive(), "serve is the process that it was")
        self.room.see(not bad, f"no memory error in the log {bad}")
        after_s = self.line_s()
        limit_s = max(5.0, 2 * self.quiet_s)
        self.room.see(
            after_s <= limit_s,
            f"afterwards a line of Impala is found in {after_s:.1f} s (limit {limit_s:.1f})",
        )


def basic(name: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def _link_jars(source: str, target: str) -> str:
    if source.endswith(".jar"):
        with suppress(OSError):  # the state of an attack may be on another disk
            os.link(source, target)
            return target
    return str(shutil.copy2(source, target))


def prepared() -> Path:
    """Return a state directory with empty cores, which is made once for all attacks."""
    state = PREPARED / "state"
    if (PREPARED / "made").exists():
        return state
    shutil.rmtree(PREPARED, ignore_errors=True)
    (state / "jars").mkdir(parents=True, mode=0o700)
    PREPARED.chmod(0o700)
    jars = Path(os.environ.get("NAVLIN_ATTACKS_JARS", CHECKOUT / ".jars" / "solr"))
    if jars.is_dir():
        shutil.copytree(jars, state / "jars" / "solr")
    config = PREPARED / "navlin.toml"
    config.write_text(
        f'[navlin]\ncluster = "attacks"\nstate_directory = "{state}"\n[solr]\nmemory = "256m"\n'
    )
    subprocess.run(
        [*NAVLIN, "--config", str(config), "index", "create"], cwd=CHECKOUT, check=True, timeout=1200
    )
    (PREPARED / "made").touch()
    return state


_ONE: list[House] = []


@contextmanager
def one_for_all(room: Room) -> Iterator[None]:
    """Run one navlin for all attacks inside of this block that need no settings of their own."""
    with house(room) as own:
        _ONE.append(own)
        try:
            yield
            room.see(own.alive(), "after all of them together serve is the process that it was")
        finally:
            _ONE.clear()


@contextmanager
def house(
    room: Room, more: str = "", web: str = "", people: tuple[str, ...] = (), **start: Any
) -> Iterator[House]:
    """Run a navlin with these viewers. At the end, stop it and remove its directory. Inside of `one_for_all`, attacks
    without settings of their own get the one that runs.
    """
    if _ONE and not (more or web or start):
        [own] = _ONE
        own.room = room
        for name in people:
            if name not in own.people:
                own.person(name)
        yield own
        return
    own = House(room, more, web)
    try:
        own.start(**start)
        for name in people:
            own.person(name)
        own.line_s()
        own.quiet_s = own.line_s()
        yield own
    finally:
        own.stop()
        if not os.environ.get("NAVLIN_ATTACKS_KEEP"):
            shutil.rmtree(own.home, ignore_errors=True)


def together(count: int, act: Any, limit_s: float = 180) -> list[Any]:
    """Run `act(i)` in `count` threads, and return the result or the error of each."""
    out: list[Any] = [None] * count

    def run(i: int) -> None:
        try:
            out[i] = act(i)
        except Exception as error:  # an attack continues whatever the peer does
            out[i] = error

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + limit_s
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return out
