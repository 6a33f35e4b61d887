"""A private LDAP directory on loopback (UnboundID's in-memory server, from the jar set "ldap")."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final, Self

from navlin.demo.children import end_with_parent
from navlin.java import QUICK, JavaProgram
from tests.services.certificates import PASSWORD as STORE_PASSWORD
from tests.services.certificates import Certificate, certificate
from tests.services.kerberos import free_port

SOURCE: Final = Path(__file__).with_name("UserDirectory.java")
BASE: Final = "dc=example,dc=org"
PASSWORD: Final = "correct horse battery ☃"
ACCOUNT: Final = f"cn=navlin,ou=services,{BASE}"
ACCOUNT_PASSWORD: Final = "service word"


def person(name: str, *, branch: str = "people", member_of: tuple[str, ...] = ()) -> str:
    """Return the LDIF entry of a person."""
    groups = "".join(f"memberOf: {group(each)}\n" for each in member_of)
    return f"dn: uid={name},ou={branch},{BASE}\nobjectClass: person\nuid: {name}\nuserPassword: {PASSWORD}\n{groups}\n"


def dn_of(name: str) -> str:
    return f"uid={name},ou=people,{BASE}"


def group(name: str) -> str:
    """Return the DN of a group."""
    return f"cn={name},ou=groups,{BASE}"


def group_of(name: str, attribute: str, *members: str) -> str:
    """Return the LDIF entry of a group."""
    lines = "".join(f"{attribute}: {member}\n" for member in members)
    return f"dn: {group(name)}\nobjectClass: groupOfNames\n{lines}\n"


ODD: Final = "a.b@c-d_e"
PEOPLE: Final = (
    f"dn: {BASE}\nobjectClass: domain\ndc: example\n\n"
    + "".join(f"dn: ou={each},{BASE}\nou: {each}\n\n" for each in ("people", "groups", "services", "others"))
    + f"dn: {ACCOUNT}\ncn: navlin\nuserPassword: {ACCOUNT_PASSWORD}\n\n"
    + person("ann", member_of=("admins",))
    + person("bob", member_of=("stewards",))
    + person("eve")
    + person("dan")
    + person("fay", member_of=("admins", "leavers"))
    + person("Gil", member_of=("viewers",))
    + person("locked", member_of=("admins",))
    + person("chief", member_of=("admins",))
    + person("twin")
    + person("twin", branch="others")
    + person("umläut", member_of=("admins",))
    + person(ODD, member_of=("viewers",))
    + group_of("admins", "member", *map(dn_of, ("ann", "fay", "locked", "chief", "umläut")))
    + group_of("stewards", "uniqueMember", dn_of("bob"))
    + group_of("viewers", "memberUid", "Gil", ODD)
    + group_of("leavers", "member", dn_of("fay"))
    + group_of("company", "member", group("team"))
    + group_of("team", "member", dn_of("eve"))
)


class LdapServer:
    """An LDAP server in ``directory``, which runs as long as this context lasts. ``jars`` is the directory of the
    jar set "ldap".
    """

    def __init__(self, directory: Path, jars: Path) -> None:
        self.directory = directory
        self.port, self.tls_port = free_port(), free_port()
        self.tls: Certificate = certificate(directory / "tls")
        self._program = JavaProgram(SOURCE, sorted(jars.glob("*.jar")), jars.parent / "ldap-launcher")
        self._log = directory / "asked"
        self._read = 0

    @property
    def url(self) -> str:
        """URL for plain connections and StartTLS."""
        return f"ldap://127.0.0.1:{self.port}"

    @property
    def tls_url(self) -> str:
        """URL for TLS connections."""
        return f"ldaps://127.0.0.1:{self.tls_port}"

    def __enter__(self) -> Self:
        people = self.directory / "people.ldif"
        people.write_text(PEOPLE)
        self._log.touch()
        ports = (str(self.port), str(self.tls_port))
        arguments = (str(people), str(self.tls.store), STORE_PASSWORD, *ports, str(self._log))
        self._process = subprocess.Popen(
            self._program.command(QUICK, arguments, archive_classes=False),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(self.directory / "server.log").open("ab"),
            text=True,
            preexec_fn=end_with_parent,
        )
        self._await()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def change(self, ldif: str) -> None:
        """Apply changes given in LDIF."""
        file = self.directory / "change.ldif"
        file.write_text(ldif)
        self._do(f"ldif {file}")

    def close(self) -> None:
        """Stop listening until `open` is called."""
        self._do("stop")

    def open(self) -> None:
        """Listen again."""
        self._do("start")

    def asked(self) -> list[tuple[str, ...]]:
        """Return the requests since the last call, as ("bind", DN) or ("search", base, filter)."""
        lines = self._log.read_text().splitlines()
        new, self._read = lines[self._read :], len(lines)
        return [tuple(line.split("\t")) for line in new]

    def _do(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        self._await()

    def _await(self) -> None:
        assert self._process.stdout is not None
        if (line := self._process.stdout.readline()) != "READY\n":
            raise RuntimeError(
                f"the directory said {line!r}: {(self.directory / 'server.log').read_text()[-2000:]}"
            )
