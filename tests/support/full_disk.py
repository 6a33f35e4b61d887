"""A small disk for one process: a private tmpfs in separate user and mount namespaces."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Final

NAMESPACE: Final = ("unshare", "--user", "--map-root-user", "--mount", "--fork", "--kill-child")
"""Prefix of a command line that allows the command to mount file systems."""
FILLER: Final = "filler"


def refused() -> str:
    """Return the reason why this machine does not let an unprivileged process mount a tmpfs; "" if it does."""
    tried = subprocess.run(
        [*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, text=True, check=False
    )
    return tried.stderr.strip() if tried.returncode else ""


def mount(directory: Path, megabytes: int) -> None:
    """Mount a tmpfs at the directory. Must run inside the namespace."""
    directory.mkdir(exist_ok=True)
    size = f"size={megabytes}m"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(directory)], check=True)


def fill(directory: Path, *, but_bytes: int = 0) -> None:
    """Fill the disk, leaving ``but_bytes`` free."""
    filler = os.open(directory / FILLER, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with suppress(OSError):
        while True:
            os.write(filler, bytes(1 << 16))
    os.ftruncate(filler, os.fstat(filler).st_size - but_bytes)
    os.close(filler)


def empty(directory: Path) -> None:
    (directory / FILLER).unlink()
