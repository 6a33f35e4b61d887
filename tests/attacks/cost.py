# ruff: noqa: E501 (findings are printed in long lines; no SQL here reaches a database)
"""Attacks of kind 1: cost incurred before a limit applies."""

from __future__ import annotations

import contextlib
import gzip
import os
import resource
import socket
import ssl
import subprocess
import time
from urllib.parse import quote

from tests.attacks.house import MIB, House, Room, basic, house, together
from tests.attacks.records import impala_record
from tests.attacks.servers import certificate
from tests.attacks.watching import Watch, rss_mib


def _head(own: House, path: str, user: str | None, *lines: str, method: str = "POST") -> bytes:
    out = [
        f"{method} {path} HTTP/1.1",
        f"Host: 127.0.0.1:{own.port}",
        "Content-Type: application/json",
        *lines,
    ]
    if user:
        out.append("Authorization: " + basic(user, own.people[user]))
    return ("\r\n".join(out) + "\r\n\r\n").encode()


def _status(connection: socket.socket) -> int:
    try:
        first = connection.recv(4096)
        return int(first.split()[1]) if first.startswith(b"HTTP/1.") else 0
    except (OSError, IndexError, ValueError):
        return 0


def slow_bodies(room: Room) -> None:
    """200 connections of one viewer each announce a body of 16 MiB and send a byte a second."""
    with house(room, people=("ann",)) as own:
        with Watch(own):
            crowd = []
            for i in range(200):
                connection = socket.create_connection(("127.0.0.1", own.port), 10)
                path = ("/login", "/api/navlin/v1/saved", "/api/v1/lineage")[i % 3]
                with contextlib.suppress(OSError):  # it may be closed at once
                    connection.sendall(_head(own, path, "ann", f"Content-Length: {16 * MIB}"))
                crowd.append(connection)
            ended: set[int] = set()
            until = time.monotonic() + 120
            while time.monotonic() < until and len(ended) < len(crowd):
                for i, connection in enumerate(crowd):
                    if i in ended:
                        continue
                    try:
                        connection.setblocking(False)
                        connection.sendall(b"[")
                        if connection.recv(4096) == b"":
                            ended.add(i)
                    except BlockingIOError:
                        continue
                    except OSError:
                        ended.add(i)
                time.sleep(1)
            room.see(
                len(ended) == len(crowd),
                f"{len(ended)} of {len(crowd)} slow bodies were ended within two minutes",
            )
        for connection in crowd:
            connection.close()
        own.closing()


def chunk_extensions(room: Room) -> None:
    """A chunked body with chunks of one byte, each with an extension of 8 KiB: the wire carries far more than the body."""
    with house(room, people=("agent",)) as own:

        def pour(_: int) -> tuple[int, int]:
            sent = 0
            with socket.create_connection(("127.0.0.1", own.port), 10) as connection:
                connection.settimeout(20)
                try:
                    connection.sendall(_head(own, "/api/v1/lineage", "agent", "Transfer-Encoding: chunked"))
                    while sent < 256 * MIB:
                        connection.sendall(b"1;x=" + b"y" * 8192 + b"\r\n[\r\n")
                        sent += 8200
                except OSError:
                    pass
                return sent, _status(connection)

        with Watch(own):
            out = together(4, pour, 150)
        most = max((o[0] for o in out if isinstance(o, tuple)), default=256 * MIB)
        room.see(
            None not in out and most <= 64 * MIB,
            f"at most {most / MIB:.0f} MiB of wire were taken for one body of 16 MiB",
        )
        long = b"".join(b"10000\r\n" + b"[" * 65536 + b"\r\n" for _ in range(17 * 16)) + b"0\r\n\r\n"
        with socket.create_connection(("127.0.0.1", own.port), 30) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(
                    _head(own, "/api/v1/lineage", "agent", "Transfer-Encoding: chunked") + long
                )
            status = _status(connection)
        room.see(status in (413, 400, 0), f"17 MiB in chunks, without a length: {status}")
        own.closing()


def gzip_members(room: Room) -> None:
    """16 MiB of gzip members that unpack to nothing; a body that unpacks to one byte more than 64 MiB; gzip in gzip."""
    with house(room, people=("agent",)) as own:
        empty = gzip.compress(b"", mtime=0)
        bodies = {
            "800,000 empty members": (empty * (16 * MIB // len(empty) - 1), {400, 413}),
            "64 MiB and a byte": (gzip.compress(b"[" + b" " * (64 * MIB - 1) + b"]"), {413, 400}),
            "gzip in gzip": (gzip.compress(gzip.compress(b" " * (64 * MIB))), {400, 413, 415}),
            "cut off": (gzip.compress(b"[" + b" " * MIB + b"]")[:-9], {400}),
            "rubbish behind the end": (gzip.compress(b"[]") + b"\0" * MIB + b"rubbish", {400, 201, 200}),
        }
        with Watch(own):
            for what, (body, wanted) in bodies.items():
                answers = together(4, lambda _, b=body: own.send(b, Content_Encoding="gzip"))
                statuses = sorted({a.status for a in answers if a is not None})
                slowest_s = max((a.seconds for a in answers if a is not None), default=999)
                room.see(set(statuses) <= wanted | {429}, f"{what}: {statuses} (wanted {sorted(wanted)})")
                room.see(slowest_s < 20, f"{what}: answered in {slowest_s:.1f} s")
        room.see(
            own.send(b"[]", Content_Encoding="br").status in (400, 415),
            "a packing that is not known is refused",
        )
        own.closing()


def json_at_the_log_in(room: Room) -> None:
    """The login, which is open to all, gets JSON of any depth, number and kind, and forms of 500,000 fields."""
    with house(room) as own:
        bodies: dict[str, bytes] = {
            "depth": b'{"name":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
            "objects in depth": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
            "a number of a million digits": b'{"name":' + b"9" * 1_000_000 + b',"password":"x"}',
            "an exponent": b'{"name":1e999999999,"password":-1e-999999999}',
            "a name of 4 MB": b'{"name":"' + b"a" * 4_000_000 + b'","password":"x"}',
            "a password of 4 MB": b'{"name":"admin","password":"' + b"a" * 4_000_000 + b'"}',
            "half a surrogate": b'{"name":"\\ud800","password":"\\udfff"}',
            "a zero byte": b'{"name":"admin\\u0000","password":"\\u0000"}',
            "no object": b"[1,2,3]",
            "other kinds": b'{"name":{"a":1},"password":[true]}',
            "one key often": b'{"name":"a",' * 1
            + b",".join(b'"password":"x"' for _ in range(100_000))
            + b"}",
            "not UTF-8": b'{"name":"\xff\xfe","password":"x"}',
        }
        form = b"&".join(b"a%d=%%41" % i for i in range(500_000))
        with Watch(own):
            for what, body in bodies.items():
                answers = together(6, lambda _, b=body: own.ask("/login", b, user=None))
                statuses = sorted({a.status for a in answers if a is not None})
                slowest_s = max((a.seconds for a in answers if a is not None), default=999)
                room.see(all(s in (0, 400, 401, 413, 422, 429) for s in statuses), f"{what}: {statuses}")
                room.see(slowest_s < 10, f"{what}: answered in {slowest_s:.1f} s")
            kind = "application/x-www-form-urlencoded"
            answers = together(6, lambda _: own.ask("/login", form, user=None, Content_Type=kind))
            statuses = sorted({a.status for a in answers if a is not None})
            room.see(
                all(s in (0, 400, 401, 413, 429) for s in statuses), f"a form of 500,000 fields: {statuses}"
            )
            parts = (
                b"".join(
                    b'--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n1\r\n' for _ in range(100_000)
                )
                + b"--b--"
            )
            answer = own.ask("/login", parts, user=None, Content_Type="multipart/form-data; boundary=b")
            room.see(answer.status in (0, 400, 401, 413, 415), f"a form in 100,000 parts: {answer.status}")
        room.see("Traceback" not in own.log(), "no traceback in the log")
        own.closing()


def filters_multiplied(room: Room) -> None:
    """The bound of one query, multiplied by many filters, facets and fields of one request."""
    with house(room, people=("ann",)) as own:
        wild = " OR ".join(f"*{i}x*" for i in range(199))
        address = "/api/navlin/v1/search?query=*&limit=1"
        most = "&filter=" + quote(" OR ".join(f"*{i}*" for i in range(60)))
        questions = {
            "50 filters of 60 wildcards": address + most * 50,
            "10 filters of 199 wildcards": address + ("&filter=" + quote(wild)) * 10,
            "2,000 filters": address + "&filter=a" * 2000,
            "2,000 facets": address + "&facet=type" * 2000,
            "2,000 fields": address + "&csv=true" + "&field=name" * 2000,
            "500 groups": "/api/navlin/v1/count?query=*&by=" + "%2C".join(["type"] * 500),
            "slop of 2^31": address.replace("query=*", "query=" + quote('"a b c d e f"~2147483647')),
            "a boost of 10^308": address.replace("query=*", "query=" + quote("a^1e308 OR b^-1 OR c^NaN")),
            "fuzzy by 2^31": address.replace("query=*", "query=" + quote("abcdef~2147483647 OR x~0.0000001")),
            "12,000 terms": address.replace(
                "query=*", "query=" + quote("{!terms f=identity}" + ",".join(["a"] * 12_000))
            ),
        }
        with Watch(own):
            for what, question in questions.items():
                answer = own.ask(question, user="ann", limit_s=100)
                good = answer.status in (200, 400, 413, 414, 429, 431, 503) or (
                    answer.status == 0 and len(question) > 60_000
                )
                room.see(good, f"{what}: {answer.status} {answer.body[:100]!r}")
                room.see(answer.seconds < 65, f"{what}: answered in {answer.seconds:.1f} s")
        own.closing()


def ranges_without_number(room: Room) -> None:
    """`count` with 10^18 ranges, on three levels, with a million values each."""
    with house(room, people=("ann",)) as own:
        solr = own.pid_of("solr")
        own.say(*(impala_at(i) for i in range(200)))
        own.wait_total("type:OPERATION", 100, 60)
        count = "/api/navlin/v1/count?query=*"
        questions = [
            "&by=size:1", "&by=asOf:1", "&by=size:0.0000000001", "&by=size:-1", "&by=size:0", "&by=size:NaN", "&by=size:1e-300",
            "&by=started:day,ended:day,created:day&values=1000000", "&by=identity,identity,identity&values=1000000",
            "&by=originalName,parentPath,identity&values=2147483647", "&by=created:hour", "&by=created:millisecond",
            "&by=type&values=-1", "&by=type&values=99999999999999999999",
        ]  # fmt: skip
        with Watch(own):
            for question in questions:
                answer = own.ask(count + question.replace(",", "%2C"), user="ann", limit_s=100)
                room.see(
                    answer.status in (200, 400, 429, 503), f"{question}: {answer.status} {answer.body[:80]!r}"
                )
                room.see(answer.seconds < 65, f"{question}: answered in {answer.seconds:.1f} s")
        room.see(own.pid_of("solr") == solr, "Solr is the process that it was")
        own.closing()


def impala_at(i: int, days_ago: float = 0) -> dict[str, object]:
    at = int(time.time() - days_ago * 86400)
    return impala_record(f"many.t{i}", "many.origin", timestamp=at, endTime=at)


def deep_pages(room: Room) -> None:
    """Offsets and limits at the bounds of numbers: Solr allocates a queue as long as their sum."""
    with house(room, people=("ann",)) as own:
        solr = own.pid_of("solr")
        pages = [
            "offset=2147483646&limit=1", "offset=2000000000&limit=100000", "limit=2147483647", "limit=1000000000&sort=originalName",
            "offset=100000000&sort=originalName", "offset=-1", "limit=-1", "limit=0", "offset=9223372036854775808",
            "limit=1e9", "offset=%D9%A1%D9%A2",
        ]  # fmt: skip
        with Watch(own):
            for page in pages:
                for address in ("search?query=*", "rejects?", "runs?", "edits?entity=shop.origin"):
                    answer = own.ask(f"/api/navlin/v1/{address}&{page}", user="ann")
                    good = answer.status in (200, 400, 404, 422, 429)
                    room.see(good, f"{address}&{page}: {answer.status} {answer.body[:60]!r}")
            for query in (
                "limit=2147483647&offset=2147483647",
                "limit=1000000000",
                "offset=-5",
                "cursorMark=%00&limit=99999999",
            ):
                answer = own.ask(f"/api/v14/entities?query=*&{query}", user="ann")
                room.see(answer.status in (200, 400, 422, 429), f"/api/v14/entities {query}: {answer.status}")
            posted = {"query": "*", "limit": 2**31 - 1, "offset": 2**31 - 1}
            for path in (
                "/api/v14/entities/paging",
                "/api/v14/relations/paging",
                "/api/v14/interactive/entities",
            ):
                answer = own.ask(path, posted, user="ann")
                room.see(
                    answer.status in (200, 400, 413, 422, 429),
                    f"{path}: {answer.status} {answer.body[:60]!r}",
                )
        room.see(own.pid_of("solr") == solr, "Solr is the process that it was")
        own.closing()


def guesses_by_several_doors(room: Room) -> None:
    """A stranger guesses the password of one user by Basic, the login and Navigator's API, with forged addresses and spellings."""
    with house(room, people=("ann",)) as own:
        token = "Bearer " + own.token("ann")
        spellings = ["ann", "ann ", " ann", "Ann", "ANN", "ann\u200b", "\uff41nn", "ann\t"]

        def guess(i: int) -> int:
            forged = dict.fromkeys(("X-Forwarded-For", "X-Real-IP", "Forwarded", "Client-IP"), f"10.0.{i}.1")
            if i % 3 == 0:
                body = {"name": "ann", "password": f"wrong{i}"}
                return own.ask("/login", body, user=None, headers=forged).status
            path = ("/api/navlin/v1/status", "/api/v14/entities?query=*")[i % 2]
            return own.ask(path, user=None, Authorization=basic("ann", f"wrong{i}"), headers=forged).status

        with Watch(own):
            began = time.monotonic()
            statuses = together(120, guess, 60)
            took_s = time.monotonic() - began
            looked = sum(s == 401 for s in statuses)
            room.see(
                looked <= 10,
                f"of 120 guesses in {took_s:.0f} s {looked} were looked at (401), others: {sorted(set(map(str, statuses)))}",
            )
            answer = own.ask("/api/navlin/v1/status", user=None, Authorization=token)
            room.see(
                answer.status == 200 and answer.seconds < 2,
                f"ann's token: {answer.status} in {answer.seconds:.2f} s",
            )
            for spelling in spellings[1:]:
                name = spelling.encode().decode("latin-1") if spelling.isascii() else spelling
                answer = own.ask("/login", {"name": name, "password": own.people["ann"]}, user=None)
                room.see(
                    answer.status in (400, 401, 429),
                    f"{spelling!r} with ann's password is nobody: {answer.status}",
                )
        own.closing()


def half_a_hello(room: Room) -> None:
    """400 connections to a TLS port send half of a ClientHello, or all of it and nothing more; plain HTTP and TLS 1.1 come to that port."""
    directory = certificate()
    web = f'certificate_file = "{directory}/c.pem"\nkey_file = "{directory}/k.pem"'
    hello = ssl.MemoryBIO()
    context = ssl._create_unverified_context()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost").do_handshake()
    whole = hello.read()
    with house(room, web=web) as own:
        pid = own.web_pid()
        before = len(os.listdir(f"/proc/{pid}/fd"))
        crowd = []
        for i in range(400):
            connection = socket.create_connection(("127.0.0.1", own.port), 10)
            with contextlib.suppress(ConnectionError):  # it may be closed at once
                connection.sendall(whole if i % 2 else whole[: len(whole) // 2])
            crowd.append(connection)
        answer = own.ask("/healthz", user=None)
        room.see(
            answer.status == 200 and answer.seconds < 1,
            f"/healthz by TLS: {answer.status} in {answer.seconds:.2f} s",
        )
        time.sleep(120)
        held = len(os.listdir(f"/proc/{pid}/fd")) - before
        room.see(held < 40, f"after two minutes {held} of 400 half greetings still hold a descriptor")
        with socket.create_connection(("127.0.0.1", own.port), 10) as connection:
            answered = b""
            with contextlib.suppress(ConnectionError):
                connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                answered = connection.recv(200)
            room.see(b"200" not in answered, "a request without TLS gets no answer of the API")
        old = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{own.port}", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0"],
            input=b"", capture_output=True, timeout=30, check=False,
        )  # fmt: skip
        room.see(old.returncode != 0 or b"Cipher is (NONE)" in old.stdout, "TLS 1.1 is refused")
        room.see(rss_mib(pid) < 300, f"the web process has {rss_mib(pid):.0f} MiB")
        for connection in crowd:
            connection.close()
        own.closing()


def descriptors_run_out(room: Room) -> None:
    """serve and its web process may open 256 files each; a stranger holds 600 connections and 300 logs are written at once."""
    with house(room) as own:
        assert own.process is not None
        for pid in (own.process.pid, own.web_pid()):
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (256, 256))
        before = len(own.log().splitlines())
        crowd = []
        for _ in range(600):
            try:
                crowd.append(socket.create_connection(("127.0.0.1", own.port), 1))
            except OSError:
                break
        names = [f"impala_lineage_log_1.0-{i + 10}" for i in range(300)]
        for i, name in enumerate(names):
            own.say(impala_at(i), file=name)
        time.sleep(60)
        lines = len(own.log().splitlines()) - before
        room.see(lines < 200, f"the log grew by {lines} lines in a minute at the limit of descriptors")
        room.see(own.alive(), "serve is alive at the limit")
        for connection in crowd:
            connection.close()
        found, took_s = own.wait_total('originalName:t* AND parentPath:"/many" AND type:TABLE', 300, 120)
        room.see(
            found >= 300,
            f"{found} of 300 tables of 300 logs are found {took_s:.0f} s after the strangers left",
        )
        room.see(own.ask("/healthz", user=None).status == 200, "/healthz answers afterwards")
        own.closing()


ATTACKS = dict(
    enumerate(
        (
            slow_bodies, chunk_extensions, gzip_members, json_at_the_log_in, filters_multiplied, ranges_without_number,
            deep_pages, guesses_by_several_doors, half_a_hello, descriptors_run_out,
        ),
        1,
    )
)  # fmt: skip
