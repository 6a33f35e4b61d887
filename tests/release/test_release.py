"""The descriptions of packages, image and manifest agree with navlin."""

from __future__ import annotations

import hashlib
import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from navlin.java import pyspark_jars
from navlin.service.loader import load_extractors
from navlin.service.settings.configuration import read_configuration
from release.__main__ import notes, sums
from release.jars import jar_component
from release.places import REPOSITORY, SOURCES, NotReleasable, package_version, version
from release.unused_jars import UNUSED, is_unused


def test_each_pattern_of_unused_jars_matches_and_the_engine_stays() -> None:
    names = [each.name for each in pyspark_jars().iterdir()]

    assert [pattern for pattern in UNUSED if not any(fnmatch(name, pattern) for name in names)] == []
    kept = {name.partition("_2.")[0] for name in names if name.startswith("spark-") and not is_unused(name)}
    assert {"spark-core", "spark-sql", "spark-catalyst", "spark-yarn", "spark-network-shuffle"} <= kept


def test_a_prerelease_is_older_than_its_release_for_dpkg_and_rpm() -> None:
    assert "~" in package_version() or re.fullmatch(r"\d+\.\d+\.\d+", package_version())


def test_the_sums_are_of_this_versions_files_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("release.__main__.DIST", tmp_path)
    monkeypatch.setattr("release.__main__.version", lambda: "1.0.0rc1")
    monkeypatch.setattr("release.__main__.package_version", lambda: "1.0.0~rc1")
    for name in (
        "navlin-1.0.0rc1-py3-none-any.whl",
        "navlin_1.0.0~rc1_amd64.deb",
        "navlin-1.0.0rc1.dev0-offline.tar",
        "navlin-1.0.0rc1.sha256",
    ):
        (tmp_path / name).write_text("a")

    (written,) = sums()

    a = hashlib.sha256(b"a").hexdigest()
    assert written.read_text() == f"{a}  navlin-1.0.0rc1-py3-none-any.whl\n{a}  navlin_1.0.0~rc1_amd64.deb\n"


def test_the_notes_are_this_versions_part_of_the_changelog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dist = tmp_path / "dist"
    dist.mkdir()
    monkeypatch.setattr("release.__main__.DIST", dist)
    monkeypatch.setattr("release.__main__.REPOSITORY", tmp_path)
    monkeypatch.setattr("release.__main__.version", lambda: "1.0.1")
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text(
        "# Changelog\n\n## 1.0.10 (2027-02-01)\n\n- c\n\n## 1.0.1 (2027-01-01)\n\n- b\n\n## 1.0.0 (2026-11-29)\n\n- a\n"
    )

    (written,) = notes()

    assert written.read_text() == "## 1.0.1 (2027-01-01)\n\n- b\n"
    changelog.write_text("# Changelog\n\n## Unreleased\n\n- d\n")
    with pytest.raises(NotReleasable, match=r"no section about 1\.0\.1"):
        notes()


def test_the_changelog_has_a_section_about_this_version() -> None:
    assert re.search(
        rf"^## {re.escape(version())} \(\d{{4}}-\d\d-\d\d\)$",
        (REPOSITORY / "CHANGELOG.md").read_text(),
        re.MULTILINE,
    )


def test_the_description_names_files_that_exist() -> None:
    description = yaml.safe_load((SOURCES / "nfpm.yaml").read_text())

    assert [name for name in description["scripts"].values() if not (SOURCES / name).is_file()] == []


def test_a_build_of_the_image_sends_only_the_files_that_it_copies() -> None:
    copied = re.findall(r"^COPY (\S+) ", (SOURCES / "Dockerfile").read_text(), re.MULTILINE)
    rules = (SOURCES / "Dockerfile.dockerignore").read_text().split("\n")

    assert [line.removeprefix("!") for line in rules if line.startswith("!")] == copied
    assert "*" in rules


def test_the_packages_configuration_is_valid() -> None:
    read = read_configuration(SOURCES / "navlin.toml", load_extractors(), {})

    assert (read.navlin.cluster, read.sources) == ("cluster-1", ())


def test_the_manifest_agrees_with_the_server_and_the_image() -> None:
    documents: list[dict[str, Any]] = list(yaml.safe_load_all((SOURCES / "kubernetes.yaml").read_text()))
    configuration, service, stateful = documents
    pod = stateful["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    image = (SOURCES / "Dockerfile").read_text()

    assert set(tomllib.loads(configuration["data"]["navlin.toml"])) == {"navlin", "web"}
    assert service["spec"]["ports"][0]["port"] == container["ports"][0]["containerPort"] == 7187
    assert {container[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe")} == {
        "/readyz",
        "/healthz",
    }
    assert f"USER {pod['securityContext']['runAsUser']}:0" in image
    assert {each["mountPath"] for each in container["volumeMounts"]} == {
        "/var/lib/navlin",
        "/etc/navlin",
        "/tmp",
    }
    grace_s = re.search(r"^TimeoutStopSec=(\d+)$", (REPOSITORY / "systemd/navlin.service").read_text(), re.M)
    assert grace_s and stateful["spec"]["replicas"] == 1
    assert pod["terminationGracePeriodSeconds"] == int(grace_s[1])


def test_a_jar_is_named_by_its_own_project_and_those_inside_it() -> None:
    jar = next(pyspark_jars().glob("jackson-core-*.jar"))

    component = jar_component(jar.name, jar.read_bytes(), f"pyspark/jars/{jar.name}")

    assert component["purl"].startswith("pkg:maven/com.fasterxml.jackson.core/jackson-core@2.")
    assert [each["alg"] for each in component["hashes"]] == ["SHA-1", "SHA-256"]
