"""Sends changes to other systems from the daemon: after a run, each ``[[export]]`` sends the changes to its target.

Each export has its own thread while it sends, so that a slow or unreachable server delays nothing else. If an export
fails, a later export sends the remaining changes, from the position stored in the index (`navlin.export.following`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from threading import Event, Thread
from typing import Final

import structlog

from navlin.export.answers import Unavailable
from navlin.export.connection import AGAIN_AFTER_S, NotAllowed, ServerConnection
from navlin.export.following import follow
from navlin.export.target import RefusedRecord
from navlin.export.writing import Exported
from navlin.index.journal.export_positions import load_export, note_failure
from navlin.index.journal.leases import Leased, LeaseLost
from navlin.index.journal.removals import newest_run
from navlin.index.solr.solr import Solr, SolrAddress, SolrError
from navlin.service.settings.export_settings import ExportSettings

log = structlog.stdlib.get_logger(__name__)

PAUSE_POLLS: Final = (5, 30, 60, 300)
"""Number of polls to skip after the first failure of an export, the second consecutive failure, and so on. The last
value applies to all further failures."""
LOOK_POLLS: Final = 5
"""Number of polls between two checks for new runs."""
REFUSALS_LOGGED: Final = 20
"""Maximum number of refusals to log per export."""


class _Stopped(Exception):
    """The daemon is ending."""


@dataclass(slots=True)
class _One:
    """The state of one export: the thread while the export runs, the number of polls to skip, and the number of
    consecutive failures."""

    settings: ExportSettings
    thread: Thread | None = None
    pause: int = 0
    failures: int = 0

    @property
    def at_it(self) -> bool:
        return self.thread is not None and self.thread.is_alive()


class Exporting:
    """All exports of one daemon. `poll` must be called about every second, and returns at once."""

    def __init__(
        self,
        address: SolrAddress,
        now_ms: Callable[[], int],
        *,
        again_after_s: tuple[float, ...] = AGAIN_AFTER_S,
        pauses: tuple[int, ...] = PAUSE_POLLS,
    ) -> None:
        """``again_after_s`` are the seconds to wait before each retry of a request; ``pauses`` are the numbers of polls
        to wait after each failure of an export."""
        self._address, self._now_ms = address, now_ms
        self._again_after_s, self._pauses = again_after_s, pauses
        self._solr = Solr(address)
        self._ending = Event()
        self._exports: dict[str, _One] = {}
        self._left: list[_One] = []

    def configure(self, exports: Sequence[ExportSettings]) -> None:
        """Replace the exports by those of a configuration. Running exports finish."""
        before = self._exports
        self._exports = {
            each.name: kept
            if (kept := before.get(each.name)) is not None and kept.settings == each
            else _One(each)
            for each in exports
        }
        now = {id(each) for each in self._exports.values()}
        self._left += [each for each in before.values() if each.at_it and id(each) not in now]

    def poll(self) -> None:
        """Start the exports that have something to send."""
        self._left = [each for each in self._left if each.at_it]
        ready = []
        for one in self._exports.values():
            one.pause = max(one.pause - 1, 0)
            if not one.at_it and not one.pause:
                ready.append(one)
        if not ready:
            return
        try:
            newest = newest_run(self._solr)
            due = [one for one in ready if one.failures or self._is_due(one, newest)]
        except SolrError as error:
            log.debug("pending exports not read", error=str(error))
            due = []
        for one in ready:
            if one in due:
                one.thread = Thread(
                    target=self._send, args=(one,), name=f"export {one.settings.name}", daemon=True
                )
                one.thread.start()
            else:
                one.pause = LOOK_POLLS

    def running(self) -> list[str]:
        return [f"export {one.settings.name}" for one in (*self._exports.values(), *self._left) if one.at_it]

    def stop(self) -> None:
        """Make all exports end after the batch that they are sending."""
        self._ending.set()

    # -- Inside ----------------------------------------------------------------------------------------------------------

    def _is_due(self, one: _One, newest: str) -> bool:
        kept = load_export(self._solr, one.settings.name)
        return kept.until != newest or kept.asked != one.settings.question().digest or bool(kept.pending)

    def _send(self, one: _One) -> None:
        name = one.settings.name
        with structlog.contextvars.bound_contextvars(export=name):
            try:
                done = self._follow(one)
            except _Stopped:
                log.info("export interrupted by shutdown")
            except Leased as error:
                one.pause = self._pauses[-1]
                log.warning("export skipped: another process holds the lease", reason=str(error))
            except LeaseLost as error:
                one.pause = self._pauses[-1]
                log.warning("export stopped: its lease was lost", reason=str(error))
            except (Unavailable, NotAllowed, SolrError, OSError, UnicodeDecodeError) as error:
                self._failed(one, str(error))
                log.error("export failed: it will be retried", error=str(error))
            except Exception as error:
                self._failed(one, f"{type(error).__name__}: {error}")
                log.exception("export failed: it will be retried")
            else:
                one.failures = 0
                counts = {kind: count for kind, count in done.counts.items() if count}
                log.info("export finished", until=done.until, sent=done.sent, refused=done.refusals, **counts)

    def _follow(self, one: _One) -> Exported:
        refusals = 0

        def refused(each: RefusedRecord) -> None:
            nonlocal refusals
            refusals += 1
            if refusals <= REFUSALS_LOGGED:
                log.warning("item refused by the export target", what=each.what, reason=each.reason)

        def progress(_: Exported) -> None:
            if self._ending.is_set():
                raise _Stopped

        def wait(seconds: float) -> None:
            if self._ending.wait(seconds):
                raise _Stopped

        connection = ServerConnection(one.settings.address(), wait=wait, again_after_s=self._again_after_s)
        with closing(connection), Solr(self._address) as solr:
            return follow(
                solr,
                one.settings.name,
                one.settings.question(),
                connection,
                now_ms=self._now_ms,
                refused=refused,
                progress=progress,
            )

    def _failed(self, one: _One, error: str) -> None:
        one.pause = self._pauses[min(one.failures, len(self._pauses) - 1)]
        one.failures += 1
        try:
            with Solr(self._address) as solr:
                note_failure(solr, one.settings.name, error)
        except (SolrError, Leased, LeaseLost) as unwritten:
            log.debug("export failure not recorded", error=str(unwritten))
