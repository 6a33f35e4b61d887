"""Base of extractors that ask a REST service of Hadoop: the settings of the service, of its lists and of the login."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, fields
from typing import Any, ClassVar, Literal

from extractors.rest import RestAddress, wrong_url
from navlin.kerberos.client import Login
from navlin.model.extractor import Extractor, keeps_positions
from navlin.model.keys import wrong_default_fs
from navlin.model.source import Estate, Source


@dataclass(frozen=True, slots=True)
class RestExtractor(Extractor):
    """Base class with the settings. ``urls`` are the instances of the service, or the address of a load balancer.
    ``overlap_s`` is the time by which a list reaches back before the newest known entry. ``page_size`` is the maximum
    number of entries in one answer. ``default_fs`` completes paths that name no host.
    """

    source: Source
    estate: Estate
    urls: tuple[str, ...]
    _: KW_ONLY
    overlap_s: int = 600
    page_size: int = keeps_positions(1_000)
    default_fs: str = ""
    # Positions do not survive a change of these settings, because a service hides from users what they may not view.
    auth: Literal["none", "kerberos"] = "none"
    user: str = ""
    principal: str = keeps_positions("")
    keytab: str = keeps_positions("")
    krb5_conf: str = keeps_positions("")
    ca_file: str = keeps_positions("")
    connect_timeout_s: float = keeps_positions(10.0)
    read_timeout_s: float = keeps_positions(120.0)

    service: ClassVar[str]
    """Name of the service to which ``urls`` lead, for messages."""
    examples: ClassVar[Mapping[str, str]]
    """Setting with URLs → an example of a URL."""
    shows: ClassVar[str]
    """The objects that a user must be allowed to see, as in `RestAddress`."""

    @classmethod
    def serves(cls, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the URLs of the service."""
        return tuple(settings.get("urls", ()))

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield problems that the types do not catch, as (setting, message)."""
        if not self.urls:
            yield "urls", f'urls must name {self.service}, as in ["{self.examples["urls"]}"]'
        for setting, example in self.examples.items():
            for url in getattr(self, setting):
                if wrong := wrong_url(url, example):
                    yield setting, f"{setting}: {wrong}"
        yield from wrong_default_fs(self.default_fs)
        for name in (each.name for each in fields(self) if each.name.endswith("_s")):
            if not getattr(self, name) > 0:
                yield name, f"{name} must be more than 0"
        if self.page_size < 2:
            yield "page_size", "page_size must be at least 2"
        if self.user and self.auth == "kerberos":
            yield (
                "user",
                'user is for services without Kerberos: with auth = "kerberos", the ticket names the user',
            )
        if self.keytab and not self.principal:
            yield "keytab", "keytab needs a principal"
        for name in ("principal", "keytab", "krb5_conf"):
            if getattr(self, name) and self.auth == "none":
                yield name, f'{name} is for Kerberos: it needs auth = "kerberos"'

    @property
    def local(self) -> bool:
        # The keytab, the ticket cache, krb5.conf and the CA certificates are files of this machine.
        return self.auth == "kerberos" or bool(self.ca_file)

    def address(self, name: str, setting: str = "urls") -> RestAddress:
        """Return the address of the service of this ``name``, whose URLs are in ``setting``."""
        limits = (self.connect_timeout_s, self.read_timeout_s)
        cache = f"{self.estate.spool}/java" if self.estate.spool else ""
        login = Login(self.principal, self.keytab, self.krb5_conf, cache)
        urls = getattr(self, setting)
        return RestAddress(
            name, setting, urls, self.auth, self.user, self.ca_file, *limits, login, self.shows
        )
