"""What a fresh machine is promised: the lock, the declared dependencies, and the files inside the wheel."""

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCKS = ("requirements-build.txt", "requirements.txt", "requirements-dev.txt")
PACKAGES = ("navlin", "extractors", "linker")
# Where the name to import is not the name to install.
DISTRIBUTIONS = {
    "puresasl": "pure-sasl",
    "py4j": "pyspark",
    "requests_gssapi": "requests-gssapi",
    "thrift_sasl": "thrift-sasl",
}


def name_of(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0].lower()


def pins_of(lock: str) -> dict[str, str]:
    """Version by name; a pin's hashes stand on the lines that it continues on."""
    lines = (ROOT / lock).read_text().replace("\\\n", " ").splitlines()
    pinned = [line for line in lines if line and not line.lstrip().startswith("#")]
    assert [line for line in pinned if "--hash=sha256:" not in line] == []
    return {name_of(line): line.split("==")[1].split()[0] for line in pinned}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_of_a_lock_has_a_version_and_hashes_and_no_registry_is_named(lock: str) -> None:
    assert pins_of(lock)
    text = (ROOT / lock).read_text()
    assert not re.search(r"://|--(extra-)?index-url|--find-links|--trusted-host", text)


def test_the_lock_of_the_program_is_part_of_the_developers() -> None:
    assert pins_of("requirements.txt").items() <= pins_of("requirements-dev.txt").items()


def test_every_declared_dependency_is_locked() -> None:
    declared = {name_of(requirement) for requirement in PROJECT["dependencies"]}
    assert declared <= pins_of("requirements.txt").keys()
    extra = {name_of(requirement) for requirement in PROJECT["optional-dependencies"]["dev"]}
    assert extra <= pins_of("requirements-dev.txt").keys()


def test_what_the_linter_is_told_of_files_speaks_of_files_that_there_are() -> None:
    ruff = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]
    globs = list(ruff["lint"]["per-file-ignores"])

    assert [glob for glob in globs if not any(ROOT.glob(glob))] == []


def test_the_program_imports_nothing_but_what_it_declares() -> None:
    extras = PROJECT["optional-dependencies"]
    requirements = PROJECT["dependencies"] + [
        each for name, extra in extras.items() if name != "dev" for each in extra
    ]
    allowed = (
        {name_of(requirement) for requirement in requirements} | set(sys.stdlib_module_names) | set(PACKAGES)
    )
    foreign = {
        f"{path.relative_to(ROOT)}: {module}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for module in imported_by(path)
        if DISTRIBUTIONS.get(module, module) not in allowed
    }
    assert foreign == set()


def imported_by(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names=modules):
                names.update(module.name for module in modules)
            case ast.ImportFrom(module=str(module), level=0):
                names.add(module)
    return {name.partition(".")[0] for name in names}


def test_an_installed_wheel_finds_its_configuration_units_and_launcher(tmp_path: Path) -> None:
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(tmp_path),
        str(ROOT),
    ]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("navlin-*.whl")
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    said = subprocess.run(
        [sys.executable, "-c", "from navlin.shipped import CONF, SYSTEMD; print(CONF); print(SYSTEMD)"],
        cwd=installed,
        check=True,
        capture_output=True,
        text=True,
    )
    conf, systemd = (Path(line) for line in said.stdout.splitlines())
    assert files_below(conf) == files_below(ROOT / "conf")
    assert files_below(systemd) == files_below(ROOT / "systemd")
    assert conf.is_relative_to(installed)
    assert (installed / "navlin" / "solr_server" / "SolrServer.java").is_file()


def files_below(directory: Path) -> set[str]:
    assert directory.is_dir(), directory
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}
