"""The files that this process has open."""

from __future__ import annotations

import os
from contextlib import suppress


def open_inodes() -> set[int]:
    """Return the inodes of all open files, including removed ones."""
    found = set()
    for each in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the descriptor of this listing is already closed
            found.add(os.stat(f"/proc/self/fd/{each}").st_ino)
    return found
