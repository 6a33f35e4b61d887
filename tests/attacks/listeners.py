# ruff: noqa: E501 (findings are printed in long lines; no SQL here reaches a database)
"""Attacks of kind 6: listeners of other processes, and data that other users of the machine can read."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.attacks.house import NOBODY_UID, House, Room, basic, free_port, house
from tests.attacks.records import impala_record, spark_log
from tests.attacks.servers import http_peer
from tests.attacks.watching import Watch
from tests.services.nginx import NoNginx, unpack

STRANGER = shutil.which("python3", path="/usr/bin:/usr/local/bin:/bin") or sys.executable


def listening(own: House) -> list[tuple[int, str, int]]:
    """Return (pid, address, port) of each TCP socket on which serve or one of its children listens."""
    inodes: dict[str, tuple[str, int]] = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A":
                host, port = words[1].split(":")
                inodes[words[9]] = host, int(port, 16)
    out = []
    for pid in own.pids():
        for inode in _sockets(pid):
            if inode in inodes:
                out.append((pid, *inodes[inode]))
    return sorted(set(out))


def _sockets(pid: int) -> list[str]:
    out = []
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            found = re.match(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{fd}"))
            out += [found[1]] if found else []
    except OSError:
        pass
    return out


def as_a_stranger(script: str, *words: str, limit_s: float = 200) -> str:
    """Run a script as the user nobody, and return its output."""
    command = [STRANGER, "-c", script, *words]
    done = subprocess.run(
        command,
        user=NOBODY_UID,
        group=NOBODY_UID,
        extra_groups=[],
        cwd="/",
        capture_output=True,
        timeout=limit_s,
        check=False,
    )
    return done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")


CALLS = r"""
import json, socket, sys
words = [b"GET / HTTP/1.0\r\n\r\n", b"GET /solr/nav_elements/select?q=*:* HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    b"GET /solr/admin/info/system HTTP/1.1\r\nHost: x\r\nAuthorization: Basic c29scjpTb2xyUm9ja3M=\r\nConnection: close\r\n\r\n",
    b"GET /solr/admin/metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", b"GET /api/node/properties HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    b"GET /solr/nav_elements/admin/ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", b"GET /solr//..;/nav_elements/select HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    b"POST /solr/nav_elements/update?stream.body=<delete><query>*:*</query></delete>&commit=true HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    b"c\nj\njava.lang.Runtime\ngetRuntime\ne\n", b"A\nwrong\n", b"A\n\n", b"\x00\x00\x00\x15\x03" + b"\x00" * 40, b"\xff" * 4096, b"\x7f\xff\xff\xff", b"\x00" * 100_000]
out = []
for port in sys.argv[1:]:
    for word in words:
        try:
            s = socket.create_connection(("127.0.0.1", int(port)), 5); s.settimeout(2); s.sendall(word)
            got = b""
            while len(got) < 3000:
                more = s.recv(3000)
                if not more: break
                got += more
        except OSError as error:
            got = got if "got" in dir() and got else b""
        out.append([int(port), word[:60].decode("latin-1"), got[:600].decode("latin-1")]); got = b""
print(json.dumps(out))
"""

CROWD = r"""
import resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (4000, 4000))
held = []
for port in sys.argv[2:]:
    for i in range(int(sys.argv[1])):
        try:
            s = socket.create_connection(("127.0.0.1", int(port)), 2)
            if i % 3 == 1: s.sendall(b"A")
            if i % 3 == 2: s.sendall(b"\x00\x00\xff\xff")
            held.append(s)
        except OSError: break
print(len(held), flush=True)
time.sleep(60)
"""


def _root(room: Room) -> bool:
    if os.getuid() != 0:
        room.not_run = "only root can act as another user"
    return os.getuid() == 0


def strangers_at_each_listener(room: Room) -> None:
    """The user nobody finds each listener of serve and its children, and asks Solr, py4j and Spark for data."""
    if not _root(room):
        return
    with house(room) as own:
        own.say(impala_record("shop.crown_jewels"))
        own.wait_total('originalName:"crown_jewels"', 1, 30)
        found = listening(own)
        ports = sorted({port for _, _, port in found if port != own.port})
        loopback = {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}
        beyond = [(port, host) for _, host, port in found if host not in loopback]
        room.see(not beyond, f"each of {len(found)} listeners is on loopback {beyond}")
        before = own.pids()
        # A listener that waits for more of a message takes two seconds for each.
        said = as_a_stranger(CALLS, *map(str, ports), limit_s=60 + len(ports) * 15 * 3)
        answers = json.loads(said.splitlines()[0]) if said.startswith("[") else []
        room.see(
            len(answers) == len(ports) * 15,
            f"the stranger asked {len(answers)} times {said[:100] if not answers else ''}",
        )
        for port, word, got in answers:
            good = not any(
                w in got
                for w in ("crown_jewels", "numFound", "solr-spec", "!yro", '"status":"OK"', "jvm", "200 OK")
            )
            if not good:
                room.see(False, f"port {port} answers {word!r} with {got[:120]!r}")
        room.see(
            len(own.pids()) <= len(before) + 2,
            f"no processes were made by it: {len(before)} before, {len(own.pids())} after",
        )
        room.see(own.total('originalName:"crown_jewels"') == 1, "and nothing was deleted")
        sockets = [
            line.split()[-1]
            for line in Path("/proc/net/unix").read_text().splitlines()[1:]
            if line.split()[6] in {i for p in own.pids() for i in _sockets(p)} and len(line.split()) > 7
        ]
        script = "import socket, sys\nfor p in sys.argv[1:]:\n    s = socket.socket(socket.AF_UNIX)\n    a = '\\0' + p[1:] if p[0] == '@' else p\n    try: s.connect(a); print('REACHED', p)\n    except OSError: pass"
        reached = as_a_stranger(script, *sockets)
        room.see(
            "REACHED" not in reached,
            f"none of {len(sockets)} Unix sockets is reached by a stranger {reached[:200]}",
        )
        own.closing()


def a_silent_crowd(room: Room) -> None:
    """nobody holds 500 silent or half-sent connections to each listener of Spark's JVM and Solr's for a minute."""
    if not _root(room):
        return
    with house(room) as own:
        ports = sorted({port for _, _, port in listening(own) if port != own.port})
        threads = {pid: len(os.listdir(f"/proc/{pid}/task")) for pid in own.pids()}
        before = own.pids()
        crowd = subprocess.Popen(
            [STRANGER, "-c", CROWD, "500", *map(str, ports)],
            user=NOBODY_UID,
            group=NOBODY_UID,
            extra_groups=[],
            cwd="/",
            stdout=subprocess.PIPE,
        )
        assert crowd.stdout is not None
        held = int(crowd.stdout.readline() or b"0")
        with Watch(own):
            time.sleep(20)
            during = len(own.pids())
            (own.spark / "application_1700000000000_0001").write_bytes(spark_log("a", "file:/data/crowd"))
            found, took_s = own.wait_total('"/data/crowd"', 1, 60)
            room.see(found > 0, f"meanwhile a log of Spark is found after {took_s:.0f} s")
        room.see(
            during <= len(before) + 4,
            f"{held} silent connections to {len(ports)} ports made no processes: {len(before)} before, {during} meanwhile",
        )
        crowd.wait(120)
        time.sleep(60)
        left = {
            pid: len(os.listdir(f"/proc/{pid}/task")) - n
            for pid, n in threads.items()
            if Path(f"/proc/{pid}").exists()
        }
        room.see(
            max(left.values(), default=0) < 60,
            f"a minute after they hung up at most {max(left.values(), default=0)} threads more than before are left",
        )
        room.see(before.keys() - own.pids().keys() == set() or own.alive(), "and none of the processes ended")
        own.closing()


def what_can_be_read(room: Room) -> None:
    """nobody reads command lines, environments, and all new files; a port of [solr] is taken by a listener that imitates Solr."""
    if not _root(room):
        return
    began = time.time()
    with house(room, people=("ann",)) as own:
        own.say(impala_record("shop.x"))
        own.line_s()
        own.navlin("search", "shop.x")
        script = "import glob\nfor p in glob.glob('/proc/[0-9]*/*'):\n    if p.endswith(('/cmdline', '/environ')):\n        try: print(open(p, 'rb').read().decode('latin-1'))\n        except OSError: pass"
        read = as_a_stranger(script)
        secrets = {"the administrator's password": own.people["admin"], "ann's password": own.people["ann"]}
        for file in own.state.rglob("*"):
            if file.is_file() and file.stat().st_size < 300 and "password" in file.name:
                secrets[file.name] = file.read_text(errors="replace").strip()
        for pid, line in own.pids().items():
            environment = (
                Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
                if Path(f"/proc/{pid}").exists()
                else ""
            )
            for name in re.findall(
                r"(?i)[\w.]*(?:secret|password|token)[\w.]*=(\S{8,})",
                line + " " + environment.replace("\0", " "),
            ):
                room.see(
                    name.startswith(("/", "file")),
                    f"a secret stands in the command line or environment of {line[:60]!r}: {name[:6]}…",
                )
        for what, secret in secrets.items():
            room.see(
                bool(secret) and secret not in read and secret not in own.log(),
                f"{what} stands in no command line, environment and log",
            )
        open_files = []
        own_pids = [str(pid) for pid in own.pids()]
        for root in (
            own.state,
            Path(tempfile.gettempdir()),
            Path("/dev/shm"),
            Path("/var/tmp"),
            Path.home() / ".ivy2",
        ):
            # Files come and go meanwhile, and os.walk passes over what is no longer there.
            for path in (Path(at, name) for at, _, names in os.walk(root) for name in names):
                try:
                    info = path.lstat()
                except OSError:
                    continue
                ours = root == own.state or any(pid in path.name for pid in own_pids)
                if (
                    ours
                    and info.st_ctime > began
                    and stat.S_ISREG(info.st_mode)
                    and info.st_mode & 0o077
                    and "jars" not in path.parts
                ):
                    parents = [p for p in path.parents if p == own.state or root in p.parents]
                    if all(p.stat().st_mode & 0o011 for p in parents):
                        open_files.append(str(path))
        room.see(not open_files, f"no file of navlin or its children is open to others {open_files[:4]}")
        room.see(own.state.stat().st_mode & 0o077 == 0, "the state directory is its user's alone")
        script = "import os, sys\nfor d, _, f in os.walk(sys.argv[1]):\n    for n in f: print(d, n)"
        room.see(
            "access.json" not in as_a_stranger(script, str(own.state)),
            "a stranger lists nothing of the state directory",
        )
        own.closing()
    came: list[bytes] = []

    def plays_solr(connection: socket.socket, head: bytes) -> None:
        came.append(head)
        body = b'{"responseHeader":{"status":0},"status":{},"lucene":{"solr-spec-version":"9.9.0"}}'
        connection.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
            + body
        )

    with http_peer(plays_solr) as port:
        own = House(room)
        own.config.write_text(own.config.read_text().replace("[solr]\n", f"[solr]\nport = {port}\n"))
        try:
            own.start(limit_s=90)
        except (RuntimeError, OSError):
            pass
        finally:
            own.stop()
        room.see(
            not any(b"uthorization" in head for head in came),
            f"who holds Solr's port was asked {len(came)} times and sent no password",
        )
        shutil.rmtree(own.home, ignore_errors=True)


def forged_names_by_nginx(room: Room) -> None:
    """Behind nginx that passes user names in a header: clients forge it in eight spellings, and strangers bypass the proxy."""
    try:
        nginx = unpack(Path(tempfile.mkdtemp(prefix="attack-nginx-")))
    except NoNginx as error:
        room.not_run = str(error)
        return
    door = free_port()
    web = 'trusted_proxies = ["127.0.0.1"]\nuser_header = "X-Remote-User"\nproxy_role = "lineage-viewer"'
    with house(room, web=web) as own:
        conf = own.home / "nginx.conf"
        conf.write_text(
            f"daemon off; pid {own.home}/nginx.pid; error_log {own.home}/nginx.log;\nevents {{}}\n"
            f"http {{ access_log off; client_body_temp_path {own.home}/b; proxy_temp_path {own.home}/p; fastcgi_temp_path {own.home}/f;"
            f" uwsgi_temp_path {own.home}/u; scgi_temp_path {own.home}/s; underscores_in_headers on; ignore_invalid_headers off;\n"
            f"server {{ listen 127.0.0.1:{door}; location / {{ proxy_pass http://127.0.0.1:{own.port}; proxy_set_header X-Remote-User visitor; }}\n"
            f"location /nobody/ {{ proxy_pass http://127.0.0.1:{own.port}/; proxy_set_header X-Remote-User ''; }} }} }}\n"
        )
        proxy = subprocess.Popen([nginx, "-e", "stderr", "-c", str(conf), "-p", str(own.home)])
        try:
            time.sleep(2)

            def who(
                lines: list[str], path: str = "/session", port: int = door, source: str = "127.0.0.1"
            ) -> tuple[int, Any]:
                with socket.create_connection(
                    ("127.0.0.1", port), 10, source_address=(source, 0)
                ) as connection:
                    connection.sendall(
                        "\r\n".join(
                            [f"GET {path} HTTP/1.1", "Host: x", *lines, "Connection: close", "", ""]
                        ).encode("latin-1")
                    )
                    data = b""
                    while more := connection.recv(65536):
                        data += more
                status = int(data.split()[1]) if data else 0
                try:
                    return status, json.loads(data.partition(b"\r\n\r\n")[2]).get("user")
                except ValueError:
                    return status, None

            room.see(who([]) == (200, "visitor"), f"by nginx one is who nginx names: {who([])}")
            spellings = [
                "X_Remote_User",
                "x-remote-user",
                "X-Remote_User",
                "X-REMOTE-USER",
                "X-Remote-User ",
                "X-Remote-User\t",
                " X-Remote-User",
                "X.Remote.User",
            ]
            for spelling in spellings:
                status, name = who([f"{spelling}: admin"])
                room.see(name in (None, "visitor"), f"{spelling!r}: admin makes one {name!r} ({status})")
                status, name = who([f"{spelling}: admin"], "/nobody/session")
                room.see(
                    name != "admin" and status != 200,
                    f"{spelling!r} where nginx names nobody: {name!r} ({status})",
                )
            for value in (
                "admin, visitor",
                "visitor\r\nX-Remote-User: admin",
                "admin\x00",
                "",
                "visitor;role=administrator",
            ):
                status, name = who([f"X-Remote-User: {value}"], port=own.port, source="127.0.0.1")
                room.see(status < 500, f"the proxy itself says {value!r}: {status} {name!r}")
            status, name = who(["X-Remote-User: admin"], port=own.port, source="127.0.0.2")
            room.see(status == 401, f"past the proxy, from another address: {status} {name!r}")
            for forged in ("X-Forwarded-For: 127.0.0.1", "Forwarded: for=127.0.0.1", "X-Real-IP: 127.0.0.1"):
                status, name = who(["X-Remote-User: admin", forged], port=own.port, source="127.0.0.2")
                room.see(status == 401, f"with {forged}: {status} {name!r}")
            status, _ = who(["Connection: close, X-Remote-User"])
            room.see(
                status in (200, 400, 401) and who(["Connection: X-Remote-User"])[1] in (None, "visitor"),
                "a hop-by-hop header does not take the name away",
            )
            purge = own.ask(
                "/api/navlin/v1/purge",
                {"before": "2001-01-01"},
                user=None,
                port=own.port,
                X_Remote_User="visitor",
            )
            room.see(
                purge.status == 403,
                f"a name from the proxy that `navlin user` does not know has the proxy's role: {purge.status}",
            )
            word = own.ask(
                "/api/navlin/v1/status",
                user=None,
                port=own.port,
                source="127.0.0.2",
                Authorization=basic("admin", own.people["admin"]),
            )
            room.see(word.status == 200, f"a password past the proxy is still good: {word.status}")
        finally:
            proxy.terminate()
            proxy.wait(20)
        own.closing()


ATTACKS = dict(
    enumerate((strangers_at_each_listener, a_silent_crowd, what_can_be_read, forged_names_by_nginx), 43)
)
