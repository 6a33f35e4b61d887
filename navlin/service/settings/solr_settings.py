"""``[solr]`` in the configuration: the Solr server with the index, embedded or the operator's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from navlin.service.settings.typed import SIZE, default_of
from navlin.urls import server_url

_OF_PASSWORD: Final = ("user", "password_file")
_OF_KERBEROS: Final = ("principal", "keytab", "krb5_conf")
_OF_JARS: Final = ("jars_repository", "jars_repository_user", "jars_repository_password_file")


@dataclass(frozen=True, slots=True)
class SolrSettings:
    """The Solr server with the index. Without a ``url``, navlin runs its embedded Solr."""

    url: str = ""
    auth: Literal["password", "kerberos"] = "password"
    user: str = ""
    password_file: Path | None = None
    principal: str = ""
    keytab: Path | None = None
    krb5_conf: Path | None = None
    ca_file: Path | None = None
    timeout_s: float = 60.0
    shards: int = 1
    replicas: int = 1
    memory: str = "1g"
    port: int = 0
    jars_directory: Path | None = None
    jars_repository: str = ""
    jars_repository_user: str = ""
    jars_repository_password_file: Path | None = None

    @property
    def embedded(self) -> bool:
        return not self.url

    def problems(self) -> Iterator[tuple[str, str]]:
        if self.url and not self.url.startswith(("http://", "https://")):
            yield "url", "url must begin with http:// or https://"
        elif "@" in self.url.split("//", 1)[-1].split("/", 1)[0]:
            yield "url", "url must not contain a password: set user and password_file"
        elif self.url and server_url(self.url) is None:
            yield (
                "url",
                f"url must be like http://host:8983/solr, but {self.url!r} has no host, or an invalid one",
            )
        for key in ("auth", *_OF_PASSWORD, *_OF_KERBEROS, "ca_file", "shards", "replicas"):
            if not self.url and getattr(self, key) != default_of(SolrSettings, key):
                yield key, f"{key} is for a Solr of your own: it needs a url"
        for key in ("memory", "port", "jars_directory", *_OF_JARS):
            if self.url and getattr(self, key) != default_of(SolrSettings, key):
                yield key, f"{key} is for the embedded Solr: it cannot be combined with a url"
        if self.jars_repository and (fault := _fault_of_repository(self.jars_repository)):
            yield "jars_repository", fault
        for key in _OF_JARS[1:]:
            if getattr(self, key) and not self.jars_repository:
                yield key, f"{key} needs jars_repository"
        if self.jars_repository_password_file and not self.jars_repository_user:
            yield "jars_repository_password_file", "jars_repository_password_file needs jars_repository_user"
        others, kind = (_OF_PASSWORD, "a password") if self.auth == "kerberos" else (_OF_KERBEROS, "Kerberos")
        for key in others:
            if self.url and getattr(self, key):
                yield key, f'{key} is for {kind}: it cannot be combined with auth = "{self.auth}"'
        if self.keytab and not self.principal:
            yield "keytab", "keytab needs a principal"
        if not SIZE.fullmatch(self.memory):
            yield "memory", 'memory must be a size as Java writes it, like "1g"'
        if not 0 <= self.port <= 65535:
            yield "port", "port must be from 0 (any free one) to 65535"
        for key in ("shards", "replicas", "timeout_s"):
            if getattr(self, key) <= 0:
                yield key, f"{key} must be more than 0"


def _fault_of_repository(url: str) -> str:
    if "@" in url.split("//", 1)[-1].split("/", 1)[0]:
        return "jars_repository must not contain a password: set jars_repository_user"
    if not url.startswith(("http://", "https://")) or server_url(url) is None:
        return f"jars_repository must be like https://maven.example/repository/central, but is {url!r}"
    return ""
