"""``[web]`` in the configuration: settings of the HTTP server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from navlin.access.proxy import Proxy
from navlin.access.roles import ROLES
from navlin.urls import server_url

_HEADER = re.compile(r"[A-Za-z0-9-]+")
_ORIGIN = re.compile(r"https?://[^/\s?#@]+")
_URL = re.compile(r"https?://[^/\s?#@]+(/[^\s?#]*)?")
_ADDRESSES = (
    ("public_origin", _ORIGIN, "the address that browsers show", "https://gateway.example:8443"),
    ("hue_url", _URL, "the address at which browsers find Hue", "https://hue.example:8888/hue"),
)
_BASE_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*")


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Address of the HTTP server, and access to it."""

    enabled: bool = True
    address: str = "127.0.0.1"
    port: int = 7187
    base_path: str = ""
    certificate_file: Path | None = None
    key_file: Path | None = None
    tls_by_proxy: bool = False
    trusted_proxies: tuple[str, ...] = ()
    user_header: str = ""
    proxy_role: str = ""
    public_origin: str = ""
    session_idle_s: float = 3_600.0
    session_lifetime_s: float = 43_200.0
    solr_passthrough: bool = False
    hue_url: str = ""
    public_docs: bool = False
    openlineage_directory: Path | None = None
    openlineage_users: tuple[str, ...] = ()

    @property
    def secure(self) -> bool:
        """Whether browsers connect with TLS."""
        return self.certificate_file is not None or self.tls_by_proxy

    @property
    def proxy(self) -> Proxy | None:
        """The proxy that sends user names; None if none is configured."""
        if not self.user_header:
            return None
        addresses = frozenset(str(ip_address(each)) for each in self.trusted_proxies)
        return Proxy(addresses, self.user_header, ROLES.get(self.proxy_role))

    @property
    def loopback(self) -> bool:
        """Whether the server can only be reached from this machine."""
        return ip_address(self.address).is_loopback

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for each problem."""
        if not 0 <= self.port <= 65535:
            yield "port", "port must be from 0 (any free one) to 65535"
        if not _BASE_PATH.fullmatch(self.base_path):
            yield "base_path", 'base_path must begin with a slash and not end with one, like "/navlin"'
        for given, missing in (("certificate_file", "key_file"), ("key_file", "certificate_file")):
            if getattr(self, given) is not None and getattr(self, missing) is None:
                yield given, f"{given} needs {missing}"
        if self.openlineage_users and self.openlineage_directory is None:
            yield "openlineage_users", "openlineage_users needs openlineage_directory"
        yield from self._problems_of_proxy()
        for key, form, meaning, example in _ADDRESSES:
            url = getattr(self, key)
            if url and (not form.fullmatch(url) or server_url(url) is None):
                yield key, f'{key} must be {meaning}, like "{example}", but is {url!r}'
        for key in ("session_idle_s", "session_lifetime_s"):
            if not getattr(self, key) > 0:
                yield key, f"{key} must be more than 0"
        try:
            loopback = self.loopback
        except ValueError:
            yield "address", 'address must be an IP address of this machine, like "127.0.0.1" or "0.0.0.0"'
            return
        if not loopback and self.certificate_file is None and not self.tls_by_proxy:
            yield (
                "address",
                f"other machines can reach {self.address}, and passwords would cross the network unencrypted:"
                " set certificate_file and key_file, or tls_by_proxy if a proxy in front of navlin does TLS",
            )

    def _problems_of_proxy(self) -> Iterator[tuple[str, str]]:
        given = {
            "trusted_proxies": bool(self.trusted_proxies),
            "user_header": bool(self.user_header),
            "proxy_role": bool(self.proxy_role),
        }
        for key, needed in (
            ("user_header", "trusted_proxies"),
            ("trusted_proxies", "user_header"),
            ("proxy_role", "user_header"),
        ):
            if given[key] and not given[needed]:
                yield key, f"{key} needs {needed}"
        for each in self.trusted_proxies:
            try:
                ip_address(each)
            except ValueError:
                yield "trusted_proxies", f"trusted_proxies must be IP addresses, but {each!r} is not one"
        if self.user_header and (
            not _HEADER.fullmatch(self.user_header) or self.user_header.lower() == "authorization"
        ):
            yield "user_header", 'user_header must be the name of a header, like "X-Forwarded-User"'
        if self.proxy_role and self.proxy_role not in ROLES:
            yield "proxy_role", f"proxy_role must be one of {', '.join(ROLES)}"
