# ruff: noqa: E501 (findings are printed in long lines; no SQL here reaches a database)
"""Attacks of kind 5, continued: LDAP directories that never end, or that send data without being asked."""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.attacks.house import Answer, House, Room, basic, house, together
from tests.attacks.servers import Directory, certificate, entry, message, number, pour, raw_peer, result, tlv
from tests.attacks.watching import Watch

TIMEOUT_S = 2
BIND_WORD = "BindW0rdOfNavlin"
WORD = "An7herW0rdOfAnn"


@contextmanager
def _with_directory(
    room: Room, directory: Directory, scheme: str = "ldap", more: str = "", tls: str = ""
) -> Iterator[House]:
    word = Path(tempfile.mkdtemp(prefix="attack-bind-")) / "password"
    word.write_text(BIND_WORD)
    word.chmod(0o600)
    with raw_peer(directory) as port:
        part = (
            f'[ldap]\nurls = ["{scheme}://127.0.0.1:{port}"]\nsearch_base = "dc=example,dc=org"\nsearch_filter = "(uid={{name}})"\n'
            f'name_attribute = "uid"\nbind_dn = "cn=navlin"\nbind_password_file = "{word}"\ndefault_role = "lineage-viewer"\ntimeout_s = {TIMEOUT_S}\n{tls}{more}\n'
        )
        with house(room, part) as own:
            yield own


def directories_that_stall(room: Room) -> None:
    """A directory is silent, drips, claims 2 GiB, nests without end or sends entries without end, while 60 people log in."""
    turn = [0]

    def stall(connection: socket.socket, ident: int, tag: int, _: bytes) -> bool:
        kind = turn[0]
        if kind == 0:
            time.sleep(300)
        elif kind == 1:
            pour(connection, b"\x30", 10**6, TIMEOUT_S * 0.7)
        elif kind == 2:
            pour(connection, b"\x30\x84\x7f\xff\xff\xff" + b"\x04\x02aa" * 10_000, 10**11)
        elif kind == 3:
            connection.sendall(message(ident, tlv(0x61, b"\x30\x80" * 100_000)))
        elif kind == 4 and tag == 0x63:
            pour(connection, message(ident, entry("uid=x,dc=example,dc=org", uid=["x" * 50_000])), 10**11)
        elif kind == 5:
            connection.sendall(message(ident, result(0x61, 51)))
        elif kind == 6:
            connection.sendall(message(ident + 1, result(0x61)) + b"\x00" * 100)
        else:
            return False
        return True

    with _with_directory(room, Directory(stall), more="passwords_in_clear = true") as own:
        own.person("bob")
        for kind in range(7):
            turn[0] = kind
            with Watch(own, line=kind == 0):
                worst: list[float] = []

                def strangers(i: int) -> Answer:
                    return own.ask("/api/navlin/v1/status", user=None, Authorization=basic(f"u{i}", "w"))

                thread = threading.Thread(target=together, args=(60, strangers, 90))
                thread.start()
                time.sleep(1)
                for _ in range(6):
                    answer = own.ask("/api/navlin/v1/search?query=x", user="bob")
                    worst.append(answer.seconds if answer.status == 200 else 99)
                    time.sleep(0.5)
                thread.join()
            room.see(
                max(worst) < 3, f"directory {kind}: a user of `navlin user` waits {max(worst):.1f} s at most"
            )
            answer = own.ask("/login", {"name": f"ann{kind}", "password": "w"}, user=None)
            room.see(
                answer.status in (401, 429, 502, 503, 504) and answer.seconds < 4 * TIMEOUT_S + 5,
                f"directory {kind}: a log-in is answered {answer.status} in {answer.seconds:.1f} s",
            )
        own.closing()


def names_for_a_directory(room: Room) -> None:
    """Names with filters, zero bytes and DNs, empty passwords, referrals, an entry without a name, two entries, the entry of somebody else."""
    reached: list[bytes] = []
    turn = [0]

    def other(connection: socket.socket) -> None:
        reached.append(connection.recv(1000))

    with raw_peer(other) as elsewhere_port:
        url = f"ldap://127.0.0.1:{elsewhere_port}/dc=example,dc=org"

        def answer(connection: socket.socket, ident: int, tag: int, _: bytes) -> bool:
            if tag != 0x63 or not turn[0]:
                return False
            kind, end = turn[0], message(ident, result(0x65))
            if kind == 1:
                connection.sendall(message(ident, tlv(0x73, tlv(4, url.encode()))) + end)
            elif kind == 2:
                connection.sendall(message(ident, result(0x65, 10, tlv(0xA3, tlv(4, url.encode())))))
            elif kind == 3:
                connection.sendall(message(ident, entry("", uid=["eve"])) + end)
            elif kind == 4:
                connection.sendall(
                    message(ident, entry("uid=a,dc=x", uid=["eve"]))
                    + message(ident, entry("uid=b,dc=x", uid=["eve"]))
                    + end
                )
            elif kind == 5:
                connection.sendall(message(ident, entry("uid=admin,dc=example,dc=org", uid=["admin"])) + end)
            else:
                connection.sendall(end)
            return True

        directory = Directory(answer)
        with _with_directory(room, directory, more="passwords_in_clear = true") as own:
            asked = directory.searches
            names = [
                "*",
                "a*",
                "*)(uid=*",
                "ann)(|(uid=*",
                "ann\x00",
                "\\2a",
                "uid=ann,dc=example",
                "ann\n",
                "",
                " ",
                "a" * 100_000,
                "аnn",
                "ann\u202e",
                "admin\\00",
            ]
            for name in names:
                status = own.ask("/login", {"name": name, "password": WORD}, user=None).status
                room.see(status in (400, 401, 413, 429), f"the name {name[:20]!r}: {status}")
            room.see(
                directory.searches == asked and b"*" not in directory.came,
                f"none of these names reached the directory ({directory.searches - asked})",
            )
            for password in ("", "\x00", "a\x00b"):
                before = len(directory.binds)
                status = own.ask("/login", {"name": "ann", "password": password}, user=None).status
                sent = [p for _, p in directory.binds[before:] if p in (b"", b"\x00", b"a\x00b") and _]
                room.see(
                    status in (400, 401, 429) and not sent,
                    f"the password {password!r}: {status}, and was not sent",
                )
            room.see(
                own.ask("/login", {"name": "admin", "password": WORD}, user=None).status in (401, 429),
                "the directory makes nobody `admin`",
            )
            for kind in (1, 2, 3, 4, 5, 6):
                turn[0] = kind
                status = own.ask(
                    "/login", {"name": f"eve{kind}" if kind == 6 else "eve", "password": WORD}, user=None
                ).status
                room.see(
                    status in (401, 429, 502, 503), f"answer {kind} of the directory lets nobody in: {status}"
                )
                own.ask("/healthz", user=None)
            room.see(not reached, f"no referral was followed {reached[:1]}")
            room.see(WORD not in own.log() and BIND_WORD not in own.log(), "no password stands in the log")
            own.closing()


def passwords_in_the_clear(room: Room) -> None:
    """Without `passwords_in_clear`: a directory refuses StartTLS, agrees and continues in clear text, or shows a certificate of its own."""
    tls = certificate("other.example")
    trusted = certificate()
    word = "W0rdThatMustNotBeSeen"

    def injected(connection: socket.socket, ident: int, tag: int, _: bytes) -> bool:
        if (
            tag == 0x77
        ):  # the server accepts StartTLS, and a man in the middle injects clear text after the response
            early = (
                message(ident + 1, result(0x61))
                + message(ident + 2, entry("uid=ann,dc=x", uid=["ann"]))
                + message(ident + 2, result(0x65))
            )
            connection.sendall(message(ident, result(0x78)) + early)
            return True
        return False

    def refuses(connection: socket.socket, ident: int, tag: int, _: bytes) -> bool:
        if tag == 0x77:
            connection.sendall(message(ident, result(0x78, 2)))
        return tag == 0x77

    kinds = {
        "refuses StartTLS": (Directory(refuses), "ldap"),
        "talks on in the clear": (Directory(injected), "ldap"),
        "shows a certificate of its own": (Directory(None, tls), "ldap"),
        "is no TLS": (Directory(None), "ldaps"),
    }
    for what, (directory, scheme) in kinds.items():
        with _with_directory(room, directory, scheme, tls=f'ca_file = "{trusted}/c.pem"\n') as own:
            for i in range(2):
                answer = own.ask("/login", {"name": "ann", "password": word}, user=None)
                room.see(
                    answer.status in (401, 429, 502, 503, 504),
                    f"a directory that {what}: log-in {i} is answered {answer.status}",
                )
            room.see(
                word.encode() not in directory.came
                and BIND_WORD.encode() not in directory.came
                and not directory.binds,
                f"a directory that {what} saw no password and no bind",
            )
            room.see(word not in own.log(), "nor did the log")
    room.see(number(1) == b"\x02\x01\x01", "the attack's own BER is right")


ATTACKS = dict(enumerate((directories_that_stall, names_for_a_directory, passwords_in_the_clear), 40))
