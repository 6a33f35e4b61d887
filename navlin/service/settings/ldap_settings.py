"""``[ldap]`` in the configuration: a directory whose users may log in over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from urllib.parse import urlsplit

from sansldap import LDAPFilter

from navlin.access.directory import NAME, Directory, Ldap, Membership
from navlin.access.ldap import Server
from navlin.access.roles import ROLES, Role

_GROUPS = ("refused", "administrators", "metadata_administrators", "lineage_viewers")


@dataclass(frozen=True, slots=True)
class LdapSettings:
    """Settings of LDAP or Active Directory. Without ``urls`` no directory is used."""

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
        if not self.urls:
            return None
        roles = (None, *sorted(Role, reverse=True))
        return Directory(
            Ldap(
                tuple(Server(url, self.ca_file, self.passwords_in_clear) for url in self.urls),
                self.timeout_s,
                self.name_attribute,
                self.user_dn,
                self.search_base,
                self.search_filter,
                self.bind_dn,
                self.bind_password_file,
                self.membership,
                tuple((role, getattr(self, key)) for role, key in zip(roles, _GROUPS, strict=True)),
                ROLES.get(self.default_role),
                self.remember_s,
            )
        )

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
