"""URLs of servers, as users configure them."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit


def server_url(url: str) -> SplitResult | None:
    """Split a URL; None if it cannot be parsed, names no host, or has an invalid port (``http://[::1``,
    ``http://h:x``). The scheme is not checked."""
    try:
        parts = urlsplit(url)
        return parts if parts.hostname and parts.port != 0 else None
    except ValueError:
        return None
