"""Storage of passwords as scrypt hashes, so that readers of the file do not learn the passwords.

scrypt is in Python's standard library and costs guessers memory as well as time. The cost is stored with each hash, so
that it can be raised for new passwords without invalidating stored ones.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from typing import Final

LOG_COST: Final = 15
"""Base-2 logarithm of scrypt's cost parameter (N)."""
BLOCKS: Final = 8
"""scrypt's block size parameter (r)."""
SALT_BYTES: Final = 16
KEY_BYTES: Final = 32
LEAST_CHARS: Final = 8
MOST_CHARS: Final = 1_024


class UnusablePassword(ValueError):
    """The password is not acceptable; the message says why."""


def hashed(password: str) -> str:
    """Return the stored form of a password: ``scrypt$log cost$blocks$salt$key``. Raises `UnusablePassword`."""
    if not LEAST_CHARS <= len(password) <= MOST_CHARS:
        raise UnusablePassword(f"a password must have from {LEAST_CHARS} to {MOST_CHARS:,} characters")
    if not password.isprintable():
        raise UnusablePassword("a password must have only printable characters")
    salt = secrets.token_bytes(SALT_BYTES)
    return "$".join(
        ("scrypt", str(LOG_COST), str(BLOCKS), _text(salt), _text(_key(password, salt, LOG_COST, BLOCKS)))
    )


def matches(password: str, kept: str) -> bool:
    """Whether this is the password stored as ``kept``. Takes about 0.1 s and 32 MiB. Raises ValueError if ``kept`` is
    damaged."""
    _, log_cost, blocks, salt, key = kept.split("$")
    if len(password) > MOST_CHARS:
        return False
    return hmac.compare_digest(
        _key(password, base64.b64decode(salt), int(log_cost), int(blocks)), base64.b64decode(key)
    )


NOBODYS: Final = "$".join(("scrypt", str(LOG_COST), str(BLOCKS), "A" * 24, "A" * 43 + "="))
"""Hash to compare with if the name is unknown, so that the check takes as long as for a known name."""


def _key(password: str, salt: bytes, log_cost: int, blocks: int) -> bytes:
    cost = 1 << log_cost
    return hashlib.scrypt(
        password.encode(), salt=salt, n=cost, r=blocks, p=1, maxmem=256 * cost * blocks, dklen=KEY_BYTES
    )


def _text(octets: bytes) -> str:
    return base64.b64encode(octets).decode()
