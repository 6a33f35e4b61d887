"""Requirements for a fresh machine: lock files, declared dependencies, and the files in the wheel."""

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

from navlin.index.admin.cores import CORES
from navlin.java import find_java

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCKS = tuple(f"requirements{of}.txt" for of in ("", "-build", "-dev", "-docs", "-release", "-scan"))
PACKAGES = ("navlin", "extractors", "linker")
# Imported names whose distribution has a different name.
DISTRIBUTIONS = {
    "py4j": "pyspark",
    "prometheus_client": "prometheus-client",
    "re2": "google-re2",
}


def name_of(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0].lower()


def pins_of(lock: str) -> dict[str, str]:
    """Map package names to locked versions. The hashes of a pin are on its continuation lines."""
    lines = (ROOT / lock).read_text().replace("\\\n", " ").splitlines()
    pinned = [line for line in lines if line and not line.lstrip().startswith("#")]
    assert [line for line in pinned if "--hash=sha256:" not in line] == []
    return {name_of(line): line.split("==")[1].split()[0] for line in pinned}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_a_version_and_hashes_and_no_registry(lock: str) -> None:
    assert pins_of(lock)
    text = (ROOT / lock).read_text()
    assert not re.search(r"://|--(extra-)?index-url|--find-links|--trusted-host", text)


def test_the_runtime_lock_is_part_of_the_development_lock() -> None:
    assert pins_of("requirements.txt").items() <= pins_of("requirements-dev.txt").items()


def test_every_declared_dependency_is_locked() -> None:
    declared = {name_of(requirement) for requirement in PROJECT["dependencies"]}
    assert declared <= pins_of("requirements.txt").keys()
    extra = {name_of(requirement) for requirement in PROJECT["optional-dependencies"]["dev"]}
    assert extra <= pins_of("requirements-dev.txt").keys()


def test_per_file_lint_rules_match_existing_files() -> None:
    ruff = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]
    globs = list(ruff["lint"]["per-file-ignores"])

    assert [glob for glob in globs if not any(ROOT.glob(glob))] == []


def test_the_program_imports_only_declared_dependencies() -> None:
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


def build(
    into: Path, checkout: Path = ROOT, java_home: Path | None = None
) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(into),
        str(checkout),
    ]
    environment = {**os.environ, **({"JAVA_HOME": str(java_home)} if java_home else {})}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def jre(folder: Path) -> Path:
    """A Java home without the compiler. It wraps the real Java and refuses to compile."""
    program = folder / "jre" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        "#!/bin/sh\n"
        'case "$*" in *jdk.compiler*)\n'
        "  echo java.lang.module.FindException: Module jdk.compiler not found >&2; exit 1;;\n"
        "esac\n"
        f'exec {find_java()} "$@"\n'
    )
    program.chmod(0o755)
    return folder / "jre"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, solr_jars: Path, hadoop_jars: Path) -> Path:
    """The Python of a separate environment with navlin's wheel. All other packages come from the environment of
    this process."""
    folder = tmp_path_factory.mktemp("installed")
    made = build(folder / "dist")
    assert made.returncode == 0, made.stderr
    (wheel,) = (folder / "dist").glob("navlin-*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    (packages,) = (folder / "venv").glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    (packages / "others.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder / "venv" / "bin" / "python"


def python(program: Path, code: str, *arguments: str) -> list[str]:
    """Run code outside this checkout, and return the lines that it prints."""
    command = [str(program), "-c", code, *arguments]
    done = subprocess.run(command, cwd=program.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.services
def test_an_installed_wheel_finds_its_configuration_and_units(installed: Path) -> None:
    places = python(installed, "from navlin.shipped import CONF, SYSTEMD; print(CONF); print(SYSTEMD)")
    conf, systemd = map(Path, places)

    # The publisher for Sqoop is compiled when the wheel is made.
    compiled = {"sqoop/NavlinSqoopPublisher.jar"}
    assert files_below(conf) == files_below(ROOT / "conf") | compiled
    assert files_below(systemd) == files_below(ROOT / "systemd")
    assert conf.is_relative_to(installed.parents[1])


@pytest.mark.services
def test_an_installed_wheel_has_the_built_manual(installed: Path) -> None:
    [manual] = python(installed, "from navlin.shipped import MANUAL; print(MANUAL)")

    assert files_below(Path(manual)) == files_below(ROOT / "build" / "manual" / "html")
    assert Path(manual).is_relative_to(installed.parents[1])


@pytest.mark.services
def test_the_wheel_contains_every_java_program_compiled(installed: Path) -> None:
    [folder] = python(installed, "import navlin; print(navlin.__path__[0])")
    sources = {file.relative_to(ROOT) for package in PACKAGES for file in (ROOT / package).rglob("*.java")}

    assert sources
    assert [
        source for source in sources if not (Path(folder).parent / source).with_suffix(".jar").is_file()
    ] == []


@pytest.mark.services
def test_an_installed_wheel_runs_with_a_jre(installed: Path, tmp_path: Path, solr_jars: Path) -> None:
    code = """if True:
        import sys
        from pathlib import Path
        from navlin.index.admin.cores import CORES
        from navlin.index.solr.solr import Solr
        from navlin.shipped import CONF
        from navlin.solr_server.embedded import EmbeddedSolr
        state, jars, java_home = map(Path, sys.argv[1:])
        server = EmbeddedSolr(state, jars, CONF / "solr", cores=CORES, java_home=java_home)
        with server, Solr(server.address) as solr:
            print(*(solr.count(core) for core in CORES))
    """

    counted = python(installed, code, str(tmp_path / "state"), str(solr_jars), str(jre(tmp_path)))
    assert counted == [" ".join("0" for _ in CORES)]


def test_a_build_without_a_compiler_or_jars_fails_with_an_explanation(
    tmp_path: Path, solr_jars: Path
) -> None:
    without_compiler = build(tmp_path / "dist", java_home=jre(tmp_path))
    bare = tmp_path / "bare"
    names = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", *PACKAGES, "conf", "systemd")
    bare.mkdir()
    for name in names:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, bare / name)
    without_jars = build(tmp_path / "dist", bare)

    for failed, reason in (
        (without_compiler, "has no compiler (it is a JRE): install a JDK of version 17 or newer"),
        (without_jars, "the jars that its Java is compiled against are not in"),
    ):
        assert failed.returncode != 0
        printed = " ".join((failed.stdout + failed.stderr).split())
        assert reason in printed
        assert "Its wheel is made in a checkout, with a JDK, by `make wheel`" in printed
    assert list((tmp_path / "dist").glob("*.whl")) == []


@pytest.mark.services
def test_there_is_no_source_distribution(tmp_path: Path) -> None:
    code = "import sys; from hatchling.build import build_sdist; build_sdist(sys.argv[1])"
    command = [sys.executable, "-c", code, str(tmp_path)]
    failed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert failed.returncode != 0
    assert failed.stderr.startswith("navlin has no source distribution: its wheel is made of the jars and")
    assert list(tmp_path.iterdir()) == []


def files_below(directory: Path) -> set[str]:
    assert directory.is_dir(), directory
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}
