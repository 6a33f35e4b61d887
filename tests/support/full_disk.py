"""A small disk for one program: a private tmpfs, in its own user and mount namespaces."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Final

NAMESPACE: Final = ("unshare", "--user", "--map-root-user", "--mount", "--fork", "--kill-child")
"""Prefix for a command: it runs where it may mount."""
FILLER: Final = "filler"


def refused() -> str:
    """The reason why this machine gives an unprivileged process no such disk; "" if it does."""
    tried = subprocess.run(
        [*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, text=True, check=False
    )
    return tried.stderr.strip() if tried.returncode else ""


def mount(directory: Path, megabytes: int) -> None:
    """Mounts a separate disk at the directory; runs inside the namespace."""
    directory.mkdir(exist_ok=True)
    size = f"size={megabytes}m"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(directory)], check=True)


def fill(directory: Path, *, but_bytes: int = 0) -> None:
    """Fills the disk, except for ``but_bytes``."""
    filler = os.open(directory / FILLER, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with suppress(OSError):
        while True:
            os.write(filler, bytes(1 << 16))
    os.ftruncate(filler, os.fstat(filler).st_size - but_bytes)
    os.close(filler)


def empty(directory: Path) -> None:
    (directory / FILLER).unlink()
