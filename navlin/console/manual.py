"""The manual, as ``make docs`` builds it: static pages and their files, served at ``/docs``."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from pathlib import Path
from typing import Final

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from navlin.api.answers import HttpError

ROOT: Final = "/docs"
FIRST: Final = "index.html"
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
_INLINE: Final = re.compile(rb"<(script|style)(?![^>]*\ssrc=)[^>]*>(.*?)</\1>", re.DOTALL)
_KEPT_S: Final = 300
"""Time for which a browser keeps a file. The files of a new navlin have the same URLs."""


class Manual:
    """The manual in a folder. If the folder does not exist, because a checkout has not built it, there are no pages."""

    def __init__(self, folder: Path, base_path: str) -> None:
        self._base_path = base_path
        self._files = {
            path.relative_to(folder).as_posix(): path
            for path in sorted(folder.rglob("*"))
            if path.suffix in _TYPES and path.is_file()
        }

    @property
    def is_built(self) -> bool:
        return FIRST in self._files

    @property
    def routes(self) -> list[Route]:
        return [Route(ROOT, self.first), Route(ROOT + "/{file:path}", self.answer)]

    @property
    def address(self) -> str:
        """The URL of the manual, without a slash at its end; "" if it is not built."""
        return f"{self._base_path}{ROOT}" if self.is_built else ""

    def help_address(self, page: str) -> str:
        """Return the URL of the section about a page of the console, or of the manual's first page for the error page;
        "" if the manual is not built."""
        if not self.is_built:
            return ""
        return f"{self.address}/{FIRST if page == 'error' else f'reference/console.html#page-{page}'}"

    async def first(self, _request: Request) -> Response:
        """Redirect to the first page, whose links are relative to its own URL."""
        return RedirectResponse(f"{self._base_path}{ROOT}/{FIRST}", 303)

    async def answer(self, request: Request) -> Response:
        """Respond with the requested file. Raises `HttpError` with 404."""
        name = request.path_params["file"]
        file = self._files.get(name)
        if file is None:
            reason = (
                "the manual has no such page" if self.is_built else "the manual is not built: run make docs"
            )
            raise HttpError(404, reason)
        request.state.address = ROOT
        data = await to_thread.run_sync(file.read_bytes)
        headers = {"Content-Type": _TYPES[file.suffix], "Cache-Control": f"private, max-age={_KEPT_S}"}
        if file.suffix == ".html":
            headers |= {"Content-Security-Policy": policy_of(data), "Cache-Control": "no-cache"}
        return Response(data, headers=headers)


def policy_of(page: bytes) -> str:
    """Return the Content-Security-Policy of a page of the manual: files of this server, and exactly the inline scripts
    and styles of the page, by their SHA-256. Styles in attributes remain refused."""
    hashes: dict[bytes, list[str]] = {b"script": ["'self'"], b"style": ["'self'"]}
    for kind, text in _INLINE.findall(page):
        source = f"'sha256-{b64encode(hashlib.sha256(text).digest()).decode()}'"
        if source not in hashes[kind]:
            hashes[kind].append(source)
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(hashes[b'script'])}",
            f"style-src {' '.join(hashes[b'style'])}",
            "img-src 'self' data:",
            "font-src 'self'",
            # The search loads the pages that it found, to show passages.
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )
