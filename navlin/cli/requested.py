"""Submitting a job to the local ``navlin serve``, and waiting for the answer."""

from __future__ import annotations

import getpass
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from navlin.cli.invocation import Exit, Failure
from navlin.cli.terminal import say

if TYPE_CHECKING:
    from navlin.index.journal.requests import Job, Request
    from navlin.index.solr.solr import Solr

POLL_S: Final = 0.2
INTERRUPTED: Final = (
    "navlin serve stopped in the meantime; what the job wrote stays, and the next run continues from there"
)


def answer_of_daemon(solr: Solr, state_directory: Path, job: Job, arguments: Mapping[str, Any]) -> Any:
    """Submit a job to the daemon of this state directory, and return the answer; None if no daemon runs. The progress
    is shown on a terminal.

    Raises `Failure` if the job fails, or if the daemon ends. Ctrl-C withdraws a request that is still waiting; a job
    that is running continues in the daemon.
    """
    from navlin.index.journal.requests import leave_request
    from navlin.service.heartbeat import read_heartbeat

    if read_heartbeat(state_directory) is None:
        return None
    request = leave_request(solr, job, arguments, _user(), time.time_ns() // 1_000_000)
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
    return answered.answer


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
