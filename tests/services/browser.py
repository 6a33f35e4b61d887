"""Debian's Chromium and its driver for tests of pages, unpacked into a directory and not installed.

    python -m tests.services.browser .browser

The program asks apt which packages this machine lacks, downloads them, and unpacks them. It needs no root and does
not change the machine. It requires Debian, or another system whose apt has packages with the same names.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

PACKAGES: Final = ("chromium", "chromium-driver")
BROWSER: Final = Path("usr/lib/chromium/chromium")
DRIVER: Final = Path("usr/bin/chromedriver")
_INSTALLS: Final = re.compile(r"^Inst (\S+)", re.M)


class NoBrowser(RuntimeError):
    """A browser is not available here; the message has the reason."""


def unpack(home: Path) -> None:
    """Unpack the browser and its driver into ``home`` if they are missing. Raises `NoBrowser`."""
    if (home / BROWSER).exists() and (home / DRIVER).exists():
        return
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise NoBrowser(
            "Chromium is unpacked from Debian's packages, and this machine has no apt-get or no dpkg-deb"
        )
    simulated = _run(["apt-get", "--simulate", "--no-install-recommends", "install", *PACKAGES])
    # Installed packages need no copy, except the browser, because tests look for it only in ``home``.
    needed = list(dict.fromkeys([*_INSTALLS.findall(simulated), *PACKAGES]))
    with TemporaryDirectory() as folder:
        _run(["apt-get", "--quiet", "download", *needed], folder)
        for package in sorted(Path(folder).glob("*.deb")):
            _run(["dpkg-deb", "--extract", str(package), str(home)])
    if not (home / BROWSER).exists() or not (home / DRIVER).exists():
        raise NoBrowser(f"the packages {', '.join(PACKAGES)} have no {BROWSER} or no {DRIVER}")


def _run(command: list[str], folder: str | None = None) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoBrowser(f"{' '.join(command[:2])} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def environment(home: Path) -> dict[str, str]:
    """Return an environment in which the browser and its driver find the libraries unpacked with them."""
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, _library_folders(home)))}


def _library_folders(home: Path) -> Iterator[Path]:
    for folder in sorted((home / "usr" / "lib").glob("*-linux-gnu*")):
        yield folder
        yield from sorted(each for each in folder.iterdir() if each.is_dir() and any(each.glob("lib*.so*")))


if __name__ == "__main__":
    try:
        unpack(Path(sys.argv[1]))
    except NoBrowser as error:
        sys.exit(str(error))
