"""OpenLineage events over HTTP: they are stored on disk before the response is sent, and read from there."""

from __future__ import annotations

import gzip
import json
import os
import resource
import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests

from navlin.access.roles import Role
from navlin.access.store import AccessFile
from navlin.api.event_spool import KEEP_S, SENDER_BYTES, EventSpool, SpoolFull
from navlin.index.journal.read_files import read_to_end
from navlin.index.journal.runs import save_positions
from navlin.index.schema.fields import RUNS
from navlin.index.solr.solr import Solr
from navlin.model.records import Position
from navlin.solr_server.embedded import EmbeddedSolr
from tests.support.openlineage import COMPLETE, RUNNING, START, WHOLE, Follower, Json, flows, statuses
from tests.support.web import PASSWORD, PATIENCE_S, Web, running_web

ADDRESS = "/api/v1/lineage"
BATCH = "/api/v1/lineage/batch"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("door")


@pytest.fixture(scope="module")
def door(solr_server: EmbeddedSolr, home: Path) -> Iterator[Web]:
    """A `navlin web` that accepts events."""
    settings = ('openlineage_directory = "events"', 'openlineage_users = ["viewer"]')
    users = AccessFile(home / "state")
    with running_web(solr_server.start(), home, *settings) as web:
        users.add_user("reader", Role.LINEAGE_VIEWER, PASSWORD)
        yield web


@pytest.fixture
def events(home: Path) -> Path:
    return home / "events"


def kept(events: Path) -> list[Any]:
    return [json.loads(line) for file in sorted(events.iterdir()) for line in file.read_text().splitlines()]


def post(
    door: Web, body: bytes | Any, user: str = "editor", *, address: str = ADDRESS, **headers: str
) -> requests.Response:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return door.send(
        "POST", address, user, data=data, headers={"Content-Type": "application/json", **headers}
    )


def test_an_acknowledged_event_is_stored_and_read(door: Web, events: Path) -> None:
    for each in (COMPLETE, RUNNING, START):
        answer = post(door, each)
        assert (answer.status_code, answer.content) == (201, b"")
        assert kept(events)[-1] == each
    got = Follower(events).read()
    assert flows(got) == WHOLE
    assert list(statuses(got).values()) == ["SUCCEEDED"]
    assert [oct(each.stat().st_mode & 0o777) for each in (events, *events.iterdir())] == ["0o700", "0o600"]


@pytest.mark.parametrize(
    ("body", "encoding", "count"),
    [
        (gzip.compress(json.dumps(START).encode()), "gzip", 1),
        (b"".join(gzip.compress(json.dumps(each).encode() + b"\n") for each in (START, COMPLETE)), "gzip", 2),
        (json.dumps([START, COMPLETE]).encode(), "identity", 2),
        (f"{json.dumps(START)}\n{json.dumps(COMPLETE)}\n".encode(), "", 2),
        (json.dumps(COMPLETE, indent=2).encode(), "", 1),
        (b'{"eventTime": "2023-11-14T22:14:00Z", "dataset": {"namespace": "n", "name": "t"}}', "", 1),
        (json.dumps({**COMPLETE, "rows": [float("nan"), float("-inf")]}).encode(), "", 1),
        (json.dumps(START).encode() + b"\n" + json.dumps({**COMPLETE, "rows": float("nan")}).encode(), "", 2),
        (json.dumps(COMPLETE)[:-1].encode() + b', "plan": ' + b"[" * 800 + b"]" * 800 + b"}", "", 1),
        (json.dumps({**COMPLETE, "run": None, "eventType": None, "dataset": None}).encode(), "", 1),
        (b"[]", "", 0),
    ],
    ids=[
        "gzip",
        "gzip of two members",
        "array",
        "lines",
        "indented",
        "dataset",
        "no numbers",
        "no numbers in lines",
        "deep",
        "job",
        "nothing",
    ],
)
def test_plain_compressed_and_multi_event_bodies_are_accepted(
    door: Web, events: Path, body: bytes, encoding: str, count: int
) -> None:
    before = len(kept(events))
    headers = {"Content-Encoding": encoding} if encoding else {}
    assert post(door, body, **headers).status_code == 201
    assert len(kept(events)) == before + count


NAMELESS: Json = {**COMPLETE, "job": {"namespace": "prod"}}


@pytest.mark.parametrize(
    ("body", "encoding", "status", "words"),
    [
        (b"no JSON", "", 400, "not valid JSON"),
        (b"", "", 400, "not valid JSON"),
        (b"7", "", 400, "is not a JSON object"),
        (b"{}", "", 400, "has no eventTime"),
        (json.dumps(NAMELESS).encode(), "", 400, "does not name a job"),
        (json.dumps([COMPLETE, NAMELESS]).encode(), "", 400, "event 1 of the body does not name a job"),
        (json.dumps({**COMPLETE, "run": {}}).encode(), "", 400, "without a runId"),
        (b'{"eventTime": "2023-11-14T22:14:00Z", "dataset": {"name": "t"}}', "", 400, "or a dataset"),
        (b"no gzip", "gzip", 400, "not valid gzip"),
        (gzip.compress(json.dumps(START).encode())[:-9], "gzip", 400, "not valid gzip"),
        (gzip.compress(json.dumps(START).encode()) + b"no gzip", "gzip", 400, "not valid gzip"),
        (gzip.compress(b" " * (33 << 20)), "gzip", 413, "32 MiB"),
        (gzip.compress(b" " * (17 << 20)) * 2, "gzip", 413, "32 MiB"),
        (b"{}", "zstd", 415, "zstd"),
        (b" " * (17 << 20), "", 413, "16 MiB"),
    ],
    ids=lambda value: "" if isinstance(value, bytes) else None,
)
def test_unreadable_bodies_are_refused_and_not_stored(
    door: Web, events: Path, body: bytes, encoding: str, status: int, words: str
) -> None:
    before = kept(events)
    answer = post(door, body, **({"Content-Encoding": encoding} if encoding else {}))
    assert (answer.status_code, words in answer.text) == (status, True), answer.text
    assert kept(events) == before


def test_invalid_events_of_a_batch_are_listed_and_the_others_stored(door: Web, events: Path) -> None:
    before = len(kept(events))
    answer = post(door, [START, 7, COMPLETE, NAMELESS], address=BATCH)
    reasons = [
        {"index": 1, "reason": "the event is not a JSON object", "retriable": False},
        {
            "index": 3,
            "reason": "the event does not name a job or a dataset: either needs a namespace and a name",
            "retriable": False,
        },
    ]
    counts = {"received": 4, "successful": 2, "failed": 2, "retriable": 0, "non_retriable": 2}
    assert answer.status_code == 200
    assert answer.json() == {"status": "partial_success", "summary": counts, "failed_events": reasons}
    assert kept(events)[before:] == [START, COMPLETE]

    packed = gzip.compress(json.dumps([RUNNING]).encode())
    answer = post(door, packed, address=BATCH, **{"Content-Encoding": "gzip"})
    counts = {"received": 1, "successful": 1, "failed": 0, "retriable": 0, "non_retriable": 0}
    assert answer.json() == {"status": "success", "summary": counts, "failed_events": []}
    assert kept(events)[before + 2 :] == [RUNNING]


@pytest.mark.parametrize(
    ("body", "user", "status", "words"),
    [
        (json.dumps(START).encode(), "editor", 400, "the body is not an array"),
        (b"[{", "editor", 400, "the body is not valid JSON"),
        (json.dumps([START]).encode(), "reader", 403, "openlineage_users"),
    ],
)
def test_an_invalid_batch_is_refused_whole(
    door: Web, events: Path, body: bytes, user: str, status: int, words: str
) -> None:
    before = kept(events)
    answer = post(door, body, user, address=BATCH)
    assert (answer.status_code, words in answer.text) == (status, True), answer.text
    assert kept(events) == before


@pytest.mark.services
def test_other_requests_are_answered_while_a_large_body_is_read(door: Web) -> None:
    line, last = json.dumps(COMPLETE).encode() + b"\n", json.dumps(NAMELESS).encode()
    body = gzip.compress(line * ((30 << 20) // len(line)) + last, 1)
    with ThreadPoolExecutor() as threads:
        sending = threads.submit(post, door, body, **{"Content-Encoding": "gzip"})
        began_s, slowest_s = time.monotonic(), 0.0
        while not sending.done():
            asked_s = time.monotonic()
            assert requests.get(door.url + "/healthz", timeout=PATIENCE_S).text == "ok\n"
            slowest_s = max(slowest_s, time.monotonic() - asked_s)
        assert sending.result().status_code == 400
        took_s = time.monotonic() - began_s
    assert slowest_s < took_s / 2, f"one waited {slowest_s:.1f} of {took_s:.1f} s"


def test_only_permitted_users_and_origins_may_send(door: Web, events: Path, home: Path) -> None:
    token = AccessFile(home / "state").add_token("viewer", "jobs", None, 0)
    url, data = door.url + ADDRESS, json.dumps(START)
    sent = requests.post(url, data, headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE_S)
    assert sent.status_code == 201
    before = kept(events)
    assert requests.post(url, data, timeout=PATIENCE_S).status_code == 401
    refused = post(door, START, "reader")
    assert (refused.status_code, "openlineage_users" in refused.json()["message"]) == (403, True)
    # A request from a page of another origin.
    assert post(door, START, Origin="https://elsewhere.example").status_code == 403
    assert door.get(ADDRESS, "editor").status_code in (404, 405)
    assert kept(events) == before


def test_without_a_directory_events_are_refused(web: Web) -> None:
    answer = web.send("POST", ADDRESS, "chief", json=START)
    assert (answer.status_code, "openlineage_directory" in answer.json()["message"]) == (404, True)


# -- The files -----------------------------------------------------------------------------------------------------------


@contextmanager
def at_most(size_bytes: int) -> Iterator[None]:
    """Limit the size of the files that this process writes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_partial_write_is_rolled_back(tmp_path: Path) -> None:
    spool = EventSpool(tmp_path, all_read)
    spool.append([b"one"])
    with at_most(10), pytest.raises(OSError, match="too large"):
        spool.append([b"two", b"three and more"])
    (file,) = tmp_path.iterdir()
    assert file.read_bytes() == b"one\n"
    spool.append([b"four"])
    assert file.read_bytes() == b"one\nfour\n"
    spool.close()


def test_a_removed_file_gets_no_more_lines(tmp_path: Path) -> None:
    spool = EventSpool(tmp_path, all_read)
    spool.append([b"one"])
    next(tmp_path.iterdir()).unlink()
    spool.append([b"two"])
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"two\n"]
    spool.close()


def all_read(sizes_bytes: Mapping[str, int]) -> Collection[str]:
    return sizes_bytes.keys()


def none_read(sizes_bytes: Mapping[str, int]) -> Collection[str]:
    return ()


def test_each_day_process_and_sender_has_a_file_and_old_read_files_are_removed(
    tmp_path: Path,
) -> None:
    now_s = 1_700_000_000.0
    reads = none_read

    def read(sizes_bytes: Mapping[str, int]) -> Collection[str]:
        return reads(sizes_bytes)

    spool, other = EventSpool(tmp_path, read, lambda: now_s), EventSpool(tmp_path, read, lambda: now_s)
    spool.append([b"one"], "ann")
    spool.append([b"one of another"], "bob")
    other.append([b"two"], "ann")
    other.append([b"two more"], "ann")
    for each in tmp_path.iterdir():
        os.utime(each, (now_s, now_s))
    (tmp_path / "notes.txt").write_text("of somebody else's")
    os.utime(tmp_path / "notes.txt", (now_s, now_s))
    assert len(list(tmp_path.glob("events-20231114-*-ann.jsonl"))) == 2
    now_s += 86_400
    spool.append([b"three"], "ann")
    assert len(list(tmp_path.iterdir())) == 5
    now_s += KEEP_S
    spool.append([b"four"], "ann")
    assert len(list(tmp_path.iterdir())) == 6, "whatever the clock shows, they are not read"
    reads = all_read
    now_s += 86_400
    spool.append([b"five"], "ann")
    left = sorted(each.name for each in tmp_path.iterdir())
    # Files that are still being written remain.
    assert [each[:15] for each in left] == [
        "events-20231114", "events-20231114", "events-20231115", "events-20231215", "events-20231216", "notes.txt",
    ]  # fmt: skip
    spool.close()
    other.close()


def test_only_the_sender_over_its_quota_is_refused_until_its_events_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("navlin.api.event_spool.SENDER_BYTES", 100)
    monkeypatch.setattr("navlin.api.event_spool.LOOK_S", 0.0)
    reads = none_read

    def read(sizes_bytes: Mapping[str, int]) -> Collection[str]:
        return reads(sizes_bytes)

    spool = EventSpool(tmp_path, read)
    spool.append([b"x" * 90], "loud")
    with pytest.raises(SpoolFull, match="91 bytes"):
        spool.append([b"x" * 90], "loud")
    spool.append([b"x" * 90], "quiet")
    assert sum(each.stat().st_size for each in tmp_path.iterdir()) == 182
    spool.close()
    reads = all_read
    spool.append([b"y" * 90], "loud")
    assert [each.read_bytes()[:1] for each in tmp_path.glob("*-loud.jsonl")] == [b"y"]
    spool.close()


def test_heavy_senders_leave_room_for_a_light_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("navlin.api.event_spool.ALL_BYTES", 300)
    spool = EventSpool(tmp_path, none_read)
    for sender in ("a", "b", "c"):
        spool.append([b"x" * 95], sender)
    with pytest.raises(SpoolFull):
        spool.append([b"x" * 20], "a")
    spool.append([b"x" * 9], "quiet")
    spool.close()


def test_only_files_read_to_the_end_by_all_their_sources_count_as_read(
    solr_server: EmbeddedSolr,
) -> None:
    with Solr(solr_server.start()) as solr:
        for source, values in (
            ("one", {"h:1:1": 10, "h:1:2": 9, "h:1:3": 10}),
            ("two", {"h:1:1": 12, "h:1:3": 5}),
        ):
            positions = [Position(key, {"path": "/p", "offset": offset}) for key, offset in values.items()]
            save_positions(solr, f"door-{source}", "kind", positions, {})
        solr.commit(RUNS, soft=True)
        assert read_to_end(solr, {f"h:1:{number}": 10 for number in (1, 2, 3, 4)}) == {"h:1:1"}


def test_a_sender_over_its_quota_gets_429_and_others_are_accepted(
    solr_server: EmbeddedSolr, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_web(solr_server.start(), tmp_path, 'openlineage_directory = "events"') as web:
        assert post(web, START).status_code == 201
        (file,) = (tmp_path / "events").iterdir()
        assert file.name.endswith("-editor.jsonl")
        with file.open("ab") as more:
            more.truncate(SENDER_BYTES)  # a hole that takes no disk space
        deadline_s = time.monotonic() + PATIENCE_S
        while (answer := post(web, START)).status_code == 201 and time.monotonic() < deadline_s:
            time.sleep(0.5)
        assert answer.status_code == 429
        assert (answer.headers["Retry-After"], "some still to be read" in answer.json()["message"]) == (
            "60",
            True,
        )
        assert post(web, START, "chief").status_code == 201
