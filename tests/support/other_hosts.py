"""A navlin web that takes logs of other hosts, without an index, and agents that send to it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import requests

from navlin.access.host_tokens import HostTokens
from navlin.forward import agent
from navlin.index.solr.solr import SolrAddress
from tests.support.web import CONFIGURATION, PATIENCE_S, Web, running_web

LINES: Final = "/api/navlin/v1/lines/"
FILES: Final = "/api/forward/v1/files"
ALIVE: Final = "/api/forward/v1/alive"
SOURCES: Final = """
[[source]]
name = "IMPALA-1"
extractor = "impala_events"
directory = []

[[source]]
name = "SPARK-1"
extractor = "spark_events"
directory = []
"""
NO_INDEX: Final = SolrAddress("http://127.0.0.1:9/solr")
"""An address at which nothing listens: what hosts send is accepted while the index is down."""
EMPTY: Final = "cae66941d9efbd404e4d88758ea67670"
"""BLAKE2b with 16 bytes, of nothing."""


def digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


@dataclass
class Hosts:
    """A running web and the state directory with what it keeps."""

    web: Web
    home: Path
    secrets: dict[str, str] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        return self.home / "state" / "forwarded"

    def token(self, host: str, *sources: str) -> str:
        if host not in self.secrets:
            tokens = HostTokens(self.home / "state")
            self.secrets[host] = tokens.add(host, sources or ("IMPALA-1", "SPARK-1"), 0)
        return self.secrets[host]

    def send(self, method: str, path: str, host: str = "one", **how: Any) -> requests.Response:
        headers = {"Authorization": f"Bearer {self.token(host)}", **how.pop("headers", {})}
        return requests.request(method, self.web.url + path, headers=headers, timeout=PATIENCE_S, **how)

    def append(
        self,
        file_id: str,
        offset: int,
        data: bytes,
        *,
        before: bytes = b"",
        host: str = "one",
        source: str = "IMPALA-1",
        **headers: str,
    ) -> requests.Response:
        """Send a range that follows ``before``, the last bytes of the file."""
        marks = {"X-Navlin-Mark": digest(before[-4096:]), "X-Navlin-Sum": digest(data)}
        path = f"{FILES}/{file_id}?source={source}&offset={offset}"
        return self.send("PUT", path, host, data=data, headers={**marks, **headers})

    def rename(self, file_id: str, name: str, host: str = "one", source: str = "IMPALA-1") -> int:
        path = f"{FILES}/{file_id}/name"
        return self.send("PUT", path, host, params={"source": source, "name": name}).status_code

    def kept(self, host: str = "one", source: str = "IMPALA-1") -> dict[str, bytes]:
        """Return name → content of the files that extractors see."""
        top = self.root / "hosts" / host / source
        return {str(each.relative_to(top)): each.read_bytes() for each in top.rglob("*") if each.is_file()}

    def lines(self, source: str = "IMPALA-1") -> bytes:
        """Return the accepted lines; empty if none was."""
        return b"".join(each.read_bytes() for each in sorted((self.root / "lines" / source).glob("*")))

    def agent_command(self, *sources: str, host: str = "one", python: str = sys.executable) -> list[str]:
        """Return the command of an agent. ``sources`` are like IMPALA-1=/directory."""
        token = self.home / f"{host}.token"
        token.write_text(self.token(host))
        command = [python, agent.__file__, "--url", self.web.url, "--token-file", str(token)]
        return [*command, *(part for each in sources for part in ("--source", each))]

    def forward(self, *sources: str, host: str = "one", python: str = sys.executable) -> str:
        """Run an agent until everything is sent. Return what it wrote to standard error."""
        command = [*self.agent_command(*sources, host=host, python=python), "--once"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, env=os.environ)
        assert done.returncode == 0, done.stderr
        return done.stderr


@contextmanager
def hosts_of(home: Path, *, least_free: str = "1m") -> Iterator[Hosts]:
    room = CONFIGURATION.replace(
        'state_directory = "state"', f'state_directory = "state"\nleast_free = "{least_free}"'
    )
    with running_web(NO_INDEX, home, SOURCES, configuration=room) as web:
        yield Hosts(web, home)
