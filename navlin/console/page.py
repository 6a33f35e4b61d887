"""One page: role, parameters, and values of its template."""

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
"""Sources that a page may load from: files of its own server, and nothing inline."""


@dataclass(frozen=True, slots=True)
class Page:
    """``path`` is below the console's root, ``parameters`` a dataclass like an endpoint's (`navlin.api.parameters`);
    ``values`` returns the values for the template of the same name, or a document of its own, or the page that comes
    next."""

    path: str
    title: str
    parameters: type[Any]
    values: Callable[[Asked], Mapping[str, Any] | Html | Onward]
    role: Role = Role.LINEAGE_VIEWER
    menu: str = ""
    """Its label in the menu; "" if it is reached from other pages."""
    method: Literal["GET", "POST"] = "GET"
    walks: bool = False
    """As in an endpoint."""

    @property
    def template(self) -> str:
        """The template's file."""
        return f"{self.path.strip('/')}.html"
