"""Lines of other hosts' logs over HTTP: they are stored on disk before the response is sent."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from navlin.api.event_spool import SENDER_BYTES
from tests.support.other_hosts import LINES, Hosts, hosts_of
from tests.support.web import PASSWORD, PATIENCE_S

DOOR = LINES + "IMPALA-1"


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with hosts_of(tmp_path_factory.mktemp("lines")) as hosts:
        yield hosts


@pytest.mark.parametrize(
    ("body", "query", "encoding", "count", "stored"),
    [
        (b"one\ntwo\n", "", "", 2, b"one\ntwo\n"),
        (b"no newline at the end", "", "", 1, b"no newline at the end\n"),
        (gzip.compress(b"a\n", mtime=0) + gzip.compress(b"b\n", mtime=0), "", "gzip", 2, b"a\nb\n"),
        (b"\xff\x00 bytes as they are\r\n", "", "", 1, b"\xff\x00 bytes as they are\n"),
        (b"", "", "", 0, b""),
        (
            b'{"message": "a \\"b\\"", "file": "x"}\n{"message": "c"}\n',
            "?field=message",
            "",
            2,
            b'a "b"\nc\n',
        ),
        (b'[{"log": "a"}, {"log": "b"}]', "?field=log", "", 2, b"a\nb\n"),
        (b'{"log": "two\\nlines"}', "?field=log", "", 2, b"two\nlines\n"),
        (b'{"log": "a"}\n{"log": 7}\nno JSON\n', "?field=log", "", 3, b'a\n{"log": 7}\nno JSON\n'),
    ],
)
def test_lines_are_stored_as_they_are_or_unwrapped(
    hosts: Hosts, body: bytes, query: str, encoding: str, count: int, stored: bytes
) -> None:
    hosts.send("POST", DOOR, data=b"before")
    before = hosts.lines()
    headers = {"Content-Encoding": encoding} if encoding else {}
    answer = hosts.send("POST", DOOR + query, data=body, headers=headers)
    assert (answer.status_code, answer.json()) == (200, {"lines": count})
    assert hosts.lines() == before + stored


@pytest.mark.parametrize(
    ("path", "body", "encoding", "status", "words"),
    [
        (LINES + "SPARK-1", b"x", "", 400, "navlin forward"),
        (LINES + "HIVE-1", b"x", "", 403, "this token is for IMPALA-1, SPARK-1"),
        (DOOR + "?fields=x", b"x", "", 400, "field"),
        (DOOR, gzip.compress(b" x" * (17 << 20)), "gzip", 413, "32 MiB"),
        (DOOR, b"x" * (17 << 20), "", 413, "16 MiB"),
        (DOOR, b"no gzip", "gzip", 400, "not valid gzip"),
        (DOOR, b"x", "zstd", 415, "zstd"),
        (DOOR + "?field=x", b"[" + b"[]," * 300_000 + b"[]]", "", 413, "too large for one request"),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else None,
)
def test_refused_lines_are_not_stored(
    hosts: Hosts, path: str, body: bytes, encoding: str, status: int, words: str
) -> None:
    hosts.send("POST", DOOR, data=b"before")
    before = hosts.lines()
    headers = {"Content-Encoding": encoding} if encoding else {}
    answer = hosts.send("POST", path, data=body, headers=headers)
    assert (answer.status_code, words in answer.text) == (status, True), answer.text
    assert hosts.lines() == before


def test_only_a_host_with_its_token_may_send(hosts: Hosts) -> None:
    url = hosts.web.url + DOOR
    assert requests.post(url, b"x", timeout=PATIENCE_S).status_code == 401
    assert requests.post(url, b"x", auth=("chief", PASSWORD), timeout=PATIENCE_S).status_code == 401
    wrong = {"Authorization": "Bearer navlin_wrong"}
    assert requests.post(url, b"x", headers=wrong, timeout=PATIENCE_S).status_code == 401
    hosts.token("narrow", "SPARK-1")
    assert hosts.send("POST", DOOR, "narrow", data=b"x").status_code == 403


def test_a_hosts_token_is_refused_everywhere_else(hosts: Hosts) -> None:
    for path in ("/api/navlin/v1/search?query=x", "/api/navlin/v1/status", "/metrics", "/api/v14/entities"):
        assert hosts.send("GET", path).status_code == 401
    assert hosts.send("POST", "/api/v1/lineage", data=b"{}").status_code == 401
    assert hosts.send("POST", "/api/navlin/v1/extract", json={"source": "IMPALA-1"}).status_code == 401


def test_a_host_over_its_quota_gets_429_and_others_are_accepted(hosts: Hosts) -> None:
    assert hosts.send("POST", DOOR, "loud", data=b"x").status_code == 200
    (file,) = (hosts.root / "lines" / "IMPALA-1").glob("*-loud.jsonl")
    with file.open("ab") as more:
        more.truncate(SENDER_BYTES)  # a hole that takes no disk space
    os.utime(file)
    answers = iter(lambda: hosts.send("POST", DOOR, "loud", data=b"x"), None)
    answer = next(each for each in answers if each.status_code != 200)
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "60")
    assert hosts.send("POST", DOOR, "quiet", data=b"x").status_code == 200
    file.unlink()


def test_without_room_on_the_disk_lines_and_ranges_are_refused_for_now(tmp_path: Path) -> None:
    with hosts_of(tmp_path, least_free="900000g") as hosts:
        answer = hosts.send("POST", DOOR, data=b"x")
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
        assert "MiB are left on the disk" in answer.json()["message"]
        assert hosts.append("1-00000001", 0, b"x").status_code == 503
