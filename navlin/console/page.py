"""Declaration of a page: path, role, parameters, and the function for the values of the template."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from navlin.access.roles import Role
from navlin.api.answers import Html, Redirect
from navlin.api.endpoint import ApiRequest

POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        # Graphviz, which lays the diagram out, is WebAssembly.
        "script-src 'self' 'wasm-unsafe-eval'",
        "worker-src 'self'",
        "style-src 'self'",
        # The page turns the diagram into a PNG through an SVG image at a blob URL.
        "img-src 'self' blob: data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
"""Content-Security-Policy of pages: they may load files of their own server, and use nothing inline."""


@dataclass(frozen=True, slots=True)
class ConsolePage:
    """A page of the console. ``path`` is below the console's root. ``parameters`` is a dataclass like an endpoint's
    (`navlin.api.parameters`). ``values`` returns the values for the page's template, or a complete document, or a
    redirect."""

    path: str
    title: str
    parameters: type[Any]
    values: Callable[[ApiRequest], Mapping[str, Any] | Html | Redirect]
    role: Role = Role.LINEAGE_VIEWER
    menu: str = ""
    """Label in the menu, or ``GROUP/LABEL``; "" if the page is not in the menu."""
    method: Literal["GET", "POST"] = "GET"
    walks: bool = False
    """Whether the page walks the graph, as in `Endpoint`."""

    @property
    def template(self) -> str:
        return f"{self.path.strip('/')}.html"
