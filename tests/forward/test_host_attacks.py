"""Attacks on the doors for other hosts (tests/data/attacks/hosts.md has their list, and the promises)."""

from __future__ import annotations

import base64
import gzip
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
import requests

from navlin.access.host_tokens import HostTokens
from navlin.access.store import AccessError
from tests.support.other_hosts import ALIVE, EMPTY, FILES, LINES, Hosts, digest, hosts_of
from tests.support.web import PASSWORD, PATIENCE_S

pytestmark = pytest.mark.services
MOST_RESIDENT_KIB: Final = 300 << 10
OTHER_WITHIN_S: Final = 16.0
"""Time in which the other host must be answered. The rest is for a busy machine."""
ESCAPE: Final = "\x1b]0;owned\x07\u202e\r\nX: <b>&"


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with hosts_of(tmp_path_factory.mktemp("attacks")) as hosts:
        yield hosts


@pytest.fixture(autouse=True)
def undisturbed(hosts: Hosts, request: pytest.FixtureRequest) -> Iterator[None]:
    """After each attack, the web answers as before, and its log has no token and no internal error."""
    yield
    assert hosts.web.process.poll() is None
    other_host_is_served(hosts)
    status = Path(f"/proc/{hosts.web.process.pid}/status").read_text()
    assert int(status.partition("VmHWM:")[2].split()[0]) < MOST_RESIDENT_KIB
    said = json.dumps(hosts.web.log)
    assert [host for host, secret in hosts.secrets.items() if secret in said] == []
    assert "Traceback" not in said
    assert '"status": 500' not in said


def other_host_is_served(hosts: Hosts) -> None:
    begun_s, number = time.monotonic(), time.time_ns() & 0xFFFFFFFF
    assert hosts.append(f"ff-{number:08x}", 0, b"x", host="other").status_code == 200
    assert hosts.send("POST", LINES + "IMPALA-1", "other", data=b"x").status_code == 200
    assert time.monotonic() - begun_s < OTHER_WITHIN_S


def raw(hosts: Hosts, head: bytes, body: bytes = b"", host: str = "one") -> bytes:
    """Send a request as it is, with the host's token, and return the first line of the response."""
    with closing(connection(hosts)) as wire:
        wire.sendall(head.replace(b"TOKEN", hosts.token(host).encode()) + b"\r\n\r\n" + body)
        wire.settimeout(PATIENCE_S)
        return wire.recv(4_096).split(b"\r\n", 1)[0]


def connection(hosts: Hosts) -> socket.socket:
    place = urlsplit(hosts.web.url)
    return socket.create_connection((place.hostname, place.port or 0), PATIENCE_S)


def everything_below(hosts: Hosts) -> set[str]:
    return {str(each.relative_to(hosts.root)) for each in hosts.root.glob("*/*")}


def test_attack_1_the_token_opens_no_other_address(hosts: Hosts) -> None:
    secret = hosts.token("one")
    described = requests.get(
        hosts.web.url + "/api/navlin/v1/openapi.json", auth=("chief", PASSWORD), timeout=PATIENCE_S
    )
    paths = described.json().get("paths", {}) if described.ok else {}
    wanted = [(method.upper(), path) for path, methods in paths.items() for method in methods]
    wanted += [
        ("GET", path) for path in ("/metrics", "/session", "/api/v14/entities?query=*", "/api/v14/audits")
    ]
    wanted += [("POST", path) for path in ("/api/v1/lineage", "/api/v1/lineage/batch", "/logout")]
    basic = "Basic " + base64.b64encode(f"one:{secret}".encode()).decode()
    for method, path in wanted:
        for headers in (
            {"Authorization": f"Bearer {secret}"},
            {"Authorization": basic},
            {"Cookie": f"navlin={secret}"},
        ):
            url = f"{hosts.web.url}{path.replace('{', '').replace('}', '')}"
            answer = requests.request(
                method,
                url,
                params={"token": secret, "access_token": secret},
                headers=headers,
                timeout=PATIENCE_S,
            )
            assert answer.status_code in (401, 403, 404, 405, 429), (method, path, answer.status_code)
    for name in ("one", "navlin", "chief"):
        form = {"name": name, "password": secret}
        answer = requests.post(hosts.web.url + "/login", json=form, timeout=PATIENCE_S)
        assert (answer.status_code in (401, 403, 429), answer.cookies.get_dict()) == (True, {})


def test_attack_2_a_revoked_token_is_refused_on_a_kept_connection(hosts: Hosts) -> None:
    secret, tokens = hosts.token("revoked"), HostTokens(hosts.home / "state")
    data, headers = b"x" * 60_000, {"Authorization": f"Bearer {secret}"}
    headers |= {"X-Navlin-Mark": EMPTY, "X-Navlin-Sum": digest(data)}
    with requests.Session() as session:
        begun = threading.Event()

        def slowly() -> Iterator[bytes]:
            yield data[:100]
            begun.set()
            (ident,) = [name for name, each in tokens.read().items() if each.host == "revoked"]
            tokens.revoke(ident)
            yield data[100:]

        path = f"{hosts.web.url}{FILES}/1-00000001?source=IMPALA-1&offset=0"
        first = session.put(path, data=slowly(), headers=headers, timeout=PATIENCE_S)
        assert begun.is_set()
        assert first.status_code in (200, 401)
        assert session.get(hosts.web.url + FILES, headers=headers, timeout=PATIENCE_S).status_code == 401


@pytest.mark.parametrize(
    "name", ["..", ".", ".ids", "a/b", "edge.", "EDGE", "x" * 300, "a\nb", "", " ", "-x", "%2e%2e"]
)
def test_attack_3_no_name_of_a_host_leads_to_another_host(hosts: Hosts, name: str) -> None:
    hosts.token("edge")
    assert hosts.append("1-00000001", 0, b"of edge", host="edge").status_code in (200, 409)
    try:
        hosts.token(name, "IMPALA-1")
    except AccessError:
        return
    assert hosts.append("1-00000001", 0, b"of another", host=name).status_code == 200
    (file,) = hosts.send("GET", FILES, name).json()["files"]
    assert (file["size"], hosts.send("GET", FILES, "edge").json()["files"][0]["size"]) == (10, 7)
    assert {each.name for each in (hosts.root / "hosts").iterdir()} >= {name, "edge"}
    assert {each.name for each in hosts.root.iterdir()} <= {"hosts", "lines"}


def test_attack_4_names_in_turns_overwrite_nothing(hosts: Hosts) -> None:
    one, two = "a1-00000001", "a2-00000002"
    assert hosts.append(one, 0, b"first", host="turns").status_code == 200
    assert hosts.append(two, 0, b"second", host="turns").status_code == 200
    names = ["log", f"log~{one}", f"log~{two}", f"log~{one}~{two}", "log.1", f"n_{one}"]
    for number in range(200):
        file_id = (one, two)[number % 2]
        assert hosts.rename(file_id, names[number * 7 % len(names)], "turns") == 200
        assert sorted(hosts.kept("turns").values()) in ([b"first"], [b"first", b"second"])
    assert sorted(hosts.kept("turns").values()) == [b"first", b"second"]


def test_attack_5_folders_and_files_of_one_name_are_both_kept(hosts: Hosts) -> None:
    names = [
        "a",
        "a/b",
        "c/d",
        "c",
        "A",
        "a/B",
        "Å",
        "A\u030a",
        "a~a1-00000001",
        "a/b~a1-00000001",
        "d/",
        "/d",
        "n_x",
        "e/e/e",
    ]
    contents = [f"content {number}".encode() for number in range(len(names))]
    for again in range(2):
        for number, name in enumerate(names):
            file_id = f"{number + 16:x}-0000000a"
            if not again:
                assert hosts.append(file_id, 0, contents[number], host="folders").status_code == 200
            assert hosts.rename(file_id, name, "folders") in (200, 400, 409)
    assert sorted(hosts.kept("folders").values()) == sorted(contents)


def test_attack_6_of_many_ranges_for_one_offset_one_is_taken(hosts: Hosts) -> None:
    with ThreadPoolExecutor(24) as pool:
        data = [f"{number:02d}".encode() * 40_000 for number in range(24)]
        sent = [pool.submit(hosts.append, "b1-00000001", 0, each, host="race") for each in data]
        statuses = [each.result().status_code for each in sent]
    assert set(statuses) <= {200, 409, 429, 503}
    assert statuses.count(200) == 1
    assert hosts.rename("b1-00000001", "log", "race") == 200
    assert hosts.kept("race") == {"log": data[statuses.index(200)]}


@pytest.mark.parametrize(
    "head",
    [
        b"PUT /navlin/api/forward/v1/files/c1-0000000a?source=IMPALA-1&offset=0 HTTP/1.1",
        b"POST /navlin/api/navlin/v1/lines/IMPALA-1 HTTP/1.1",
        b"POST /navlin/api/forward/v1/alive HTTP/1.1",
    ],
    ids=["7 ranges", "8 lines", "8 heartbeats"],
)
def test_attack_7_and_8_slow_senders_keep_no_other_host_out(hosts: Hosts, head: bytes) -> None:
    size = b"4000" if b"alive" in head else b"4000000"
    head += b"\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\nContent-Length: " + size + b"\r\n\r\n"
    head = head.replace(b"TOKEN", hosts.token("slow").encode())
    wires = list[socket.socket]()
    try:
        for _ in range(120):
            with suppress(OSError):
                wires.append(connection(hosts))
                wires[-1].sendall(head)
        for _ in range(10):
            for wire in wires:
                with suppress(OSError):
                    wire.sendall(b"x")
            other_host_is_served(hosts)
            time.sleep(0.5)
    finally:
        for wire in wires:
            wire.close()


def test_attack_9_the_number_of_files_is_bounded(hosts: Hosts) -> None:
    ids, views = (hosts.root / "hosts" / "crowd" / part for part in (".ids/IMPALA-1", "IMPALA-1"))
    ids.mkdir(parents=True)
    for number in range(19_998):
        (views / f"eventlog_v2_{number}").mkdir(parents=True)
        file = ids / f"{number + 1:x}-00000001"
        file.write_bytes(b"x")
        os.link(file, views / f"eventlog_v2_{number}" / "events_1")
    statuses = [
        hosts.append(f"fffff{number}-00000001", 0, b"x", host="crowd").status_code for number in range(4)
    ]
    assert statuses == [200, 200, 507, 507]
    assert hosts.rename("fffff3-00000001", "eventlog_v2_x/events_1", "crowd") == 404
    assert not (views / "eventlog_v2_x").exists()
    begun_s = time.monotonic()
    listed = hosts.send("GET", FILES, "crowd").json()["files"]
    assert (len(listed), time.monotonic() - begun_s < OTHER_WITHIN_S) == (20_000, True)


def test_attack_10_refusals_do_not_fill_the_log(hosts: Hosts) -> None:
    hosts.append("d1-00000001", 0, b"x", host="noise")
    before = len(hosts.web.log)
    secret = hosts.token("noise")
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {secret}"
        for number in range(1_000):
            url = hosts.web.url + FILES
            session.put(f"{url}/d1-00000001?source=IMPALA-1&offset=9", data=b"x", timeout=PATIENCE_S)
            session.put(f"{url}/d1-0000000{number % 10}/name?source=HIVE-1&name=x", timeout=PATIENCE_S)
            session.post(hosts.web.url + ALIVE, data=b"[]", timeout=PATIENCE_S)
    assert len(hosts.web.log) - before < 200


def test_attack_11_heartbeats_with_odd_values_harm_nobody(hosts: Hosts) -> None:
    odd: list[Any] = [10**300, -1, 1.5, True, None, "7", [], {}, 1 << 63]
    for value in odd:
        body = json.dumps(dict.fromkeys(("behind_bytes", "behind_files", "unreadable", "problem"), value))
        assert hosts.send("POST", ALIVE, "odd", data=body).status_code in (200, 400)
    for raw_body in (
        b"NaN",
        b'{"behind_bytes": NaN}',
        b'{"problem": "\\ud800"}',
        b"[" * 3_000,
        b"\xff",
        b"7",
    ):
        assert hosts.send("POST", ALIVE, "odd", data=raw_body).status_code in (200, 400)
    assert hosts.send("POST", ALIVE, "odd", json={"problem": ESCAPE * 9, "unreadable": 0}).status_code == 200
    command = [sys.executable, "-m", "navlin", "--config", str(hosts.web.file), "status"]
    shown = subprocess.run(command, capture_output=True, check=False)
    for character in ("\x1b", "\x07", "\u202e", "\r"):
        assert character.encode() not in shown.stdout + shown.stderr
    from navlin.forward.contacts import contacts_in

    (contact,) = [each for each in contacts_in(hosts.root) if each.host == "odd"]
    assert contact.problem.isprintable()
    assert 0 <= contact.behind_bytes < 1 << 63


def test_attack_12_what_is_removed_unread_to_make_room_is_told(hosts: Hosts) -> None:
    ids, views = (hosts.root / "hosts" / "full" / part for part in (".ids/IMPALA-1", "IMPALA-1"))
    ids.mkdir(parents=True)
    views.mkdir()
    for number, size in ((1, 1 << 20), (2, 20 << 30)):
        file = ids / f"{number}-00000001"
        file.touch()
        os.truncate(file, size)  # a hole, which takes no room
        os.link(file, views / f"log-{number}")
    for number in (1, 2):
        path = f"{FILES}/{number}-00000001/gone"
        assert hosts.send("PUT", path, "full", params={"source": "IMPALA-1"}).status_code == 200
    before = hosts.kept("other")
    assert hosts.append("3-00000001", 0, b"new", host="full").status_code == 200
    assert hosts.kept("other") == before
    from navlin.forward.contacts import contacts_in

    (contact,) = [each for each in contacts_in(hosts.root) if each.host == "full"]
    assert contact.lost_files == 2
    assert "removed unread" in contact.concern(contact.last_ms)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(b"") * 200_000),
        ("gzip", b"\x1f\x8b\x08\x04\0\0\0\0\0\x03\xff\xff" + b"x" * 65_535 + gzip.compress(b"x")[10:-8]),
        ("gzip", gzip.compress(b"x" * 9_000)[:-9]),
        ("deflate", b"x"),
        ("gzip, gzip", gzip.compress(gzip.compress(b"x"))),
        ("br", b"x"),
    ],
    # A packed body has the time of its making, and the processes of a run must agree on the names of tests.
    ids=["many empty members", "an endless name", "cut", "deflate", "packed twice", "br"],
)
def test_attack_13_odd_encodings_store_nothing(hosts: Hosts, encoding: str, body: bytes) -> None:
    named = {"Content-Encoding": encoding}
    answer = hosts.append("e1-00000001", 0, body, host="packed", **named)  # type: ignore[arg-type]  # headers alone
    assert answer.status_code in (400, 413, 415), answer.text
    assert hosts.send("GET", FILES, "packed").json()["files"] == []


@pytest.mark.parametrize(
    "lengths",
    [
        b"Content-Length: 1\r\nTransfer-Encoding: chunked",
        b"Content-Length: 1\r\nContent-Length: 2",
        b"Content-Length: -1",
        b"Transfer-Encoding: gzip, chunked",
        b"Content-Length: 99999999999999999999",
    ],
)
def test_attack_13_contradictory_lengths_store_nothing(hosts: Hosts, lengths: bytes) -> None:
    path = b"PUT /navlin/api/forward/v1/files/e1-00000001?source=IMPALA-1&offset=0 HTTP/1.1\r\nHost: x\r\n"
    marks = f"X-Navlin-Mark: {EMPTY}\r\nX-Navlin-Sum: {digest(b'x')}\r\n".encode()
    first = raw(
        hosts, path + marks + b"Authorization: Bearer TOKEN\r\n" + lengths, b"1\r\nx\r\n0\r\n\r\n", "packed"
    )
    assert first.split(b" ")[1:2] in ([], [b"400"], [b"411"], [b"413"], [b"501"]), first
    assert hosts.send("GET", FILES, "packed").json()["files"] == []


@pytest.mark.parametrize(
    ("query", "body"),
    [
        ("?field=", b'{"a": 1}\n'),
        ("?field=a&field=b", b'{"a": "x"}\n'),
        ("?field=" + "a" * 10_000, b"{}\n"),
        ("?field=a", b'{"a": "\\ud800"}\n'),
        ("?field=a", b'[{"a": "\\ud800"}]'),
        ("?field=a", b'{"a": ' + b"1" * 1_000_000 + b"}\n"),
        ("?field=a", b'[{"a": ' + b"1" * 1_000_000 + b"}]"),
        ("?field=a", b'{"a": "x", "a": "y"}\n'),
        ("?field=a", b"[" * 100_000 + b"]" * 100_000),
        ("?field=a", b'{"a": ' * 100_000),
        ("?field=%00", b'{"\\u0000": "x"}\n'),
        ("?field=%ff", b"{}\n"),
    ],
)
def test_attack_14_odd_envelopes_are_refused_or_kept(hosts: Hosts, query: str, body: bytes) -> None:
    hosts.send("POST", LINES + "IMPALA-1", "wrapped", data=b"before")
    before = hosts.lines()
    answer = hosts.send("POST", f"{LINES}IMPALA-1{query}", "wrapped", data=body)
    assert answer.status_code in (200, 400, 413), answer.text
    more = len(hosts.lines()) - len(before)
    assert (more > 0) == (answer.status_code == 200)


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (b"a\rb\n", 1),
        ("a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\n".encode(), 1),
        (b"a\0b\nc\n", 2),
        (b"y" * ((16 << 20) - 1) + b"\n", 1),
        (b"a\n\n\nb\n", 4),
    ],
)
def test_attack_15_lines_end_at_newlines_alone(hosts: Hosts, body: bytes, count: int) -> None:
    hosts.send("POST", LINES + "IMPALA-1", "whole", data=b"before")
    before = hosts.lines()
    answer = hosts.send("POST", LINES + "IMPALA-1", "whole", data=body)
    assert (answer.status_code, answer.json()["lines"]) == (200, count)
    assert len(hosts.lines()) == len(before) + len(body)
    assert body in hosts.lines()


def test_attack_15_newlines_alone_are_cheap(hosts: Hosts) -> None:
    assert hosts.send("POST", LINES + "IMPALA-1", "whole", data=b"\n" * (4 << 20)).status_code == 200


@pytest.mark.parametrize(
    "source",
    [
        "..",
        "%2e%2e%2f",
        "IMPALA-1%00",
        "impala-1",
        "IMPALA-1%20",
        "IMPALA-1/../SPARK-1",
        "%ff",
        "x" * 4_000,
        "",
        "IMPALA-1,SPARK-1",
    ],
)
def test_attack_16_no_other_source_is_reached(hosts: Hosts, source: str) -> None:
    hosts.token("narrow", "IMPALA-1")
    before = everything_below(hosts)
    answers = [
        hosts.send("POST", LINES + source, "narrow", data=b"x").status_code,
        hosts.append("1-00000001", 0, b"x", host="narrow", source=source).status_code,
        hosts.rename("1-00000001", "x", "narrow", source),
        hosts.send("PUT", f"{FILES}/1-00000001/gone?source={source}", "narrow").status_code,
    ]
    assert set(answers) <= {400, 401, 403, 404, 405, 414}
    assert {each for each in everything_below(hosts) - before if not each.endswith(".contact")} <= {
        "hosts/narrow"
    }
