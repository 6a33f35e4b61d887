"""Processes requests in ``navlin serve``, each in its own thread. The present step and the result are written to the
document of the request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import structlog

from navlin.index.journal.holder import Holder, may_live
from navlin.index.journal.requests import (
    Job,
    Request,
    RequestState,
    TakenMeanwhile,
    open_requests,
    remove_answered,
    save_request,
)
from navlin.index.schema.fields import RUNS
from navlin.index.solr.solr import Solr, SolrAddress, SolrError
from navlin.pipeline.failing import in_words

log = structlog.stdlib.get_logger(__name__)

AT_ONCE: Final = 8
"""Maximum number of requests that run at the same time; further requests wait."""

Step = Callable[[str], None]
Run = Callable[[Mapping[str, Any], Step], dict[str, Any]]
"""Function that runs a job, given (arguments, callback for each step), and returns the result. An exception becomes the
error of the request."""


class Stopped(BaseException):
    """The daemon is ending. The callback for steps raises this, so that a run ends between two steps. No run may treat
    it as an error."""


class RequestRefused(Exception):
    """A request cannot be executed; the message gives the reason."""


class Requests:
    """The requests that this process executes. `poll` must be called repeatedly, by a single thread."""

    def __init__(
        self, address: SolrAddress, me: Holder, jobs: Mapping[Job, Run], clock: Callable[[], int]
    ) -> None:
        """``jobs`` maps each job to the function that runs it; ``clock`` returns epoch ms."""
        self._solr = Solr(address)
        self._me, self._jobs, self._clock = me, jobs, clock
        self._running: dict[str, threading.Thread] = {}

    def poll(self) -> None:
        """Start pending requests. Mark a request as failed if its daemon died or its result could not be saved. If the
        index does not respond, the next call tries again."""
        try:
            for request in open_requests(self._solr):
                if request.state is RequestState.RUNNING:
                    if request.id not in self._running:
                        self._give_up(request)
                elif len(self._running) < AT_ONCE:
                    self._take_up(request)
        except SolrError as error:
            log.debug("requests not read", error=str(error))

    def running(self) -> list[str]:
        return sorted(thread.name for thread in list(self._running.values()))

    def _take_up(self, request: Request) -> None:
        try:
            taken = save_request(self._solr, replace(request, state=RequestState.RUNNING, holder=self._me))
        except TakenMeanwhile:
            return
        name = " ".join(filter(None, ("request", request.job, str(request.arguments.get("source", "")))))
        thread = threading.Thread(target=self._run, args=(taken,), name=name)
        self._running[request.id] = thread
        log.info("request started", request=request.id, job=request.job, by=request.asked_by)
        thread.start()

    def _run(self, request: Request) -> None:
        latest = request

        def step(name: str) -> None:
            nonlocal latest
            latest = save_request(self._solr, replace(latest, step=name))

        try:
            ended = self._answered(request, step)
            ended = replace(ended, version=latest.version, step="", ended_ms=self._clock())
            save_request(self._solr, ended)
            self._solr.commit(RUNS, soft=True)
            remove_answered(self._solr, self._clock())
            log.info("request finished", request=request.id, job=request.job, state=ended.state)
        except (SolrError, TakenMeanwhile) as error:
            log.error(
                "request not finished: its state was not saved",
                request=request.id,
                job=request.job,
                error=str(error),
            )
        finally:
            del self._running[request.id]

    def _answered(self, request: Request, step: Step) -> Request:
        try:
            answer = self._jobs[request.job](request.arguments, step)
        except Stopped:
            error = (
                "navlin serve was stopped before the job finished; what the job wrote stays, and the next"
                " run continues from there"
            )
            return replace(request, state=RequestState.FAILED, error=error)
        except RequestRefused as refused:
            return replace(request, state=RequestState.FAILED, error=str(refused))
        except Exception as error:
            log.exception("request failed", request=request.id)
            return replace(request, state=RequestState.FAILED, error=in_words(error))
        return replace(request, state=RequestState.DONE, answer=answer)

    def _give_up(self, request: Request) -> None:
        """Mark a request as failed if its daemon has certainly died, or if this daemon could not save the result. The
        job may have run in part."""
        holder = request.holder
        if holder is None or (holder != self._me and may_live(holder)):
            return
        what = (
            "the answer could not be saved"
            if holder == self._me
            else "navlin serve died before the job finished"
        )
        error = f"{what}; what the job wrote stays, and the next run continues from there"
        failed = replace(request, state=RequestState.FAILED, error=error, ended_ms=self._clock())
        try:
            save_request(self._solr, failed)
        except TakenMeanwhile:
            return
