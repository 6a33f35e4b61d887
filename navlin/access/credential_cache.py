"""Directory users, cached briefly because clients send the password with each request."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from navlin.access.store import User

REMEMBERED: Final = 10_000
"""Maximum number of users; the oldest are evicted first."""


@dataclass(slots=True)
class CredentialCache:
    """Cache that maps a keyed hash of credentials to the user, for ``keep_s`` seconds. Thread-safe."""

    now_ms: Callable[[], int]
    keep_s: float
    _users: dict[bytes, tuple[User, int]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def user(self, seen: bytes) -> User | None:
        """Return the user with these credentials; None if the credentials are unknown or were remembered too long
        ago."""
        with self._lock:
            user, since_ms = self._users.get(seen, (None, 0))
        return user if 0 <= self.now_ms() - since_ms < self.keep_s * 1000 else None

    def keep(self, seen: bytes, user: User) -> None:
        with self._lock:
            self._users.pop(seen, None)
            self._users[seen] = (user, self.now_ms())
            while len(self._users) > REMEMBERED:
                del self._users[next(iter(self._users))]
