"""Debian packages, unpacked and not installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


class NoPackage(RuntimeError):
    """A package is not available here; the message has the reason."""


def unpack(package: str, home: Path) -> None:
    """Download a package and unpack it into ``home``. Raises `NoPackage`."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise NoPackage(f"{package} is a package of Debian's, and this machine has no apt-get or no dpkg-deb")
    _run(["apt-get", "--quiet", "download", package], home)
    for file in home.glob(f"{package}_*.deb"):
        _run(["dpkg-deb", "--extract", str(file), str(home)], home)


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoPackage(f"{' '.join(command[:2])} failed: {done.stderr.strip()[-500:]}")
