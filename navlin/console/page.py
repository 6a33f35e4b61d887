"""One page: who may see it, what it takes, what its template shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from navlin.access.roles import Role
from navlin.api.answers import Html, Onward
from navlin.api.endpoint import Asked

POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        # Graphviz, which lays the diagram out, is WebAssembly.
        "script-src 'self' 'wasm-unsafe-eval'",
        "worker-src 'self'",
        "style-src 'self'",
        # The diagram becomes a PNG by way of an image that the page itself makes.
        "img-src 'self' blob: data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
"""What a page may load: its own server's files, and nothing that stands in the page."""


@dataclass(frozen=True, slots=True)
class Page:
    """``path`` is below the console's root, ``parameters`` a dataclass as an endpoint has one (`navlin.api.parameters`),
    ``values`` what the template of the same name shows; or a document of its own, or the page that comes next."""

    path: str
    title: str
    parameters: type[Any]
    values: Callable[[Asked], Mapping[str, Any] | Html | Onward]
    role: Role = Role.LINEAGE_VIEWER
    menu: str = ""
    """Its word in the menu; none if it is reached from other pages."""
    method: Literal["GET", "POST"] = "GET"
    walks: bool = False
    """As of an endpoint."""

    @property
    def template(self) -> str:
        """The template's file."""
        return f"{self.path.strip('/')}.html"
