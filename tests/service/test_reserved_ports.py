"""Ports that are reserved for services of the demo and of tests."""

from __future__ import annotations

import errno
import socket

import pytest

from navlin.demo.ports import reserved_port


def test_a_reserved_port_can_be_listened_at_by_its_service_and_is_free_for_no_other_program() -> None:
    port = reserved_port()
    with socket.socket() as other, pytest.raises(OSError) as taken:
        other.bind(("127.0.0.1", port))
    assert taken.value.errno == errno.EADDRINUSE
    for _ in range(2):  # a service that was killed may be started again
        with socket.socket() as service:
            service.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            service.bind(("127.0.0.1", port))
            service.listen()
            with socket.create_connection(("127.0.0.1", port), 10) as client:
                service.accept()[0].close()
                assert client.recv(1) == b""


def test_nothing_listens_at_a_reserved_port_before_its_service() -> None:
    with socket.socket() as client:
        assert client.connect_ex(("127.0.0.1", reserved_port())) == errno.ECONNREFUSED
