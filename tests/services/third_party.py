"""Third-party files of the console, fetched from npm's registry and checked against the hashes in the manifest.

    python -m tests.services.third_party

To upgrade a package, change its version and its hashes in ``navlin/console/third_party/manifest.json``. A file with
another hash is not installed.
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
    """The hash of a file differs from the one in the manifest."""


def manifest() -> list[dict[str, Any]]:
    """Return the entries of the manifest: ``file``, ``sha256``, ``licence``, and, if the file comes from npm,
    ``package``, ``version`` and ``from`` (the path in the package).
    """
    files: list[dict[str, Any]] = json.loads((HOME / "manifest.json").read_text())["files"]
    return files


def check(file: str, data: bytes, sha256: str) -> None:
    """Raise `Unlike` if the hash of the data differs."""
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise Unlike(f"{file} has the SHA-256 sum {found}, and the manifest says {sha256}")


def renew() -> None:
    """Fetch all packages and replace their files. Raises `Unlike`."""
    listed = [each for each in manifest() if "package" in each]
    for package, version in sorted({(each["package"], each["version"]) for each in listed}):
        wanted = [each for each in listed if each["package"] == package]
        found = members(package, version, [each["from"] for each in wanted])
        for each, data in zip(wanted, found, strict=True):
            check(each["file"], data, each["sha256"])
            (HOME / each["file"]).write_bytes(data)


def members(package: str, version: str, names: Sequence[str]) -> Iterator[bytes]:
    """Yield files of an npm package, given their paths in the package."""
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
