"""The console's third-party files match their manifest, and all that a page loads stays small."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from starlette.requests import Request

import navlin.console.static_files
from navlin.console.static_files import StaticFiles
from tests.services.third_party import HOME, Unlike, check, manifest

CONSOLE = Path(navlin.console.static_files.__file__).parent


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


@pytest.mark.parametrize("said", ["sha256", "licence", "reason"])
def test_every_file_has_a_sum_a_licence_and_a_reason(said: str) -> None:
    assert [each["file"] for each in manifest() if not each.get(said)] == []


def test_what_pages_load_stays_below_one_and_a_half_megabytes_packed() -> None:
    """All scripts, styles, icons and libraries of the console together, as the server sends them."""
    files = StaticFiles("")
    sizes = {}
    for folder in ("static", "third_party"):
        for path in (CONSOLE / folder).rglob("*"):
            if path.suffix in (".js", ".css", ".svg"):
                name = path.relative_to(CONSOLE).as_posix()
                asked = {
                    "type": "http",
                    "path_params": {"file": name},
                    "headers": [(b"accept-encoding", b"gzip")],
                }
                sizes[name] = len(asyncio.run(files.answer(Request(asked))).body)
    assert 100_000 < sizes["third_party/wasm-graphviz/index.js"] < 814_770, "Graphviz is counted, and packed"
    assert len(sizes) > 30
    assert sum(sizes.values()) < 1_500_000, sizes
