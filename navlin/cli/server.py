"""Another machine's navlin: requests of its API, and their answers piece by piece."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from navlin.cli.invocation import EXITS, Exit, Failure
from navlin.cli.questions import Pairs
from navlin.model.refusal import with_entities

if TYPE_CHECKING:
    import requests

ROOT: Final = "/api/navlin/v1"
TIMEOUT_S: Final = 120
PIECE_BYTES: Final = 1 << 16
MOST_BYTES: Final = 256 << 20
"""Maximum size of a response that is not read in pieces."""
MARKED: Final = "Navlin-Mark"
_END: Final = re.compile(rb"\x00end (\d{1,3})\n\Z")
MARK_BYTES: Final = 9
"""Maximum length of the mark at the end of a response."""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A running navlin: the URL, and the file with a token."""

    url: str
    token_file: Path | None

    def send(
        self,
        method: str,
        path: str,
        *,
        accept: str = "application/json",
        headers: Mapping[str, str] | None = None,
        **how: Any,
    ) -> requests.Response:
        """Send a request, and return the response. Raises `Failure`, with the server's message if the server
        refuses."""
        import requests

        from navlin.bounded_http import bound

        headers = {"Accept": accept, "Authorization": f"Bearer {self._token()}", **(headers or {})}
        url = self.url.rstrip("/") + ROOT + path
        try:
            # The .netrc entry for that host is not used, because the token identifies the caller.
            with requests.Session() as session:
                bound(session, None if how.get("stream") else MOST_BYTES)
                session.auth = _as_it_is
                answer = session.request(
                    method, url, headers=headers, timeout=TIMEOUT_S, allow_redirects=False, **how
                )
        except (requests.RequestException, ValueError) as error:
            raise Failure(f"{self.url} does not answer: {error}", Exit.FAILED) from error
        if answer.status_code >= 300:
            raise Failure(f"{self.url}: {_words(answer)}", EXITS.get(answer.status_code, Exit.FAILED))
        return answer

    def records(self, path: str, parameters: Pairs) -> tuple[Pieces, Mapping[str, str]]:
        """Return the pieces and the headers of a download. Raises `Failure`, with the server's message if the server
        refuses."""
        answer = self.send("GET", path, params=parameters, stream=True, headers={MARKED: "end"})
        return Pieces(self, answer), answer.headers

    def _token(self) -> str:
        if self.token_file is None:
            raise Failure(
                "--url needs --token-file: a file with a token, as `navlin token add USER` prints it there",
                Exit.USAGE,
            )
        try:
            token = self.token_file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise Failure(f"{self.token_file} cannot be read: {error}", Exit.USAGE) from error
        if not token or not token.isascii() or not token.isprintable():
            raise Failure(f"{self.token_file} has no token", Exit.USAGE)
        return token


class Pieces:
    """Iterator over the pieces of a response, without the mark at the end. After the last piece, ``exit_code`` is the
    exit code in the mark."""

    def __init__(self, server: RunningServer, answer: requests.Response) -> None:
        self.server, self.answer, self.exit_code = server, answer, 0

    def __iter__(self) -> Iterator[bytes]:
        import requests

        buffered = b""
        try:
            for piece in self.answer.iter_content(PIECE_BYTES):
                buffered += piece
                yield buffered[:-MARK_BYTES]
                buffered = buffered[-MARK_BYTES:]
        except requests.RequestException as error:
            raise Failure(f"{self.server.url}: the answer broke off: {error}", Exit.FAILED) from error
        if self.answer.headers.get(MARKED):
            # An interrupted response may look complete, because of a proxy or because it is ended by the end of the
            # connection.
            found = _END.search(buffered)
            if found is None:
                raise Failure(f"{self.server.url}: the answer broke off: its end is missing", Exit.FAILED)
            buffered, self.exit_code = buffered[: found.start()], int(found[1])
        yield buffered


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _words(answer: requests.Response) -> str:
    """Return the server's message, with its suggestions."""
    try:
        said = answer.json()
        return with_entities(str(said["message"]), said)
    except (ValueError, KeyError, TypeError):
        return f"status {answer.status_code}: this server is not a navlin"
