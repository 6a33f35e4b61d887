"""The deb and the RPM, made by nfpm from one description."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from release.places import SOURCES, package_version

KINDS: Final = ("deb", "rpm")


def make_packages(nfpm: Path, built: Path, into: Path) -> list[Path]:
    """Make both packages of the folder ``tree`` in ``built``, and return them. Raises CalledProcessError."""
    into.mkdir(exist_ok=True)
    shutil.rmtree(built / "scripts", ignore_errors=True)
    shutil.copytree(SOURCES / "scripts", built / "scripts")
    environment = {**os.environ, "NAVLIN_VERSION": package_version()}
    for kind in KINDS:
        command = [str(nfpm.absolute()), "package", "--config", str(SOURCES / "nfpm.yaml")]
        command += ["--packager", kind, "--target", str(into / _name(kind))]
        # The description names its files from here.
        subprocess.run(command, cwd=built, env=environment, check=True, stdout=subprocess.DEVNULL)
    return [into / _name(kind) for kind in KINDS]


def _name(kind: str) -> str:
    if kind == "deb":
        return f"navlin_{package_version()}_amd64.deb"
    return f"navlin-{package_version()}-1.x86_64.rpm"
