"""Tokens of hosts, ``hosts.json`` in the state directory: hashes only, readable only by its owner.

A host's token belongs to no user. It permits one thing: to append data of this host for the sources that it names.
"""

from __future__ import annotations

import fcntl
import re
import secrets
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

from navlin.access.store import TOKEN_SIGN, AccessError, digest_of
from navlin.files import replace_content

FILE: Final = "hosts.json"
LOCK: Final = "hosts.lock"
_HOST: Final = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_-])?")


@dataclass(frozen=True, slots=True)
class HostToken:
    """A secret with which ``host`` sends data for ``sources``. Times are epoch ms; ``expires_ms`` is 0 if the token
    never expires. ``digest`` is the SHA-256 of the secret, which is random and too long to guess."""

    id: str
    host: str
    sources: tuple[str, ...]
    created_ms: int
    expires_ms: int
    digest: str = field(repr=False)


class HostTokens:
    """Reader and writer of the tokens in one state directory. Thread-safe; a change takes effect at the next
    request."""

    def __init__(self, state_directory: Path) -> None:
        self._directory = state_directory
        self._lock = threading.Lock()
        self._version: tuple[int, int] | None = None
        self._by_digest: dict[str, HostToken] = {}

    def read(self) -> dict[str, HostToken]:
        """Return id → token. Raises `AccessError` if the file is unreadable."""
        file = self._directory / FILE
        try:
            tokens = [
                HostToken(**{**each, "sources": tuple(each["sources"])}) for each in self._content(file)
            ]
        except FileNotFoundError:
            return {}
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise AccessError(f"{file} cannot be read: {error}; restore a copy, or remove it") from error
        return {token.id: token for token in tokens}

    def find(self, secret: str, now_ms: int) -> HostToken | None:
        """Return the token with this secret; None if it is unknown or has expired."""
        # The digest of a random secret tells nothing about a similar one, so a look-up need not take constant time.
        token = self._current().get(digest_of(secret))
        return None if token is None or 0 < token.expires_ms <= now_ms else token

    def add(self, host: str, sources: Collection[str], now_ms: int, days: int = 0) -> str:
        """Create a token and return its secret, which is not stored. ``days`` is the token's lifetime; 0 means that it
        never expires. Raises `AccessError` if the host's name is unusable."""
        if not _HOST.fullmatch(host):
            raise AccessError(
                f'"{host}" is not a valid host name: use up to 253 lower-case letters, digits and . - _, and begin'
                " with a letter, a digit or _"
            )
        secret = TOKEN_SIGN + secrets.token_urlsafe(32)
        with self._changing() as tokens:
            expires_ms = now_ms + days * 86_400_000 if days else 0
            token = HostToken(
                secrets.token_hex(4), host, tuple(sources), now_ms, expires_ms, digest_of(secret)
            )
            tokens[token.id] = token
        return secret

    def revoke(self, token_id: str) -> None:
        """Revoke a token. Raises `AccessError` if there is no such token."""
        with self._changing() as tokens:
            if token_id not in tokens:
                raise AccessError(f"there is no token {token_id}")
            del tokens[token_id]

    def _current(self) -> dict[str, HostToken]:
        try:
            found = (self._directory / FILE).stat()
            version: tuple[int, int] | None = (found.st_mtime_ns, found.st_ino)
        except FileNotFoundError:
            version = None
        with self._lock:
            # The version was read first, so a concurrent write only causes one more read.
            if version != self._version:
                self._by_digest = {each.digest: each for each in self.read().values()}
                self._version = version
            return self._by_digest

    @staticmethod
    def _content(file: Path) -> list[dict[str, Any]]:
        content: list[dict[str, Any]] = orjson.loads(file.read_bytes())["tokens"]
        return content

    @contextmanager
    def _changing(self) -> Iterator[dict[str, HostToken]]:
        """Yield the tokens, to be changed in place. Write them at the end, unless an exception was raised."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self._directory / LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            tokens = self.read()
            yield tokens
            content = {"tokens": [asdict(each) for each in tokens.values()]}
            replace_content(self._directory / FILE, orjson.dumps(content, option=orjson.OPT_INDENT_2))
