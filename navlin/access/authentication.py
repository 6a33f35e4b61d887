"""Authentication of requests: by name and password, by token, by a proxy's header, or by a session cookie."""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from navlin.access.attempts import Attempts
from navlin.access.credential_cache import CredentialCache
from navlin.access.directory import Directory, DirectoryFailed, UnknownUser
from navlin.access.known_addresses import KnownAddresses
from navlin.access.passwords import MOST_CHARS
from navlin.access.proxy import Proxy
from navlin.access.sessions import Session, Sessions
from navlin.access.store import Access, AccessFile, User, usable_name

LOOKS_AT_ONCE: Final = 2
WRONG: Final = "wrong user name or password"
ENDED: Final = "this session has ended: log in again"

Means = Literal["password", "token", "proxy", "session"]
CheckKind = Literal["known", "stranger", "directory"]


@dataclass(frozen=True, slots=True)
class Caller:
    """The authenticated user, and the means of authentication. ``session`` is set only if ``means`` is "session"."""

    user: User
    means: Means
    session: Session | None = None

    @property
    def csrf(self) -> str:
        """The token that this caller's pages must send with writes; "" if none is required."""
        return self.session.csrf if self.session else ""


@dataclass(frozen=True, slots=True)
class AuthenticationFailed:
    """Authentication failed. ``name`` is the user name that the client sent. ``wait_s`` is the time for which further
    attempts are refused. ``failed`` is an error for the log, set if the directory could not be queried."""

    reason: str
    name: str = ""
    wait_s: float = 0.0
    failed: str = ""


@dataclass(frozen=True, slots=True)
class DeferredCheck:
    """A slow authentication: call ``ask`` in a separate thread. ``kind`` is "directory" if a directory is queried,
    which may take its whole time limit. Otherwise a password hash is checked, which takes 0.1 s; ``kind`` is then
    "known" if ``name`` has logged in from the same address before, else "stranger"."""

    ask: Callable[[], Caller | AuthenticationFailed]
    kind: CheckKind
    name: str


class Authentication:
    """Authentication of requests. Thread-safe; a change of the users file takes effect at the next request."""

    def __init__(
        self,
        file: AccessFile,
        attempts: Attempts,
        now_ms: Callable[[], int],
        sessions: Sessions,
        places: KnownAddresses,
        proxy: Proxy | None = None,
        directory: Directory | None = None,
    ) -> None:
        self.proxy, self.sessions, self.directory = proxy, sessions, directory
        self._file, self._attempts, self._places, self._now_ms = file, attempts, places, now_ms
        self._lock = threading.Lock()
        # Checking a hash takes 32 MiB. Strangers decide how many checks are requested, so only a few run at the same
        # time.
        self._looks = threading.Semaphore(LOOKS_AT_ONCE)
        self._read_version: tuple[int, int] | None = None
        self._access = Access()
        # Clients send the password with each request, and checking a hash takes 0.1 s. So correct passwords are
        # remembered as HMACs with a key that only this process has.
        self._key = secrets.token_bytes(32)
        self._right: dict[str, bytes] = {}
        self._remembered = CredentialCache(now_ms, directory.ldap.remember_s if directory else 0.0)

    def caller(
        self, header: str, address: str, named: Sequence[str] = (), cookie: str | None = None
    ) -> Caller | AuthenticationFailed | DeferredCheck:
        """Authenticate a request by its ``Authorization`` header ("" if there was none), or else by a session cookie.
        ``named`` has the values of the proxy's header, which count only if ``address`` is the proxy's."""
        if named and self.proxy is not None and self.proxy.speaks(address):
            return self._by_proxy(self.proxy, named)
        scheme, _, rest = header.partition(" ")
        if scheme.lower() == "bearer":
            user = self._current().by_token(rest.strip(), self._now_ms())
            return Caller(user, "token") if user else AuthenticationFailed("unknown or expired token")
        # Explicit credentials take precedence over a cookie, which a browser sends automatically.
        if not header and cookie is not None:
            return self._by_session(cookie)
        if scheme.lower() != "basic":
            return AuthenticationFailed(
                "authentication required: send a name and a password (Basic), or a token (Bearer)"
            )
        try:
            name, _, password = base64.b64decode(rest, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return AuthenticationFailed("the Authorization header cannot be parsed")
        return self.by_password(name, password, address)

    def by_password(
        self, name: str, password: str, address: str
    ) -> Caller | AuthenticationFailed | DeferredCheck:
        """Authenticate by name and password. A name in the users file is never looked up in the directory. So an outage
        of the directory does not lock out administrators, and a directory user of the same name is not let in."""
        if not usable_name(name) or not 0 < len(password) <= MOST_CHARS:
            # No user can have such a name or password, so this does not count as a guess.
            return AuthenticationFailed(WRONG, name)
        access = self._current()
        user = access.users.get(name)
        seen = hmac.digest(self._key, f"{name}:{password}".encode(), "sha256")
        if user is not None and hmac.compare_digest(self._right.get(user.password, b""), seen):
            return Caller(user, "password")
        if user is None and (found := self._remembered.user(seen)) and not self._is_ours(found.name):
            return Caller(found, "password")
        known = self._places.known(name, address)
        if locked := self._locked(address, name, known=known):
            return locked
        if user is None and (directory := self.directory) is not None:
            look = partial(self._by_directory, directory, name, password, address, seen, known=known)
            return DeferredCheck(look, "directory", name)
        look = partial(self._by_hash, access, name, password, address, seen, known=known)
        return DeferredCheck(look, "known" if known else "stranger", name)

    def log_in(self, caller: Caller) -> Session:
        """Begin a session for a user who has logged in by password."""
        return self.sessions.begin(caller.user, by_directory=not caller.user.password)

    # -- Inside ----------------------------------------------------------------------------------------------------------

    def _by_hash(
        self, access: Access, name: str, password: str, address: str, seen: bytes, *, known: bool
    ) -> Caller | AuthenticationFailed:
        with self._looks:
            # Check again: parallel attempts must not evade the wait.
            if locked := self._locked(address, name, known=known):
                return locked
            user = access.by_password(name, password)
            if user is None:
                self._attempts.wrong(address, name, known=known)
                return AuthenticationFailed(WRONG, name)
        self._attempts.right(address, name)
        self._places.note(name, address)
        self._right[user.password] = seen
        return Caller(user, "password")

    def _by_proxy(self, proxy: Proxy, named: Sequence[str]) -> Caller | AuthenticationFailed:
        # If the header occurs twice, the client sent one of the two, and it is unknown which.
        if len(named) != 1 or not usable_name(named[0]):
            return AuthenticationFailed(f"the header {proxy.header} names no user")
        if user := self._current().users.get(named[0]):
            return Caller(user, "proxy")
        if proxy.role is None:
            return AuthenticationFailed(
                f"{named[0]} is not a user of navlin: add it with `navlin user add {named[0]}`", named[0]
            )
        return Caller(User(named[0], proxy.role, ""), "proxy")

    def _by_session(self, cookie: str) -> Caller | AuthenticationFailed | DeferredCheck:
        session = self.sessions.find(cookie)
        if session is None:
            return AuthenticationFailed(ENDED)
        if not session.by_directory:
            user = self._current().users.get(session.user)
            if user is None or user.mark != session.mark:
                return self._end(session)
            return Caller(user, "session", session)
        directory = self.directory
        if directory is None or self._is_ours(session.user):
            return self._end(session)
        caller = Caller(User(session.user, session.role, session.mark), "session", session)
        seen = hmac.digest(self._key, session.secret.encode(), "sha256")
        if not directory.finds or self._remembered.user(seen) is not None:
            return caller
        return DeferredCheck(
            partial(self._still, directory, caller, session, seen), "directory", session.user
        )

    def _still(
        self, directory: Directory, caller: Caller, session: Session, seen: bytes
    ) -> Caller | AuthenticationFailed:
        """Return the caller. End the session if the user has left the directory or has another role, but not if the
        directory does not respond."""
        try:
            found = directory.again(session.user)
        except DirectoryFailed:
            found = caller.user
        if found is None or (found.name, found.role) != (session.user, session.role):
            return self._end(session)
        self._remembered.keep(seen, caller.user)
        return caller

    def _locked(self, address: str, name: str, *, known: bool) -> AuthenticationFailed | None:
        wait_s = self._attempts.wait_s(address, name, known=known)
        return (
            AuthenticationFailed("too many wrong passwords: try again later", name, wait_s)
            if wait_s
            else None
        )

    def _end(self, session: Session) -> AuthenticationFailed:
        self.sessions.end(session)
        return AuthenticationFailed(ENDED, session.user)

    def _by_directory(
        self, directory: Directory, name: str, password: str, address: str, seen: bytes, *, known: bool
    ) -> Caller | AuthenticationFailed:
        if locked := self._locked(address, name, known=known):
            return locked
        try:
            user = directory.user(name, password)
        except DirectoryFailed as error:
            # The reason is for the log only, because it names hosts and accounts.
            return AuthenticationFailed(
                "the directory of users does not answer, or answers wrongly: the log says why",
                name,
                0,
                str(error),
            )
        except UnknownUser as error:
            self._attempts.wrong(address, name, known=known)
            return AuthenticationFailed(str(error), name)
        if self._is_ours(user.name):
            return AuthenticationFailed(
                f"{user.name} is a local user of navlin, with a password of its own here", name
            )
        self._attempts.right(address, name)
        self._places.note(name, address)
        self._remembered.keep(seen, user)
        return Caller(user, "password")

    def _is_ours(self, name: str) -> bool:
        """Whether the file has a user of this name, ignoring case because a directory takes ANN for ann."""
        return name.casefold() in {each.casefold() for each in self._current().users}

    def _current(self) -> Access:
        with self._lock:
            # Read the version first, so that a concurrent write only causes one more read.
            if (version := self._file.version()) != self._read_version:
                self._access, self._read_version = self._file.read(), version
                self._right.clear()
            return self._access
