"""Starts, watches, restarts and ends the HTTP process of ``navlin serve``.

HTTP is served by a separate process, so that no request, however slow, takes time from an extraction.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import structlog

from navlin.service.daemon.listening import Listening, NoPort, listen
from navlin.service.settings.configuration import Configuration
from navlin.service.settings.web_settings import WebSettings

log = structlog.stdlib.get_logger(__name__)

FIRST_WAIT_S: Final = 1.0
MOST_WAIT_S: Final = 300.0
WELL_S: Final = 60.0
"""Lifetime of a web process, in seconds, after which the wait before the next restart is `FIRST_WAIT_S` again."""
STOP_S: Final = 15.0


class WebProcess:
    """The web process, a child of this process. The child ends when this process ends for any reason, because its
    standard input is then closed."""

    def __init__(self, file: Path) -> None:
        """``file`` is the configuration file."""
        self._command = [sys.executable, "-m", "navlin", "--config", str(file), "web", "--child"]
        self._listening: Listening | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._configuration: Configuration | None = None
        self._started_s = 0.0
        self._wait_s = 0.0

    def look_after(self, configuration: Configuration) -> None:
        """Start the child if ``configuration`` enables it and it is not running; end the child if it is disabled. After
        a change of the configuration, restart the child, which reads the file itself. Must be called repeatedly."""
        if configuration is not self._configuration:
            self._end_child()
            if self._configuration is None or configuration.web != self._configuration.web:
                self._close()
            self._configuration, self._wait_s = configuration, 0.0
        if not configuration.web.enabled:
            return
        now_s = time.monotonic()
        if self._child is None:
            if now_s >= self._started_s + self._wait_s:
                self._start(configuration.web, now_s)
        elif (code := self._child.poll()) is not None:
            lived_s = now_s - self._started_s
            if lived_s >= WELL_S:
                self._wait_s = 0.0
            self._wait_longer()
            log.error("web process exited unexpectedly: restarting it", code=code, in_s=self._wait_s)
            self._forget()

    def stop(self) -> None:
        """Let the child finish its responses, wait until it ends, and close the port. Harmless if no child runs."""
        self._end_child()
        self._close()

    def _end_child(self) -> None:
        if self._child is None:
            return
        assert self._child.stdin is not None
        self._child.stdin.close()
        try:
            self._child.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._forget()

    def _start(self, settings: WebSettings, now_s: float) -> None:
        self._started_s = now_s
        if self._listening is None:
            try:
                self._listening = listen(settings, or_another=True)
            except NoPort as error:
                self._wait_longer()
                log.error("HTTP server not started", error=str(error), again_in_s=self._wait_s)
                return
        descriptor = self._listening.socket.fileno()
        # The child has its own session, so that Ctrl-C in a terminal reaches only this process, which then shuts down
        # the child cleanly.
        self._child = subprocess.Popen(
            [*self._command, str(descriptor)],
            stdin=subprocess.PIPE,
            start_new_session=True,
            pass_fds=[descriptor],
        )

    def _wait_longer(self) -> None:
        self._wait_s = min(MOST_WAIT_S, self._wait_s * 2 or FIRST_WAIT_S)

    def _close(self) -> None:
        if self._listening is not None:
            self._listening.socket.close()
        self._listening = None

    def _forget(self) -> None:
        if self._child is not None and self._child.stdin is not None:
            self._child.stdin.close()
        self._child = None
