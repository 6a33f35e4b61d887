"""URLs of servers, as users configure them, and as errors show them."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

HIDDEN: Final = "***"
_NO_PORT: Final = r"(?!\d{1,5}(?:[/?#,;:)\]\s'\"]|\Z))"
_USER: Final = re.compile(
    rf"([a-z][a-z0-9+.-]{{0,30}}://)"
    rf"([^\s/?#]{{0,300}}|[^\s/:@\[]{{0,300}}:{_NO_PORT}(?:\S{{0,300}}|[^\n'\"]{{0,300}}))@",
    re.IGNORECASE,
)
"""The part of a URL before the host: up to an ``@``, or, after a colon that begins no port, a password with any
characters."""
_CONTAINERS: Final = ("abfs", "wasb")
"""Schemes that name a container before the ``@``."""


def server_url(url: str) -> SplitResult | None:
    """Split a URL; None if it cannot be parsed, names no host, or has an invalid port (``http://[::1``,
    ``http://h:x``). The scheme is not checked."""
    try:
        parts = urlsplit(url)
        return parts if parts.hostname and parts.port != 0 else None
    except ValueError:
        return None


def without_userinfo(text: str) -> str:
    """Hide the user and password of each URL in an error or another message: ``https://***@host``. A container
    (``abfs://container@account``) stays. In doubt more is hidden."""
    return _USER.sub(_hidden, text) if "@" in text else text


def _hidden(found: re.Match[str]) -> str:
    container = found[1].lower().startswith(_CONTAINERS) and ":" not in found[2]
    return found[0] if container else f"{found[1]}{HIDDEN}@"
