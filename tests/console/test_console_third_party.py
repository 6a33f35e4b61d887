"""The console's third-party files match their manifest."""

from __future__ import annotations

import pytest

from tests.services.third_party import HOME, Unlike, check, manifest


def test_every_file_has_the_checksum_in_the_manifest() -> None:
    for each in manifest():
        check(each["file"], (HOME / each["file"]).read_bytes(), each["sha256"])


def test_a_changed_file_is_refused() -> None:
    each = manifest()[0]
    changed = (HOME / each["file"]).read_bytes() + b"\n"
    with pytest.raises(Unlike, match=f"{each['file']} has the SHA-256 sum"):
        check(each["file"], changed, each["sha256"])


def test_the_directory_has_only_files_of_the_manifest() -> None:
    there = {path.relative_to(HOME).as_posix() for path in HOME.rglob("*") if path.is_file()}
    assert there == {each["file"] for each in manifest()} | {"manifest.json"}


def test_every_file_has_a_licence() -> None:
    assert [each["file"] for each in manifest() if not each["licence"]] == []
