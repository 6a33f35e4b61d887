"""What the web application needs of pages for people, whoever makes them (`navlin.console`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from navlin.api.endpoint import Endpoint

_API: Final = ("/api/", "/metrics", "/lineage3/", "/solr/")


class Pages(Protocol):
    """Pages, and what stands around them."""

    @property
    def endpoints(self) -> Sequence[Endpoint]:
        """The pages, which answer with `navlin.api.answers.Html`."""
        ...

    @property
    def routes(self) -> Sequence[Route]:
        """What is there for everybody."""
        ...

    def is_open(self, path: str) -> bool:
        """Whether a path is answered to everybody."""
        ...

    def root(self, query: Mapping[str, str]) -> Response:
        """The first page, or the one that an old address means."""
        ...

    def unknown(self, request: Request) -> Response:
        """Where somebody goes who has to log in first."""
        ...

    def log_in(self, onward: str, wrong: str, status: int) -> Response:
        """The page to log in by, which says what was wrong."""
        ...

    def error(self, request: Request, status: int, message: str, more: Mapping[str, Any]) -> Response:
        """A page that says what went wrong."""
        ...


def wants_page(request: Request) -> bool:
    """Whether a browser asks for a page, and not a program for an answer."""
    path = request.url.path
    return "text/html" in request.headers.get("accept", "") and not path.startswith(_API)
