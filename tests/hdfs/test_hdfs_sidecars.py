"""Sidecar files: where they are found, and the fields read from them."""

from __future__ import annotations

import pytest

from extractors.hdfs.sidecars import MOST_BYTES, BadSidecar, parse_sidecar, sidecar_of, target_of


@pytest.mark.parametrize(
    ("path", "directory", "sidecar"),
    [
        ("/", True, "/.navigator"),
        ("/d", True, "/d/.navigator"),
        ("/d/f.txt", False, "/d/.f.txt.navigator"),
        ("/f", False, "/.f.navigator"),
    ],
)
def test_a_sidecar_is_in_its_directory_or_next_to_its_file(path: str, directory: bool, sidecar: str) -> None:
    assert sidecar_of(path, directory=directory) == sidecar
    assert target_of(sidecar) == path


@pytest.mark.parametrize("path", ["/d/navigator", "/d/f.navigator", "/d/.navigator.bak", "/.navigator/f"])
def test_a_similar_name_is_not_a_sidecar(path: str) -> None:
    assert target_of(path) == ""


def test_a_sidecar_gives_name_description_tags_and_properties() -> None:
    text = '{"name": "Orders", "description": "all of them", "tags": ["pii", 7], "properties": {"owner": "ann", "rows": 3}}'

    assert parse_sidecar(text.encode()) == {
        "name": "Orders",
        "description": "all of them",
        "tags": ["pii", "7"],
        "up_owner": "ann",
        "up_rows": "3",
    }


def test_a_lone_surrogate_is_replaced() -> None:
    text = rb'{"name": "a\ud800b", "properties": {"\udc00": "\ud83d\ude00"}}'
    assert parse_sidecar(text) == {"name": "a\ufffdb", "up_\ufffd": "\U0001f600"}


@pytest.mark.parametrize("text", ["{}", '{"name": "", "tags": [], "properties": {"x": null}, "unknown": 1}'])
def test_an_empty_sidecar_gives_nothing(text: str) -> None:
    assert parse_sidecar(text.encode()) == {}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "not valid JSON"),
        (b"\xff\xfe", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"[]", "not an object"),
        (b'{"name": {}}', "name must be a text"),
        (b'{"tags": "pii"}', "tags must be an array"),
        (b'{"tags": [[]]}', "a tag must be a text"),
        (b'{"properties": []}', None),
        (b'{"properties": [1]}', "properties must be an object"),
        (b" " * (MOST_BYTES + 1), "more than"),
    ],
)
def test_an_invalid_sidecar_is_reported(text: bytes, reason: str | None) -> None:
    if reason is None:
        assert parse_sidecar(text) == {}
        return
    with pytest.raises(BadSidecar, match=reason):
        parse_sidecar(text)
