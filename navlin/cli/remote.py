"""Commands for navlin on another machine. With ``--url``, a command sends a request to navlin's API, and nothing else
is needed on this machine.

The answer to a question is printed as on the other machine. A job is submitted, and the command waits for the result.
"""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from navlin.cli.invocation import EXITS, Exit, Failure
from navlin.cli.jobs import JobCommand
from navlin.cli.questions import Pairs, QuestionCommand, print_lines
from navlin.cli.requested import Progress
from navlin.cli.terminal import output_width, print_json, say
from navlin.model.refusal import with_entities
from navlin.questions import NAMES
from navlin.questions.declare.parameters import plain
from navlin.questions.declare.question import Question

if TYPE_CHECKING:
    import requests

ROOT: Final = "/api/navlin/v1"
DOWNLOADS: Final = ("export",)
"""Commands whose answer is written to a local file (`navlin.cli.export_download`)."""
POLL_S: Final = 0.5
TIMEOUT_S: Final = 120
PIECE_BYTES: Final = 1 << 16
MOST_BYTES: Final = 256 << 20
"""Maximum size of a response that is not read in pieces."""
MARKED: Final = "Navlin-Mark"
_END: Final = re.compile(rb"\x00end (\d{1,3})\n\Z")
MARK_BYTES: Final = 9
"""Maximum length of the mark at the end of a response."""


@dataclass(frozen=True, slots=True)
class Server:
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


def over_http(name: str, command: click.Command, server: Server) -> click.Command:
    """Return a copy of the command that sends requests to a server. Raises `Failure` for a command that only works on
    the server's own machine."""
    if isinstance(command, JobCommand):
        return command.answering_by(partial(_request, server, command))
    if isinstance(command, QuestionCommand):
        return command.answering_by(partial(_answer_there, server))
    if name not in (able := (*NAMES, *DOWNLOADS)):
        raise Failure(
            f"navlin {name} works on its own machine only; with --url there are: {', '.join(able)}",
            Exit.USAGE,
        )
    assert isinstance(command, click.Group)
    if name in DOWNLOADS:
        from navlin.cli.export_download import Downloads

        return Downloads(command, server)
    group = copy.copy(command)
    group.commands = {each: over_http(name, below, server) for each, below in command.commands.items()}
    return group


def _answer_there(server: Server, question: Question, pairs: Pairs, given: Any, as_json: bool) -> None:
    names = {name for name, _ in pairs}
    if (lines := bool(names & {"csv", "jsonl", "html"})) or not question.view:
        if not (lines or as_json):
            raise Failure(f"with --url, navlin {question.name} answers with --json or --csv", Exit.USAGE)
        pieces, headers = server.records(question.path, pairs)
        print_lines(pieces, headers.get("Content-Type", ""))
        raise SystemExit(pieces.exit_code)
    if question.method == "POST":
        how: dict[str, Any] = {"json": _json_of(pairs, given)}
    else:
        how = {"params": pairs}
    _print(server.send(question.method, question.path, accept=_form(as_json=as_json), **how), as_json=as_json)


class Pieces:
    """Iterator over the pieces of a response, without the mark at the end. After the last piece, ``exit_code`` is the
    exit code in the mark."""

    def __init__(self, server: Server, answer: requests.Response) -> None:
        self.server, self.answer, self.exit_code = server, answer, 0

    def __iter__(self) -> Iterator[bytes]:
        import requests

        held = b""
        try:
            for piece in self.answer.iter_content(PIECE_BYTES):
                held += piece
                yield held[:-MARK_BYTES]
                held = held[-MARK_BYTES:]
        except requests.RequestException as error:
            raise Failure(f"{self.server.url}: the answer broke off: {error}", Exit.FAILED) from error
        if self.answer.headers.get(MARKED):
            # An interrupted response may look complete, because of a proxy or because it is ended by the end of the
            # connection.
            found = _END.search(held)
            if found is None:
                raise Failure(f"{self.server.url}: the answer broke off: it has no end", Exit.FAILED)
            held, self.exit_code = held[: found.start()], int(found[1])
        yield held


def _form(*, as_json: bool) -> str:
    return "application/json" if as_json else f"text/plain; width={output_width()}"


def _print(answer: requests.Response, *, as_json: bool) -> None:
    if as_json:
        print_json(answer.json())
    else:
        say(answer.text.rstrip("\n"))
    raise SystemExit(int(answer.headers.get("Navlin-Exit-Code", 0)))


def _request(
    server: Server, command: JobCommand, question: Question, pairs: Pairs, given: Any, as_json: bool
) -> None:
    left = server.send("POST", question.path, json=_json_of(pairs, given)).json()
    progress = Progress(question.name)
    try:
        while left["endedMs"] is None:
            time.sleep(POLL_S)
            left = server.send("GET", f"/requests/{left['id']}").json()
            progress.show(left["step"])
    finally:
        progress.clear()
    if left["error"]:
        raise Failure(left["error"], Exit.FAILED)
    command.print_answer(left["answer"], as_json=as_json)


def _json_of(pairs: Pairs, given: Any) -> dict[str, Any]:
    """Return the typed parameters as a JSON body."""
    return {name: plain(getattr(given, name)) for name in dict(pairs)}


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _words(answer: requests.Response) -> str:
    """Return the server's message, with its suggestions."""
    try:
        said = answer.json()
        return with_entities(str(said["message"]), said)
    except (ValueError, KeyError, TypeError):
        return f"status {answer.status_code}, and it is no navlin"
