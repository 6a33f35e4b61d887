"""The navlin of the demo: ``navlin serve`` as an operator would run it, a separate process controlled by signals."""

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
from navlin.index.journal.runs import Status
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
    """A navlin to which sources are added later, so that Solr and Spark can start while the estate is set up.

    ``jars`` is the directory for the sets of jars, compiled Java programs and class archives.
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
        """Return a navlin command line with this configuration, which works in any directory."""
        script = Path(sys.executable).with_name("navlin")
        program = [str(script)] if script.exists() else [sys.executable, "-m", "navlin"]
        return [*program, "--config", str(self.file), *arguments]

    def shown(self, *arguments: str) -> str:
        """Return the command line of `command` as text for a shell."""
        return shlex.join(self.command(*arguments))

    def launch(self) -> None:
        """Start ``navlin serve`` without waiting for it."""
        self._process = subprocess.Popen(
            self.command("serve"),
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )

    def extract(self, sources: str) -> Iterator[str]:
        """Add ``[[source]]`` sections, and yield the name of each source as soon as it is completely read and linked.

        Raises `DemoFailed` if a source fails.
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
        """Return (URL, name, password), where name and password are the administrator's."""
        for _ in self._heartbeats("answer over HTTP"):
            if url := web_address(self._state):
                return url, FIRST_NAME, (self._state / PASSWORD_FILE).read_text().strip()
        raise AssertionError("it goes on until it answers, or raises")

    def log_ordinary_work(self) -> None:
        """Lower the log level, so that navlin also logs ordinary events."""
        self._reload("info")

    def wait(self) -> int:
        """Wait until ``navlin serve`` ends, and return the exit code."""
        assert self._process is not None
        return self._process.wait()

    def stop(self) -> int:
        """Shut down ``navlin serve`` cleanly, and return the exit code. Raises `DemoFailed`."""
        assert self._process is not None
        self._process.terminate()
        try:
            return self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            raise DemoFailed(f"navlin serve did not end within {END_S:.0f} s") from None

    def ask(self, question: Sequence[str]) -> None:
        """Run a navlin command as a user would. The command prints to this process's output. Raises `DemoFailed`."""
        # Earlier output must not appear after the output of the command.
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
        """Yield navlin's heartbeat repeatedly. Raises `DemoFailed` if navlin ends, or takes too long for ``work``."""
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
