"""Makes the files of a release in ``dist``: ``python -m release packages --nfpm PROGRAM``, ``python -m release bundle``."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from release.bundle import make_bundle, sha256
from release.layout import DOCUMENTS, in_tree, lay_out
from release.packages import make_packages
from release.places import BUILT, DIST, REPOSITORY, TREE, NotReleasable, own_wheel, package_version, version
from release.software import bill_of_materials
from release.vulnerabilities import statements
from release.wheels import make_wheels

VEX = "vex.cdx.json"
BILL = "sbom.cdx.json"


def packages(wheels: Sequence[Path], nfpm: Path) -> list[Path]:
    lay_out(wheels, TREE)
    _describe(wheels, in_tree(TREE, DOCUMENTS), of_package=True)
    return make_packages(nfpm, BUILT, DIST)


def bundle(wheels: Sequence[Path]) -> list[Path]:
    described = _describe(wheels, BUILT, of_package=False)
    beside = [DIST / f"navlin-{version()}-{file.name}" for file in described]
    for file, copy in zip(described, beside, strict=True):
        shutil.copy(file, copy)
    return [make_bundle(wheels, described), *beside]


def sums() -> list[Path]:
    """Write the checksums of this version's files in ``dist``."""
    names = [f"navlin[-_]{each}[-_]*" for each in (version(), package_version())]
    files = sorted({file for name in names for file in DIST.glob(name) if file.suffix != ".sha256"})
    target = DIST / f"navlin-{version()}.sha256"
    target.write_text("".join(f"{sha256(file)}  {file.name}\n" for file in files))
    return [target]


def notes() -> list[Path]:
    """Write the part of the changelog about this version. Raises `NotReleasable` if there is none."""
    text = (REPOSITORY / "CHANGELOG.md").read_text()
    found = re.search(rf"^## {re.escape(version())} .*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise NotReleasable(f"CHANGELOG.md has no section about {version()}")
    target = DIST / f"navlin-{version()}-notes.md"
    target.write_text(found[0].rstrip() + "\n")
    return [target]


def _describe(wheels: Sequence[Path], into: Path, *, of_package: bool) -> list[Path]:
    """Write the bill of materials and the statements on known reports, and return both files."""
    bill = bill_of_materials(wheels, of_package=of_package)
    documents = {BILL: bill, VEX: statements(bill)}
    for name, document in documents.items():
        (into / name).write_text(json.dumps(document, indent=1) + "\n")
    return [into / name for name in documents]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m release", description="Make the files of a release.")
    parser.add_argument("what", choices=["packages", "bundle", "notes", "sums"])
    parser.add_argument("--nfpm", type=Path, default=Path(".release/bin/nfpm"), help="the program nfpm")
    given = parser.parse_args()
    try:
        if given.what in ("notes", "sums"):
            made = notes() if given.what == "notes" else sums()
        else:
            wheels = [*make_wheels(), own_wheel()]
            made = packages(wheels, given.nfpm) if given.what == "packages" else bundle(wheels)
    except NotReleasable as error:
        sys.stderr.write(f"release: {error}\n")
        return 1
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"release: {error}\n")
        return 1
    for file in made:
        sys.stdout.write(f"{file.relative_to(DIST.parent)}: {file.stat().st_size >> 20} MiB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
