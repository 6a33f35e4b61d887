"""Users from an LDAP directory or Active Directory. Anyone who can bind is a user, and groups determine the role."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final, Literal, TypeVar
from urllib.parse import urlsplit

from sansldap import FilterEquality, FilterExtensibleMatch, FilterOr, FilterPresent, LDAPFilter, SearchScope

from navlin.access.ldap import LdapConnection, LdapEndpoint, LdapEntry, LdapError, conversation, escaped
from navlin.access.passwords import MOST_CHARS
from navlin.access.roles import ROLES, Role
from navlin.access.store import User, usable_name

NAME: Final = "{name}"
"""Placeholder for the typed name, in ``user_dn`` and ``search_filter``."""
NESTED: Final = "1.2.840.113556.1.4.1941"
"""OID of Active Directory's matching rule for nested groups."""
PAUSE_S: Final = 2.0
"""Time for which a server that did not respond is skipped, because each attempt may take the whole time limit."""
_T = TypeVar("_T")

Membership = Literal["member", "memberOf", "nested"]
_GROUPS: Final = ("refused", "administrators", "metadata_administrators", "lineage_viewers")


class DirectoryFailed(Exception):
    """No server could be queried; the message gives a reason for each server."""


class UnknownUser(Exception):
    """The login is refused; the message says why. Messages that say more than "wrong user name or password" are only
    raised after the right password was given."""


@dataclass(frozen=True, slots=True)
class LdapSettings:
    """``[ldap]`` in the configuration: LDAP or Active Directory. Without ``urls`` no directory is used. Exactly one of
    ``user_dn`` (a DN pattern) and ``search_base`` (with ``search_filter`` and the bind account) is set."""

    urls: tuple[str, ...] = ()
    ca_file: Path | None = None
    passwords_in_clear: bool = False
    timeout_s: float = 5.0
    remember_s: float = 60.0
    user_dn: str = ""
    search_base: str = ""
    search_filter: str = f"(uid={NAME})"
    name_attribute: str = "uid"
    bind_dn: str = ""
    bind_password_file: Path | None = None
    membership: Membership = "member"
    administrators: tuple[str, ...] = ()
    metadata_administrators: tuple[str, ...] = ()
    lineage_viewers: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    default_role: str = ""

    @property
    def directory(self) -> Directory | None:
        """The LDAP directory; None if there are no ``urls``."""
        return Directory(self) if self.urls else None

    @property
    def servers(self) -> tuple[LdapEndpoint, ...]:
        return tuple(LdapEndpoint(url, self.ca_file, self.passwords_in_clear) for url in self.urls)

    @property
    def groups(self) -> Iterator[tuple[Role | None, tuple[str, ...]]]:
        """Pairs (role, DNs of groups). The first pair that matches determines the role; the role None refuses the
        members of these groups."""
        roles = (None, *sorted(Role, reverse=True))
        return zip(roles, (getattr(self, key) for key in _GROUPS), strict=True)

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for each problem."""
        if not self.urls:
            for item in fields(self):
                if getattr(self, item.name) != item.default:
                    yield item.name, f"{item.name} needs urls"
            return
        for url in self.urls:
            if words := _wrong_with(url):
                yield "urls", f"urls must be like ldaps://ldap.example:636, but {url!r} {words}"
        if bool(self.user_dn) == bool(self.search_base):
            yield "urls", "urls needs either user_dn (a pattern) or search_base"
        if self.user_dn and NAME not in self.user_dn:
            yield "user_dn", f"user_dn must contain {NAME} in place of the user name"
        if bool(self.bind_dn) != (self.bind_password_file is not None):
            yield (
                "bind_dn" if self.bind_dn else "bind_password_file",
                "bind_dn and bind_password_file must be set together",
            )
        if self.search_base and not self.bind_dn:
            yield (
                "search_base",
                "search_base needs bind_dn and bind_password_file: an account that may search",
            )
        yield from self._problems_of_filter()
        if self.default_role and self.default_role not in ROLES:
            yield "default_role", f"default_role must be one of {', '.join(ROLES)}"
        if not self.default_role and not any(getattr(self, key) for key in _GROUPS[1:]):
            yield "urls", "nobody could log in by urls: give a group a role, or set default_role"
        if not self.timeout_s > 0:
            yield "timeout_s", "timeout_s must be more than 0"
        if self.remember_s < 0:
            yield "remember_s", "remember_s must not be less than 0"

    def _problems_of_filter(self) -> Iterator[tuple[str, str]]:
        if NAME not in self.search_filter:
            yield "search_filter", f"search_filter must contain {NAME} in place of the user name"
            return
        try:
            LDAPFilter.from_string(self.search_filter.replace(NAME, "name"))
        except ValueError as error:
            yield "search_filter", f"search_filter is not a valid LDAP filter: {error}"


@dataclass(slots=True)
class Directory:
    """Client of a directory. It asks the servers in order until one responds. ``clock`` returns monotonic seconds.
    Thread-safe."""

    ldap: LdapSettings
    clock: Callable[[], float] = time.monotonic
    _silent: dict[LdapEndpoint, tuple[float, str]] = field(default_factory=dict)

    @property
    def finds(self) -> bool:
        """Whether a user's role can be looked up without a password."""
        return bool(self.ldap.bind_dn)

    def user(self, name: str, password: str) -> User:
        """Return the user with this name and password. The returned name is spelled as in the directory. Raises
        `UnknownUser` and `DirectoryFailed`."""
        wrong = UnknownUser("wrong user name or password")
        # A server may treat an empty password, or one that C code reads as empty, as an anonymous bind, which succeeds
        # for everybody.
        if not usable_name(name) or not 0 < len(password) <= MOST_CHARS or "\0" in password:
            raise wrong

        def ask(speaking: LdapConnection) -> User:
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

        def ask(speaking: LdapConnection) -> User | None:
            self._log_in(speaking)
            try:
                return self._with_role(speaking, self._found(speaking, name))
            except UnknownUser:
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

    def _of_a_server(self, ask: Callable[[LdapConnection], _T]) -> _T:
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

    def _log_in(self, speaking: LdapConnection) -> None:
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

    def _found(self, speaking: LdapConnection, name: str) -> list[LdapEntry]:
        if self.ldap.user_dn:
            base, scope = self.ldap.user_dn.replace(NAME, escaped(name)), SearchScope.BASE
            wanted: LDAPFilter = FilterPresent("objectClass")
        else:
            base, scope = self.ldap.search_base, SearchScope.SUBTREE
            wanted = LDAPFilter.from_string(self.ldap.search_filter.replace(NAME, escaped(name)))
        found = speaking.entries(base, scope, wanted, self.ldap.name_attribute)
        return [each for each in found if each.dn]

    def _with_role(self, speaking: LdapConnection, found: list[LdapEntry]) -> User:
        if len(found) != 1:
            raise UnknownUser(
                "the directory has several users of that name" if found else "the directory has no such user"
            )
        (entry,) = found
        # The typed name may differ in case from the name in the entry, which is used from here on.
        names = entry.values.get(self.ldap.name_attribute.lower(), [])
        if len(names) != 1 or not usable_name(names[0]):
            raise UnknownUser(
                f"{entry.dn} has no {self.ldap.name_attribute} that is valid as the name of a user"
            )
        (name,) = names
        for role, groups in self.ldap.groups:
            if any(self._member(speaking, entry.dn, name, group) for group in groups):
                if role is None:
                    raise UnknownUser(f"{name} is in a refused group")
                return User(name, role, "")
        if not self.ldap.default_role:
            raise UnknownUser(f"{name} is not in a group that has a role here")
        return User(name, ROLES[self.ldap.default_role], "")

    def _member(self, speaking: LdapConnection, dn: str, name: str, group: str) -> bool:
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

    def _checked(self, server: LdapEndpoint, speaking: LdapConnection) -> tuple[bool, str]:
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


def _wrong_with(url: str) -> str:
    """Return the problem of a URL; "" if there is none."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "cannot be parsed"
    if parts.scheme not in ("ldap", "ldaps"):
        return "begins with neither ldap:// nor ldaps://"
    if not parts.hostname or port == 0:
        return "has no host, or an invalid port"
    return "has more than a host and a port" if parts.path.strip("/") or parts.query or parts.username else ""
