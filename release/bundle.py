"""The bundle for a host without internet: one tar with the wheels, Solr's jars, the manual, the bill of materials, checksums
and a script that installs all of it."""

from __future__ import annotations

import hashlib
import shutil
import tarfile
from collections.abc import Sequence
from pathlib import Path

from release.places import BUILT, DIST, MANUAL, REPOSITORY, SOLR_JARS, SOURCES, version


def make_bundle(wheels: Sequence[Path], documents: Sequence[Path]) -> Path:
    """Write ``dist/navlin-VERSION-offline.tar`` and return it. ``documents`` go to its top."""
    name = f"navlin-{version()}-offline"
    folder = BUILT / name
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "wheels").mkdir(parents=True)
    for wheel in wheels:
        # The wheels are hard links: a copy of them would take half a gigabyte.
        (folder / "wheels" / wheel.name).hardlink_to(wheel)
    shutil.copytree(SOLR_JARS, folder / "jars" / "solr")
    shutil.copytree(MANUAL, folder / "manual")
    shutil.copytree(REPOSITORY / "conf" / "prometheus", folder / "prometheus")
    shutil.copytree(REPOSITORY / "systemd", folder / "systemd")
    (folder / "conf").mkdir()
    shutil.copy(SOURCES / "navlin.toml", folder / "conf" / "navlin.toml")
    shutil.copy(REPOSITORY / "conf" / "navlin.toml", folder / "conf" / "all-settings.toml")
    shutil.copy(SOURCES / "install.sh", folder)
    for document in (*documents, *(REPOSITORY / each for each in ("CHANGELOG.md", "LICENSE", "SECURITY.md"))):
        shutil.copy(document, folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    sums = "".join(f"{sha256(path)}  {path.relative_to(folder)}\n" for path in files)
    (folder / "SHA256SUMS").write_text(sums)
    tar = DIST / f"{name}.tar"
    with tarfile.open(tar, "w") as archive:
        archive.add(folder, name, filter=_of_root)
    shutil.rmtree(folder)
    return tar


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _of_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry
