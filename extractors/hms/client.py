"""A connection to a Hive metastore, with the calls that the extractor needs and with errors that say what to do."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TApplicationException
from thrift.transport.TTransport import TBufferedTransport, TFramedTransport, TTransportException

from extractors.hms import idl
from extractors.hms.bounded_socket import WHOLE, PlainSocket, TlsSocket
from extractors.hms.events import DEFAULT_CATALOG
from extractors.hms.thrift import Call, DeclaredError
from extractors.hms.thrift_sasl import SaslTransport
from extractors.hms.tls import NoAuthorities, tls_in_words, tls_socket
from navlin.kerberos.client import TICKET_CACHE, Login, SaslConversation
from navlin.kerberos.messages import KerberosFailed
from navlin.model.redaction.literals import words_of_peer
from navlin.urls import server_url

_T = TypeVar("_T")

# Thrift also logs the errors that it raises. If logging is not configured, they would go to stderr.
logging.getLogger("thrift.transport.TSocket").addHandler(logging.NullHandler())

DEFAULT_PORT = 9083
_BUFFER_BYTES = 64 * 1024
_ALL = -1
_MOST_BYTES = 1 << 28
_MOST_ITEMS = 1 << 22
"""Maximum sizes of a string and a list in a response, because Thrift allocates as much memory as the response
announces.
"""
_NOT_THRIFT = (TProtocolException, EOFError, ValueError, TypeError, OverflowError, MemoryError)
"""Errors that Thrift's decoder raises on damaged bytes."""


class MetastoreError(Exception):
    """A metastore could not be reached, or did not respond to a call properly."""


class MetastoreTimedOut(MetastoreError):
    """A call took too long. The connection can no longer be used."""


class MetastoreRefused(MetastoreError):
    """The metastore refused the call, or could not carry it out."""


class MetastoreGarbled(MetastoreError):
    """The response is not Thrift or does not match the call. The connection can no longer be used."""


class MetastoreLost(MetastoreError):
    """The connection broke, because the metastore ended or because it failed on the requested object."""


class CallUnknown(MetastoreError):
    """The metastore's version does not have the call."""


@dataclass(frozen=True, slots=True)
class MetastoreAddress:
    """Address of a metastore and settings for connecting to it. ``uris`` are tried in order."""

    uris: tuple[str, ...]
    framed: bool = False
    connect_timeout_s: float = 10.0
    call_timeout_s: float = 120.0
    sasl: str = "none"
    metastore_principal: str = ""
    login: Login = TICKET_CACHE
    catalog: str = DEFAULT_CATALOG
    tls: bool = False
    ca_file: str = ""
    """PEM file of the CA certificates to trust instead of the system's."""


class MetastoreConnection:
    """A connection to the first instance in ``uris`` that responds. Not thread-safe."""

    def __init__(self, address: MetastoreAddress) -> None:
        self._address = address
        self._knows_requests = True
        self.uri = ""
        self.open()

    def open(self) -> None:
        """Open the connection. Call this again after a `MetastoreError` that makes the connection unusable."""
        failures, hint = [], ""
        for uri in dict.fromkeys(each.rstrip("/") for each in self._address.uris):
            try:
                self._socket = _socket(uri, self._address)
                self._protocol: Any = _protocol(self._socket, uri, self._address)
            except KerberosFailed as error:
                # The instance is up, and other instances would reject the login for the same reason.
                raise MetastoreError(f"{uri}: {error}") from error
            except NoAuthorities as error:
                raise MetastoreError(f"{uri}: {error}") from error
            except (TTransportException, OSError) as error:
                if words := tls_in_words(getattr(error, "inner", error), host_and_port(uri)[0]):
                    failures.append(f"{uri}: {words}")
                else:
                    failures.append(f"{uri}: {_line(str(error))}")
                    speaks = ", and does it speak TLS" if self._address.tls else ""
                    hint = f": is it running, are host and port in `uris` right{speaks}?"
            else:
                self.uri = uri
                return
        raise MetastoreError(f"no metastore can be reached ({'; '.join(failures)}){hint}")

    def close(self) -> None:
        self._protocol.trans.close()

    def call(self, call: Call[_T], *arguments: Any) -> _T:
        """Make a call of `extractors.hms.idl`. Raises a `MetastoreError` that names host, port and call, and says what
        to do.
        """
        return self.ask(call, *arguments)()

    def ask(self, call: Call[_T], *arguments: Any) -> Callable[[], _T]:
        """Send a call, and return a function that waits for the result, so that the metastore works in the meantime.
        No other call may be made before the result is received. Both functions raise the errors of `call`.
        """
        with self._explained(call.name):
            call.send(self._protocol, *arguments)

        def answer() -> _T:
            self._socket.begin(self._address.call_timeout_s)
            with self._explained(call.name):
                return call.receive(self._protocol)

        return answer

    @contextmanager
    def _explained(self, name: str) -> Iterator[None]:
        where = f"{self.uri}: {name}"
        try:
            yield
        except DeclaredError as error:
            raise MetastoreRefused(
                f"{where}: {type(error).__name__}: {words_of_peer(_line(error.message))}"
            ) from error
        except TApplicationException as error:
            if error.type == TApplicationException.UNKNOWN_METHOD:
                raise CallUnknown(f"{where}: this metastore does not know the call") from error
            raise MetastoreRefused(
                f"{where}: {words_of_peer(_line(error.message))} (see the metastore's own log)"
            ) from error
        except (TTransportException, OSError) as error:
            raise self._lost(where, error) from error
        except _NOT_THRIFT as error:
            hint = "is this a metastore's Thrift port, and is `framed` set as the metastore has it?"
            raise MetastoreGarbled(
                f"{where}: the answer is not Thrift ({_line(str(error))}): {hint}"
            ) from error

    def _lost(self, where: str, error: Exception) -> MetastoreError:
        if getattr(error, "type", None) == TTransportException.TIMED_OUT:
            return MetastoreTimedOut(
                f"{where}: no answer within {self._address.call_timeout_s:g} s, or no whole one within {WHOLE} times as"
                " long: is the metastore overloaded? "
                "`call_timeout_s` is how long navlin waits"
            )
        return MetastoreLost(
            f"{where}: the connection broke ({_line(str(error))}): did the metastore end? "
            'If it never works, check that `framed`, `sasl` and `tls` are as in its configuration (sasl = "kerberos" '
            "where hive.metastore.sasl.enabled is true, tls = true where hive.metastore.use.SSL is)"
        )

    # -- The extractor's calls ------------------------------------------------------------------------------------

    def databases(self) -> list[str]:
        if self._address.catalog == DEFAULT_CATALOG:
            return self.call(idl.GET_ALL_DATABASES)
        return self.call(idl.GET_DATABASES, self._in_catalog("*"))

    def database(self, name: str) -> idl.Database:
        return self.call(idl.GET_DATABASE, self._in_catalog(name))

    def table_names(self, database: str) -> list[str]:
        return self.call(idl.GET_ALL_TABLES, self._in_catalog(database))

    def _in_catalog(self, database: str) -> str:
        """Return a database's name for calls without a catalog parameter. The name has no prefix for the default
        catalog, because metastores before Hive 3 have no catalogs.
        """
        catalog = self._address.catalog
        return database if catalog == DEFAULT_CATALOG else f"@{catalog}#{database}"

    def tables(self, database: str, names: Sequence[str]) -> list[idl.Table]:
        """Return the existing tables with these names, in any order."""
        return self.ask_tables(database, names)()

    def ask_tables(self, database: str, names: Sequence[str]) -> Callable[[], list[idl.Table]]:
        """Send the call of `tables`, and return a function that waits for the result, like `ask`."""
        if not self._knows_requests:
            return self.ask(idl.GET_TABLES, database, list(names))
        capabilities = idl.ClientCapabilities([idl.INSERT_ONLY_TABLES])
        # Processor capabilities are not declared, because Hive 4 alters the returned tables to match them.
        request = idl.GetTablesRequest(database, list(names), capabilities, self._address.catalog)
        answer = self.ask(idl.GET_TABLES_REQ, request)

        def tables() -> list[idl.Table]:
            try:
                return answer().tables or []
            except CallUnknown:
                self._knows_requests = False
                return self.call(idl.GET_TABLES, database, list(names))

        return tables

    def partition_names(self, database: str, table: str) -> list[str]:
        """Return the names of all partitions at once, about 50 bytes each, because the call has no paging."""
        return self.call(idl.GET_PARTITION_NAMES, self._in_catalog(database), table, _ALL)

    def ask_partitions(
        self, database: str, table: str, names: Sequence[str]
    ) -> Callable[[], list[idl.Partition]]:
        """Send a call for the existing partitions with these names, and return a function that waits for the result,
        like `ask`. The partitions are in any order.
        """
        return self.ask(idl.GET_PARTITIONS_BY_NAMES, self._in_catalog(database), table, list(names))

    def catalogs(self) -> list[str]:
        """Return the names of all catalogs. If the metastore has no catalogs, this is only the default one."""
        try:
            return self.call(idl.GET_CATALOGS).names or []
        except CallUnknown:
            return [DEFAULT_CATALOG]

    def current_event_id(self) -> int:
        """Return the id of the newest notification; 0 if no listener writes notifications or the metastore is too old
        for them.
        """
        try:
            return self.call(idl.GET_CURRENT_EVENT_ID).eventId or 0
        except CallUnknown:
            return 0

    def events(self, after_id: int, at_most: int) -> list[idl.NotificationEvent]:
        """Return the oldest notifications with an id greater than ``after_id``, in ascending order, up to ``at_most``."""
        return self.call(idl.GET_NEXT_EVENTS, idl.NotificationEventRequest(after_id, at_most)).events or []


def connected(address: MetastoreAddress) -> closing[MetastoreConnection]:
    """Return a context with a connection, which is closed at the end."""
    return closing(MetastoreConnection(address))


def _socket(uri: str, address: MetastoreAddress) -> PlainSocket | TlsSocket:
    host, port = host_and_port(uri)
    return tls_socket(host, port, address.ca_file) if address.tls else PlainSocket(host, port)


def _protocol(socket: PlainSocket | TlsSocket, uri: str, address: MetastoreAddress) -> Any:
    """Open the socket, and return the protocol over it."""
    socket.begin(address.connect_timeout_s)
    transport = _wrapped(socket, host_and_port(uri)[0], address)
    transport.open()
    socket.setTimeout(address.call_timeout_s * 1000)
    return TBinaryProtocolAccelerated(
        transport, string_length_limit=_MOST_BYTES, container_length_limit=_MOST_ITEMS
    )


def _wrapped(socket: Any, host: str, address: MetastoreAddress) -> Any:
    match address.sasl:
        case "none":
            return TFramedTransport(socket) if address.framed else TBufferedTransport(socket, _BUFFER_BYTES)
        case "kerberos":
            return _kerberos(socket, host, address)
        case other:
            raise MetastoreError(f'sasl = "{other}" is unknown: it is "none" or "kerberos"')


def _kerberos(socket: Any, host: str, address: MetastoreAddress) -> SaslTransport:
    service, named_host = service_and_host(address.metastore_principal)
    server = host if named_host in ("", "_HOST") else named_host
    return SaslTransport(socket, lambda: SaslConversation(address.login, service, server))


def service_and_host(principal: str) -> tuple[str, str]:
    """Split ``hive/_HOST@REALM`` into (``hive``, ``_HOST``)."""
    service, _, host = principal.partition("@")[0].partition("/")
    return service or "hive", host


def host_and_port(uri: str) -> tuple[str, int]:
    """Split ``thrift://host:9083`` into (``host``, 9083). Raises `MetastoreError` for anything else."""
    parts = server_url(uri if "://" in uri else f"thrift://{uri}")
    if parts is None or parts.scheme != "thrift" or not parts.hostname:
        raise MetastoreError(f"{uri!r} is not the address of a metastore: write thrift://host:9083")
    return parts.hostname, parts.port or DEFAULT_PORT


def _line(message: str | None) -> str:
    """Return the first line of an external message, limited to 300 characters, because metastores send whole stack
    traces.
    """
    lines = (message or "no message").strip().splitlines()
    return lines[0][:300] if lines else "no message"
