"""Wheels of all packages that navlin's lock names. They are fetched and, if published as source only, built once."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from release.places import NEWEST_GLIBC, PYTHON, REPOSITORY, WHEELS, NotReleasable

LOCK: Final = REPOSITORY / "requirements.txt"
_GLIBC = re.compile(r"manylinux_(\d+)_(\d+)_")


def make_wheels() -> list[Path]:
    """Return the wheels, made anew if the lock has changed. Raises `NotReleasable`."""
    running = "{}.{}".format(*sys.version_info[:2])
    if running != PYTHON:
        raise NotReleasable(f"packages are made by Python {PYTHON}, whose wheels they hold, not by {running}")
    locked = WHEELS / LOCK.name
    if not locked.is_file() or locked.read_text() != LOCK.read_text():
        shutil.rmtree(WHEELS, ignore_errors=True)
        WHEELS.mkdir(parents=True)
        # The build tools of the locks are in the environment of this process.
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--require-hashes"]
        command += ["--no-build-isolation", "--use-pep517", "--wheel-dir", str(WHEELS)]
        subprocess.run([*command, "--requirement", str(LOCK)], check=True)
        shutil.copy(LOCK, locked)
    wheels = sorted(WHEELS.glob("*.whl"))
    if unfit := [wheel.name for wheel in wheels if not _runs_with_oldest_glibc(wheel.name)]:
        oldest = ".".join(map(str, NEWEST_GLIBC))
        raise NotReleasable(f"these wheels need a newer glibc than {oldest}: {', '.join(unfit)}")
    return wheels


def _runs_with_oldest_glibc(wheel: str) -> bool:
    versions = [(int(major), int(minor)) for major, minor in _GLIBC.findall(wheel)]
    return not versions or min(versions) <= NEWEST_GLIBC
