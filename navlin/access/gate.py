"""Who a request comes from, by its ``Authorization`` header: a name and a password, or a token."""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from navlin.access.attempts import Attempts
from navlin.access.proxy import Proxy
from navlin.access.store import Access, AccessFile, User, usable_name

LOOKS_AT_ONCE: Final = 2


@dataclass(frozen=True, slots=True)
class Refused:
    """Nobody is let in. ``name`` was given; ``wait_s`` is for how long no other attempt is looked at."""

    reason: str
    name: str = ""
    wait_s: float = 0.0


class Gate:
    """Looks up who asks. May be shared by threads; a change of the file of users holds from the next request on."""

    def __init__(
        self, file: AccessFile, attempts: Attempts, now_ms: Callable[[], int], proxy: Proxy | None = None
    ) -> None:
        self.proxy = proxy
        self._file, self._attempts, self._now_ms = file, attempts, now_ms
        self._lock = threading.Lock()
        # A look at a hash takes 32 MiB: strangers decide how many are asked for, not how many are done at once.
        self._looks = threading.Semaphore(LOOKS_AT_ONCE)
        self._read_version: tuple[int, int] | None = None
        self._access = Access()
        # Clients send the password with each request, and a look at its hash takes 0.1 s. What was right is remembered
        # under a key that nobody has.
        self._key = secrets.token_bytes(32)
        self._right: dict[str, bytes] = {}

    def user(self, header: str, address: str, named: Sequence[str] = ()) -> User | Refused:
        """The user of an ``Authorization`` header ("" if there was none) from a client's address. ``named`` is what the
        request has in the header of the proxy: it counts if the proxy sent it."""
        if named and self.proxy is not None and self.proxy.speaks(address):
            return self._by_proxy(self.proxy, named)
        scheme, _, rest = header.partition(" ")
        if scheme.lower() == "bearer":
            user = self._current().by_token(rest.strip(), self._now_ms())
            return user or Refused("this token is not known, or has expired")
        if scheme.lower() != "basic":
            return Refused("who are you? Send a name and a password (Basic), or a token (Bearer)")
        try:
            name, _, password = base64.b64decode(rest, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return Refused("the Authorization header does not read")
        return self._by_password(name, password, address)

    def _by_proxy(self, proxy: Proxy, named: Sequence[str]) -> User | Refused:
        # Two headers: one is the client's own, and nobody knows which.
        if len(named) != 1 or not usable_name(named[0]):
            return Refused(f"the header {proxy.header} names nobody")
        if user := self._current().users.get(named[0]):
            return user
        if proxy.role is None:
            return Refused(
                f"{named[0]} is no user of navlin: `navlin user add {named[0]}` makes one", named[0]
            )
        return User(named[0], proxy.role, "")

    def _by_password(self, name: str, password: str, address: str) -> User | Refused:
        access = self._current()
        user = access.users.get(name)
        seen = hmac.digest(self._key, f"{name}:{password}".encode(), "sha256")
        if user is not None and hmac.compare_digest(self._right.get(user.password, b""), seen):
            return user
        if wait_s := self._attempts.wait_s(address, name):
            return Refused("too many wrong passwords: wait", name, wait_s)
        with self._looks:
            user = access.by_password(name, password)
        if user is None:
            self._attempts.wrong(address, name)
            return Refused("the name or the password is wrong", name)
        self._attempts.right(address, name)
        self._right[user.password] = seen
        return user

    def _current(self) -> Access:
        with self._lock:
            # The version first: what is written in between is read once more.
            if (version := self._file.version()) != self._read_version:
                self._access, self._read_version = self._file.read(), version
                self._right.clear()
            return self._access
