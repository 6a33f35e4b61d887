"""Attacks on the agent: by who writes into its directories, and by a server that is none (tests/data/attacks/hosts.md)."""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest

from navlin.forward import agent
from tests.services.certificates import certificate
from tests.support.other_hosts import LINES, Hosts, hosts_of

pytestmark = pytest.mark.services
TOKEN: Final = "navlin_of-this-host"
SECRET: Final = b"private content"
MOST_RESIDENT_KIB: Final = 128 << 10
MANY_WITHIN_S: Final = 600.0


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with hosts_of(tmp_path_factory.mktemp("agent")) as hosts:
        yield hosts


def test_attack_17_swapped_names_send_no_private_file(hosts: Hosts, tmp_path: Path) -> None:
    private, logs = tmp_path / "private", tmp_path / "logs"
    private.write_bytes(SECRET)
    logs.mkdir()
    (logs / "log").write_bytes(b"of the log\n")
    ended = threading.Event()

    def swap() -> None:
        kinds: list[Callable[[Path], object]] = [
            lambda path: path.symlink_to(private),
            os.mkfifo,
            lambda path: path.mkdir(),
            lambda path: path.symlink_to("/dev/zero"),
            lambda path: path.symlink_to(tmp_path),
            lambda path: path.write_bytes(b"of another log\n"),
        ]
        number = 0
        while not ended.is_set():
            number += 1
            for name in ("swapped", "eventlog_v2_a"):
                other, path = tmp_path / "other", logs / name
                kinds[number % len(kinds)](other)
                with suppress(OSError):
                    path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
                with suppress(OSError):
                    other.rename(path)
                if other.is_dir() and not other.is_symlink():
                    other.rmdir()
                elif os.path.lexists(other):
                    other.unlink()

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        command = [*hosts.agent_command(f"IMPALA-1={logs}", host="swapped"), "--poll", "0.05"]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
            until(lambda: "log" in hosts.kept("swapped"))
            time.sleep(5.0)
            assert process.poll() is None
            process.terminate()
    finally:
        ended.set()
        swapping.join()
    kept = hosts.kept("swapped")
    assert kept["log"] == b"of the log\n"
    assert set(kept.values()) <= {b"of the log\n", b"of another log\n"}


def test_attack_19_any_name_may_be_in_a_directory(hosts: Hosts, tmp_path: Path) -> None:
    names = [
        b"a\nb",
        b"\xff\xfe",
        b"x" * 255,
        b"\x1b]0;t\x07",
        b"  blank",
        b"%2F",
        b"a%00b",
        "ü~\u202e".encode(),
        b"a?b&c=d#e",
    ]
    for number, name in enumerate(names):
        (tmp_path / os.fsdecode(name)).write_bytes(b"content %d" % number)
    for number in range(2_000):
        (tmp_path / f"small-{number}").write_bytes(b"small %d" % number)
    (tmp_path / "unreadable\x1b[2J").mkdir()
    sources = (f"IMPALA-1={tmp_path}", f"SPARK-1={tmp_path}/absent\x1b[2J")
    command = [*hosts.agent_command(*sources, host="names"), "--once"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=MANY_WITHIN_S, check=True)
    said = done.stderr
    wanted = [b"content %d" % number for number in range(len(names))]
    wanted += [b"small %d" % number for number in range(2_000)]
    assert sorted(hosts.kept("names").values()) == sorted(wanted)
    assert [each for each in said if not each.isprintable() and each != "\n"] == []
    assert said


class Answering(BaseHTTPRequestHandler):
    """Answers each request with the next of ``answers``, and keeps the tokens that it is shown."""

    answers: ClassVar[list[tuple[int, dict[str, str], bytes]]] = []
    shown: ClassVar[list[str]] = []
    asked = 0

    def answer(self) -> None:
        cls = type(self)
        cls.asked += 1
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        cls.shown.append(self.headers.get("Authorization", ""))
        status, headers, body = cls.answers[min(cls.asked, len(cls.answers)) - 1]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(OSError):
            if body:
                self.wfile.write(body)
            else:
                for _ in range(2_000):  # a body that does not end
                    self.wfile.write(b" " * (1 << 20))

    do_GET = do_PUT = do_POST = answer

    def log_message(self, *words: Any) -> None:
        pass


@contextmanager
def answering(
    *answers: tuple[int, dict[str, str], bytes], context: ssl.SSLContext | None = None
) -> Iterator[tuple[int, type[Answering]]]:
    """Yield the port of a server with these answers, and its class, which has what was asked."""
    handler = type("Handler", (Answering,), {"answers": list(answers), "shown": [], "asked": 0})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield server.server_address[1], handler
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def ok(value: Any) -> tuple[int, dict[str, str], bytes]:
    return 200, {}, json.dumps(value).encode()


ENTRY: Final[dict[str, Any]] = {
    "id": "1-00000001", "source": "S", "name": "log", "inode": 1, "size": 1, "head": "", "head_bytes": 0, "mark": "",
    "gone": False,
}  # fmt: skip


@pytest.mark.parametrize(
    "answers",
    [
        [(307, {"Location": "http://127.0.0.1:{other}/x"}, b"{}")],
        [(200, {}, b"")],
        [(200, {"Content-Length": "99999999999"}, b"{}")],
        [(200, {}, b"no JSON")],
        [(200, {}, b"[" * 100_000)],
        [ok([])],
        [ok({"files": None})],
        [ok({"files": [{}]})],
        [ok({"files": [7, None]})],
        [ok({"files": [{**ENTRY, "inode": "x"}]})],
        [ok({"files": [{**ENTRY, "size": -1, "inode": "INODE"}]})],
        [ok({"files": [{**ENTRY, "size": 1 << 70, "head_bytes": 1 << 70, "inode": "INODE"}]})],
        [ok({"files": [{**ENTRY, "head_bytes": -5, "size": 0, "inode": "INODE"}]})],
        [ok({"files": []}), ok({"size": -1})],
        [ok({"files": []}), ok({"size": 1 << 70})],
        [ok({"files": []}), ok({"size": 0})],
        [ok({"files": []}), (409, {}, b'{"size": -1, "mark": ""}')],
        [ok({"files": []}), (409, {}, b'{"size": "x"}')],
        [(503, {"Retry-After": "99999999999999999999"}, b"{}")],
        [(503, {"Retry-After": "\xb2"}, b"{}")],
        [(200, {"X": "y" * 70_000}, b"{}")],
    ],
)
def test_attack_18_a_server_with_odd_answers_does_no_harm(
    tmp_path: Path, answers: list[tuple[int, dict[str, str], bytes]]
) -> None:
    logs, token = tmp_path / "logs", tmp_path / "token"
    logs.mkdir()
    (logs / "log").write_bytes(b"a line\n" * 1_000)
    token.write_text(TOKEN)
    inode = str((logs / "log").stat().st_ino).encode()
    with answering(ok({})) as (other, unasked):
        told = [
            (
                status,
                {name: value.replace("{other}", str(other)) for name, value in headers.items()},
                body.replace(b'"INODE"', inode),
            )
            for status, headers, body in answers
        ]
        with answering(*told) as (port, asked):
            process = subprocess.Popen(
                [
                    sys.executable,
                    agent.__file__,
                    "--url",
                    f"http://127.0.0.1:{port}",
                    "--token-file",
                    str(token),
                    "--source",
                    f"S={logs}",
                    "--poll",
                    "0.5",
                ],
                stderr=subprocess.PIPE,
                text=True,
            )
            until(lambda: asked.asked > 0)
            time.sleep(6.0)
            ended, cpu_s, resident_kib = process.poll(), _cpu_s(process.pid), _most_resident_kib(process.pid)
            process.kill()
            said = process.communicate()[1]
        assert unasked.asked == 0
    assert "Traceback" not in said
    assert TOKEN not in said
    assert ended is None
    assert cpu_s < 3.0
    assert resident_kib < MOST_RESIDENT_KIB
    assert asked.asked < 60


def test_attack_18_a_certificate_of_nobody_gets_no_token(tmp_path: Path) -> None:
    token, logs = tmp_path / "token", tmp_path / "logs"
    token.write_text(TOKEN)
    logs.mkdir()
    wrong, right = certificate(tmp_path / "wrong"), certificate(tmp_path / "right", "dns:elsewhere.example")
    for shown in (wrong, right):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(shown.certificate, shown.key)
        with answering(ok({"files": []}), context=context) as (port, asked):
            command = [
                sys.executable,
                agent.__file__,
                "--url",
                f"https://127.0.0.1:{port}",
                "--token-file",
                str(token),
            ]
            command += ["--ca-file", str(right.certificate), "--source", f"S={logs}", "--once"]
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
                assert process.stderr is not None
                assert "not sent" in process.stderr.readline()
                process.kill()
            assert asked.shown == []


def test_attack_18_everything_is_sent_once_the_server_is_well(hosts: Hosts, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"a line\n" * 1_000)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        command = hosts.agent_command(f"IMPALA-1={tmp_path}", host="patient")
        port = nobody.getsockname()[1]
        at = command.index("--url") + 1
        right, command[at] = command[at], f"http://127.0.0.1:{port}/navlin"
        with subprocess.Popen([*command, "--poll", "0.2"], stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            assert "not sent" in process.stderr.readline()
            nobody.close()
            with _relay(port, int(right.split(":")[2].partition("/")[0])):
                until(lambda: hosts.kept("patient") == {"log": b"a line\n" * 1_000})
            process.kill()


@contextmanager
def _relay(port: int, to: int) -> Iterator[None]:
    """Pass connections on to another port."""
    listening = socket.create_server(("127.0.0.1", port))

    def pump(one: socket.socket, two: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(1 << 16):
                two.sendall(data)
            two.shutdown(socket.SHUT_WR)

    def accept() -> None:
        with suppress(OSError):
            while True:
                one, two = listening.accept()[0], socket.create_connection(("127.0.0.1", to))
                for pair in ((one, two), (two, one)):
                    threading.Thread(target=pump, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield
    finally:
        listening.close()


def test_attack_20_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    state = tmp_path / "home" / "state"
    state.mkdir(parents=True)
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(state)], check=False
    ).returncode:
        pytest.skip("this machine lets nobody mount a file system")
    try:
        with hosts_of(tmp_path / "home") as small:
            log = tmp_path / "logs" / "log"
            log.parent.mkdir()
            log.write_bytes(os.urandom(30 << 20))
            process = subprocess.Popen(
                [*small.agent_command(f"IMPALA-1={log.parent}"), "--poll", "0.2"],
                stderr=subprocess.PIPE,
                text=True,
            )
            kept = small.root / "hosts" / "one" / ".ids" / "IMPALA-1"
            sent = list[bytes]()
            answers = set[int]()
            until(lambda: _size(kept) > 16 << 20)
            for number in range(9):
                line = b"%d " % number * 200_000
                answers.add(answer := small.send("POST", LINES + "IMPALA-1", data=line).status_code)
                sent += [line] if answer == 200 else []
            assert answers <= {200, 503, 429}
            assert 503 in answers
            (there,) = kept.iterdir()
            assert log.read_bytes().startswith(there.read_bytes())
            subprocess.run(["mount", "-o", "remount,size=80m", str(state)], check=True)
            until(lambda: small.kept().get("log") == log.read_bytes())
            assert small.lines().splitlines() == [each.rstrip(b"\n") for each in sent]
            process.terminate()
            assert "503" in process.communicate()[1]
    finally:
        subprocess.run(["umount", "--lazy", str(state)], check=True)


def _size(directory: Path) -> int:
    return sum(each.stat().st_size for each in directory.iterdir()) if directory.is_dir() else 0


def _cpu_s(process_id: int) -> float:
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _most_resident_kib(process_id: int) -> int:
    return int(Path(f"/proc/{process_id}/status").read_text().partition("VmHWM:")[2].split()[0])


def until(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 300.0
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.2)
