"""The body of a caller that is unknown, or may not do what it asks, is not read: the answer comes although no byte of
the announced body was sent. A body that is read and does not arrive is answered with 408.
"""

from __future__ import annotations

import base64
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from navlin.access.host_tokens import HostTokens
from navlin.api.own import ROOT
from tests.support.http_browser import Browser
from tests.support.other_hosts import ALIVE, FILES, LINES, NO_INDEX, SOURCES
from tests.support.web import PASSWORD, PATIENCE_S, Web, running_web

ANNOUNCED_BYTES = 30_000
JSON, FORM = "application/json", "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Door:
    """A web with every address, the browser of a viewer, and the token of a host for IMPALA-1."""

    web: Web
    browser: Browser
    host: str

    def shown_by(self, caller: str) -> dict[str, str]:
        """Return the headers by which a caller is known."""
        cookies = "; ".join(f"{name}={value}" for name, value in self.browser.cookies.items())
        match caller:
            case "nobody":
                return {}
            case "host":
                return {"Authorization": f"Bearer {self.host}"}
            case "session":
                return {"Cookie": cookies, "X-Navlin-CSRF": self.browser.csrf}
            case "session without its token":
                return {"Cookie": cookies}
            case "page of another site":
                return {**self.shown_by("chief"), "Sec-Fetch-Site": "cross-site"}
            case name:
                return {"Authorization": "Basic " + base64.b64encode(f"{name}:{PASSWORD}".encode()).decode()}

    def status(self, method: str, path: str, caller: str, content_type: str) -> int:
        """Announce a body, send nothing of it, and return the status of the answer."""
        place = urlsplit(self.web.url)
        head = {
            "Host": place.netloc,
            "Content-Type": content_type,
            "Content-Length": str(ANNOUNCED_BYTES),
            **self.shown_by(caller),
        }
        lines = [f"{method} {place.path}{path} HTTP/1.1", *(f"{name}: {text}" for name, text in head.items())]
        with socket.create_connection((place.hostname or "", place.port or 0), PATIENCE_S) as connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode())
            return int(connection.recv(1 << 16).split()[1])


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    home: Path = tmp_path_factory.mktemp("unread")
    settings = ('openlineage_directory = "events"', "solr_passthrough = true", SOURCES)
    with running_web(NO_INDEX, home, *settings) as web:
        browser = Browser(web)
        assert browser.log_in("viewer").status_code == 200
        yield Door(web, browser, HostTokens(home / "state").add("one", ("IMPALA-1",), 0))


EVENTS, BATCH = "/api/v1/lineage", "/api/v1/lineage/batch"
RANGE = f"{FILES}/1-00000001?source=SPARK-1&offset=0"
WRITES = [
    (ROOT + "/edit", JSON),
    (ROOT + "/purge", JSON),
    ("/api/v14/interactive/entities", JSON),
    ("/solr/nav_elements/select", FORM),
    ("/edit", FORM),
    ("/logout", FORM),
    (EVENTS, JSON),
    (BATCH, JSON),
    ("/nowhere", FORM),
]


@pytest.mark.parametrize(
    ("method", "path", "caller", "content_type", "status"),
    [
        *(("POST", path, "nobody", kind, 401) for path, kind in WRITES),
        *(("POST", path, "page of another site", kind, 403) for path, kind in WRITES),
        *(("POST", path, "viewer", JSON, 403) for path in (ROOT + "/edit", ROOT + "/purge", EVENTS, BATCH)),
        ("PUT", "/api/v14/entities/1", "viewer", JSON, 403),
        ("POST", "/edit", "viewer", FORM, 403),
        ("POST", ROOT + "/purge", "editor", JSON, 403),
        ("POST", "/edit", "session", FORM, 403),
        ("POST", "/edit", "session without its token", FORM, 403),
        ("POST", ROOT + "/edit", "session without its token", FORM, 403),
        ("POST", EVENTS, "session without its token", FORM, 403),
        ("POST", LINES + "IMPALA-1", "nobody", JSON, 401),
        ("POST", LINES + "IMPALA-1", "chief", JSON, 401),
        ("POST", LINES + "SPARK-1", "host", JSON, 403),
        ("PUT", RANGE, "nobody", JSON, 401),
        ("PUT", RANGE, "host", JSON, 403),
        ("POST", ALIVE, "nobody", JSON, 401),
        ("POST", ROOT + "/edit", "host", JSON, 401),
    ],
)
def test_the_caller_is_judged_before_the_body_is_read(
    door: Door, method: str, path: str, caller: str, content_type: str, status: int
) -> None:
    assert door.status(method, path, caller, content_type) == status


@pytest.mark.parametrize(
    ("path", "caller", "content_type"),
    [("/login", "nobody", JSON), (ROOT + "/edit", "editor", JSON), (LINES + "IMPALA-1", "host", JSON)],
)
@pytest.mark.services
def test_a_body_that_may_be_sent_is_waited_for(door: Door, path: str, caller: str, content_type: str) -> None:
    assert door.status("POST", path, caller, content_type) == 408
