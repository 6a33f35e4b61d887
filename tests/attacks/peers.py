# ruff: noqa: E501 (findings are printed in long lines; no SQL here reaches a database)
"""Attacks of kind 5: peers whose responses never end."""

from __future__ import annotations

import gzip
import json
import socket
import struct
import time
import zlib
from collections.abc import Callable

from tests.attacks.house import MIB, House, Room, house
from tests.attacks.servers import certificate, http_peer, json_answer, pour, raw_peer
from tests.attacks.watching import Watch, rss_mib

TIMEOUT_S = 2


def _yarn(port: int) -> str:
    return f'[[source]]\nname = "YARN-1"\nextractor = "yarn"\nurls = ["http://127.0.0.1:{port}"]\ninterval_s = 10\nread_timeout_s = {TIMEOUT_S}\n'


def _ended(own: House, name: str, within_s: float) -> tuple[str, float]:
    """Wait for the end of a source's last run. Return its error and the seconds waited."""
    began = time.monotonic()
    while time.monotonic() - began < within_s:
        error = own.source(name).get("error", "")
        if error:
            return str(error), time.monotonic() - began
        time.sleep(0.5)
    return "", time.monotonic() - began


def _against(room: Room, act: Callable[[socket.socket, bytes], None], what: str) -> None:
    """Run a source against a ResourceManager that behaves as ``act``. The run must end with an error, within limits of
    time and memory, and must not slow down anything else.
    """
    with http_peer(act) as port, house(room, _yarn(port)) as own:
        with Watch(own):
            error, took_s = _ended(own, "YARN-1", 8 * TIMEOUT_S + 90)
            room.see(bool(error), f"{what}: the run ends after {took_s:.0f} s: {error[:140]!r}")
            time.sleep(15)
            most = max(
                rss_mib(pid, "VmHWM") for pid, line in own.pids().items() if "java" not in line.split(" ")[0]
            )
            room.see(most < 700, f"{what}: no process of Python took more than {most:.0f} MiB")
        own.closing()


def answers_that_are_none(room: Room) -> None:
    """A ResourceManager answers `100 Continue` and `103 Early Hints` without end, fast and one a second."""
    turn = [0]

    def act(connection: socket.socket, _: bytes) -> None:
        turn[0] += 1
        if turn[0] % 2:
            pour(connection, b"HTTP/1.1 100 Continue\r\n\r\n", 10**9, TIMEOUT_S / 2)
        pour(connection, b"HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n" * 100, 10**11)

    _against(room, act, "informational answers")


def heads_and_bombs(room: Room) -> None:
    """Endless header lines, chunk extensions, trailers; gzip and deflate of 20 GB; drips; a false length; in turn."""
    turn = [0]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    chunked = head + b"Transfer-Encoding: chunked\r\n\r\n"
    squeezed = gzip.compress(b" " * (64 * MIB), 9)
    deflated = zlib.compress(b" " * (64 * MIB), 9)
    acts: list[Callable[[socket.socket], None]] = [
        lambda c: pour(c, b"X-A: " + b"y" * 60_000 + b"\r\n", 10**11, first=head),
        lambda c: pour(c, b"1;" + b"e" * 60_000 + b"\r\n \r\n", 10**11, first=chunked),
        lambda c: pour(c, b"T: " + b"y" * 1000 + b"\r\n", 10**11, first=chunked + b"2\r\n{}\r\n0\r\n"),
        lambda c: pour(c, squeezed, 10**11, first=head + b"Content-Encoding: gzip\r\n\r\n"),
        lambda c: pour(c, deflated, 10**11, first=head + b"Content-Encoding: deflate\r\n\r\n"),
        lambda c: pour(c, b"[", 10**11, first=head + b"\r\n"),
        lambda c: pour(c, b"H", 10**9, TIMEOUT_S * 0.7),
        lambda c: pour(c, b"{", 10**9, TIMEOUT_S * 0.7, first=head + b"\r\n"),
        lambda c: c.sendall(head + b"Content-Length: 99999999999999999999\r\n\r\n{}"),
        lambda c: c.sendall(head + b"Content-Length: -1\r\n\r\n{}"),
        lambda c: c.sendall(json_answer([])),
        lambda c: c.sendall(json_answer({"apps": []})),
        lambda c: c.sendall(json_answer({"apps": {"app": "none"}})),
        lambda c: c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 400000\r\n\r\n" + b"[" * 400_000),
        lambda c: c.sendall(b"HTTP/9.9 999 \xff\x1b[2J\r\n\r\n"),
        lambda c: c.sendall(b"SSH-2.0-x\r\n"),
        lambda c: c.close(),
    ]
    errors: list[str] = []

    def act(connection: socket.socket, _: bytes) -> None:
        acts[turn[0] % len(acts)](connection)

    with http_peer(act) as port, house(room, _yarn(port)) as own:
        for n in range(len(acts)):
            turn[0] = n
            error, took_s = own.run_of("YARN-1", 60 + 8 * TIMEOUT_S)
            errors.append(error)
            room.see(bool(error) and took_s < 60, f"peer {n}: an error after {took_s:.0f} s: {error[:110]!r}")
        room.see(
            not [e for e in errors if "\x1b" in e or "Traceback" in e],
            "no error has an escape or a traceback",
        )
        most = max(
            rss_mib(pid, "VmHWM") for pid, line in own.pids().items() if "java" not in line.split(" ")[0]
        )
        room.see(most < 700, f"no process of Python took more than {most:.0f} MiB")
        own.closing()


def elsewhere(room: Room) -> None:
    """A ResourceManager redirects: 301 to 308, Refresh, Location with a name before @, without a scheme, file:, and `//`."""
    seen: list[bytes] = []

    def believe(connection: socket.socket, head: bytes) -> None:
        seen.append(head.split(b"\r\n")[0])
        app = {
            "id": "application_1700000000000_0666",
            "name": "elsewhere",
            "user": "evil",
            "state": "FINISHED",
            "finalStatus": "SUCCEEDED",
            "applicationType": "MAPREDUCE",
            "startedTime": 1,
            "finishedTime": 2,
        }
        connection.sendall(
            json_answer(
                {
                    "apps": {"app": [app]},
                    "clusterInfo": {"id": 1, "startedOn": 1, "state": "STARTED", "haState": "ACTIVE"},
                }
            )
        )

    with http_peer(believe) as evil:
        places: list[str] = []
        turn = [0]
        cases: list[tuple[int, str, str]] = []

        def act(connection: socket.socket, _: bytes) -> None:
            if not cases:
                return
            code, header, place = cases[turn[0] % len(cases)]
            places.append(place)
            connection.sendall(
                f"HTTP/1.1 {code} X\r\n{header}: {place}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
            )

        with http_peer(act) as port, house(room, _yarn(port)) as own:
            good = f"http://127.0.0.1:{port}"
            cases += [
                (302, "Location", f"http://127.0.0.1:{evil}/ws/v1/cluster/apps"), (307, "Location", f"{good}@127.0.0.1:{evil}/ws/v1/cluster/apps"),
                (301, "Location", f"//127.0.0.1:{evil}/ws/v1/cluster/apps"), (308, "Location", f"http://localhost:{evil}/"), (303, "Location", "file:///etc/passwd"),
                (200, "Refresh", f"3; url=http://127.0.0.1:{evil}/ws/v1/cluster/apps"), (302, "Location", f"http://127.0.0.1:{evil}\\@127.0.0.1:{port}/"),
                (302, "Location", f"{good}/ws/v1/cluster/apps"), (302, "Location", f"http://127.0.0.1:{port}%40127.0.0.1:{evil}/"), (302, "Location", "ftp://127.0.0.1/"), (302, "Location", f"http://0x7f.1:{evil}/"),
            ]  # fmt: skip
            for n in range(len(cases)):
                turn[0] = n
                error, _ = own.run_of("YARN-1", 60)
                room.see(
                    not seen,
                    f"{cases[n][0]} {cases[n][1]} {cases[n][2][:50]}: the other host was not asked {seen[:1]}",
                )
                room.see(bool(error), f"and the run failed: {error[:90]!r}")
                seen.clear()
            room.see(
                len(places) < 400,
                f"a redirect to itself was followed without end? {len(places)} requests in all",
            )
            room.see(own.total("elsewhere") < 1, "nothing that the other host said is in the index")
            own.closing()


def metastores(room: Room) -> None:
    """Metastores (Thrift) that are silent, claim strings and lists of 2^31, nest without end, drip, or send garbage."""
    turn = [0]

    def reply(name: bytes, fields: bytes) -> bytes:
        return (
            struct.pack(">I", 0x80010002)
            + struct.pack(">I", len(name))
            + name
            + struct.pack(">i", 0)
            + fields
        )

    def act(connection: socket.socket) -> None:
        connection.settimeout(60)
        call = connection.recv(65536)
        size = struct.unpack(">I", call[4:8])[0] if len(call) > 8 else 0
        name = call[8 : 8 + min(size, 200)]
        kind = turn[0] % 9
        if kind == 0:
            time.sleep(300)
        elif kind == 1:
            pour(
                connection, reply(name, b"\x0b\x00\x00" + struct.pack(">i", 2**31 - 1)) + b"x" * 65536, 10**11
            )
        elif kind == 2:
            pour(connection, reply(name, b"\x0f\x00\x00\x0b" + struct.pack(">i", 2**31 - 1)), 10**3)
            pour(connection, b"\x00\x00\x00\x01a" * 10_000, 10**11)
        elif kind == 3:
            pour(connection, reply(name, b"\x0c\x00\x00"), 1)
            pour(connection, b"\x0c\x00\x01" * 10_000, 10**9)
        elif kind == 4:
            pour(connection, reply(name, b"\x0b\x00\x00" + struct.pack(">i", 100_000)), 1)
            pour(connection, b"x", 10**9, TIMEOUT_S * 0.7)
        elif kind == 5:
            connection.sendall(reply(name, b"\x0b\x00\x00" + struct.pack(">i", -5) + b"x"))
        elif kind == 6:
            connection.sendall(reply(b"another_call", b"\x00"))
        elif kind == 7:
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        else:
            connection.sendall(reply(name, b"\x0d\x00\x00\x0b\x0b" + struct.pack(">i", 2**31 - 1)))

    with raw_peer(act) as port:
        more = f'[[source]]\nname = "HIVE-1"\nextractor = "hms"\nuris = ["thrift://127.0.0.1:{port}"]\ninterval_s = 10\ncall_timeout_s = {TIMEOUT_S}\n'
        with house(room, more) as own:
            with Watch(own):
                for n in range(9):
                    turn[0] = n
                    error, took_s = own.run_of("HIVE-1", 120)
                    room.see(
                        bool(error) and took_s < 90,
                        f"metastore {n}: an error after {took_s:.0f} s: {error[:110]!r}",
                    )
            most = max(
                rss_mib(pid, "VmHWM") for pid, line in own.pids().items() if "java" not in line.split(" ")[0]
            )
            room.see(most < 900, f"no process of Python took more than {most:.0f} MiB")
            own.closing()


def targets_of_exports(room: Room) -> None:
    """The server of an [[export]] drips, never ends, redirects with the token, confirms in another form, or hangs up."""
    turn, posts = [0], [0]
    bearers: list[bytes] = []

    def evil(connection: socket.socket, head: bytes) -> None:
        bearers.append(head)
        connection.sendall(json_answer({}))

    with http_peer(evil) as elsewhere_port:

        def act(connection: socket.socket, _: bytes) -> None:
            posts[0] += 1
            kind = turn[0] % 6
            if kind == 0:
                pour(connection, b"H", 10**6, 1.0)
            elif kind == 1:
                pour(connection, b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 65536, 10**11)
            elif kind == 2:
                connection.sendall(
                    f"HTTP/1.1 307 X\r\nLocation: http://127.0.0.1:{elsewhere_port}/\r\nContent-Length: 0\r\n\r\n".encode()
                )
            elif kind == 3:
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 26\r\n\r\n<html>please log in</html>"
                )
            elif kind == 4:
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b" " * (256 * MIB))
                )
            else:
                connection.close()

        with http_peer(act) as port:
            secret = certificate() / "token"
            secret.write_text("S3cretOfTheTarget")
            more = f'[[export]]\nname = "out"\ntarget = "datahub"\nurl = "http://127.0.0.1:{port}"\ntoken_file = "{secret}"\n'
            with house(room, more) as own:
                with Watch(own):
                    for n in range(6):
                        turn[0] = n
                        own.line_s()
                        time.sleep(25)
                status = own.ask("/api/navlin/v1/status").json()
                room.see(
                    bool(status["exports"]) and posts[0] > 0,
                    f"the export tried {posts[0]} times and stands in status",
                )
                failing = json.dumps(status["exports"])
                room.see("error" in failing or "failing" in failing, f"and says why: {failing[:200]}")
                room.see(not bearers, f"another host was not asked, and got no token {bearers[:1]}")
                room.see(
                    "S3cretOfTheTarget" not in own.log() + failing, "the token stands in no log and no status"
                )
                room.see(not own.source("IMPALA-1").get("failing"), "extraction goes on")
                own.closing()


ATTACKS = dict(
    enumerate((answers_that_are_none, heads_and_bombs, elsewhere, metastores, targets_of_exports), 35)
)
