"""A proxy that authenticates users, such as Knox or a single sign-on gateway, and names them in a header."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address

from navlin.access.roles import Role


@dataclass(frozen=True, slots=True)
class Proxy:
    """Requests from ``addresses`` (IP addresses) name their user in ``header``. A user who is not in the users file
    gets ``role``, or is refused if ``role`` is None."""

    addresses: frozenset[str]
    header: str
    role: Role | None = None

    def speaks(self, address: str) -> bool:
        """Whether a request from this address comes from the proxy. Other clients may send the header too."""
        try:
            found = ip_address(address)
        except ValueError:
            return False
        mapped = getattr(found, "ipv4_mapped", None)
        return str(mapped or found) in self.addresses
