"""The interface of the pages for people, as the web application needs it (implemented by `navlin.console`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from navlin.api.endpoint import Endpoint

_API: Final = ("/api/", "/metrics", "/lineage3/", "/solr/")


class Pages(Protocol):
    """The web console: its pages, log-in, error pages and static files."""

    @property
    def endpoints(self) -> Sequence[Endpoint]:
        """The pages, which answer with `navlin.api.answers.Html`."""
        ...

    @property
    def routes(self) -> Sequence[Route]:
        """Routes that need no user."""
        ...

    def is_open(self, path: str) -> bool:
        """Whether a path needs no user."""
        ...

    def root(self, query: Mapping[str, str]) -> Response:
        """The start page, or the page that an old address refers to."""
        ...

    def unknown(self, request: Request) -> Response:
        """The response for a user who has to log in first."""
        ...

    def log_in(self, onward: str, wrong: str, status: int) -> Response:
        """The log-in page, with an error message."""
        ...

    def error(self, request: Request, status: int, message: str, more: Mapping[str, Any]) -> Response:
        """An error page."""
        ...


def wants_page(request: Request) -> bool:
    """Whether a browser requests a page, rather than a program an answer."""
    path = request.url.path
    return "text/html" in request.headers.get("accept", "") and not path.startswith(_API)
