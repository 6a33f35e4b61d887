"""The deb and the RPM, made by nfpm from one description."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from release.places import BUILT, DIST, SOURCES, package_version

KINDS: Final = ("deb", "rpm")


def make_packages(nfpm: Path) -> list[Path]:
    """Make both packages of the tree in ``build/release``, and return them. nfpm's own errors end the process."""
    DIST.mkdir(exist_ok=True)
    shutil.rmtree(BUILT / "scripts", ignore_errors=True)
    shutil.copytree(SOURCES / "scripts", BUILT / "scripts")
    environment = {**os.environ, "NAVLIN_VERSION": package_version()}
    for kind in KINDS:
        command = [str(nfpm.absolute()), "package", "--config", str(SOURCES / "nfpm.yaml")]
        command += ["--packager", kind, "--target", str(_target(kind))]
        # The description names its files from here.
        subprocess.run(command, cwd=BUILT, env=environment, check=True, stdout=subprocess.DEVNULL)
    return [_target(kind) for kind in KINDS]


def _target(kind: str) -> Path:
    name = {"deb": f"navlin_{package_version()}_amd64.deb", "rpm": f"navlin-{package_version()}-1.x86_64.rpm"}
    return DIST / name[kind]
