# ruff: noqa: E501, S608 (findings are printed in long lines; no SQL here reaches a database)
"""Attacks of kind 3, continued: harmful archives, names, nesting, and display of records."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import socket
import struct
import time
import uuid
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.attacks.house import MIB, Room, house
from tests.attacks.records import event, impala_record, spark_log
from tests.attacks.servers import http_peer, json_answer
from tests.attacks.watching import Watch, rss_mib

ESC = "\x1b]8;;http://evil\x07x\x1b[2J\x9b31m\x85\u202e\u2066\u061c\u200f\U000e0041\ufeff"


def packed_event_logs(room: Room) -> None:
    """Event logs of Spark in zstd, LZ4 and Snappy that unpack to 100 GB, claim 2 GiB blocks, or never end a line."""
    with house(room) as own:
        # zstd (RFC 8878 3.1.1): magic, descriptor 0, window 128 KiB; RLE blocks of 128 KiB in four bytes each

        def block(last: int) -> bytes:
            return struct.pack("<I", (131072 << 3) | (1 << 1) | last)[:3] + b" "

        bomb = struct.pack("<I", 0xFD2FB528) + b"\x00\x38" + block(0) * 800_000 + block(1)
        claims = struct.pack("<I", 0xFD2FB528) + b"\xe0" + struct.pack("<Q", 2**62) + block(0)
        skipped = struct.pack("<II", 0x184D2A50, 0xFFFFFFF0) + b"x"
        # LZ4BlockOutputStream of lz4-java: magic, token, packed and unpacked length, checksum
        lz4 = b"LZ4Block" + struct.pack("<BIII", 0x20 | 0xF, 4, 2**31 - 1, 0) + b"\0\0\0\0"
        zero = (b"LZ4Block" + struct.pack("<BIII", 0x15, 0, 0, 0)) * 500_000
        # snappy-java: magic, versions, then blocks with their lengths
        snappy = (
            b"\x82SNAPPY\x00"
            + struct.pack(">II", 1, 1)
            + struct.pack(">I", 0x7FFFFFFF)
            + b"\xff\xff\xff\xff\x07"
        )
        bad = {
            "1.zstd": bomb,
            "2.zstd": claims,
            "3.zstd": skipped,
            "4.lz4": lz4,
            "5.lz4": zero,
            "6.snappy": snappy,
            "7.lzf": b"ZV\x01\xff\xff\xff\xff",
            "8.zstd": b"",
            "9.lz4": b"LZ4",
        }
        with Watch(own):
            for name, data in bad.items():
                (own.spark / f"application_170000000000{name.replace('.', '_0001.', 1)}").write_bytes(data)
            with (own.spark / "application_1700000000010_0001").open("wb") as file:
                file.write(b'{"Event":"' + b"x" * (300 * MIB))
            (own.spark / "application_1700000000011_0001").write_bytes(
                b"\n" * (8 * MIB) + b"{}\n" * (2 * MIB)
            )
            (own.spark / "application_1799999999999_0001").write_bytes(spark_log("last", "file:/data/behind"))
            found, took_s = own.wait_total('"/data/behind"', 1, 180)
            room.see(found > 0, f"the good log beside them is found after {took_s:.0f} s")
            most = max(rss_mib(pid, "VmHWM") for pid in own.pids())
        time.sleep(60)
        room.see(most < 1500, f"no process took more than {most:.0f} MiB")
        named = json.dumps(own.rejects("SPARK-1"))
        for name in ("1_0001.zstd", "2_0001.zstd", "4_0001.lz4", "6_0001.snappy", "0010_0001"):
            room.see(name in named, f"{name} is a reject")
        own.closing()


def archives(room: Room) -> None:
    """Zip archives of event logs with names that traverse paths, a false size, overlapping entries, 65,000 entries, a password."""
    with house(room) as own:
        good = spark_log("zipped", "file:/data/zipped")

        def packed(names: list[str], data: bytes = good) -> bytes:
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
                for name in names:
                    archive.writestr(name, data)
            return out.getvalue()

        climbing = packed(
            [
                "../../../../tmp/attack-climbed",
                "/tmp/attack-absolute",
                "application_1_0001",
                "..\\..\\x",
                "a\x1b[2J\n",
                "\u202e",
            ]
        )
        lying = packed(["application_2_0001"], b" " * (200 * MIB)).replace(
            struct.pack("<I", 200 * MIB), struct.pack("<I", 10)
        )
        crowd = packed([f"application_3_{i}" for i in range(65_000)], b"")
        secret = bytearray(packed(["application_4_0001"]))
        secret[6] |= 1
        secret[secret.rindex(b"PK\x01\x02") + 8] |= 1
        # A zip archive of 60 KB: 2,000 directory entries share one body that unpacks to 60 MB.
        one = packed(["application_5_0001"], b" " * (60 * MIB))
        at = one.rindex(b"PK\x01\x02")
        end = one.rindex(b"PK\x05\x06")
        entry = one[at:end]
        overlapping = (
            one[:at]
            + entry * 2000
            + one[end : end + 8]
            + struct.pack("<HHIIH", 2000, 2000, len(entry) * 2000, at, 0)
        )
        nested = packed(["application_6_0001.zip"], packed(["application_6_0001"]))
        bad = {
            "climb": climbing,
            "lie": lying,
            "crowd": crowd,
            "secret": bytes(secret),
            "overlap": overlapping,
            "nested": nested,
            "cut": climbing[:-30],
            "empty": b"",
            "zip64": climbing[:-22] + b"PK\x05\x06" + b"\xff" * 18,
        }
        with Watch(own):
            for name, data in bad.items():
                archive = own.spark / f"application_17{name}_0001.zip"
                archive.write_bytes(data)
                # An archive without its end may be a download that goes on, unless it is old.
                os.utime(archive, (time.time() - 86_400, time.time() - 86_400))
            (own.spark / "application_1799999999999_0001.zip").write_bytes(
                packed(["application_1799999999999_0001"], spark_log("z", "file:/data/behindzip"))
            )
            found, took_s = own.wait_total('"/data/behindzip"', 1, 200)
            room.see(found > 0, f"the good archive beside them is found after {took_s:.0f} s")
        room.see(
            not Path("/tmp/attack-climbed").exists() and not Path("/tmp/attack-absolute").exists(),
            "nothing was unpacked elsewhere",
        )
        time.sleep(30)
        rejects = [json.dumps(r) for r in own.rejects("SPARK-1")]
        for name in ("lie", "secret", "overlap", "nested", "cut", "empty"):
            count = sum(f"17{name}_" in r for r in rejects)
            room.see(count == 1, f"the archive {name!r} is one reject: {count}")
        room.see(not own.source("SPARK-1").get("failing"), "SPARK-1 does not fail")
        own.closing()


def words_too_long(room: Room) -> None:
    """Names, users, ids, tags and texts of 33,000 to 3,000,000 bytes: Lucene's limit for a term is 32,766."""
    with house(room, people=("agent",)) as own:
        tag = uuid.uuid4().hex[:6]
        long = "w" * 33_000
        wide = "\U0001f40d" * 9_000
        accepted = 0  # a body beyond 16 MiB is refused as a whole
        for i, word in enumerate((long, wide, "x" * 3_000_000, "a." * 40_000, "/" * 40_000)):
            own.say(
                impala_record(f"shop.{word}", f"shop.o_{tag}"),
                impala_record(f"shop.u_{tag}_{i}", user=word),
                impala_record(f"shop.q_{tag}_{i}", queryId=word, hash=word),
            )
            own.say(impala_record(f"shop.after_{tag}_{i}"))
            one = event("COMPLETE", str(uuid.uuid4()), word, [f"d.{word}"], [f"d.{word}o"], "select " + word)
            one["outputs"][0]["namespace"] = "pg://" + word
            one["run"]["facets"] = {
                "tags": {
                    "_producer": "p",
                    "_schemaURL": "s",
                    "tags": [{"key": word, "value": word, "source": word}],
                }
            }
            sent = own.send(
                [
                    one,
                    event(
                        "COMPLETE",
                        str(uuid.uuid4()),
                        f"g{i}",
                        ["d.b"],
                        [f"d.after_{tag}_{i}"],
                        "insert into g select 1",
                    ),
                ]
            )
            accepted += sent.status == 201
            (own.spark / f"application_18{i:011d}_0001").write_bytes(
                spark_log(word[:40_000], f"file:/data/{word}", word)
            )
        (own.spark / "application_1799999999999_0001").write_bytes(
            spark_log("last", f"file:/data/after_{tag}")
        )
        found, took_s = own.wait_total(f"originalName:after_{tag}_* AND type:TABLE", 5, 90)
        room.see(found >= 5, f"{found} of 5 good lines beside them are found after {took_s:.0f} s")
        found, _ = own.wait_total(f"originalName:*after_{tag}_* AND type:DATASET", accepted, 60)
        room.see(found >= accepted >= 4, f"{found} of {accepted} accepted good events beside them are found")
        room.see(own.wait_total(f'"/data/after_{tag}"', 1, 60)[0] > 0, "the good log of Spark is found")
        for body in (
            {"tag": [long]},
            {"name": long},
            {"description": long * 20},
            {"property": [f"{long}=x"]},
            {"property": ["k=" + long]},
            {"managed": [f"a.b={long}"]},
        ):
            answer = own.ask("/api/navlin/v1/edit", {"entity": f"shop.after_{tag}_0", **body})
            room.see(
                answer.status in (200, 400, 413, 422),
                f"an edit of a {next(iter(body))} of {len(json.dumps(body))} bytes: {answer.status}",
            )
        for name in ("SPARK-1", "IMPALA-1", "OL-1"):
            room.see(
                not own.source(name).get("failing"),
                f"{name} does not fail: {own.source(name).get('error', '')[:120]!r}",
            )
        own.closing()


def its_own_parent(room: Room) -> None:
    """Runs that are their own parents, parents in a ring of 3,000, and symlinks of datasets in a ring."""
    with house(room, people=("agent",)) as own:
        tag = uuid.uuid4().hex[:6]

        def child(run: str, parent: str, n: int) -> dict[str, Any]:
            facet = {
                "_producer": "p",
                "_schemaURL": "s",
                "run": {"runId": parent},
                "job": {"namespace": "attacks", "name": f"p{n}"},
                "root": {"run": {"runId": run}, "job": {"namespace": "attacks", "name": "r"}},
            }
            one = event(
                "START",
                run,
                f"c{n}",
                [f"d.l{n}"],
                [f"d.l{n + 1}"],
                f"insert into l{n + 1} select * from l{n}",
                parent=facet,
            )
            links = [
                {"namespace": "pg://h:1", "name": f"d.l{n + 1}", "type": "TABLE"},
                {"namespace": "pg://h:1", "name": f"d.l{(n + 7) % 3000}", "type": "TABLE"},
            ]
            one["outputs"][0]["facets"] = {
                "symlinks": {"_producer": "p", "_schemaURL": "s", "identifiers": links}
            }
            return one

        ring = [str(uuid.uuid4()) for _ in range(3000)]
        alone = str(uuid.uuid4())
        with Watch(own):
            own.send([child(alone, alone, 0)])
            for kind in ("START", "COMPLETE"):
                for at in range(0, 3000, 500):
                    events = [
                        {**child(ring[n], ring[(n + 1) % 3000], n), "eventType": kind}
                        for n in range(at, at + 500)
                    ]
                    own.send(gzip.compress(json.dumps(events).encode()), Content_Encoding="gzip")
            own.send(
                [
                    event(
                        "COMPLETE",
                        str(uuid.uuid4()),
                        "g",
                        ["d.b"],
                        [f"d.after_{tag}"],
                        "insert into g select 1",
                    )
                ]
            )
            found, took_s = own.wait_total(f'originalName:"d.after_{tag}"', 1, 150)
            room.see(found > 0, f"a good event behind them is found after {took_s:.0f} s")
        for question in (
            "lineage?entity=d.l1&depth=100",
            "impact?entity=d.l1",
            "evidence?entity=d.l1",
            "show?entity=d.l1",
            "inherited?word=x",
            "export/atlas",
        ):
            answer = own.ask("/api/navlin/v1/" + question, limit_s=90)
            room.see(
                answer.status in (200, 400, 404) and answer.seconds < 60,
                f"{question}: {answer.status} in {answer.seconds:.1f} s",
            )
        own.closing()


def applications_of_yarn(room: Room) -> None:
    """A ResourceManager reports applications with ids that traverse paths, names with half surrogate pairs, and fields of any type."""
    now_ms = int(time.time() * 1000)
    base = {
        "id": "application_1700000000000_0001",
        "name": "good",
        "user": "u",
        "queue": "q",
        "state": "FINISHED",
        "finalStatus": "SUCCEEDED",
        "applicationType": "MAPREDUCE",
        "startedTime": now_ms - 9000,
        "finishedTime": now_ms - 1000,
    }
    odd: list[Any] = [
        {**base, "id": "../../../../etc/passwd"}, {**base, "id": "application_1_2\r\nX: y"}, {**base, "id": None}, {**base, "id": "application_" + "9" * 400 + "_1"},
        {**base, "id": "application_1700000000000_0002", "name": "\ud800" + ESC}, {**base, "id": "application_1700000000000_0003", "startedTime": "soon", "finishedTime": 10**40},
        {**base, "id": "application_1700000000000_0004", "state": "WAT", "finalStatus": []}, None, 7, [], {**base, "id": "application_1700000000000_0005", "user": {"a": 1}},
        {**base, "id": "application_1700000000000_0006", "startedTime": -1, "finishedTime": 0}, {**base, "id": "application_1700000000000_0006 OR *"},
    ]  # fmt: skip
    good = {**base, "id": "application_1700000000000_0009", "name": "goodlast"}
    asked: list[str] = []

    def peer(connection: socket.socket, head: bytes) -> None:
        path = head.split(b" ")[1].decode("latin-1")
        asked.append(path)
        if "/cluster/apps" in path:
            connection.sendall(json_answer({"apps": {"app": [*odd, good]}}))
        else:
            connection.sendall(
                json_answer(
                    {
                        "clusterInfo": {
                            "id": now_ms,
                            "startedOn": now_ms - 10**6,
                            "state": "STARTED",
                            "haState": "ACTIVE",
                        },
                        "historyInfo": {"startedOn": now_ms - 10**6},
                    }
                )
            )

    with http_peer(peer) as port:
        more = f'[[source]]\nname = "YARN-1"\nextractor = "yarn"\nurls = ["http://127.0.0.1:{port}"]\ninterval_s = 15\n'
        with house(room, more) as own:
            time.sleep(40)
            status = own.source("YARN-1")
            room.see(
                own.total('"application_1700000000000_0009" OR goodlast') > 0,
                f"the good application behind them is in the index; the source: {status.get('error', '')[:160]!r}",
            )
            room.see(
                len(own.rejects("YARN-1")) > 0,
                f"{len(own.rejects('YARN-1'))} rejects of {len(odd)} odd applications",
            )
            room.see(
                not [p for p in asked if ".." in p or "\r" in p or "etc/passwd" in p],
                "no id that climbs was asked for",
            )
            room.see(b"\x1b" not in own.navlin("status").stdout, "`navlin status` prints no escape")
            own.closing()


def terminal_and_pages(room: Room) -> None:
    """Names with terminal escapes, bidirectional controls or HTML, in all output and every page; addresses that traverse paths."""
    with house(room, people=("agent",)) as own:
        html = '"><script>alert(1)</script><img src=x onerror=alert(2)>\u202e\u2066\u061c\u200f'
        for text in (ESC, html):
            record = impala_record("shop.PLACE", "shop.PLACEo", user="PLACE", text="select 'PLACE'")
            own.say(json.loads(json.dumps(record).replace("PLACE", json.dumps(text)[1:-1])))
            own.send(
                [
                    event(
                        "FAIL",
                        str(uuid.uuid4()),
                        text,
                        [f"d.{text}"],
                        [f"d.{text}o"],
                        "insert into x select 1",
                        errorMessage={
                            "_producer": "p",
                            "_schemaURL": "s",
                            "message": text,
                            "programmingLanguage": "x",
                        },
                    )
                ]
            )
            (own.impala / ("impala_lineage_log_1.0-" + text.replace("/", "")[:60])).write_text(
                '{"queryText": broken ' + text + "\n"
            )
        own.say(b'{"queryText": "' + ESC.encode() + b'", broken\n')
        time.sleep(15)
        found = own.ask("/api/navlin/v1/search?query=*&limit=100").json()["results"]
        ids = [r["identity"] for r in found]
        commands = [
            ["status"],
            ["rejects"],
            ["runs"],
            ["incomplete"],
            ["unlinked"],
            ["search", "*", "--limit", "100"],
            ["unused", "--days", "1"],
            ["count", "*", "--by", "originalName,user"],
        ]
        commands += [[c, i] for c in ("show", "lineage", "impact") for i in ids[:4]]
        for command in commands:
            out = own.navlin(*command)
            text = (out.stdout + out.stderr).decode("utf-8", "replace")
            bad = sorted(
                {
                    hex(ord(c))
                    for c in text
                    if (c < " " and c not in "\n\t")
                    or "\x7f" <= c <= "\x9f"
                    or c in "\u202e\u2066\u061c\u200f"
                    or "\U000e0000" <= c <= "\U000e007f"
                }
            )
            room.see(not bad, f"`navlin {command[0]}` prints nothing that a terminal obeys {bad}")
        raw = own.log()
        room.see("\x1b" not in raw and "\x9b" not in raw, "nor does the log of serve")
        pages = [
            "/search?query=shop",
            "/rejects",
            "/runs",
            "/sources",
            "/incomplete",
            "/unlinked",
            "/unused?days=1",
            "/search?query=" + quote(html),
        ]
        pages += [
            f"/{p}?{k}={i}"
            for p, k in (
                ("details", "entity"),
                ("lineage", "entity"),
                ("impact", "entity"),
                ("evidence", "entity"),
            )
            for i in ids[:6]
        ]
        for page in pages:
            answer = own.ask(page)
            # The field of a form has what a person typed, unchanged, and turns nothing around it.
            outside_fields = re.sub(rb'<input [^>]*value="[^"]*"', b"", answer.body)
            bad_page = (
                b"<script>alert" in answer.body
                or b"<img src=x" in answer.body
                or any(c.encode() in outside_fields for c in "\u202e\u2066\u061c\u200f")
            )
            room.see(
                answer.status < 500 and not bad_page, f"{page[:50]}: {answer.status}, every name escaped"
            )
            room.see(
                "content-security-policy" in answer.headers and "content-encoding" not in answer.headers,
                f"{page[:30]}: a policy, and not packed",
            )
        climbs = ["/files/x/static/..%2f..%2f..%2faccess.json", "/api/navlin/v1/requests/..%2f..%2faccess.json", "/api/navlin/v1/requests/%00", "/api/navlin/v1/requests/%ff%fe", "/%2e%2e/%2e%2e/etc/passwd", "/api/navlin/v1/users/..%2fadmin/logout", "//evil/..", "/api/v14/entities/%ed%a0%80", "/login?next=//evil.example", "/login?next=javascript:alert(1)", "/?view=detailsView&id=%0d%0aSet-Cookie:a=b", "/files/%5c..%5c..%5caccess.json"]  # fmt: skip
        for path in climbs:
            answer = own.ask(path)
            bad_answer = (
                b"scrypt" in answer.body
                or b"root:x" in answer.body
                or "evil" in answer.headers.get("location", "")
                or "javascript" in answer.headers.get("location", "")
                or "a=b" in answer.headers.get("set-cookie", "")
            )
            room.see(answer.status < 500 and not bad_answer, f"{path}: {answer.status}")
        login = b"name=admin&next=//evil.example/&password=" + quote(own.people["admin"]).encode()
        answer = own.ask("/login", login, user=None, Content_Type="application/x-www-form-urlencoded")
        room.see(
            "evil" not in answer.headers.get("location", ""),
            f"`next` leads to no other host: {answer.headers.get('location')}",
        )
        own.closing()


ATTACKS = dict(
    enumerate(
        (
            packed_event_logs,
            archives,
            words_too_long,
            its_own_parent,
            applications_of_yarn,
            terminal_and_pages,
        ),
        24,
    )
)
