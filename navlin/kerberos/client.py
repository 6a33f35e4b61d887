"""The Java child that holds the tickets: one per navlin process and configuration, started at the first request, and
restarted if it has ended."""

from __future__ import annotations

import os
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from navlin.java import JavaProgram, NoJava, own_directory
from navlin.java_child import ENDING_S, Ended, JavaChild
from navlin.kerberos.messages import KerberosFailed, in_words

SOURCE: Final = Path(__file__).with_name("KerberosClient.java")
ANSWER_S: Final = 45.0
"""Timeout for a response, which may need several KDCs, each asked more than once."""
_OPTIONS: Final = (
    # A metastore's response may be large, and is in memory twice while it is decrypted. Unused memory is returned.
    "-Xmx1g",
    "-XX:MinHeapFreeRatio=10",
    "-XX:MaxHeapFreeRatio=30",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
)
MOST_FIELDS: Final = 8
"""Maximum number of fields accepted in a response; the child sends no more than three."""
_NUMBER: Final = struct.Struct(">i")


_BEGINNINGS: Final = ("sasl", "spnego")


@dataclass(frozen=True, slots=True)
class Login:
    """The login identity. Without a ``keytab``, the ticket of the user that runs navlin is used."""

    principal: str = ""
    keytab: str = ""
    krb5_conf: str = ""
    """Path of ``krb5.conf``; the system's if empty."""
    cache: str = ""
    """Directory of the compiled child; the system's temporary directory if empty."""


TICKET_CACHE: Final = Login()


class SaslConversation:
    """SASL client of one connection to one service. Not thread-safe."""

    def __init__(self, login: Login, service: str, host: str) -> None:
        self._kerberos = kerberos(login)
        self._service = f"{service}/{host}"
        self._login = login
        request = ("sasl", login.principal, login.keytab, service, host)
        self._id, self.token = self._kerberos.ask(login, self._service, *request)
        """The first token to send."""
        self.layer = ""
        """Negotiated quality of protection: ``auth``, ``auth-int`` or ``auth-conf``; "" until negotiated."""

    def step(self, challenge: bytes) -> bytes:
        """Return the response token for a challenge of the service."""
        layer, token = self._ask("step", challenge)
        self.layer = layer.decode()
        return token

    def wrap(self, plain: bytes) -> bytes:
        """Wrap data for the service. Only needed if the layer is more than ``auth``."""
        return self._ask("wrap", plain)[0]

    def unwrap(self, wrapped: bytes) -> bytes:
        """Unwrap data from the service. Only needed if the layer is more than ``auth``."""
        return self._ask("unwrap", wrapped)[0]

    def close(self) -> None:
        """Discard the conversation in the child."""
        with suppress(KerberosFailed):
            self._ask("close", b"")

    def _ask(self, what: str, data: bytes) -> list[bytes]:
        return self._kerberos.ask(self._login, self._service, what, self._id, data)


class Kerberos:
    """The Java child process. Thread-safe. Call `kerberos` instead of the constructor."""

    def __init__(self, krb5_conf: str, cache: str) -> None:
        self._krb5_conf = krb5_conf
        self._cache = Path(cache) if cache else None
        self._lock = threading.Lock()
        self._child: JavaChild | None = None

    @property
    def pid(self) -> int | None:
        """Process id of the child; None if no child was started."""
        return self._child.pid if self._child else None

    def ask(self, login: Login, service: str, *request: str | bytes) -> list[bytes]:
        """Send a request to the child, and return the fields of the response. ``login`` and ``service`` are only used
        in the message of a `KerberosFailed`."""
        fields = [each.encode() if isinstance(each, str) else each for each in request]
        with self._lock:
            started_anew = self._child is None
            try:
                answer = self._answer(fields)
            except Ended as error:
                # A child that died since the last request is replaced, but the new one does not know the old one's
                # conversations.
                if started_anew or request[0] not in _BEGINNINGS:
                    raise KerberosFailed(f"Java's Kerberos {error}") from error
                try:
                    answer = self._answer(fields)
                except Ended as again:
                    raise KerberosFailed(f"Java's Kerberos {again}") from again
        if answer[0] == b"error":
            raise KerberosFailed(
                in_words(answer[1].decode(errors="replace"), login.principal, login.keytab, service)
            )
        return answer[1:]

    def stop(self) -> None:
        """End the child; the next request starts another."""
        with self._lock:
            self._end()

    def _answer(self, request: list[bytes]) -> list[bytes]:
        child = self._running()
        try:
            child.send(b"".join((_NUMBER.pack(len(request)), *map(_counted, request))))
            fields = _number(child)
            if not 0 < fields <= MOST_FIELDS:
                raise ValueError(f"{fields} fields")
            return [child.take(_number(child)) for _ in range(fields)]
        except ValueError as error:
            self._end()
            raise KerberosFailed(f"Java's Kerberos gave an unexpected answer ({error})") from error
        except TimeoutError:
            self._end()
            raise KerberosFailed(
                f"Kerberos gave no answer within {ANSWER_S:g} s: is the KDC that krb5.conf names within reach?"
            ) from None
        except BaseException:
            self._end()  # or a pending response would be taken for the next one
            raise

    def _running(self) -> JavaChild:
        if self._child is not None and self._child.runs:
            return self._child
        self._end()
        options = [f"-Djava.security.krb5.conf={self._krb5_conf}"] if self._krb5_conf else []
        try:
            program = JavaProgram(SOURCE, (), self._cache or own_directory())
            command = program.command((*_OPTIONS, *options), (), archive_classes=True)
            self._child = JavaChild(command, ANSWER_S)
        except (NoJava, OSError) as error:
            raise KerberosFailed(f"Java's Kerberos does not start: {error}") from error
        return self._child

    def _end(self) -> None:
        if self._child is not None:
            child, self._child = self._child, None
            child.end(ENDING_S)


def _counted(field: bytes) -> bytes:
    return _NUMBER.pack(len(field)) + field


def _number(child: JavaChild) -> int:
    number: int = _NUMBER.unpack(child.take(_NUMBER.size))[0]
    return number


_CHILDREN: dict[tuple[int, str, str], Kerberos] = {}
_CHILDREN_LOCK = threading.Lock()


def kerberos(login: Login) -> Kerberos:
    """Return this process's child for the ``krb5.conf`` of a login."""
    # The key has the process id, because a forked worker cannot use its parent's child.
    key = (os.getpid(), login.krb5_conf, login.cache)
    with _CHILDREN_LOCK:
        return _CHILDREN.setdefault(key, Kerberos(login.krb5_conf, login.cache))
