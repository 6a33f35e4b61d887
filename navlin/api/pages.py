"""Interface of the web console, as the web application needs it. `navlin.console` implements the interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from navlin.api.endpoint import Endpoint

_API: Final = ("/api/", "/metrics", "/lineage3/", "/solr/")


class Pages(Protocol):
    """The web console: pages, login, error pages and static files."""

    @property
    def endpoints(self) -> Sequence[Endpoint]:
        """The pages as endpoints, with responses of type `navlin.api.answers.Html`."""
        ...

    @property
    def routes(self) -> Sequence[Route]:
        """Routes of static files and of pages that are not endpoints. `is_open` says which need no login."""
        ...

    def is_open(self, path: str) -> bool:
        """Whether a path needs no login."""
        ...

    def root(self, query: Mapping[str, str]) -> Response:
        """Redirect to the start page, or to the page that a URL of Navigator refers to."""
        ...

    def unknown(self, request: Request) -> Response:
        """Return the response for a user who has to log in first."""
        ...

    def log_in(self, onward: str, wrong: str, status: int) -> Response:
        """Return the login page, with an error message."""
        ...

    def error(self, request: Request, status: int, message: str, more: Mapping[str, Any]) -> Response: ...


def wants_page(request: Request) -> bool:
    """Whether the client is a browser that requests a page, not a program that requests data."""
    path = request.url.path
    return "text/html" in request.headers.get("accept", "") and not path.startswith(_API)
