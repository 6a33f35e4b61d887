"""Files and folders of a release, and its version."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).resolve().parents[1]
SOURCES: Final = REPOSITORY / "release"
BUILT: Final = REPOSITORY / "build" / "release"
WHEELS: Final = BUILT / "wheels"
"""Wheels of all locked packages, with PySpark's, which is published as source only."""
TREE: Final = BUILT / "tree"
"""The file system of a package, from its root."""
DIST: Final = REPOSITORY / "dist"
SOLR_JARS: Final = REPOSITORY / ".jars" / "solr"
MANUAL: Final = REPOSITORY / "build" / "manual" / "html"

PYTHON: Final = "3.11"
"""The Python of bookworm, and a package of el8 and el9. Wheels with C code are for one minor version."""
NEWEST_GLIBC: Final = (2, 28)
"""The glibc of el8: a wheel must not need a newer one."""


class NotReleasable(Exception):
    """A part of a release is missing or does not fit; the message gives a remedy."""


def version() -> str:
    """Return navlin's version as Python writes it."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def package_version() -> str:
    """Return the version as dpkg and rpm order it: a pre-release is older than its release."""
    return version().replace(".dev", "~dev").replace("rc", "~rc")


def own_wheel() -> Path:
    """Return navlin's wheel in ``dist``. Raises `NotReleasable`."""
    found = sorted(DIST.glob(f"navlin-{version()}-*.whl"))
    if len(found) != 1:
        raise NotReleasable(f"there is no wheel of version {version()} in {DIST}: `make wheel` makes it")
    return found[0]
