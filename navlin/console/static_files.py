"""Static files of the pages: styles, scripts and libraries. They reveal nothing about the data, so they need no
login."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from navlin.api.answers import error_answer
from navlin.console.page import POLICY

_FOLDERS: Final = ("static", "third_party")
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_PACKED_FROM_BYTES: Final = 1_000


class StaticFiles:
    """The static files, read once. Their URLs contain a checksum of all files, so that browsers can cache them forever
    and still load the files of a new navlin at once. Scripts refer to each other by relative URLs."""

    def __init__(self, base_path: str) -> None:
        here = Path(__file__).parent
        self._files = {
            f"{folder}/{path.relative_to(here / folder).as_posix()}": path.read_bytes()
            for folder in _FOLDERS
            for path in sorted((here / folder).rglob("*"))
            if path.suffix in _TYPES
        }
        every = b"".join(name.encode() + hashlib.sha256(data).digest() for name, data in self._files.items())
        self.path = f"/files/{hashlib.sha256(every).hexdigest()[:16]}"
        self._base_path = base_path
        self._packed: dict[str, bytes] = {}

    def address(self, name: str) -> str:
        """Return the URL of a file such as ``static/navlin.css``. Raises KeyError for an unknown file."""
        if name not in self._files:
            raise KeyError(f"the console has no file {name}")
        return f"{self._base_path}{self.path}/{name}"

    async def answer(self, request: Request) -> Response:
        """Respond with the requested file, or with 404."""
        name = request.path_params["file"]
        data = self._files.get(name)
        if data is None:
            return error_answer(404, "page not found")
        headers = {
            "Content-Type": _TYPES[Path(name).suffix],
            "Cache-Control": "public, max-age=31536000, immutable",
            # A worker follows the policy that is sent with its own script, not the policy of its page.
            "Content-Security-Policy": POLICY,
            "Vary": "Accept-Encoding",
        }
        if len(data) >= _PACKED_FROM_BYTES and "gzip" in request.headers.get("accept-encoding", ""):
            if name not in self._packed:
                self._packed[name] = gzip.compress(data, 9, mtime=0)
            return Response(self._packed[name], headers={**headers, "Content-Encoding": "gzip"})
        return Response(data, headers=headers)
