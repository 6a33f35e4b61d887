"""Users from an LDAP directory or Active Directory. Anyone who can bind is a user, and groups determine the role."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeVar

from sansldap import FilterEquality, FilterExtensibleMatch, FilterOr, FilterPresent, LDAPFilter, SearchScope

from navlin.access.ldap import Conversation, Entry, LdapError, Server, conversation, escaped
from navlin.access.passwords import MOST_CHARS
from navlin.access.roles import Role
from navlin.access.store import User, usable_name

NAME: Final = "{name}"
"""Placeholder for the typed name, in ``user_dn`` and ``search_filter``."""
NESTED: Final = "1.2.840.113556.1.4.1941"
"""OID of Active Directory's matching rule for nested groups."""
PAUSE_S: Final = 2.0
"""Time for which a server that did not respond is skipped, because each attempt may take the whole time limit."""
_T = TypeVar("_T")

Membership = Literal["member", "memberOf", "nested"]


class DirectoryFailed(Exception):
    """No server could be queried; the message gives a reason for each server."""


class Stranger(Exception):
    """The login is refused; the message says why. Messages that say more than "wrong user name or password" are only
    raised after the right password was given."""


@dataclass(frozen=True, slots=True)
class Ldap:
    """Settings of a directory. Exactly one of ``user_dn`` (a DN pattern) and ``search_base`` (with ``search_filter``
    and the bind account) is set. ``groups`` has pairs (role, DNs of groups). The first pair that matches determines the
    role; the role None refuses the members of these groups."""

    servers: tuple[Server, ...]
    timeout_s: float
    name_attribute: str
    user_dn: str = ""
    search_base: str = ""
    search_filter: str = ""
    bind_dn: str = ""
    bind_password_file: Path | None = None
    membership: Membership = "member"
    groups: tuple[tuple[Role | None, tuple[str, ...]], ...] = ()
    default_role: Role | None = None
    remember_s: float = 60.0


@dataclass(slots=True)
class Directory:
    """Client of a directory. It asks the servers in order until one responds. ``clock`` returns monotonic seconds.
    Thread-safe."""

    ldap: Ldap
    clock: Callable[[], float] = time.monotonic
    _silent: dict[Server, tuple[float, str]] = field(default_factory=dict)

    @property
    def finds(self) -> bool:
        """Whether a user's role can be looked up without a password."""
        return bool(self.ldap.bind_dn)

    def user(self, name: str, password: str) -> User:
        """Return the user with this name and password. The returned name is spelled as in the directory. Raises
        `Stranger` and `DirectoryFailed`."""
        wrong = Stranger("wrong user name or password")
        # A server may treat an empty password, or one that C code reads as empty, as an anonymous bind, which succeeds
        # for everybody.
        if not usable_name(name) or not 0 < len(password) <= MOST_CHARS or "\0" in password:
            raise wrong

        def ask(speaking: Conversation) -> User:
            if self.ldap.user_dn:
                dn = self.ldap.user_dn.replace(NAME, escaped(name))
                if not speaking.bind(dn, password):
                    raise wrong
                found = speaking.entries(
                    dn, SearchScope.BASE, FilterPresent("objectClass"), self.ldap.name_attribute
                )
                if self.finds:
                    self._log_in(speaking)
            else:
                self._log_in(speaking)
                found = self._found(speaking, name)
                if not found or not speaking.bind(found[0].dn, password):
                    raise wrong
                # Users may lack permission to read groups, so the bind account reads them.
                self._log_in(speaking)
            return self._with_role(speaking, found)

        return self._of_a_server(ask)

    def again(self, name: str) -> User | None:
        """Look up the user of this name with the bind account; None if there is no such user, or the user has no role.
        Raises `DirectoryFailed`."""

        def ask(speaking: Conversation) -> User | None:
            self._log_in(speaking)
            try:
                return self._with_role(speaking, self._found(speaking, name))
            except Stranger:
                return None

        return self._of_a_server(ask)

    def check(self) -> Iterator[tuple[bool, str]]:
        """Yield (success, message) for each server, for `navlin check`."""
        for server in self.ldap.servers:
            try:
                with conversation(server, self.ldap.timeout_s) as speaking:
                    yield self._checked(server, speaking)
            except LdapError as error:
                yield False, str(error)

    # -- Inside ----------------------------------------------------------------------------------------------------------

    def _of_a_server(self, ask: Callable[[Conversation], _T]) -> _T:
        """Return the result of ``ask`` for the first server that responds. A refused login is not tried on another
        server, because it would count twice against the account."""
        failures = []
        for server in self.ldap.servers:
            until_s, words = self._silent.get(server, (0.0, ""))
            if self.clock() < until_s:
                failures.append(words)
                continue
            try:
                with conversation(server, self.ldap.timeout_s) as speaking:
                    return ask(speaking)
            except LdapError as error:
                self._silent[server] = (self.clock() + PAUSE_S, str(error))
                failures.append(str(error))
        raise DirectoryFailed("; ".join(failures))

    def _log_in(self, speaking: Conversation) -> None:
        file = self.ldap.bind_password_file
        assert file is not None
        try:
            password = file.read_text().rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise LdapError(f"the bind_password_file {file} cannot be read: {error}") from error
        if not password:
            raise LdapError(f"the bind_password_file {file} is empty")
        if not speaking.bind(self.ldap.bind_dn, password):
            raise LdapError(f"the bind account {self.ldap.bind_dn} was refused: check bind_password_file")

    def _found(self, speaking: Conversation, name: str) -> list[Entry]:
        if self.ldap.user_dn:
            base, scope = self.ldap.user_dn.replace(NAME, escaped(name)), SearchScope.BASE
            wanted: LDAPFilter = FilterPresent("objectClass")
        else:
            base, scope = self.ldap.search_base, SearchScope.SUBTREE
            wanted = LDAPFilter.from_string(self.ldap.search_filter.replace(NAME, escaped(name)))
        found = speaking.entries(base, scope, wanted, self.ldap.name_attribute)
        return [each for each in found if each.dn]

    def _with_role(self, speaking: Conversation, found: list[Entry]) -> User:
        if len(found) != 1:
            raise Stranger(
                "the directory has several users of that name" if found else "the directory has no such user"
            )
        (entry,) = found
        # The typed name may differ in case from the name in the entry, which is used from here on.
        names = entry.values.get(self.ldap.name_attribute.lower(), [])
        if len(names) != 1 or not usable_name(names[0]):
            raise Stranger(
                f"{entry.dn} has no {self.ldap.name_attribute} that is valid as the name of a user"
            )
        (name,) = names
        for role, groups in self.ldap.groups:
            if any(self._member(speaking, entry.dn, name, group) for group in groups):
                if role is None:
                    raise Stranger(f"{name} is in a refused group")
                return User(name, role, "")
        if self.ldap.default_role is None:
            raise Stranger(f"{name} is not in a group that has a role here")
        return User(name, self.ldap.default_role, "")

    def _member(self, speaking: Conversation, dn: str, name: str, group: str) -> bool:
        """Whether a user is a member of a group. The server compares the names, because only the server knows which
        spellings are equal."""
        wanted: LDAPFilter
        match self.ldap.membership:
            case "member":
                wanted = FilterOr(
                    [
                        FilterEquality("member", dn.encode()),
                        FilterEquality("uniqueMember", dn.encode()),
                        FilterEquality("memberUid", name.encode()),
                    ]
                )
                return bool(speaking.entries(group, SearchScope.BASE, wanted))
            case "memberOf":
                wanted = FilterEquality("memberOf", group.encode())
            case "nested":
                wanted = FilterExtensibleMatch(NESTED, "memberOf", group.encode(), False)
        return bool(speaking.entries(dn, SearchScope.BASE, wanted))

    def _checked(self, server: Server, speaking: Conversation) -> tuple[bool, str]:
        if not self.finds:
            return True, f"{server.url} answers; without a bind account nothing more can be checked"
        self._log_in(speaking)
        named = [group for _, groups in self.ldap.groups for group in groups]
        if self.ldap.search_base:
            named.insert(0, self.ldap.search_base)
        for dn in named:
            if not speaking.entries(dn, SearchScope.BASE, FilterPresent("objectClass")):
                return False, f"{server.url}: the bind account finds no {dn}"
        return True, f"{server.url} answers, and the bind account {self.ldap.bind_dn} works"
