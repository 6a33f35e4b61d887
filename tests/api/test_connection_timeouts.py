"""Connections that do nothing are closed by a real `navlin web` with TLS, whose time-outs are two seconds here."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from navlin.index.solr.connection import SolrAddress
from tests.services.certificates import certificate
from tests.support.web import PATIENCE_S, Web, running_web

NO_SOLR = SolrAddress("http://127.0.0.1:9/solr")


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    home = tmp_path_factory.mktemp("impatient")
    tls = certificate(home)
    settings = (f'certificate_file = "{tls.certificate}"', f'key_file = "{tls.key}"')
    with running_web(NO_SOLR, home, *settings, program="tests.support.impatient_web") as web:
        yield web


def connected(web: Web) -> socket.socket:
    place = urlsplit(web.url)
    assert place.hostname and place.port
    return socket.create_connection((place.hostname, place.port), PATIENCE_S)


def encrypted(connection: socket.socket) -> ssl.SSLSocket:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(connection)


def wait_until_closed(connection: socket.socket) -> None:
    try:
        while connection.recv(1 << 20):
            pass
    except TimeoutError:
        pytest.fail("the connection is still open")
    except OSError:
        pass


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01\x02\x00\x01"], ids=["nothing", "half of a greeting"])
def test_an_incomplete_tls_handshake_is_closed(impatient: Web, sent: bytes) -> None:
    with closing(connected(impatient)) as connection:
        connection.sendall(sent)
        wait_until_closed(connection)


def test_an_idle_connection_is_closed(impatient: Web) -> None:
    with closing(encrypted(connected(impatient))) as connection:
        connection.sendall(b"GET /navlin/healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(4_096).startswith(b"HTTP/1.1 200")
        wait_until_closed(connection)
