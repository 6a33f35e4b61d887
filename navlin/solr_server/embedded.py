"""The Solr that navlin starts and stops itself: a Java child process on loopback, with its own home and password.

The home, ``<state>/solr``, is created from ``conf/solr`` and updated when that changes. The child ends when its stdin
is closed, so Solr ends if navlin dies. If Solr dies, the update log contains all acknowledged writes.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, Queue
from typing import Final, Self
from urllib.parse import urlsplit

from navlin.files import replace_content
from navlin.index.solr.connection import SolrAddress, SolrError, SolrSession
from navlin.solr_server import home
from navlin.solr_server.launcher import Launcher, NoSolr, StateInUse

__all__ = ["EmbeddedSolr", "EmbeddedSolrOptions", "NoSolr", "StateInUse", "running_solr"]

HOST: Final = "127.0.0.1"
START_S: Final = 600.0
"""Seconds after which a start is given up and the child is killed. This includes the replay of acknowledged but
uncommitted writes, during which the child prints nothing. Only a warning of Java itself restarts the period."""
STOP_S: Final = 40.0
"""Timeout for a stop, which finishes requests, closes the cores and occasionally writes a class archive."""


@dataclass(frozen=True, slots=True)
class EmbeddedSolrOptions:
    """Options of the embedded Solr. ``memory`` is the heap size, with the unit k, m or g. ``port`` 0 selects any free
    port."""

    memory: str = "1g"
    port: int = 0
    java_options: tuple[str, ...] = ()


class EmbeddedSolr:
    """Solr as a child process. ``start`` returns when every core has replayed its log and answers queries. Not
    thread-safe."""

    def __init__(
        self,
        state: Path,
        jars: Path,
        conf: Path,
        *,
        settings: EmbeddedSolrOptions = EmbeddedSolrOptions(),
        cores: Sequence[str],
        cache: Path | None = None,
        java_home: Path | None = None,
    ) -> None:
        """``state`` is navlin's state directory, ``jars`` contains Solr's jars, ``conf`` is the shipped ``conf/solr``.
        Missing ``cores`` are created before a start. ``cache`` is the directory for the compiled launcher (default:
        next to the home)."""
        self.home = state.absolute() / "solr"
        self.settings = settings
        self._conf = conf
        self._cores = cores
        self._launcher = Launcher(jars.absolute(), cache or state.absolute() / "solr-launcher", java_home)
        self._child: subprocess.Popen[bytes] | None = None
        self._address: SolrAddress | None = None

    @property
    def address(self) -> SolrAddress:
        """URL, user and password of the server; unchanged when this object restarts the child, and kept after `stop`.
        Raises `NoSolr` before the first start."""
        if self._address is None:
            raise NoSolr("the embedded Solr was not started")
        return self._address

    @property
    def pid(self) -> int | None:
        """Process id of the child, even after the child's death until it is replaced; None without a child."""
        return self._child.pid if self._child else None

    @property
    def alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def start(self) -> SolrAddress:
        """Start the child if it does not run. Raises `NoSolr` with a remedy (`StateInUse` if another navlin runs Solr on
        this state directory), or OSError."""
        if self.alive:
            return self.address
        home.make(self.home, self._conf, cores=self._cores)
        password = home.password(self.home)
        port = urlsplit(self._address.url).port if self._address else self.settings.port
        options = [
            f"-Xmx{self.settings.memory}",
            *home.java_options(self.home, self.settings.memory),
            *self.settings.java_options,
        ]
        with home.console_log(self.home).open("ab") as console:
            self._child = subprocess.Popen(
                self._launcher.command(options, (str(self.home), HOST, str(port))),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=console,
                cwd=self.home,
                start_new_session=True,  # Ctrl-C must reach only navlin, which stops this child itself
            )
        lines: Queue[str | None] = Queue()
        # Read until the end, because a full pipe would block the child.
        threading.Thread(
            target=_read_lines, args=(self._child, lines), name="solr-stdout", daemon=True
        ).start()
        try:
            answer = _answer(lines, self.home / "logs" / "solr.log")
            bound_port = self._understand(answer)
        except BaseException:
            self._kill()
            raise
        url = f"http://{HOST}:{bound_port}/solr"
        self._address = SolrAddress(url, home.USER, password, listener_uid=os.geteuid())
        note = json.dumps({"url": url, "pid": self._child.pid, "user": home.USER})
        replace_content(self.home / home.SERVER_FILE, f"{note}\n".encode())
        return self._address

    def use(self, configset: str) -> None:
        """Replace the cores in use by those created for a configset, and restart the child. For the shipped configset,
        the start deletes the old cores before Solr runs, so they cannot be selected again. After an interruption,
        either all are replaced or none. Raises as `start` does, with the cores already replaced and Solr down."""
        self.stop()
        home.use(self.home, configset)
        self.start()

    def _understand(self, answer: str | None) -> int:
        log = self.home / "logs"
        match (answer or "").split(maxsplit=2):
            case ["READY", port, _pid]:
                return int(port)
            case ["FAILED", "locked:", where]:
                raise StateInUse(
                    f"another navlin already runs Solr on {where}: stop it, or configure another state directory"
                )
            case ["FAILED", "port:", reason]:
                raise NoSolr(f"Solr cannot listen: {reason}; configure another port, or 0 for any free one")
            case ["FAILED", "fields:", reason]:
                raise NoSolr(
                    f"{reason}: the index in {self.home} was written with another schema, and would be misread. Put back the"
                    " directory that was there, or restore a backup (navlin restore); without one, remove that directory and"
                    " extract all sources again"
                )
            case ["FAILED", "core:", reason]:
                raise NoSolr(f"Solr could not open a core: {reason} (more in {log / 'solr.log'})")
            case ["FAILED", _, reason]:
                raise NoSolr(
                    f"Solr did not start: {reason} (more in {log / 'solr.log'} and {log / 'console.log'})"
                )
        output = home.last_lines(log / "console.log")
        raise NoSolr(f"Java ended before Solr was ready: {output or 'no output'} (see {log / 'console.log'})")

    def stop(self, wait_s: float = STOP_S) -> None:
        """Let requests in flight finish, close the cores and wait for the child to end. After ``wait_s`` seconds, the
        child is killed, which loses no acknowledged writes. Harmless if no child runs."""
        child = self._child
        if child is None:
            return
        assert child.stdin is not None
        with suppress(
            BrokenPipeError, ValueError
        ):  # the child is already dead, or has already been told to stop
            child.stdin.write(b"stop\n")
            child.stdin.close()
        with suppress(subprocess.TimeoutExpired):  # acknowledged writes are in Solr's update log
            child.wait(wait_s)
        self._kill()
        (self.home / home.SERVER_FILE).unlink(missing_ok=True)

    def _kill(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            assert self._child.stdin is not None
            self._child.stdin.close()
            self._child = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def running_solr(state: Path) -> SolrAddress | None:
    """Return the address of the embedded Solr that another navlin runs on this state directory; None if none
    runs, or if it does not respond within 10 s. The returned server may end at any time."""
    place = state.absolute() / "solr"
    address = home.note(place)
    if address is None:
        return None
    # After a kill the note remains, and another server may have the port by now. So ask the server for its home.
    question = f"{address.url}/admin/info/properties?name={home.LOG_PROPERTY}"
    try:
        with SolrSession(replace(address, timeout_s=10.0, connect_timeout_s=2.0)) as session:
            answer = session.get(question).json()
    except (SolrError, ValueError):
        return None
    match answer:
        case {"system.properties": {home.LOG_PROPERTY: str(logs)}} if logs == str(home.logs(place)):
            return address
    return None


def _read_lines(child: subprocess.Popen[bytes], lines: Queue[str | None]) -> None:
    assert child.stdout is not None
    with child.stdout:
        for line in child.stdout:
            lines.put(line.decode(errors="replace").strip())
    lines.put(None)


def _answer(lines: Queue[str | None], log: Path) -> str | None:
    try:
        while (line := lines.get(timeout=START_S)) is not None and not line.startswith(("READY ", "FAILED ")):
            pass  # Java's own warnings
    except Empty:
        raise NoSolr(f"Solr was not ready within {START_S:.0f} s: see {log}") from None
    return line
