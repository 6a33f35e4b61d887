"""The Java child that has the tickets: one a process of navlin's, started when first asked, and again when it ended."""

from __future__ import annotations

import os
import select
import struct
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from navlin.java import JavaProgram, NoJava, own_directory
from navlin.kerberos.words import KerberosFailed, in_words

SOURCE: Final = Path(__file__).with_name("KerberosClient.java")
ANSWER_S: Final = 45.0
"""How long an answer may take: it may need several KDCs, each asked more than once."""
_OPTIONS: Final = (
    # An answer of a metastore may be large, and is there twice while it is deciphered. What is not needed is given back.
    "-Xmx1g",
    "-XX:MinHeapFreeRatio=10",
    "-XX:MaxHeapFreeRatio=30",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
)
_CHUNK_BYTES: Final = 1 << 20
_NUMBER: Final = struct.Struct(">i")


_BEGINNINGS: Final = ("sasl", "spnego")


class _Ended(Exception):
    """The child ended without an answer."""


@dataclass(frozen=True, slots=True)
class Login:
    """Who asks. Without a ``keytab``, it is the ticket of the user that runs navlin."""

    principal: str = ""
    keytab: str = ""
    krb5_conf: str = ""
    """the system's where empty"""
    cache: str = ""
    """where the compiled child is kept; the system's temporary directory where empty"""


TICKET_CACHE: Final = Login()


class Conversation:
    """SASL's client of one connection to one service. Not for two threads."""

    def __init__(self, login: Login, service: str, host: str) -> None:
        self._kerberos = kerberos(login)
        self._service = f"{service}/{host}"
        self._login = login
        request = ("sasl", login.principal, login.keytab, service, host)
        self._id, self.token = self._kerberos.ask(login, self._service, *request)
        """what to send first"""
        self.layer = ""
        """``auth``, ``auth-int`` or ``auth-conf``, once that is agreed"""

    def step(self, challenge: bytes) -> bytes:
        """The answer to a challenge of the service."""
        layer, token = self._ask("step", challenge)
        self.layer = layer.decode()
        return token

    def wrap(self, plain: bytes) -> bytes:
        """As the service wants it, if the layer is more than ``auth``."""
        return self._ask("wrap", plain)[0]

    def unwrap(self, wrapped: bytes) -> bytes:
        """What the service meant, if the layer is more than ``auth``."""
        return self._ask("unwrap", wrapped)[0]

    def close(self) -> None:
        """Forgets it."""
        with suppress(KerberosFailed):
            self._ask("close", b"")

    def _ask(self, what: str, data: bytes) -> list[bytes]:
        return self._kerberos.ask(self._login, self._service, what, self._id, data)


class Kerberos:
    """The child. May be shared by threads. Get it from `kerberos`."""

    def __init__(self, krb5_conf: str, cache: str) -> None:
        self._krb5_conf = krb5_conf
        self._cache = Path(cache) if cache else None
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Process id of the child, None where there is none."""
        return self._process.pid if self._process else None

    def ask(self, login: Login, service: str, *request: str | bytes) -> list[bytes]:
        """The fields of its answer. ``login`` and ``service`` are for the words of a `KerberosFailed`."""
        fields = [each.encode() if isinstance(each, str) else each for each in request]
        with self._lock:
            started_anew = self._process is None
            try:
                answer = self._answer(fields)
            except _Ended as error:
                # One that died since it was last asked is replaced, but has no part in what the other had begun.
                if started_anew or request[0] not in _BEGINNINGS:
                    raise KerberosFailed(str(error)) from error
                try:
                    answer = self._answer(fields)
                except _Ended as again:
                    raise KerberosFailed(str(again)) from again
        if answer[0] == b"error":
            raise KerberosFailed(
                in_words(answer[1].decode(errors="replace"), login.principal, login.keytab, service)
            )
        return answer[1:]

    def stop(self) -> None:
        """Ends the child; the next request starts another."""
        with self._lock:
            self._end()

    def _answer(self, request: list[bytes]) -> list[bytes]:
        process = self._running()
        try:
            self._send(process, request)
            return self._received(process)
        except (BrokenPipeError, EOFError):
            self._end()
            raise _Ended("Java's Kerberos ended") from None
        except TimeoutError:
            self._end()
            raise KerberosFailed(
                f"Kerberos gave no answer within {ANSWER_S:g} s: is the KDC that krb5.conf names within reach?"
            ) from None
        except BaseException:
            self._end()  # what is still under way would be taken for the next answer
            raise

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        options = [f"-Djava.security.krb5.conf={self._krb5_conf}"] if self._krb5_conf else []
        try:
            program = JavaProgram(SOURCE, (), self._cache or own_directory())
            command = program.command((*_OPTIONS, *options), (), archive_classes=True)
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for navlin
            )
        except (NoJava, OSError) as error:
            raise KerberosFailed(f"Java's Kerberos does not start: {error}") from error
        return self._process

    def _send(self, process: subprocess.Popen[bytes], fields: list[bytes]) -> None:
        assert process.stdin is not None
        parts = [_NUMBER.pack(len(fields))]
        for field in fields:
            parts += (_NUMBER.pack(len(field)), field)
        process.stdin.write(b"".join(parts))
        process.stdin.flush()

    def _received(self, process: subprocess.Popen[bytes]) -> list[bytes]:
        deadline_s = time.monotonic() + ANSWER_S
        count = self._number(process, deadline_s)
        return [self._bytes(process, self._number(process, deadline_s), deadline_s) for _ in range(count)]

    def _number(self, process: subprocess.Popen[bytes], deadline_s: float) -> int:
        number: int = _NUMBER.unpack(self._bytes(process, _NUMBER.size, deadline_s))[0]
        return number

    def _bytes(self, process: subprocess.Popen[bytes], count: int, deadline_s: float) -> bytes:
        assert process.stdout is not None
        descriptor, received = process.stdout.fileno(), bytearray()
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        while len(received) < count:
            if not waiting.poll(max(0.0, deadline_s - time.monotonic()) * 1000):
                raise TimeoutError
            data = os.read(descriptor, min(count - len(received), _CHUNK_BYTES))
            if not data:
                raise EOFError
            received += data
        return bytes(received)

    def _end(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            with suppress(OSError):
                stream.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(1)
        process.kill()
        process.wait()


_CHILDREN: dict[tuple[int, str, str], Kerberos] = {}
_CHILDREN_LOCK = threading.Lock()


def kerberos(login: Login) -> Kerberos:
    """This process's child for the ``krb5.conf`` of a login."""
    # By process: a worker that was forked has no part in its parent's child.
    key = (os.getpid(), login.krb5_conf, login.cache)
    with _CHILDREN_LOCK:
        return _CHILDREN.setdefault(key, Kerberos(login.krb5_conf, login.cache))
