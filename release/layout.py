"""The file system of a package: a virtual environment at /usr/lib/navlin with Solr's jars, the unit, the configuration, and
what an administrator copies from.

The environment is laid out, not created by ``venv``, because its paths are those of the host that installs it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from release.places import PYTHON, REPOSITORY, SOLR_JARS, SOURCES, NotReleasable
from release.unused_jars import remove_unused

PREFIX: Final = Path("/usr/lib/navlin")
SHARED: Final = Path("/usr/share/navlin")
DOCUMENTS: Final = Path("/usr/share/doc/navlin")
_PROGRAM: Final = "/opt/navlin/bin/navlin"
"""The program's path in the unit, which is written for an environment made by hand."""
_SETTINGS: Final = f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {PYTHON}\n"
_LEFT_OUT: Final = ("bin", "pyspark/data", "pyspark/examples")
"""What wheels install that nothing starts: programs for other paths, PySpark's examples and their data."""


def lay_out(wheels: Sequence[Path], tree: Path) -> None:
    """Lay out the package's file system in ``tree``. Raises `NotReleasable` if Solr's jars are missing."""
    if not any(SOLR_JARS.glob("solr-core-*.jar")):
        raise NotReleasable(f"there are no jars of Solr in {SOLR_JARS}: `make jars` fetches them")
    shutil.rmtree(tree, ignore_errors=True)
    _environment(wheels, tree)
    shutil.copytree(SOLR_JARS, in_tree(tree, PREFIX / "jars" / "solr"))
    shutil.copytree(REPOSITORY / "conf" / "prometheus", in_tree(tree, SHARED / "prometheus"))
    in_tree(tree, SHARED).joinpath("systemd").mkdir()
    shutil.copy(REPOSITORY / "systemd" / "navlin-forward.service", in_tree(tree, SHARED / "systemd"))
    units = in_tree(tree, Path("/usr/lib/systemd/system"))
    units.mkdir(parents=True)
    unit = (REPOSITORY / "systemd" / "navlin.service").read_text()
    (units / "navlin.service").write_text(unit.replace(_PROGRAM, "/usr/bin/navlin"))
    settings = in_tree(tree, Path("/etc/navlin"))
    settings.mkdir(parents=True)
    shutil.copy(SOURCES / "navlin.toml", settings)
    documents = in_tree(tree, DOCUMENTS)
    documents.mkdir(parents=True)
    for name in ("CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md", "conf/navlin.toml"):
        shutil.copy(REPOSITORY / name, documents)
    for path in tree.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


def _environment(wheels: Sequence[Path], tree: Path) -> None:
    prefix = in_tree(tree, PREFIX)
    site_packages = prefix / "lib" / f"python{PYTHON}" / "site-packages"
    site_packages.mkdir(parents=True)
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile"]
    subprocess.run([*install, "--target", str(site_packages), *map(str, wheels)], check=True)
    for name in _LEFT_OUT:
        shutil.rmtree(site_packages / name, ignore_errors=True)
    remove_unused(site_packages)
    (prefix / "pyvenv.cfg").write_text(_SETTINGS)
    programs = prefix / "bin"
    programs.mkdir()
    (programs / "python3").symlink_to(f"/usr/bin/python{PYTHON}")
    (programs / "python").symlink_to("python3")
    program = programs / "navlin"
    shutil.copy(SOURCES / "navlin", program)
    program.chmod(0o755)
    in_tree(tree, Path("/usr/bin")).mkdir(parents=True)
    in_tree(tree, Path("/usr/bin/navlin")).symlink_to(PREFIX / "bin" / "navlin")
    # Nobody but root may write there, so without these files every start would compile everything. They are not compared
    # with the times of the sources, which a package does not keep.
    compile_all = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    paths = ["-s", str(tree), "-p", "/", str(site_packages)]
    subprocess.run([*compile_all, *paths], check=True)


def in_tree(tree: Path, path: Path) -> Path:
    """Return the place of a package's path in the tree."""
    return tree / path.relative_to("/")
