"""Addresses from which each user has logged in. A user who logs in from such an address is not slowed down by strangers
elsewhere who guess passwords for the same name.

Each pair of name and address is an empty file in the state directory, named by a hash of both, so that the pairs
survive restarts and are shared by several processes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from pathlib import Path
from typing import Final

from navlin.access.attempts import network_of

DIRECTORY: Final = "known-places"
KEPT_S: Final = 90 * 86_400
NOTED_AGAIN_S: Final = 86_400
MOST: Final = 10_000
"""Maximum number of files; the least recently used files are removed first."""


class KnownAddresses:
    """The known addresses in one state directory. Thread-safe."""

    def __init__(self, state_directory: Path) -> None:
        self._directory = state_directory / DIRECTORY

    def known(self, name: str, address: str) -> bool:
        """Whether this name has logged in from this IP address (for IPv6: its network) in the last 90 days."""
        return self._age_s(self._file(name, address)) < KEPT_S

    def note(self, name: str, address: str) -> None:
        """Remember a login. If the file cannot be written, for example on a full disk, the login is not remembered."""
        file = self._file(name, address)
        if self._age_s(file) < NOTED_AGAIN_S:
            return
        with contextlib.suppress(OSError):
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            is_new = not file.exists()
            file.touch(mode=0o600)
            if is_new:
                self._forget()

    def _forget(self) -> None:
        ages = sorted((self._age_s(file), file) for file in self._directory.iterdir())
        for age_s, file in ages[::-1]:
            if age_s < KEPT_S and len(ages) <= MOST:
                return
            file.unlink(missing_ok=True)
            ages.pop()

    def _age_s(self, file: Path) -> float:
        try:
            # If the clock was ahead at the login, the modification time is in the future, and counts as recent.
            return max(0.0, time.time() - os.stat(file).st_mtime)
        except OSError:
            return float("inf")

    def _file(self, name: str, address: str) -> Path:
        digest = hashlib.sha256(f"{name.casefold()}\0{network_of(address)}".encode("utf-8", "replace"))
        return self._directory / digest.hexdigest()
