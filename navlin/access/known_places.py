"""The addresses from which each name has logged in: strangers who guess for that name from elsewhere do not slow them.

Each is an empty file in the state directory, called by a hash of both, so that a restart forgets none and several processes
know the same.
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
"""The ones that were not used for longest are forgotten first."""


class KnownPlaces:
    """Those of one state directory. May be shared by threads."""

    def __init__(self, state_directory: Path) -> None:
        self._directory = state_directory / DIRECTORY

    def known(self, name: str, address: str) -> bool:
        """Whether this name has logged in from this IP address (of IPv6: its network) in the last 90 days."""
        return self._age_s(self._file(name, address)) < KEPT_S

    def note(self, name: str, address: str) -> None:
        """Remember a log-in. If it cannot be written, on a full disk for one, it is not remembered."""
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
            # A clock that was ahead makes nobody a stranger.
            return max(0.0, time.time() - os.stat(file).st_mtime)
        except OSError:
            return float("inf")

    def _file(self, name: str, address: str) -> Path:
        digest = hashlib.sha256(f"{name.casefold()}\0{network_of(address)}".encode("utf-8", "replace"))
        return self._directory / digest.hexdigest()
