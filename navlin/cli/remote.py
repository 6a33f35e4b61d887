"""Commands for navlin on another machine. With ``--url``, a command sends a request to navlin's API, and nothing else
is needed on this machine.

The answer to a question is printed as on the other machine. A job is submitted, and the command waits for the result.
"""

from __future__ import annotations

import copy
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from navlin.cli.export import Targets
from navlin.cli.invocation import Exit, Failure
from navlin.cli.jobs import JobCommand, Progress
from navlin.cli.questions import Pairs, QuestionCommand, print_lines
from navlin.cli.server import RunningServer
from navlin.cli.terminal import output_width, print_json, say
from navlin.questions import NAMES
from navlin.questions.declare.parameters import plain
from navlin.questions.declare.question import Question

if TYPE_CHECKING:
    import requests

POLL_S: Final = 0.5


def over_http(name: str, command: click.Command, server: RunningServer) -> click.Command:
    """Return a copy of the command that sends requests to a server. Raises `Failure` for a command that only works on
    the server's own machine."""
    if isinstance(command, JobCommand):
        return command.answering_by(partial(_request, server, command))
    if isinstance(command, QuestionCommand):
        return command.answering_by(partial(_answer_there, server))
    if name not in (able := (*NAMES, "export")):
        raise Failure(
            f"navlin {name} works only on the server's own machine; commands that accept --url: {', '.join(able)}",
            Exit.USAGE,
        )
    if isinstance(command, Targets):
        return command.answered_by(server)
    assert isinstance(command, click.Group)
    group = copy.copy(command)
    group.commands = {each: over_http(name, below, server) for each, below in command.commands.items()}
    return group


def _answer_there(server: RunningServer, question: Question, pairs: Pairs, given: Any, as_json: bool) -> None:
    names = {name for name, _ in pairs}
    if (lines := bool(names & {"csv", "jsonl", "html"})) or not question.view:
        if not (lines or as_json):
            raise Failure(f"with --url, navlin {question.name} needs --json or --csv", Exit.USAGE)
        pieces, headers = server.records(question.path, pairs)
        print_lines(pieces, headers.get("Content-Type", ""))
        raise SystemExit(pieces.exit_code)
    if question.method == "POST":
        how: dict[str, Any] = {"json": _json_of(pairs, given)}
    else:
        how = {"params": pairs}
    _print(server.send(question.method, question.path, accept=_form(as_json=as_json), **how), as_json=as_json)


def _form(*, as_json: bool) -> str:
    return "application/json" if as_json else f"text/plain; width={output_width()}"


def _print(answer: requests.Response, *, as_json: bool) -> None:
    if as_json:
        print_json(answer.json())
    else:
        say(answer.text.rstrip("\n"))
    raise SystemExit(int(answer.headers.get("Navlin-Exit-Code", 0)))


def _request(
    server: RunningServer, command: JobCommand, question: Question, pairs: Pairs, given: Any, as_json: bool
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
