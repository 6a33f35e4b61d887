"""The deb, the RPM and the bundle, installed in a minimal Debian without network: `make packages bundle` makes them."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from release.places import BUILT, DIST, REPOSITORY, SOURCES, package_version, version
from tests.services.bare_root import BareRoot, NoRoot, make_bare_root
from tests.support.served_daemon import record

DEB = DIST / f"navlin_{package_version()}_amd64.deb"
RPM = DIST / f"navlin-{package_version()}-1.x86_64.rpm"
BUNDLE = DIST / f"navlin-{version()}-offline.tar"
INSIDE = Path(__file__).parents[1] / "services" / "inside_root.py"
CONFIGURATION = """\
[navlin]
cluster = "bare"

[[source]]
name = "IMPALA-1"
extractor = "impala_events"
directory = "/var/log/impala"
"""
SETTINGS = Path("etc/navlin/navlin.toml")
STATE = Path("var/lib/navlin")
LOG = Path("var/log/impala/impala_lineage_log_1.0-1")
NEWER = f"{package_version()}+1"

pytestmark = [pytest.mark.services, pytest.mark.alone]


def made(file: Path) -> Path:
    if not file.exists():
        pytest.skip(f"{file.name} was not made: make packages bundle")
    return file


@pytest.fixture
def root() -> Iterator[BareRoot]:
    folder = BUILT / "root" / f"test-{os.getpid()}"
    try:
        bare = make_bare_root(folder, BUILT / "root" / "bookworm")
    except NoRoot as error:
        pytest.skip(str(error))
    log = folder / LOG
    log.parent.mkdir(parents=True)
    log.write_text(record(1, "bare.target", "bare.origin"))
    yield bare
    shutil.rmtree(folder)


def asked(
    root: BareRoot,
    program: str,
    user: str | int = "navlin",
    group: str | int = "navlin",
    *,
    read_only: bool = False,
) -> dict[str, Any]:
    """Serve inside, and return the answers."""
    given = {"program": program, "entity": "bare.target", "user": user, "group": group}
    command = root.command("/usr/bin/python3", "-c", INSIDE.read_text(), read_only=read_only)
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    sys.stdout.write(
        f"ready after {found['ready_s']:.0f} s, answered after {found['answered_s']:.0f} s more,"
        f" {found['memory_mib']} MiB of memory\n"
    )
    return found


def assert_works(found: dict[str, Any]) -> None:
    assert found["version"] == {"code": 0, "out": f"{version()}\n", "err": ""}
    assert found["check"]["code"] == 0, found["check"]
    assert found["answered_s"] >= 0, found["log"]
    assert "bare.origin" in found["lineage"]["out"]
    assert (found["page"][0], "bare.target" in found["page"][1]) == (200, True)
    assert (found["manual"][0], "From a package" in found["manual"][1]) == (200, True)
    assert (found["stopped"], found["left"]) == (0, [])


def install(root: BareRoot, file: Path) -> None:
    inside = root.folder / "tmp" / "navlin.deb"
    shutil.copy(file, inside)
    run_timed(root, "apt-get", "--yes", "install", "/tmp/navlin.deb")
    inside.unlink()


def run_timed(root: BareRoot, *command: str) -> None:
    begun_s = time.monotonic()
    done = root.run(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    used_s = time.monotonic() - begun_s
    sys.stdout.write(f"{' '.join(command)}: {used_s:.0f} s, the root has {mib(root.folder)} MiB\n")


def mib(folder: Path) -> int:
    """Return the size of a root on the disk, without the package or bundle that was copied to its /tmp."""
    command = ["du", "--summarize", "--block-size=1M", f"--exclude={folder}/tmp/*", str(folder)]
    return int(subprocess.check_output(command).split()[0])


def newer_build(folder: Path) -> Path:
    """The deb as its next build: with a later version."""
    newer = Path(shutil.copy(made(DEB), folder / "newer.deb"))
    subprocess.run(["ar", "x", newer, "control.tar.gz"], cwd=folder, check=True)
    packed = folder / "control.tar.gz"
    with tarfile.open(packed) as archive:
        parts = [(each, archive.extractfile(each).read()) for each in archive if each.isfile()]  # type: ignore[union-attr]
    with tarfile.open(packed, "w:gz") as archive:
        for entry, content in parts:
            if entry.name.removeprefix("./") == "control":
                content = content.replace(
                    f"Version: {package_version()}".encode(), f"Version: {NEWER}".encode()
                )
                entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    subprocess.run(["ar", "r", newer, packed], check=True)
    return newer


def assert_owned(root: BareRoot) -> None:
    settings, state = (root.folder / SETTINGS).stat(), (root.folder / STATE).stat()
    assert (settings.st_mode & 0o777, state.st_mode & 0o777) == (0o640, 0o700)
    assert settings.st_gid == state.st_uid != 0


def assert_billed(root: BareRoot) -> None:
    """The second count: by the files that are installed, and not by the code that writes the bill."""
    prefix = root.folder / "usr/lib/navlin"
    packages = next(prefix.glob("lib/python3.*/site-packages"))
    jars = {f"file:{jar.relative_to(packages)}" for jar in packages.rglob("*.jar")}
    jars |= {f"file:{jar.relative_to(prefix)}" for jar in prefix.glob("jars/solr/*.jar")}
    bill = json.loads((root.folder / "usr/share/doc/navlin/sbom.cdx.json").read_text())
    refs = [each["bom-ref"] for each in bill["components"]]

    assert {ref for ref in refs if ref.startswith("file:")} == jars
    assert (
        len([ref for ref in refs if ref.startswith("pkg:pypi/")])
        == len(list(packages.glob("*.dist-info"))) - 1
    )


def test_a_deb_installs_runs_upgrades_and_is_purged_without_network(root: BareRoot, tmp_path: Path) -> None:
    install(root, made(DEB))
    settings, state = root.folder / SETTINGS, root.folder / STATE
    assert_owned(root)
    assert_billed(root)
    settings.write_text(CONFIGURATION)

    assert_works(asked(root, "/usr/bin/navlin"))
    assert not list(root.folder.glob("usr/lib/navlin/**/*.pyc.*"))

    install(root, newer_build(tmp_path))
    shown = root.run("dpkg-query", "--show", "--showformat=${Version} ${Status}", "navlin")
    assert (shown.stdout, settings.read_text()) == (f"{NEWER} install ok installed", CONFIGURATION)
    # Only the index can answer now.
    (root.folder / LOG).unlink()
    assert_works(asked(root, "/usr/bin/navlin"))

    purged = root.run("apt-get", "--yes", "purge", "navlin")
    assert purged.returncode == 0, purged.stderr
    assert not settings.exists()
    assert not (root.folder / "usr/lib/navlin").exists()
    assert (state / "solr").is_dir()


def test_the_images_steps_let_any_user_with_group_0_run_it_on_a_read_only_root(root: BareRoot) -> None:
    """No image of Debian's can be had here: the steps of the Dockerfile are run in the minimal Debian."""
    install(root, made(DEB))
    image = (SOURCES / "Dockerfile").read_text()
    entry = "/usr/lib/navlin/bin/container-entry.sh"
    assert f"COPY release/container-entry.sh {entry}" in image
    shutil.copy(SOURCES / "container-entry.sh", root.folder / entry[1:])
    steps = image[image.index("usermod") : image.index("ENV ")].replace("\\\n", " ")
    (root.folder / SETTINGS).write_text(CONFIGURATION)
    done = root.run("sh", "-c", steps)
    assert done.returncode == 0, done.stderr

    assert_works(asked(root, entry, user=12345, group=0, read_only=True))


def test_the_dockerfile_is_clean() -> None:
    hadolint = REPOSITORY / ".release" / "bin" / "hadolint"
    if not hadolint.exists():
        pytest.skip("hadolint is not installed: make packages")
    done = subprocess.run([hadolint, SOURCES / "Dockerfile"], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "")


def test_the_bundle_installs_and_runs_by_its_script_alone(root: BareRoot) -> None:
    with tarfile.open(made(BUNDLE)) as archive:
        archive.extractall(root.folder / "tmp", filter="data")
    script = f"/tmp/navlin-{version()}-offline/install.sh"
    # As on a hardened host, where root's files are for root alone unless somebody says otherwise.
    run_timed(root, "sh", "-c", f"umask 077 && sh {script}")
    (root.folder / SETTINGS).write_text(CONFIGURATION)

    assert_works(asked(root, "/usr/local/bin/navlin"))

    damaged = root.folder / script[1:]
    damaged.write_text(damaged.read_text() + "\n")
    refused = root.run("sh", script)
    assert (refused.returncode, "the bundle is damaged" in refused.stderr) == (1, True)


def rpm() -> str:
    return shutil.which("rpm") or pytest.skip("rpm is not installed")


def test_rpm_installs_the_package_with_its_scripts_and_keeps_the_state(root: BareRoot) -> None:
    """No Red Hat is here: rpm installs into a Debian, whose package names satisfy no requirement."""
    command = [rpm(), "--root", str(root.folder)]
    done = subprocess.run(
        [*command, "--nodeps", "--install", str(made(RPM))], capture_output=True, text=True, check=False
    )
    # Debian's rpm warns in its own name that it is not Debian's way to install; a script would be named.
    warned = [line for line in done.stderr.splitlines() if not line.startswith("rpm: ")]
    assert (done.returncode, warned) == (0, [])
    sys.stdout.write(f"the root has {mib(root.folder)} MiB\n")
    assert_owned(root)
    assert_billed(root)
    (root.folder / SETTINGS).write_text(CONFIGURATION)
    assert_works(asked(root, "/usr/bin/navlin"))

    removed = subprocess.run([*command, "--erase", "navlin"], capture_output=True, text=True, check=False)
    assert removed.returncode == 0, removed.stderr
    assert not (root.folder / "usr/lib/navlin").exists()
    assert (root.folder / STATE / "solr").is_dir()
    assert (root.folder / f"{SETTINGS}.rpmsave").read_text() == CONFIGURATION


def test_the_bundles_bill_of_materials_has_every_wheel_and_jar() -> None:
    """The second count: by the names of files, and not by the code that writes the bill."""
    with tarfile.open(made(BUNDLE)) as archive:
        top = f"navlin-{version()}-offline"
        bill = json.loads(archive.extractfile(f"{top}/sbom.cdx.json").read())  # type: ignore[union-attr]  # a file
        names = archive.getnames()
        wheels = [name for name in names if name.endswith(".whl")]
        solr = {f"jars/solr/{Path(name).name}" for name in names if name.endswith(".jar")}
        inside = {
            name
            for wheel in wheels
            for name in zipfile.ZipFile(archive.extractfile(wheel)).namelist()  # type: ignore[arg-type]  # a file
            if name.endswith(".jar")
        }
        known = json.loads(archive.extractfile(f"{top}/vex.cdx.json").read())  # type: ignore[union-attr]  # a file
    refs = {each["bom-ref"] for each in bill["components"]}
    assert len([ref for ref in refs if ref.startswith("pkg:pypi/")]) == len(wheels) - 1
    assert {ref.removeprefix("file:") for ref in refs if ref.startswith("file:")} == solr | inside
    assert [each["id"] for each in known["vulnerabilities"]] == [
        "CVE-2022-46337",
        "CVE-2025-48924",
        "CVE-2024-23953",
    ]
