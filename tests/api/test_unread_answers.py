"""Clients that ask and never read: their connections are closed in time, they cost little memory, and others are
answered meanwhile. The time-outs of the real `navlin web` are two seconds here.
"""

from __future__ import annotations

import os
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
import requests

from navlin.console.static_files import StaticFiles
from tests.services.certificates import certificate
from tests.support.other_hosts import NO_INDEX
from tests.support.web import PATIENCE_S, Web, running_web

FILES = StaticFiles("/navlin")
LARGE, SMALL = (
    FILES.address(name) for name in ("third_party/wasm-graphviz/index.js", "static/lineage/main.js")
)
"""Paths that need no log-in, with answers of 800 and 20 KB."""
CLIENTS = 120
LEAST_BYTES, STEP_BYTES = 2_000_000, 42_000
"""Bytes that the first client asks for, and that each further client asks for in addition. Linux buffers some of these
answers whole, some not, and some except for a rest of less than 64 KiB, for which asyncio has no time-out.
"""
MIB = 1 << 20
GROWTH_MIB = 60


@pytest.fixture(scope="module", params=["plain", "TLS"])
def impatient(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    home = tmp_path_factory.mktemp("unread")
    settings: tuple[str, ...] = ()
    if request.param == "TLS":
        tls = certificate(home)
        settings = (f'certificate_file = "{tls.certificate}"', f'key_file = "{tls.key}"')
    with running_web(NO_INDEX, home, *settings, program="tests.support.impatient_web") as web:
        yield web


def authorities(web: Web) -> str:
    return str(web.file.with_name("certificate.pem"))


def asking(web: Web, requests: bytes) -> socket.socket:
    """Return a connection that has sent the requests, and reads little."""
    place = urlsplit(web.url)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.settimeout(PATIENCE_S)
    connection.connect((place.hostname, place.port))
    if place.scheme == "https":
        context = ssl.create_default_context(cafile=authorities(web))
        connection = context.wrap_socket(connection, server_hostname=place.hostname)
    connection.sendall(requests)
    return connection


def get(path: str, *headers: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: x", *headers, "", ""]).encode()


def answer_to(web: Web, path: str) -> requests.Response:
    return requests.get(urljoin(web.url, path), timeout=PATIENCE_S, verify=authorities(web))


def sockets(web: Web) -> int:
    """Return the number of sockets that the web process has open."""
    count = 0
    for each in Path(f"/proc/{web.process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            count += os.readlink(each).startswith("socket:")
    return count


def wait_for_sockets(web: Web, most: int) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while sockets(web) > most:
        assert time.monotonic() < until_s, f"{sockets(web) - most} connections are still open"
        time.sleep(0.1)


def most_memory_mib(web: Web) -> float:
    text = Path(f"/proc/{web.process.pid}/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def test_clients_that_never_read_are_closed_cost_little_and_delay_nobody(impatient: Web) -> None:
    large, small = (len(answer_to(impatient, path).content) for path in (LARGE, SMALL))
    before, mib = sockets(impatient), most_memory_mib(impatient)
    with ExitStack() as opened:
        clients = []
        for number in range(CLIENTS):
            larges, rest = divmod(LEAST_BYTES + number * STEP_BYTES, large)
            asked = get(LARGE) * larges + get(SMALL) * (rest // small)
            clients.append(opened.enter_context(closing(asking(impatient, asked))))
        assert answer_to(impatient, "/navlin/healthz").status_code == 200
        wait_for_sockets(impatient, before)
        received = 0
        with suppress(OSError):
            while piece := clients[-1].recv(MIB):
                received += len(piece)
        assert received < LEAST_BYTES + CLIENTS * STEP_BYTES - large, "its answers fit into the buffers"
    assert most_memory_mib(impatient) < mib + GROWTH_MIB
