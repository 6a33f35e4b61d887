"""The file with users and tokens, ``access.json`` in the state directory: hashes only, readable only by its owner.

Several processes may change the file: a lock file prevents lost updates, and each write replaces the whole file.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

import orjson

from navlin.access.passwords import NOBODYS, hashed, matches
from navlin.access.roles import ROLES, Role
from navlin.files import replace_content

FILE: Final = "access.json"
LOCK: Final = "access.lock"
PASSWORD_FILE: Final = "administrator.password"
FIRST_NAME: Final = "admin"
TOKEN_SIGN: Final = "navlin_"
"""Prefix of every token, so that a token published by mistake can be found."""
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,127}")


def usable_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


class AccessError(Exception):
    """A change of users or tokens cannot be made; the message says why."""


@dataclass(frozen=True, slots=True)
class User:
    """A user of navlin. ``password`` is a hash, "" for a user of a directory or a proxy. ``mark`` is a random value
    that is replaced with each change of the user, which ends the user's sessions."""

    name: str
    role: Role
    password: str = field(repr=False)
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Token:
    """A secret with which a program authenticates as ``user``, with at most that user's role. Times are epoch ms;
    ``expires_ms`` is 0 if the token never expires. ``digest`` is the SHA-256 of the secret, which is random and too
    long to guess."""

    id: str
    user: str
    role: Role
    purpose: str
    created_ms: int
    expires_ms: int
    digest: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Access:
    """All users and tokens at one moment."""

    users: dict[str, User] = field(default_factory=dict)
    tokens: dict[str, Token] = field(default_factory=dict)

    def by_password(self, name: str, password: str) -> User | None:
        """Return the user with this name and password. Takes the same time if there is no such name."""
        user = self.users.get(name)
        good = matches(password, user.password if user else NOBODYS)
        return user if good else None

    def by_token(self, secret: str, now_ms: int) -> User | None:
        """Return the user of a token, with the token's role if that is lower; None if the token is unknown or has
        expired."""
        digest = digest_of(secret)
        for token in self.tokens.values():
            if secrets.compare_digest(token.digest, digest):
                user = self.users.get(token.user)
                if user is None or 0 < token.expires_ms <= now_ms:
                    return None
                return replace(user, role=min(user.role, token.role))
        return None


class AccessFile:
    """Reader and writer of the users file in one state directory."""

    def __init__(self, state_directory: Path) -> None:
        self._directory = state_directory

    def read(self) -> Access:
        """Return all users and tokens; none if the file does not exist. Raises `AccessError` if the file is
        unreadable."""
        file = self._directory / FILE
        try:
            content = orjson.loads(file.read_bytes())
            users = [User(**{**each, "role": ROLES[each["role"]]}) for each in content["users"]]
            tokens = [Token(**{**each, "role": ROLES[each["role"]]}) for each in content["tokens"]]
        except FileNotFoundError:
            return Access()
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise AccessError(f"{file} cannot be read: {error}; restore a copy, or remove it") from error
        return Access({user.name: user for user in users}, {token.id: token for token in tokens})

    def version(self) -> tuple[int, int] | None:
        """Return a value that changes when the file does; None if the file does not exist."""
        try:
            found = (self._directory / FILE).stat()
        except FileNotFoundError:
            return None
        return found.st_mtime_ns, found.st_ino

    # -- Users ---------------------------------------------------------------------------------------------------------

    def add_user(self, name: str, role: Role, password: str) -> None:
        """Add a user. Raises `AccessError` if the name exists or is unusable, and `UnusablePassword`."""
        if not _NAME.fullmatch(name):
            raise AccessError(
                f'"{name}" is not a valid user name: use up to 128 letters, digits and . @ - _, and begin'
                " with a letter, a digit or _"
            )
        with self._changing() as access:
            if name in access.users:
                raise AccessError(f"the user {name} already exists")
            access.users[name] = User(name, role, hashed(password), _new_mark())

    def set_password(self, name: str, password: str) -> None:
        """Set a user's password. Raises `AccessError` if there is no such user, and `UnusablePassword`."""
        with self._changing() as access:
            access.users[name] = replace(_user(access, name), password=hashed(password), mark=_new_mark())

    def set_role(self, name: str, role: Role) -> None:
        """Set a user's role. Raises `AccessError` if there is no such user, or no administrator would be left."""
        with self._changing() as access:
            access.users[name] = replace(_user(access, name), role=role, mark=_new_mark())
            _require_administrator(access)

    def remove_user(self, name: str) -> None:
        """Remove a user and the user's tokens. Raises like `set_role`."""
        with self._changing() as access:
            del access.users[_user(access, name).name]
            _require_administrator(access)
            for token in [each for each in access.tokens.values() if each.user == name]:
                del access.tokens[token.id]

    def make_first_user(self) -> Path | None:
        """If there are no users, create an administrator and return the file with the password. Otherwise write
        nothing, so that existing users can work even on a full disk."""
        if self.read().users:
            return None
        with self._changing() as access:
            if access.users:
                return None
            password = secrets.token_urlsafe(18)
            file = self._directory / PASSWORD_FILE
            replace_content(file, f"{password}\n".encode())
            access.users[FIRST_NAME] = User(FIRST_NAME, Role.ADMINISTRATOR, hashed(password), _new_mark())
        return file

    # -- Tokens ----------------------------------------------------------------------------------------------------------

    def add_token(self, user: str, purpose: str, role: Role | None, now_ms: int, days: int = 0) -> str:
        """Create a token and return its secret, which is not stored. ``days`` is the token's lifetime; 0 means that it
        never expires."""
        secret = TOKEN_SIGN + secrets.token_urlsafe(32)
        with self._changing() as access:
            owner = _user(access, user)
            token = Token(
                secrets.token_hex(4),
                user,
                owner.role if role is None else min(role, owner.role),
                purpose,
                now_ms,
                now_ms + days * 86_400_000 if days else 0,
                digest_of(secret),
            )
            access.tokens[token.id] = token
        return secret

    def revoke_token(self, token_id: str) -> None:
        """Revoke a token. Raises `AccessError` if there is no such token."""
        with self._changing() as access:
            if token_id not in access.tokens:
                raise AccessError(f"there is no token {token_id}")
            del access.tokens[token_id]

    # -- Inside ----------------------------------------------------------------------------------------------------------

    @contextmanager
    def _changing(self) -> Iterator[Access]:
        """Yield the file's content, to be changed in place. Write the content at the end, unless an exception was
        raised."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self._directory / LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            access = self.read()
            yield access
            content = {
                "users": [{**asdict(each), "role": each.role.words} for each in access.users.values()],
                "tokens": [{**asdict(each), "role": each.role.words} for each in access.tokens.values()],
            }
            replace_content(self._directory / FILE, orjson.dumps(content, option=orjson.OPT_INDENT_2))


def _user(access: Access, name: str) -> User:
    if (user := access.users.get(name)) is None:
        raise AccessError(f"there is no user {name}")
    return user


def _new_mark() -> str:
    return secrets.token_hex(8)


def _require_administrator(access: Access) -> None:
    if not any(user.role is Role.ADMINISTRATOR for user in access.users.values()):
        raise AccessError("this is the last administrator: add another one first")


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
