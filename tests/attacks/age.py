# ruff: noqa: E501, S608 (findings are printed in long lines; no SQL here reaches a database)
"""Attacks of kind 4: old age taken as proof."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
import uuid
from email.utils import formatdate
from typing import Any

from tests.attacks.house import Room, house
from tests.attacks.records import event, impala_record
from tests.attacks.servers import http_peer, json_answer


def old_and_half_read(room: Room) -> None:
    """An OpenLineage file is half read, grows while serve is down, and has a date of 60 days ago at the start; another is wholly unread."""
    with house(room, people=("agent",)) as own:
        tag = uuid.uuid4().hex[:8]

        def one(n: int) -> dict[str, Any]:
            return event(
                "COMPLETE",
                str(uuid.uuid4()),
                f"o{n}",
                ["d.b"],
                [f"d.{tag}_{n}"],
                f"insert into o{n} select 1",
            )

        own.send(one(0))
        room.see(own.wait_total(f'originalName:"d.{tag}_0"', 1, 30)[0] > 0, "the first half is read")
        own.stop()
        spools = sorted(own.events.iterdir())
        with spools[0].open("a") as file:
            file.writelines(json.dumps(one(n)) + "\n" for n in range(1, 6))
        whole = spools[0].with_name(spools[0].name.replace("agent", "agent2"))
        whole.write_text("".join(json.dumps(one(n)) + "\n" for n in range(6, 11)))
        (own.impala / "impala_lineage_log_1.0-old").write_text(
            json.dumps(impala_record(f"shop.{tag}_old")) + "\n"
        )
        old_s = time.time() - 60 * 86400
        for file_ in (*spools, whole, own.impala / "impala_lineage_log_1.0-old"):
            os.utime(file_, (old_s, old_s))
        own.start()
        for n in range(1, 11):
            room.see(
                own.wait_total(f'originalName:"d.{tag}_{n}"', 1, 30)[0] > 0,
                f"event {n}, unread in a file 60 days old, is read",
            )
        room.see(
            own.wait_total(f'originalName:"{tag}_old"', 1, 30)[0] > 0, "so is a line in a log 60 days old"
        )
        for moment in (0, 2**31 + 10**9, old_s):
            own.say(impala_record(f"shop.{tag}_m{int(moment)}"))
            os.utime(own.impala / "impala_lineage_log_1.0-1", (moment, moment))
            took_s = own.wait_total(f'originalName:"{tag}_m{int(moment)}"', 1, 30)[1]
            room.see(
                took_s <= max(5, 2 * own.quiet_s),
                f"a log that grew and bears the time {moment:.0f} is read in {took_s:.1f} s",
            )
        own.closing()


def a_purge_of_the_future(room: Room) -> None:
    """Executions claim to be of the year 2090, and an administrator purges everything before 2200."""
    with house(room) as own:
        tag = uuid.uuid4().hex[:8]
        now_s = int(time.time())
        own.say(
            *(
                impala_record(f"shop.{tag}_now", f"shop.{tag}_o", text=f"insert into n select {i}")
                for i in range(30)
            )
        )
        ahead = now_s + 64 * 365 * 86400
        own.say(*(impala_record(f"shop.{tag}_f{i}", timestamp=ahead, endTime=ahead) for i in range(3)))
        own.wait_total(f'originalName:"{tag}_f2"', 1, 30)
        before = own.total("type:OPERATION_EXECUTION")
        for date in ("2200-01-01", "9999-12-31", time.strftime("%Y-%m-%d", time.gmtime(now_s + 3 * 86400))):
            out = own.navlin("purge", "--before", date)
            answer = own.ask("/api/navlin/v1/purge", {"before": date})
            room.see(
                out.returncode in (1, 2, 4) and b"Traceback" not in out.stderr,
                f"`purge --before {date}` is refused: {out.returncode} {out.stderr[-120:]!r}",
            )
            room.see(answer.status in (400, 422), f"and by HTTP: {answer.status}")
        time.sleep(20)
        after = own.total("type:OPERATION_EXECUTION")
        room.see(after >= before, f"executions of today stay: {before} before, {after} after")
        own.say(impala_record(f"shop.{tag}_later", text="insert into later select 1"))
        room.see(
            own.wait_total(f'originalName:"{tag}_later"', 1, 30)[0] > 0,
            "a table of a later record is written",
        )
        room.see(
            own.total("type:OPERATION_EXECUTION") > after,
            "and its execution, which is not 'older than the last purge'",
        )
        for value in ("-1", "0", "-99999999999", "1e9", "99999999999999999999"):
            answer = own.ask(f"/api/v14/maintenance/purge?deleteTimeThresholdMinutes={value}", b"")
            room.see(
                answer.status in (202, 400, 404, 422), f"deleteTimeThresholdMinutes={value}: {answer.status}"
            )
        time.sleep(20)
        kept = own.total("type:OPERATION_EXECUTION")
        own.say(impala_record(f"shop.{tag}_last", text="insert into last select 1"))
        own.wait_total(f'originalName:"{tag}_last"', 1, 30)
        room.see(
            own.total("type:OPERATION_EXECUTION") > kept, "after such thresholds executions are written too"
        )
        own.closing()


def ends_of_long_ago(room: Room) -> None:
    """Runs whose events have times of 40 days and two hours ago, or of next year, and come in several lots, the end first."""
    with house(room, people=("agent",)) as own:
        tag = uuid.uuid4().hex[:8]
        runs = {}
        for name, ago_s in (
            ("month", 40 * 86400.0),
            ("hours", 7200.0),
            ("ahead", -300 * 86400.0),
            ("epoch", time.time() - 1),
        ):
            run, when_s = str(uuid.uuid4()), time.time() - ago_s
            runs[name] = run, when_s
            sql = f"insert into {name} select * from x"
            own.send(event("COMPLETE", run, name, [], [f"d.{tag}_{name}"], sql, when_s))
        time.sleep(12)
        for name, (run, when_s) in runs.items():
            own.send(
                event(
                    "START",
                    run,
                    name,
                    [f"d.{tag}_in_{name}"],
                    [],
                    f"insert into {name} select * from x",
                    when_s - 60,
                )
            )
        time.sleep(12)
        for name in runs:
            shown = own.lineage_of(f'originalName:"d.{tag}_{name}"')
            has = f"{tag}_in_{name}".encode() in shown
            told = name.encode() in own.ask("/api/navlin/v1/incomplete?source=OL-1").body or any(
                name in json.dumps(r) for r in own.rejects("OL-1")
            )
            room.see(
                has or told,
                f"{name}: the input that came after the end is there ({has}), or its lack is told ({told})",
            )
        apart = str(uuid.uuid4())
        old_s = time.time() - 35 * 86400
        own.send(
            event("START", apart, "apart", [f"d.{tag}_in_apart"], [], "insert into apart select 1", old_s)
        )
        time.sleep(12)
        own.send(event("COMPLETE", apart, "apart", [], [f"d.{tag}_apart"], "insert into apart select 1"))
        own.wait_total(f'originalName:"d.{tag}_apart"', 1, 30)
        time.sleep(3)
        shown = own.lineage_of(f'originalName:"d.{tag}_apart"')
        told = own.ask("/api/navlin/v1/incomplete?source=OL-1").json()["total"] > 0
        room.see(
            f"{tag}_in_apart".encode() in shown or told,
            "a run that began 35 days ago by its own time and ends now has its input, or is incomplete",
        )
        own.closing()


def stopped_for_minutes(room: Room) -> None:
    """serve alone is stopped (SIGSTOP) for three minutes, while its web process, its Solr and its Spark go on."""
    with house(room, people=("agent",)) as own:
        tag = uuid.uuid4().hex[:8]
        assert own.process is not None
        os.kill(own.process.pid, signal.SIGSTOP)
        began = time.monotonic()
        try:
            answers: list[Any] = []
            names: list[int] = []
            while time.monotonic() - began < 180:
                n = len(names)
                own.say(impala_record(f"shop.{tag}_{n}"))
                status = own.send(
                    event(
                        "COMPLETE",
                        str(uuid.uuid4()),
                        f"s{n}",
                        ["d.b"],
                        [f"d.{tag}_{n}"],
                        f"insert into s{n} select 1",
                    )
                ).status
                names.append(status)
                answers.append(own.ask("/healthz", user=None).seconds)
                answers.append(own.ask("/api/navlin/v1/search?query=shop.origin").seconds)
                time.sleep(5)
            room.see(max(answers) < 3, f"meanwhile questions took {max(answers):.1f} s at most")
            asked = own.ask("/api/navlin/v1/extract", {"source": "IMPALA-1"})
            room.see(
                asked.status in (200, 202, 503, 504),
                f"a run asked for meanwhile: {asked.status} in {asked.seconds:.1f} s",
            )
            lag = own.source("IMPALA-1").get("lag_s", 0)
            room.see(lag is None or lag > 120, f"status says that the source lags: {lag} s")
        finally:
            os.kill(own.process.pid, signal.SIGCONT)
        found, took_s = own.wait_total(f"originalName:{tag}_* AND type:TABLE", len(names), 60)
        room.see(
            found == len(names),
            f"{found} of {len(names)} lines of that time are found {took_s:.0f} s after it goes on",
        )
        accepted = sum(s == 201 for s in names)
        found, _ = own.wait_total(f"originalName:*{tag}_* AND type:DATASET", accepted, 60)
        room.see(found >= accepted, f"{found} of {accepted} accepted events are found")
        status = own.ask("/api/navlin/v1/status").json()
        room.see(
            status["daemon"]["clock_jump_ms"] == 0,
            f"no clock is said to have jumped: {status['daemon']['clock_jump_ms']} ms",
        )
        room.see(not status["failing"], f"no source fails afterwards: {status['failing']}")
        own.closing()


def a_date_that_lies(room: Room) -> None:
    """A ResourceManager's answers have a Date of two hours ahead, of a year ago and of 30 years ahead; the other sources and the purge must not use it."""
    ahead_s = [7200.0]

    def peer(connection: socket.socket, head: bytes) -> None:
        now_ms = int((time.time() + ahead_s[0]) * 1000)
        date = "Date: " + formatdate(time.time() + ahead_s[0], usegmt=True)
        path = head.split(b" ")[1]
        app = {
            "id": "application_1700000000000_0001",
            "name": "n",
            "user": "u",
            "state": "FINISHED",
            "finalStatus": "SUCCEEDED",
            "applicationType": "SPARK",
            "startedTime": now_ms - 9000,
            "finishedTime": now_ms,
        }
        apps = {"apps": {"app": [app]}}
        info = {"clusterInfo": {"id": 1, "startedOn": now_ms, "state": "STARTED", "haState": "ACTIVE"}}
        connection.sendall(json_answer(apps if b"/apps" in path else info, date))

    with http_peer(peer) as port:
        more = f'[[source]]\nname = "YARN-1"\nextractor = "yarn"\nurls = ["http://127.0.0.1:{port}"]\ninterval_s = 10\n'
        with house(room, more) as own:
            for seconds in (7200.0, -366 * 86400.0, 30 * 366 * 86400.0):
                ahead_s[0] = seconds
                time.sleep(25)
                status = own.ask("/api/navlin/v1/status").json()
                room.see(
                    status["daemon"]["clock_jump_ms"] == 0,
                    f"Date {seconds:.0f} s off: this machine's clock is not doubted",
                )
                others = [name for name in status["failing"] if name != "YARN-1"]
                room.see(not others, f"Date {seconds:.0f} s off: no other source fails {others}")
                error = own.source("YARN-1").get("error", "")
                room.see(
                    "clock" in error, f"Date {seconds:.0f} s off: its own source says so: {error[:160]!r}"
                )
            out = own.navlin("purge", "--before", "2020-01-01")
            room.see(
                out.returncode == 0,
                f"a purge that is asked for goes on: {out.returncode} {out.stderr[-120:]!r}",
            )
            own.closing()


ATTACKS = dict(
    enumerate(
        (old_and_half_read, a_purge_of_the_future, ends_of_long_ago, stopped_for_minutes, a_date_that_lies),
        30,
    )
)
