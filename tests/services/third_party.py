"""Third-party files of the console: fetched from npm's registry, and checked against the sums in its manifest.

    python -m tests.services.third_party

To take a newer version, change it and its sums in ``navlin/console/third_party/manifest.json``; files with another sum
are not put in place.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

HOME: Final = Path(__file__).parents[2] / "navlin" / "console" / "third_party"


class Unlike(ValueError):
    """A file differs from the one in the manifest."""


def manifest() -> list[dict[str, Any]]:
    """The files: ``package``, ``version`` and ``from`` (the path in the package) if it comes from npm, ``file``,
    ``sha256``, ``licence``.
    """
    files: list[dict[str, Any]] = json.loads((HOME / "manifest.json").read_text())["files"]
    return files


def check(file: str, data: bytes, sha256: str) -> None:
    """Raises `Unlike`."""
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise Unlike(f"{file} has the SHA-256 sum {found}, and the manifest says {sha256}")


def renew() -> None:
    """Fetches all packages and puts their files in place. Raises `Unlike`."""
    listed = [each for each in manifest() if "package" in each]
    for package, version in sorted({(each["package"], each["version"]) for each in listed}):
        wanted = [each for each in listed if each["package"] == package]
        found = members(package, version, [each["from"] for each in wanted])
        for each, data in zip(wanted, found, strict=True):
            check(each["file"], data, each["sha256"])
            (HOME / each["file"]).write_bytes(data)


def members(package: str, version: str, names: Sequence[str]) -> Iterator[bytes]:
    """Files of an npm package, by their names in it."""
    with TemporaryDirectory() as folder:
        command = ["npm", "pack", "--silent", "--pack-destination", folder, f"{package}@{version}"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        (archive,) = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as packed:
            for name in names:
                member = packed.extractfile(name)
                assert member is not None
                yield member.read()


if __name__ == "__main__":
    try:
        renew()
    except Unlike as error:
        sys.exit(str(error))
