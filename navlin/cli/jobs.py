"""Commands of jobs. A job runs in this process, in the local `navlin serve`, or on another machine."""

from __future__ import annotations

import getpass
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from navlin.cli.invocation import Exit, Failure, Invocation
from navlin.cli.questions import Pairs, QuestionCommand
from navlin.cli.terminal import print_json, say
from navlin.questions.declare.question import Question, QuestionRequest

if TYPE_CHECKING:
    from navlin.index.journal.requests import Request
    from navlin.index.solr.solr import Solr
    from navlin.service.settings.configuration import Configuration

POLL_S: Final = 0.2
INTERRUPTED: Final = (
    "navlin serve stopped in the meantime; what the job wrote stays, and the next run continues from there"
)
_EXITS: Final = {"failed": Exit.FAILED, "stopped": Exit.FAILED, "held": Exit.HELD, "leased": Exit.BUSY}


def exit_code(answer: Mapping[str, Any]) -> Exit:
    """Return the exit code for the answer of a job, which may have a status."""
    return _EXITS.get(answer.get("status", ""), Exit.OK)


class JobCommand(QuestionCommand):
    """Command of a question that is a job. ``run`` does the work and returns the answer, ``show`` prints the answer as
    text. ``options`` are additional options of the command line."""

    def __init__(
        self,
        question: Question,
        run: Callable[[Invocation, Any], Mapping[str, Any]],
        show: Callable[[Any], None],
        options: Sequence[click.Option] = (),
    ) -> None:
        super().__init__(question, options)
        self.run, self.show = run, show

    def answer_here(
        self, invocation: Invocation, _question: Question, _pairs: Pairs, given: Any, as_json: bool
    ) -> None:
        self.print_answer(self.run(invocation, given), as_json=as_json)

    def print_answer(self, answer: Mapping[str, Any], *, as_json: bool) -> None:
        """Print an answer, and end the command with its exit code."""
        if as_json:
            print_json(answer)
        else:
            self.show(answer)
        raise SystemExit(exit_code(answer))


def submitted(
    question: Question, invocation: Invocation, configuration: Configuration, solr: Solr, given: Any
) -> tuple[Mapping[str, Any], Any]:
    """Submit a job to the daemon of this state directory. Return the arguments of the job, and the answer; None if no
    daemon runs. The progress is shown on a terminal.

    Raises `Failure` if the job fails, or if the daemon ends. Ctrl-C withdraws a request that is still waiting; a job
    that is running continues in the daemon.
    """
    from navlin.index.journal.requests import Job, leave_request
    from navlin.service.heartbeat import read_heartbeat

    state_directory, files = configuration.navlin.state_directory, configuration.purge.deleted_files
    question_request = QuestionRequest(
        solr, given, invocation.author(), administrator=True, here=True, deleted_files=files
    )
    how: Mapping[str, Any] = question.ask(question_request)
    if read_heartbeat(state_directory) is None:
        return how, None
    job = Job(question.name)
    request = leave_request(solr, job, how, _user(), invocation.now_ms())
    progress = Progress(job.value)
    try:
        answered = _wait(solr, state_directory, request, progress)
    except KeyboardInterrupt:
        progress.clear()
        _take_back(solr, request)
        raise click.Abort from None
    progress.clear()
    if answered.error:
        raise Failure(answered.error, Exit.FAILED)
    return how, answered.answer


def _wait(solr: Solr, state_directory: Path, request: Request, progress: Progress) -> Request:
    from navlin.index.journal.requests import read_request, withdraw_request
    from navlin.index.solr.solr import SolrUnavailable
    from navlin.service.heartbeat import read_heartbeat

    while True:
        # Check the daemon before the document, so that an answer written just before the daemon ended is not missed.
        alive = read_heartbeat(state_directory) is not None
        try:
            now = read_request(solr, request.id)
            if now is None:
                raise Failure("the request no longer exists", Exit.FAILED)
            if not now.open:
                return now
            if not alive and now.holder is None and withdraw_request(solr, now):
                raise Failure("navlin serve stopped before it started the job: try again", Exit.FAILED)
            if not alive and now.holder is not None:
                raise Failure(INTERRUPTED, Exit.FAILED)
        except SolrUnavailable:
            # The embedded Solr ends with the daemon. If only Solr dies, the daemon starts it again.
            if not alive:
                raise Failure(INTERRUPTED, Exit.FAILED) from None
        else:
            progress.show(now.step)
        time.sleep(POLL_S)


def _take_back(solr: Solr, request: Request) -> None:
    from navlin.index.journal.requests import withdraw_request

    if not withdraw_request(solr, request):
        say("navlin: navlin serve has already started the job, and continues it", on_stderr=True)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


class Progress:
    """One line on standard error, if that is a terminal: the job, its step, and the seconds so far."""

    def __init__(self, job: str) -> None:
        self._job = job
        self._stream = sys.stderr
        self._begun_s = time.monotonic()

    def show(self, step: str) -> None:
        """Show the step; "" while the request waits for the daemon."""
        if self._stream.isatty():
            doing = f"{step}, " if step else "waiting for navlin serve, "
            self._stream.write(f"\r\x1b[K{self._job}: {doing}{time.monotonic() - self._begun_s:.0f} s")
            self._stream.flush()

    def clear(self) -> None:
        if self._stream.isatty():
            self._stream.write("\r\x1b[K")
            self._stream.flush()
