"""Lines of the log that say who did what over HTTP."""

from __future__ import annotations

from typing import Any

import structlog
from starlette.requests import Request

log = structlog.stdlib.get_logger(__name__)


def audit(what: str, request: Request, user: str, **more: Any) -> None:
    """One line, with the client's address. ``user`` is whoever asks, or says so."""
    log.info(
        what, user=user, address=address_of(request), method=request.method, path=request.url.path, **more
    )


def address_of(request: Request) -> str:
    """The client's IP address."""
    return request.client.host if request.client else ""
