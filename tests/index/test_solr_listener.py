"""The password of the embedded Solr is sent to processes of navlin's own user only."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from navlin.index.solr.connection import SolrAddress, SolrSession, SolrUnavailable
from navlin.index.solr.solr import Solr
from navlin.port_listener import ForeignListener, check_listener
from navlin.solr_server.embedded import EmbeddedSolr

ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
)
ANOTHER = os.geteuid() + 1


@contextmanager
def plays_solr(family: socket.AddressFamily, host: str) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the port of a listener of this user that answers every request, and the requests that it has received."""
    came: list[bytes] = []
    with socket.create_server((host, 0), family=family, dualstack_ipv6=family == socket.AF_INET6) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    came.append(connection.recv(65_536))
                    if came[-1]:
                        connection.sendall(ANSWER)

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1], came
        listener.shutdown(socket.SHUT_RDWR)


def ask(port: int, uid: int) -> bytes:
    url = f"http://127.0.0.1:{port}/solr"
    with SolrSession(SolrAddress(url, "navlin", "the-password", timeout_s=30, listener_uid=uid)) as session:
        return session.get(url).content


@pytest.mark.parametrize(
    ("family", "host"),
    [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")],
    ids=["loopback", "every address", "both families, as Java listens"],
)
def test_nothing_is_sent_to_a_process_of_another_user_at_solrs_port(
    family: socket.AddressFamily, host: str
) -> None:
    with plays_solr(family, host) as (port, came):
        with pytest.raises(
            SolrUnavailable, match=f"the user with the id {os.geteuid()} listens at port {port}"
        ):
            ask(port, ANOTHER)
        assert b"".join(came) == b""
        assert ask(port, os.geteuid()) == b"{}"
        assert b"Authorization: Basic " in came[-1]


def test_nothing_is_sent_if_the_listener_has_gone() -> None:
    with plays_solr(socket.AF_INET, "127.0.0.1") as (port, _):
        pass
    with pytest.raises(ForeignListener, match="no process listens any more"):
        check_listener(os.geteuid(), port)


def test_the_embedded_solr_is_asked_only_as_its_own_user(solr_server: EmbeddedSolr) -> None:
    address = solr_server.start()
    assert address.listener_uid == os.geteuid()
    with Solr(address) as solr:
        assert solr.count("nav_elements", "identity:none") == 0
