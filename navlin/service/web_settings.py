"""``[web]`` of the configuration: where navlin answers over HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

_BASE_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*")


@dataclass(frozen=True, slots=True)
class WebSettings:
    """The API's address, and how it is kept to those who may."""

    enabled: bool = True
    address: str = "127.0.0.1"
    port: int = 7187
    base_path: str = ""
    certificate_file: Path | None = None
    key_file: Path | None = None
    tls_by_proxy: bool = False

    @property
    def loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return ip_address(self.address).is_loopback

    def problems(self) -> Iterator[tuple[str, str]]:
        """(key, what is wrong) for each problem."""
        if not 0 <= self.port <= 65535:
            yield "port", "port must be from 0 (any free one) to 65535"
        if not _BASE_PATH.fullmatch(self.base_path):
            yield "base_path", 'base_path must begin with a slash and end without one, like "/navlin"'
        for given, missing in (("certificate_file", "key_file"), ("key_file", "certificate_file")):
            if getattr(self, given) is not None and getattr(self, missing) is None:
                yield given, f"{given} needs {missing} beside it"
        try:
            loopback = self.loopback
        except ValueError:
            yield "address", 'address must be an IP address of this machine, like "127.0.0.1" or "0.0.0.0"'
            return
        if not loopback and self.certificate_file is None and not self.tls_by_proxy:
            yield (
                "address",
                f"{self.address} is reached by other machines, and passwords would cross the network as they are: set"
                " certificate_file and key_file, or tls_by_proxy if a proxy before navlin does TLS",
            )
