"""Thrift over TLS: navlin trusts the metastore's certificate, and refuses every other certificate with a message."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from extractors.hms import HiveMetastore
from extractors.hms.client import MetastoreConnection, MetastoreError, connected
from navlin.model.plan import Positions
from navlin.model.source import HIVE, Estate, Source, source_id
from tests.access.test_kerberos import asking, names
from tests.services.certificates import PASSWORD, Certificate, certificate
from tests.services.kerberos import Kdc
from tests.services.metastore import CREATE_TABLE, Metastore, table

SOURCE = Source(source_id("tls", "hive"), HIVE, "hive", "tls")


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """The metastore's certificate, valid for 127.0.0.1 but not for ``localhost``."""
    return certificate(tmp_path_factory.mktemp("own"))


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """A certificate of another server, valid for ``localhost`` and 127.0.0.1."""
    return certificate(tmp_path_factory.mktemp("other"), "dns:localhost,ip:127.0.0.1")


def source(port: int, ca_file: Path | str, *, host: str = "127.0.0.1") -> HiveMetastore:
    return HiveMetastore(
        SOURCE,
        Estate("tls", (SOURCE,)),
        (f"thrift://{host}:{port}",),
        tls=True,
        ca_file=str(ca_file),
        connect_timeout_s=60.0,
        call_timeout_s=120.0,
    )


@contextmanager
def listening(context: ssl.SSLContext | None) -> Iterator[int]:
    """Yield the port of a server that speaks TLS with ``context``. Without a context, the server responds in plain HTTP
    and closes the connection.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            with suppress(OSError):
                while True:
                    peer, _ = server.accept()
                    with suppress(OSError), peer:
                        if context is not None:
                            context.wrap_socket(peer, server_side=True).close()
                        else:
                            peer.recv(10)
                            peer.sendall(b"HTTP/1.0 400 no\\r\\n")

        answering = threading.Thread(target=answer, daemon=True)
        answering.start()
        yield int(server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)
    answering.join()


@pytest.fixture
def port(own: Certificate) -> Iterator[int]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own.certificate, own.key)
    with listening(context) as port:
        yield port


def test_a_server_with_the_trusted_certificate_is_connected(own: Certificate, port: int) -> None:
    MetastoreConnection(source(port, own.certificate)._address).close()


def test_each_untrusted_server_is_reported(
    own: Certificate, other: Certificate, port: int, tmp_path: Path
) -> None:
    (tmp_path / "empty.pem").touch()
    with listening(None) as plain:
        wrong = {
            r"not trusted \(.*self.signed.*`ca_file` names": source(port, other.certificate),
            r"not trusted \(.*self.signed.* certificate.*\)": source(port, ""),
            "not for localhost .*: name it in `uris` as": source(port, own.certificate, host="localhost"),
            "does not speak it .*: is hive.metastore.use.SSL true there": source(plain, own.certificate),
            "ca_file /absent.pem cannot be read: No such file": source(port, "/absent.pem"),
            "ca_file .*empty.pem holds no certificate": source(port, tmp_path / "empty.pem"),
        }
        for words, each in wrong.items():
            with pytest.raises(MetastoreError, match=words):
                list(each.check())


def test_an_untrusted_instance_is_skipped_for_the_next(
    own: Certificate, other: Certificate, port: int
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(other.certificate, other.key)
    with listening(context) as strange:
        both = replace(
            source(port, own.certificate),
            uris=tuple(f"thrift://127.0.0.1:{each}" for each in (strange, port)),
        )
        connection = MetastoreConnection(both._address)
        connection.close()

    assert connection.uri == both.uris[1]


def test_ca_file_requires_tls(own: Certificate) -> None:
    assert list(replace(source(1, own.certificate), tls=False).problems()) == [
        ("ca_file", "ca_file is for TLS: it needs tls = true")
    ]


@pytest.fixture(scope="module")
def over_tls(
    tmp_path_factory: pytest.TempPathFactory, metastore_jars: Path, own: Certificate
) -> Iterator[Metastore]:
    with Metastore(tmp_path_factory.mktemp("hms"), metastore_jars, settings=settings(own)) as running:
        yield running


def settings(own: Certificate) -> dict[str, str]:
    return {
        "hive.metastore.use.SSL": "true",
        "hive.metastore.keystore.path": str(own.store),
        "hive.metastore.keystore.password": PASSWORD,
    }


@pytest.mark.services
def test_a_metastore_with_a_keystore_is_read(over_tls: Metastore, own: Certificate) -> None:
    reads(source(over_tls.port, own.certificate))


@pytest.mark.services
def test_an_untrusted_real_metastore_is_reported(
    over_tls: Metastore, own: Certificate, other: Certificate
) -> None:
    wrong = {
        "its certificate is not trusted": source(over_tls.port, other.certificate),
        "its certificate is not for localhost": source(over_tls.port, own.certificate, host="localhost"),
        "tls = true where hive.metastore.use.SSL is": replace(source(over_tls.port, ""), tls=False),
    }
    for words, each in wrong.items():
        with pytest.raises(MetastoreError, match=words):
            list(each.check())


@pytest.mark.services
def test_kerberos_works_over_tls(kdc: Kdc, kerberized: Metastore, own: Certificate) -> None:
    # PySpark's metastore supports either TLS or Kerberos. Later metastores, and proxies in front of a metastore,
    # support both.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own.certificate, own.key)
    hms = asking(kerberized, kdc, kdc.keytab("navlin.keytab", "navlin"))
    with before(kerberized.port, context) as port:
        over_tls = replace(hms, uris=(f"thrift://127.0.0.1:{port}",), tls=True, ca_file=str(own.certificate))
        reads(over_tls)


@contextmanager
def before(target: int, context: ssl.SSLContext) -> Iterator[int]:
    """Yield the port of a TLS proxy that forwards everything in plain text to the port ``target``."""

    def passing(from_: socket.socket, to: socket.socket) -> None:
        with suppress(OSError):
            while data := from_.recv(65_536):
                to.sendall(data)
        with suppress(OSError):
            to.shutdown(socket.SHUT_RDWR)

    def accepting() -> None:
        with suppress(OSError):
            while True:
                peer = context.wrap_socket(server.accept()[0], server_side=True)
                inner = socket.create_connection(("127.0.0.1", target))
                for ends in ((peer, inner), (inner, peer)):
                    threading.Thread(target=passing, args=ends, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=accepting, daemon=True).start()
        yield int(server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)


def reads(hms: HiveMetastore) -> None:
    with connected(hms._address) as metastore:
        metastore.call(CREATE_TABLE, table("default", "enciphered"))

    assert "/default/enciphered/id" in names(hms, hms.plan(Positions()).splits)
