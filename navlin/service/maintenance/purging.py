"""The purges of ``navlin serve``, once a day and on request. If a daily purge does not finish, the reason is stored in
the index."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

import structlog

from navlin.index.journal.purges import (
    DailyPurge,
    UnfinishedPurge,
    daily_purge,
    forget_daily,
    forget_unfinished,
    remember_daily,
    remember_unfinished,
)
from navlin.index.solr.solr import Solr, SolrAddress
from navlin.pipeline.failing import in_words
from navlin.service import jobs
from navlin.service.settings.configuration import PurgeSettings
from navlin.service.settings.time_of_day import last_s

DAY_MS: Final = 86_400_000

log = structlog.get_logger(__name__)


class Purging:
    """The purges of one process. ``clock`` returns epoch ms; ``stopping`` is checked between batches."""

    def __init__(self, address: SolrAddress, clock: Callable[[], int], stopping: Callable[[], bool]) -> None:
        self._address = address
        self._clock = clock
        self._stopping = stopping
        self._one_at_a_time = threading.RLock()

    def daily(self, settings: PurgeSettings, put_off: str = "") -> None:
        """Purge as configured, unless ``put_off`` gives a reason to postpone the purge. Errors are logged, not
        raised."""
        now_ms = self._clock()
        before_ms = now_ms - settings.before_days * DAY_MS
        if put_off:
            log.error("daily purge postponed", reason=put_off)
        # A requested purge either ends before this one begins, or begins after the end of this one is recorded.
        with self._one_at_a_time:
            reason = f"postponed: {put_off}" if put_off else self._unfinished(before_ms, settings)
            if reason:
                self._note(lambda solr: remember_unfinished(solr, UnfinishedPurge(reason, now_ms, before_ms)))
        if not self._stopping():
            self._note(lambda solr: remember_daily(solr, DailyPurge(now_ms)))

    def missed(self, at: str) -> bool:
        """Whether the last daily purge was missed because this machine, or navlin, was down. Raises `SolrError`."""
        now_ms = self._clock()
        with Solr(self._address) as solr:
            last = daily_purge(solr)
            if last is None:
                # Before the first purge, none was missed. The first purge is due at its regular time.
                remember_daily(solr, DailyPurge(now_ms, made=False))
        return last is not None and last.at_ms < last_s(at, now_ms / 1000) * 1000

    def never_daily(self) -> None:
        """Remove the state of daily purges, because they are disabled. Errors are logged, not raised."""
        self._note(forget_unfinished)
        self._note(forget_daily)

    def purge(self, before_ms: int, *, dry_run: bool, deleted_files: bool, accepted: int = 0) -> jobs.Answer:
        """Purge data older than ``before_ms`` (epoch ms). ``accepted`` is the number of candidates that a person has
        confirmed after an earlier purge was held. Raises `SolrError`."""
        # Two purges in one process would both hold the lease, because the lease belongs to the process.
        with self._one_at_a_time, Solr(self._address) as solr:
            answer = jobs.purge(
                solr,
                self._clock,
                before_ms=before_ms,
                dry_run=dry_run,
                deleted_files=deleted_files,
                accepted=accepted,
                stop=self._stopping,
            )
        removed = {rule["rule"]: rule["removed"] for rule in answer["rules"]}
        if answer["status"] == "held":
            log.warning("purge held for review", reason=answer["note"])
            return answer
        log.info(
            "purge finished", status=answer["status"], before=answer["before"], dry_run=dry_run, **removed
        )
        return answer

    def _note(self, note: Callable[[Solr], None]) -> None:
        try:
            with Solr(self._address) as solr:
                note(solr)
        except Exception as error:
            log.warning(
                "state of the daily purge not saved: `navlin status` may show an older one", error=str(error)
            )

    def _unfinished(self, before_ms: int, settings: PurgeSettings) -> str:
        """Purge, and return why the purge did not finish; "" if it did, if this process is ending, or if another purge
        is running."""
        try:
            answer = self.purge(before_ms, dry_run=False, deleted_files=settings.deleted_files)
        except Exception as error:
            # The next daily purge continues where this one stopped.
            log.exception("purge failed")
            return f"failed, and continues tomorrow: {in_words(error)}"
        return str(answer["note"]) if answer["status"] == "held" else ""
