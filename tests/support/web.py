"""A running ``navlin web`` on the session's Solr, with a user for each role."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from navlin.access.roles import Role
from navlin.access.store import AccessFile
from navlin.api.own import ROOT
from navlin.index.solr.solr import SolrAddress

PASSWORD = "correct horse battery"
PATIENCE_S = 300.0
STARTS_S = 240.0
"""Timeout for a start that takes seconds on an idle machine."""
CONFIGURATION = """\
[navlin]
cluster = "estate"
state_directory = "state"

[solr]
url = "{url}"
user = "{user}"
password_file = "solr.password"

[web]
port = 0
base_path = "/navlin"
"""


@dataclass
class Web:
    file: Path
    url: str
    process: subprocess.Popen[str]
    log: list[dict[str, Any]]

    def get(self, path: str, user: str | None = "viewer", **parameters: Any) -> requests.Response:
        return self.send("GET", path, user, params=parameters)

    def send(self, method: str, path: str, user: str | None = "viewer", **how: Any) -> requests.Response:
        auth = (user, PASSWORD) if user else None
        # Without a session, so that proxies and cookies of the environment are not used.
        return requests.request(method, self.url + path, auth=auth, timeout=PATIENCE_S, **how)

    def asked(self, path: str, **parameters: Any) -> Any:
        answer = self.get(ROOT + path, **parameters)
        assert answer.status_code == 200, answer.text
        assert answer.headers["Content-Type"] == "application/json"
        return answer.json()

    def logged(self, event: str, at_least: int = 1, **fields: Any) -> list[dict[str, Any]]:
        """Return the log lines with this event and these fields.

        Waits for ``at_least`` lines, because a response may be received before its log line.
        """
        deadline_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline_s:
            found = [line for line in list(self.log) if {"event": event, **fields}.items() <= line.items()]
            if len(found) >= at_least:
                return found
            time.sleep(0.02)
        alike = [line for line in self.log if line["event"] == event]
        pytest.fail(f"{at_least} lines {event!r} with {fields}; those with this event: {alike}")

    def command(self, *arguments: str) -> Any:
        """Run a navlin command, and return the JSON that it prints."""
        command = [sys.executable, "-m", "navlin", "--config", str(self.file), *arguments, "--json"]
        return json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)


@contextmanager
def running_web(
    address: SolrAddress,
    home: Path,
    *settings: str,
    configuration: str = CONFIGURATION,
    program: str = "navlin",
) -> Iterator[Web]:
    """Run a navlin web with its configuration and state in ``home``. ``settings`` are further lines of ``[web]``."""
    (home / "solr.password").write_text(address.password or "")
    file = home / "navlin.toml"
    text = configuration.format(url=address.url, user=address.user or "")
    file.write_text(text + "".join(f"{setting}\n" for setting in settings))
    users = AccessFile(home / "state")
    for name, role in (
        ("viewer", Role.LINEAGE_VIEWER),
        ("editor", Role.METADATA_ADMINISTRATOR),
        ("chief", Role.ADMINISTRATOR),
    ):
        users.add_user(name, role, PASSWORD)
    with started_web(file, program) as web:
        yield web


@contextmanager
def started_web(file: Path, program: str = "navlin") -> Iterator[Web]:
    """Run a navlin web with this configuration; it may share the configuration with another one."""
    with subprocess.Popen(
        [sys.executable, "-m", program, "--config", str(file), "web"], stderr=subprocess.PIPE, text=True
    ) as process:
        log: list[dict[str, Any]] = []
        web = Web(file, "", process, log)
        reading = threading.Thread(target=_read, args=(process, log))
        reading.start()
        try:
            web.url = _until_ready(web)
            yield web
        finally:
            process.terminate()
            reading.join()
    assert process.returncode == 0


def _read(process: subprocess.Popen[str], log: list[dict[str, Any]]) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        log.append(json.loads(line) if line.startswith("{") else {"event": line.strip()})


def _until_ready(web: Web) -> str:
    deadline = time.monotonic() + STARTS_S
    while time.monotonic() < deadline and web.process.poll() is None:
        for line in list(web.log):
            if line["event"] == "web ready":
                return str(line["url"])
        time.sleep(0.02)
    pytest.fail(f"not ready: {web.log}")
