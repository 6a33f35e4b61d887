"""Browser sessions, each a small file in ``sessions`` in the state directory.

Sessions are files, not signed cookies, because removing a file ends the session at once, and a file is shared by every
``navlin web`` of the state directory and survives restarts. A file's name is the SHA-256 of the session's secret, which
only the browser has. The modification time of the file is the last use of the session.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

import orjson

from navlin.access.roles import ROLES, Role
from navlin.access.store import User, digest_of
from navlin.files import replace_content

DIRECTORY: Final = "sessions"
MOST_OF_A_USER: Final = 50
"""Maximum number of sessions per user. Beyond it, the least recently used sessions end, so that a user cannot fill the
disk by logging in repeatedly."""
CLOCK_MS: Final = 60_000
"""Tolerance for times in the future, because the clocks of several machines differ, or a clock was corrected."""
UNNOTED_MS: Final = 10_000
"""Minimum time between two recorded uses of a session. It is shorter if the idle timeout is short."""
_SECRET: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_FILE: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Session:
    """One login, until it ends. ``mark`` is the user's mark at login. ``role`` only matters for directory users; the
    roles of other users are in the users file. Times are epoch ms. ``secret`` is the cookie's value."""

    user: str
    role: Role
    mark: str
    by_directory: bool
    begun_ms: int
    ends_ms: int
    secret: str = field(repr=False)

    @property
    def csrf(self) -> str:
        """CSRF token that a page sends with writes, in addition to the cookie. It is derived from the secret without
        revealing the secret."""
        return hashlib.sha256(f"navlin csrf {self.secret}".encode()).hexdigest()

    def confirms(self, token: str) -> bool:
        """Whether ``token`` is this session's CSRF token."""
        return secrets.compare_digest(self.csrf.encode(), token.encode())


class Sessions:
    """The sessions of one state directory. Thread-safe; several processes may each have an instance."""

    def __init__(
        self, state_directory: Path, idle_s: float, lifetime_s: float, now_ms: Callable[[], int]
    ) -> None:
        """A session ends ``idle_s`` after its last use, and ``lifetime_s`` after its start."""
        self._directory = state_directory / DIRECTORY
        self._idle_ms, self._lifetime_ms = round(idle_s * 1000), round(lifetime_s * 1000)
        self._now_ms = now_ms

    def instance(self) -> str:
        """Return the random name of the sessions in this state directory, and create the name if necessary. The
        cookie's name contains it, so that two navlins on one host do not overwrite each other's cookies, and every
        ``navlin web`` of one state directory uses the same cookie."""
        file = self._directory / "instance"
        with contextlib.suppress(FileNotFoundError):
            return file.read_text()
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = self._directory / f"instance-{secrets.token_hex(8)}"
        replace_content(new, secrets.token_hex(4).encode())
        with contextlib.suppress(FileExistsError):
            os.link(new, file)
        new.unlink()
        return file.read_text()

    def begin(self, user: User, *, by_directory: bool = False) -> Session:
        """Begin a session with a fresh random secret."""
        now_ms, secret = self._now_ms(), secrets.token_urlsafe(32)
        session = Session(
            user.name, user.role, user.mark, by_directory, now_ms, now_ms + self._lifetime_ms, secret
        )
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._make_room(user.name)
        kept = {**asdict(session), "role": user.role.words}
        del kept["secret"], kept["ends_ms"]
        replace_content(self._file(secret), orjson.dumps(kept))
        self._used(self._file(secret), now_ms)
        return session

    def find(self, secret: str) -> Session | None:
        """Return the session with this secret and record a use; None if the session does not exist or has ended."""
        if not _SECRET.fullmatch(secret):
            return None
        file = self._file(secret)
        found = self._read(file, secret)
        if found is None:
            return None
        session, used_ms = found
        now_ms = self._now_ms()
        if self._over(session, used_ms):
            file.unlink(missing_ok=True)
            return None
        # A use is not recorded for each request, because a page sends many requests at once.
        if now_ms - used_ms > min(self._idle_ms // 20, UNNOTED_MS) and not self._used(file, now_ms):
            return None
        return session

    def end(self, session: Session) -> None:
        """End a session. Harmless if it has ended."""
        self._file(session.secret).unlink(missing_ok=True)

    def end_all(self, user: str) -> int:
        """End every session of a user, and return the number of sessions ended."""
        mine = [file for file, session, _ in self._all() if session.user == user]
        for file in mine:
            file.unlink(missing_ok=True)
        return len(mine)

    # -- Inside ----------------------------------------------------------------------------------------------------------

    def _make_room(self, user: str) -> None:
        others = []
        for file, session, used_ms in self._all():
            if self._over(session, used_ms):
                file.unlink(missing_ok=True)
            elif session.user == user:
                others.append((used_ms, file))
        for _, file in sorted(others)[: max(0, len(others) + 1 - MOST_OF_A_USER)]:
            file.unlink(missing_ok=True)

    def _all(self) -> Iterator[tuple[Path, Session, int]]:
        with contextlib.suppress(FileNotFoundError):
            for file in self._directory.iterdir():
                if _FILE.fullmatch(file.name) and (found := self._read(file, "")):
                    yield file, *found

    def _read(self, file: Path, secret: str) -> tuple[Session, int] | None:
        """Return a session and the time of its last use; None if the file cannot be read, so that the user must log in
        again."""
        try:
            used_ms = file.stat().st_mtime_ns // 1_000_000
            kept = orjson.loads(file.read_bytes())
            kept["role"] = ROLES[kept["role"]]
            session = Session(**kept, ends_ms=kept["begun_ms"] + self._lifetime_ms, secret=secret)
        except (OSError, KeyError, TypeError, ValueError):
            return None
        return session, used_ms

    def _over(self, session: Session, used_ms: int) -> bool:
        now_ms = self._now_ms()
        ahead = max(session.begun_ms, used_ms) > now_ms + CLOCK_MS
        return ahead or now_ms >= session.ends_ms or now_ms >= used_ms + self._idle_ms

    def _used(self, file: Path, now_ms: int) -> bool:
        """Record a use; return whether the session still exists."""
        try:
            os.utime(file, ns=(now_ms * 1_000_000, now_ms * 1_000_000))
        except FileNotFoundError:
            return False
        return True

    def _file(self, secret: str) -> Path:
        return self._directory / digest_of(secret)
