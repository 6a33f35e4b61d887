"""A conversation with one LDAP server: bind and search, within one time limit.

The messages are sansldap's; the socket, TLS and the limits are handled here. Referrals are not followed, because they
would disclose the bind account's password to any server that a referral names.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

from sansldap import (
    BindResponse,
    ExtendedOperations,
    ExtendedResponse,
    LDAPClient,
    LDAPFilter,
    LDAPMessage,
    LDAPResult,
    LDAPResultCode,
    SearchResultDone,
    SearchResultEntry,
    SearchScope,
)

_PORTS: Final = {"ldap": 389, "ldaps": 636}
_MOST_BYTES: Final = 1 << 20
"""Maximum size of the responses to one request, in bytes. It is low because only a few attributes are requested."""
_REFUSING: Final = frozenset(
    {
        LDAPResultCode.INVALID_CREDENTIALS,
        LDAPResultCode.NO_SUCH_OBJECT,
        LDAPResultCode.INVALID_DN_SYNTAX,
        LDAPResultCode.INAPPROPRIATE_AUTHENTICATION,
        LDAPResultCode.UNWILLING_TO_PERFORM,
        LDAPResultCode.CONSTRAINT_VIOLATION,
    }
)
"""Results with which servers refuse a bind, for example for a wrong password, an unknown name or a locked account."""
_R = TypeVar("_R", bound=LDAPMessage)


class LdapError(Exception):
    """The server cannot be queried; the message names the server and the reason."""


@dataclass(frozen=True, slots=True)
class LdapEndpoint:
    """Connection settings of a server. Passwords are sent over TLS unless ``in_clear`` is set: TLS begins with the
    first byte for ``ldaps``, and after StartTLS for ``ldap``. ``ca_file`` has the CAs trusted to sign the server's
    certificate; None means the system's CAs."""

    url: str
    ca_file: Path | None = None
    in_clear: bool = False


@dataclass(frozen=True, slots=True)
class LdapEntry:
    """One entry: its distinguished name, and lower-case name → values of the requested attributes."""

    dn: str
    values: dict[str, list[str]]


class LdapConnection:
    """One connection, for one thread. Every method raises `LdapError` if the server misbehaves."""

    def __init__(self, server: LdapEndpoint, opened: socket.socket, deadline_s: float) -> None:
        self._server, self._socket, self._deadline_s = server, opened, deadline_s
        self._messages = LDAPClient()

    def bind(self, dn: str, password: str) -> bool:
        """Bind, and return whether the server accepts this name and password. Raises ValueError if either is empty or
        has a zero byte, because a server may treat that as an anonymous bind, and accept it."""
        if not dn or not password or "\0" in dn + password:
            raise ValueError("neither a name nor a password may be empty or contain a zero byte")
        self._messages.bind_simple(dn, password)
        result = self._answer(BindResponse).result
        if result.result_code in _REFUSING:
            return False
        self._require(result, "the bind")
        return True

    def entries(self, base: str, scope: SearchScope, wanted: LDAPFilter, *attributes: str) -> list[LdapEntry]:
        """Return up to two matching entries; an empty list if ``base`` does not exist."""
        self._messages.search_request(
            base, scope, size_limit=2, filter=wanted, attributes=list(attributes) or ["1.1"]
        )
        found: list[LdapEntry] = []
        for message in self._answers():
            if isinstance(message, SearchResultEntry):
                values = {
                    each.name.lower(): [value.decode(errors="replace") for value in each.values]
                    for each in message.attributes
                }
                found.append(LdapEntry(message.object_name, values))
            elif isinstance(message, SearchResultDone):
                if message.result.result_code not in (
                    LDAPResultCode.NO_SUCH_OBJECT,
                    LDAPResultCode.SIZE_LIMIT_EXCEEDED,
                ):
                    self._require(message.result, "the search")
                return found
        raise AssertionError("there is always another answer, or an error")

    def start_tls(self) -> None:
        """Switch the connection to TLS. Raises `LdapError` if that fails."""
        self._messages.extended_request(ExtendedOperations.LDAP_START_TLS.value)
        self._require(self._answer(ExtendedResponse).result, "StartTLS")
        # Data that arrived with the response, before TLS, may come from a man in the middle. So it is refused, and a
        # fresh parser is used.
        if self._messages._incoming_buffer:
            raise self._error("it sent more than the answer to StartTLS")
        self._messages = LDAPClient()
        self.wrap()

    def wrap(self) -> None:
        """Start TLS on the socket."""
        host = urlsplit(self._server.url).hostname
        try:
            context = ssl.create_default_context(cafile=self._server.ca_file)
        except OSError as error:
            raise self._error(f"{self._server.ca_file} cannot be read: {error}") from error
        with self._failures():
            self._socket = context.wrap_socket(self._socket, server_hostname=host)

    def close(self) -> None:
        """Unbind and close the connection."""
        with suppress(Exception):
            self._messages.unbind()
            self._socket.settimeout(0.1)
            self._socket.sendall(self._messages.data_to_send())
        self._socket.close()

    # -- Inside ----------------------------------------------------------------------------------------------------------

    def _answer(self, kind: type[_R]) -> _R:
        message = next(self._answers())
        if not isinstance(message, kind):
            raise self._error(f"it answered with a {type(message).__name__}")
        return message

    def _answers(self) -> Iterator[LDAPMessage]:
        """Send the pending messages, and yield the responses."""
        with self._failures():
            self._socket.sendall(self._messages.data_to_send())
        received = 0
        while True:
            with self._failures():
                piece = self._socket.recv(1 << 16)
                if not piece:
                    raise ConnectionResetError("it closed the connection")
            received += len(piece)
            if received > _MOST_BYTES:
                raise self._error(f"it answered with more than {_MOST_BYTES >> 20} MiB")
            try:
                messages = self._messages.receive(piece)
            except Exception as error:
                # The library may raise anything on untrusted input.
                raise self._error(f"it sent something that is not LDAP: {error}") from error
            yield from messages

    @contextmanager
    def _failures(self) -> Iterator[None]:
        left_s = self._deadline_s - time.monotonic()
        try:
            if left_s <= 0:
                raise TimeoutError
            self._socket.settimeout(left_s)
            yield
        except ssl.SSLCertVerificationError as error:
            raise self._error(f"its certificate is not trusted: {error.verify_message}") from error
        except OSError as error:
            raise self._error(_words(error)) from error

    def _require(self, result: LDAPResult, what: str) -> None:
        if result.result_code is LDAPResultCode.REFERRAL:
            raise self._error(f"it refers {what} to another server, and referrals are not followed")
        if result.result_code != LDAPResultCode.SUCCESS:
            said = f": {printable(result.diagnostics_message)}" if result.diagnostics_message else ""
            raise self._error(f"it refused {what} ({result.result_code.name}{said})")

    def _error(self, words: str) -> LdapError:
        return LdapError(f"{self._server.url}: {words}")


@contextmanager
def conversation(server: LdapEndpoint, timeout_s: float) -> Iterator[LdapConnection]:
    """Open a connection, with TLS unless the server is ``in_clear``. All operations on it together may take
    ``timeout_s``. Raises `LdapError`."""
    deadline_s = time.monotonic() + timeout_s
    parts = urlsplit(server.url)
    try:
        address = (parts.hostname or "", parts.port or _PORTS[parts.scheme])
        opened = socket.create_connection(address, timeout_s)
    except OSError as error:
        raise LdapError(f"{server.url}: {_words(error)}") from error
    speaking = LdapConnection(server, opened, deadline_s)
    try:
        if parts.scheme == "ldaps":
            speaking.wrap()
        elif not server.in_clear:
            speaking.start_tls()
        yield speaking
    finally:
        speaking.close()


def escaped(text: str) -> str:
    """Escape a text so that it is literal both in a filter (RFC 4515) and in a distinguished name (RFC 4514)."""
    return "".join(
        sign if re.fullmatch(r"[A-Za-z0-9]", sign) else "".join(f"\\{octet:02x}" for octet in sign.encode())
        for sign in text
    )


def printable(text: str) -> str:
    """Return a server's message, shortened and without terminal control characters. (Active Directory ends messages
    with a zero byte.)"""
    return "".join(sign for sign in text if sign.isprintable())[:200]


def _words(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "it does not answer in time"
    return printable(error.strerror or str(error))
