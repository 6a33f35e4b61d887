# ruff: noqa: E501 (findings are printed in long lines; no SQL here reaches a database)
"""Attacks of kind 3: harmful input outside the content of records."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import time
import uuid
from pathlib import Path
from typing import Any

from tests.attacks.house import Room, house
from tests.attacks.records import event, impala_record, spark_log
from tests.attacks.watching import Watch

ESC = "\x1b]8;;http://evil\x07x\x1b[2J\x9b31m\x85\u202e\u2066\u061c\u200f\U000e0041\ufeff"


def not_regular_files(room: Room) -> None:
    """FIFOs, sockets, devices, directories and links in place of logs, of all push sources, also exchanged in a race."""
    with house(room) as own:
        outside = own.home / "outside.log"
        outside.write_bytes(json.dumps(impala_record("shop.stolen")).encode() + b"\n")
        bound = socket.socket(socket.AF_UNIX)
        for directory, name in (
            (own.impala, "impala_lineage_log_1.0-"),
            (own.events, "ev"),
            (own.spark, "application_1700000000000_000"),
        ):
            suffix = ".jsonl" if directory == own.events else ""
            os.mkfifo(directory / f"{name}2{suffix}")
            (directory / f"{name}3{suffix}").mkdir()
            (directory / f"{name}4{suffix}").symlink_to("/dev/zero")
            (directory / f"{name}5{suffix}").symlink_to(outside)
            (directory / f"{name}6{suffix}").symlink_to(f"{name}6{suffix}")
            (directory / f"{name}7{suffix}").symlink_to(f"{name}2{suffix}")
            (directory / f"{name}8{suffix}").symlink_to("/proc/self/environ")
            (directory / f"{name}9{suffix}").symlink_to("../outside.log")
        bound.bind(str(own.impala / "impala_lineage_log_1.0-s"))
        with contextlib.suppress(PermissionError):
            os.mknod(own.impala / "impala_lineage_log_1.0-z", 0o020666, os.makedev(1, 5))
        racer = own.impala / "impala_lineage_log_1.0-r"
        with Watch(own):
            until = time.monotonic() + 40
            while time.monotonic() < until:  # swap a log and a link faster than navlin can examine them
                other = own.home / "link"
                other.symlink_to(outside)
                os.rename(other, racer)
                fresh = own.home / "fresh"
                fresh.write_bytes(b"")
                os.rename(fresh, racer)
        room.see(
            own.total('originalName:"stolen"') < 1,
            "what lies outside of the directory was not read through a link",
        )
        held = [os.readlink(f"/proc/{pid}/fd/{fd}") for pid in own.pids() for fd in _fds(pid)]
        bad = [h for h in held if h.startswith("/dev/zero") or "outside.log" in h or h.endswith("-2")]
        room.see(not bad, f"no process holds a device, a FIFO or the outer file open {bad}")
        own.closing()


def _fds(pid: int) -> list[str]:
    out = []
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                os.readlink(f"/proc/{pid}/fd/{fd}")
                out.append(fd)
            except OSError:
                continue
    except OSError:
        pass
    return out


def raw_names(room: Room) -> None:
    """Names of files and of rolling directories: raw bytes, newlines, 255 bytes, ids of others, globs."""
    with house(room) as own:
        good = [f"application_17000000000{i}_0001" for i in range(3)]
        raw = [
            b"application_1700000000009_0001\xff", b"application_1\n2_0001", b"eventlog_v2_\xff\xfe", b"eventlog_v2_a\x1b[2J",
            b"application_1_" + b"x" * 241, b"..hidden", b"local-*", b"local-%s%n{0}${HOME}", b"-rf", b" ", b"application_1_0001.zstd\xc0\xaf",
            b"eventlog_v2_application_1700000000000_0001", b"application_1700000000000_0001.inprogress", b"\xed\xa0\x80",
        ]  # fmt: skip
        base = os.fsencode(own.spark)
        for i, name in enumerate(raw):
            path = base + b"/" + name
            data = spark_log(f"raw-{i}", f"file:/data/raw{i}")
            if name.startswith(b"eventlog"):
                os.mkdir(path)
                (Path(os.fsdecode(path)) / "appstatus_x\udcff").touch()
                path += b"/events_1_\xff" if i % 2 else b"/events_1_x"
            with open(path, "wb") as file:
                file.write(data)
        for i, text in enumerate(good):
            (own.spark / text).write_bytes(spark_log(text, f"file:/data/good{i}"))
        lineages = [
            b"impala_lineage_log_1.0-\xff",
            b"impala_lineage_log_1.0-\n9",
            b"impala_lineage_log_1.0-" + b"9" * 230,
        ]
        for name in lineages:
            with open(os.fsencode(own.impala) + b"/" + name, "wb") as file:
                file.write(json.dumps(impala_record(f"shop.raw{lineages.index(name)}")).encode() + b"\n")
        with open(os.fsencode(own.events) + b"/x\xff\n.jsonl", "wb") as file:
            file.write(
                json.dumps(
                    event(
                        "COMPLETE", str(uuid.uuid4()), "r", ["d.b"], ["d.rawfile"], "insert into r select 1"
                    )
                ).encode()
                + b"\n"
            )
        with Watch(own):
            for i in range(3):
                found, _ = own.wait_total(f'"/data/good{i}"', 1, 60)
                room.see(found > 0, f"the good log {i} beside them is read")
        for who in ("SPARK-1", "IMPALA-1", "OL-1"):
            source = own.source(who)
            room.see(not source.get("failing"), f"{who} does not fail: {source.get('error', '')[:100]!r}")
        room.see(
            own.total('originalName:raw* AND parentPath:"/shop"') >= 3 or bool(own.rejects("IMPALA-1")),
            "raw names of Impala's logs are read or rejects",
        )
        for name in lineages:
            os.unlink(os.fsencode(own.impala) + b"/" + name)
        time.sleep(75)
        held = [os.readlink(f"/proc/{pid}/fd/{fd}") for pid in own.pids() for fd in _fds(pid)]
        room.see(
            not [h for h in held if "(deleted)" in h and "lineage_log" in h],
            "removed logs are let go after a minute",
        )
        room.see(own.navlin("status").returncode == 0, "`navlin status` ends with 0")
        own.closing()


def halves_of_characters(room: Room) -> None:
    """JSON escapes of half surrogate pairs, zero bytes and non-characters in every name of a record."""
    with house(room, people=("agent",)) as own:
        texts = [
            "a\\ud800b",
            "\\udc00",
            "a\\u0000b",
            "\\uffff\\ufffe",
            "\\u0000",
            "\\ud83d\\ud83d\\ude00",
            "\\u2028\\u0085",
        ]
        tag = uuid.uuid4().hex[:6]
        statuses = set()
        for i, text in enumerate(texts):
            for place in ("table", "user", "queryId", "queryText", "hash"):
                record = json.dumps(
                    impala_record(
                        f"shop.good_{tag}_{i}_PLACE",
                        user="PLACE",
                        queryId="PLACE:1",
                        queryText="PLACE x",
                        hash="PLACE",
                    )
                )
                keep = {
                    "table": f"good_{tag}_{i}_PLACE",
                    "user": '"user": "PLACE"',
                    "queryId": "PLACE:1",
                    "queryText": "PLACE x",
                    "hash": '"hash": "PLACE"',
                }
                record = record.replace(keep[place], keep[place].replace("PLACE", text)).replace(
                    "PLACE", "p" + place
                )
                own.say(record.encode() + b"\n", impala_record(f"shop.after_{tag}_{i}_{place}"))
            one = json.dumps(
                event("COMPLETE", str(uuid.uuid4()), "PLACE", ["d.PLACE"], ["d.PLACEo"], "select PLACE")
            ).replace("PLACE", text)
            good = json.dumps(
                event(
                    "COMPLETE",
                    str(uuid.uuid4()),
                    f"g{i}",
                    ["d.b"],
                    [f"d.after_{tag}_{i}"],
                    "insert into q select 1",
                )
            )
            statuses.add(own.ask("/api/v1/lineage/batch", f"[{one},{good}]".encode(), user="agent").status)
            statuses.add(own.send(good.encode()).status)
            log = spark_log(f"application_{i}", f"file:/data/PLACE{i}", "PLACE").replace(
                b"PLACE", text.encode()
            )
            (own.spark / f"application_170000000000{i}_0001").write_bytes(log)
        (own.spark / "application_1799999999999_0001").write_bytes(
            spark_log("last", f"file:/data/after_{tag}")
        )
        wanted = len(texts) * 5
        found, took_s = own.wait_total(f"originalName:after_{tag}_* AND type:TABLE", wanted, 60)
        room.see(
            found >= wanted,
            f"{found} of {wanted} good lines of Impala behind them are found after {took_s:.0f} s",
        )
        found, _ = own.wait_total(f"originalName:*after_{tag}_* AND type:DATASET", len(texts), 60)
        room.see(found >= len(texts), f"{found} of {len(texts)} good events are found")
        room.see(own.wait_total(f'"/data/after_{tag}"', 1, 60)[0] > 0, "the good log of Spark is found")
        room.see(statuses <= {200, 201, 400}, f"the door answered {sorted(statuses)}")
        for name in ("SPARK-1", "IMPALA-1", "OL-1"):
            room.see(
                not own.source(name).get("failing"),
                f"{name} does not fail: {own.source(name).get('error', '')[:120]!r}",
            )
        for path in (
            "search?query=shop",
            "rejects",
            "incomplete",
            "runs",
            "export/openlineage",
            "search?query=*&csv=true",
        ):
            room.see(own.ask("/api/navlin/v1/" + path).status == 200, f"{path} answers")
        own.closing()


def times_of_no_calendar(room: Room) -> None:
    """Times that are not finite, negative, text, or of years that no calendar has, in every source."""
    with house(room, people=("agent",)) as own:
        tag = uuid.uuid4().hex[:6]
        times = [
            "1e308",
            "NaN",
            "Infinity",
            "-1",
            "-9223372036854775808",
            "9" * 40,
            '"soon"',
            "null",
            "true",
            "[]",
            "{}",
            "253402300800",
            "1e18",
            "0",
        ]
        for i, at in enumerate(times):
            record = json.dumps(impala_record(f"shop.time_{tag}_{i}", timestamp="AT", endTime="AT")).replace(
                '"AT"', at
            )
            own.say(record.encode() + b"\n", impala_record(f"shop.after_{tag}_{i}"))
            log = re.sub(
                rb'"([Tt]ime|Timestamp)": \d+',
                rb'"\1": ' + at.encode(),
                spark_log(f"t{i}", f"file:/data/t{i}"),
            )
            (own.spark / f"application_16{i:011d}_0001").write_bytes(log)
        whens = [
            "0000-00-00T00:00:00Z", "9999-12-31T23:59:59.999999999-23:59", "0001-01-01T00:00:00+23:59", "+275760-09-13T00:00:00Z",
            "2024-02-30T00:00:00Z", "2024-01-01T24:00:60Z", "-271821-04-20T00:00:00Z", "2024-W01-1", "\u0662\u0660\u0662\u0664-01-01T00:00:00Z", "", "1e400",
        ]  # fmt: skip
        statuses = set()
        for when in whens:
            one = {**event("COMPLETE", str(uuid.uuid4()), "t", ["d.b"], ["d.t"], "x"), "eventTime": when}
            statuses.add(own.send(one).status)
            (own.events / f"own-{whens.index(when)}.jsonl").write_text(json.dumps(one) + "\n")
        room.see(statuses <= {201, 400}, f"the door answered {sorted(statuses)}")
        own.send(
            event("COMPLETE", str(uuid.uuid4()), "t2", ["d.b"], [f"d.after_{tag}"], "insert into t select 1")
        )
        (own.spark / "application_1799999999999_0001").write_bytes(
            spark_log("last", f"file:/data/after_{tag}")
        )
        found, took_s = own.wait_total(f"originalName:after_{tag}_* AND type:TABLE", len(times), 60)
        room.see(
            found >= len(times),
            f"{found} of {len(times)} good lines behind them are found after {took_s:.0f} s",
        )
        room.see(
            own.wait_total(f'originalName:"d.after_{tag}"', 1, 30)[0] > 0, "a good event behind them is found"
        )
        room.see(own.wait_total(f'"/data/after_{tag}"', 1, 60)[0] > 0, "the good log of Spark is found")
        for name in ("SPARK-1", "IMPALA-1", "OL-1"):
            source = own.source(name)
            room.see(not source.get("failing"), f"{name} does not fail: {source.get('error', '')[:120]!r}")
        told = own.total(f"originalName:time_{tag}_* AND type:TABLE") + len(own.rejects("IMPALA-1"))
        room.see(told >= len(times), f"of {len(times)} lines each is in the index or a reject: {told}")
        for command in (
            ("status",),
            ("runs",),
            ("search", "shop.origin"),
            ("lineage", "shop.origin"),
            ("impact", "shop.origin"),
            ("unused", "--days", "9"),
        ):
            room.see(
                b"Traceback" not in own.navlin(*command).stderr,
                f"`navlin {' '.join(command)}` has no traceback",
            )
        own.closing()


def ends_that_are_not_there(room: Room) -> None:
    """Edges of Impala whose ends are negative, text, true, lists, missing or 10^30, and vertices of one id."""
    with house(room) as own:
        tag = uuid.uuid4().hex[:6]
        ends: list[Any] = [-1, "0", True, 1.0, 10**30, None, [0], {"id": 0}, 99, "x", 1e308]
        for i, end in enumerate(ends):
            table = f"shop.end_{tag}_{i}"
            own.say(
                impala_record(
                    table,
                    f"shop.secret_{tag}_{i}",
                    text=f"insert into {table} select 1",  # the text must not name the source
                    edges=[{"sources": [end], "targets": [0], "edgeType": "PROJECTION"}],
                )
            )
            own.say(
                impala_record(
                    f"shop.t_{tag}_{i}", edges=[{"sources": [1], "targets": [end], "edgeType": "PROJECTION"}]
                )
            )
            own.say(impala_record(f"shop.after_{tag}_{i}"))
        shapes: list[Any] = [[], {}, None, "x", [1], [None], [[[]]], 7]
        for i, shape in enumerate(shapes):
            own.say(
                impala_record(f"shop.s_{tag}_{i}", edges=shape),
                impala_record(f"shop.v_{tag}_{i}", vertices=shape),
                impala_record(f"shop.after_{tag}_{i + 50}"),
            )
        same = [{"id": 0, "vertexType": "COLUMN", "vertexId": f"shop.dup_{tag}_{i}.a"} for i in range(100)]
        crowd = [
            {"sources": list(range(100)) * 500, "targets": [0] * 5000, "edgeType": "PROJECTION"}
            for _ in range(20)
        ]
        own.say(
            impala_record(f"shop.d_{tag}", vertices=same),
            impala_record(f"shop.e_{tag}", edges=crowd),
            impala_record(f"shop.after_{tag}_99"),
        )
        wanted = len(ends) + len(shapes) + 1
        found, took_s = own.wait_total(f"originalName:after_{tag}_* AND type:TABLE", wanted, 90)
        room.see(
            found >= wanted, f"{found} of {wanted} good lines behind them are found after {took_s:.0f} s"
        )
        for i in (0, 4, 8, 9):
            shown = own.lineage_of(f'originalName:"end_{tag}_{i}" AND type:TABLE')
            made_up = f"secret_{tag}_{i}".encode() in shown
            room.see(
                not made_up, f"an edge to {ends[i]!r} made no lineage from a vertex that it does not name"
            )
        room.see(not own.source("IMPALA-1").get("failing"), "IMPALA-1 does not fail")
        room.see(len(own.rejects("IMPALA-1")) > 0, f"{len(own.rejects('IMPALA-1'))} rejects say so")
        own.closing()


ATTACKS = dict(
    enumerate(
        (not_regular_files, raw_names, halves_of_characters, times_of_no_calendar, ends_that_are_not_there),
        19,
    )
)
