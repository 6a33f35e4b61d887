"""The demo's navlin: a ``navlin serve`` as an operator would run it, a separate process that gets signals."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from navlin.access.store import FIRST_NAME, PASSWORD_FILE
from navlin.demo import DemoFailed
from navlin.demo.children import end_with_parent
from navlin.files import replace_content
from navlin.index.runs import Status
from navlin.service.heartbeat import Heartbeat, read_heartbeat
from navlin.service.web_address import web_address

PATIENCE_S: Final = 900.0
"""Timeout of steps that take seconds on a quiet machine."""
END_S: Final = 120.0

CONFIGURATION: Final = """\
[navlin]
cluster = "demo"
state_directory = "{state}"

[solr]
memory = "512m"
jars_directory = "{jars}/solr"

[spark.conf]
"spark.driver.defaultJavaOptions" = "{java_options}"

[web]
port = 0

[log]
format = "console"
level = "{level}"
"""


class Navlin:
    """A navlin whose sources are added later, so that Solr and Spark start while the estate is set up.

    ``jars`` is the directory of the sets of jars, of compiled Java and of archives of its classes.
    """

    def __init__(self, home: Path, jars: Path) -> None:
        self.file = home / "navlin.toml"
        self._state = home / "state"
        temporary = home / "spark"
        temporary.mkdir()
        self._settings = {
            "state": self._state,
            "jars": jars,
            "java_options": shlex.quote(f"-Djava.io.tmpdir={temporary}"),
        }
        self._sources = ""
        self._process: subprocess.Popen[bytes] | None = None
        for where, kept in (("solr-launcher", "solr-launcher"), ("spool/java", "hadoop-launcher")):
            (jars / kept).mkdir(exist_ok=True)
            (self._state / where).parent.mkdir(parents=True, exist_ok=True)
            (self._state / where).symlink_to(jars / kept)
        self._write("warning")

    def command(self, *arguments: str) -> list[str]:
        """A command line of navlin on this configuration; it works from any directory."""
        script = Path(sys.executable).with_name("navlin")
        program = [str(script)] if script.exists() else [sys.executable, "-m", "navlin"]
        return [*program, "--config", str(self.file), *arguments]

    def shown(self, *arguments: str) -> str:
        """The same command line, for a person to paste."""
        return shlex.join(self.command(*arguments))

    def launch(self) -> None:
        """Starts it without waiting."""
        self._process = subprocess.Popen(
            self.command("serve"),
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )

    def extract(self, sources: str) -> Iterator[str]:
        """Adds sources, ``[[source]]`` sections, and yields the name of each as soon as it is completely read and
        linked.

        Raises `DemoFailed` if one fails.
        """
        next(self._heartbeats("start"))
        self._sources = sources
        self._reload("warning")
        done: set[str] = set()
        for heartbeat in self._heartbeats("extract and link everything"):
            for name in heartbeat.due_s:
                if name not in done and _done(name, heartbeat):
                    done.add(name)
                    yield name
            if heartbeat.due_s and done.issuperset(heartbeat.due_s):
                return

    def over_http(self) -> tuple[str, str, str]:
        """Its HTTP address, and the name and password of its administrator."""
        for _ in self._heartbeats("answer over HTTP"):
            if url := web_address(self._state):
                return url, FIRST_NAME, (self._state / PASSWORD_FILE).read_text().strip()
        raise AssertionError("it goes on until it answers, or raises")

    def log_ordinary_work(self) -> None:
        """Makes it log ordinary events from now on."""
        self._reload("info")

    def wait(self) -> int:
        """Waits for its end; returns its exit code."""
        assert self._process is not None
        return self._process.wait()

    def stop(self) -> int:
        """Ends it in order; returns its exit code."""
        assert self._process is not None
        self._process.terminate()
        try:
            return self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            raise DemoFailed(f"navlin serve did not end within {END_S:.0f} s") from None

    def ask(self, question: Sequence[str]) -> None:
        """Runs a command like a person would; the answer goes to this process's output. Raises `DemoFailed`."""
        # Other output must not come after the answer.
        sys.stdout.flush()
        code = subprocess.run(
            self.command(*question), stdin=subprocess.DEVNULL, start_new_session=True, check=False
        ).returncode
        if code:
            raise DemoFailed(f"{shlex.join(['navlin', *question])} ended with exit code {code}")

    def _reload(self, level: str) -> None:
        self._write(level)
        assert self._process is not None
        self._process.send_signal(signal.SIGHUP)

    def _write(self, level: str) -> None:
        text = CONFIGURATION.format(**self._settings, level=level) + self._sources
        replace_content(self.file, text.encode(), durable=False)

    def _heartbeats(self, work: str) -> Iterator[Heartbeat]:
        """Yields its heartbeat repeatedly. Raises `DemoFailed` if it ends, or takes too long for that work."""
        assert self._process is not None
        deadline_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline_s:
            if (code := self._process.poll()) is not None:
                raise DemoFailed(f"navlin serve ended with exit code {code}")
            if (heartbeat := read_heartbeat(self._state)) is not None:
                yield heartbeat
            time.sleep(0.1)
        raise DemoFailed(f"navlin serve did not {work} within {PATIENCE_S:.0f} s")


def _done(name: str, heartbeat: Heartbeat) -> bool:
    source = heartbeat.sources.get(name)
    if source is None:
        return False
    if source.status not in (Status.FINISHED, Status.IDLE):
        raise DemoFailed(f"{name}: {source.status} {source.error}")
    return not source.more
