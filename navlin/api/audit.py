"""The audit log: HTTP callers and their actions."""

from __future__ import annotations

from typing import Any

import structlog
from starlette.requests import Request

log = structlog.stdlib.get_logger(__name__)


def audit(what: str, request: Request, user: str, **more: Any) -> None:
    """Log one line, with the client's IP address. ``user`` is the caller, or the name that the client claims."""
    log.info(
        what, user=user, address=address_of(request), method=request.method, path=request.url.path, **more
    )


def address_of(request: Request) -> str:
    """Return the client's IP address; "" if unknown."""
    return request.client.host if request.client else ""
