"""navlin refuses to start if another distribution's package has one of its top-level names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REMEDY = ": install navlin into an environment of its own, with no other package of that name\n"


def checked(path: Path | str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "navlin", "--config", "/nowhere.toml", "check"]
    environment = {**os.environ, "PYTHONPATH": str(path)}
    return subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, check=False)


def copy_of_navlin(folder: Path) -> Path:
    """navlin's packages as an installation has them, without its jars and pages."""
    for name in ("navlin", "extractors", "linker"):
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "third_party")
        )
    return folder


def test_a_package_of_another_distribution_is_refused_in_one_sentence(tmp_path: Path) -> None:
    other = tmp_path / "linker"
    other.mkdir()
    (other / "__init__.py").write_text('raise SystemExit("foreign code ran")\n')

    done = checked(f"{tmp_path}{os.pathsep}{ROOT}")

    expected = f"navlin: the package 'linker' in {other} is not navlin's own{REMEDY}"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", expected)


@pytest.mark.services
def test_an_overwritten_package_is_refused(tmp_path: Path) -> None:
    folder = copy_of_navlin(tmp_path / "site-packages")
    own = checked(folder)
    assert (own.returncode, "/nowhere.toml: the file does not exist" in own.stderr) == (2, True)

    (folder / "extractors" / "__init__.py").write_text('"""Extracts archives."""\n')
    overwritten = checked(folder)
    expected = f"navlin: the package 'extractors' in {folder / 'extractors'} is not navlin's own{REMEDY}"
    assert (overwritten.returncode, overwritten.stderr) == (1, expected)
