"""Keeps the embedded Solr running by restarting it if it has died or cannot write any more."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog

from navlin.index.admin.cores import CORES
from navlin.index.solr.solr import Solr, SolrError
from navlin.service.disk_space import DiskWatch
from navlin.solr_server.embedded import EmbeddedSolr, NoSolr

log = structlog.stdlib.get_logger(__name__)


class SolrWatch:
    """Checks the embedded Solr whenever `look_after` is called. ``go_on`` is called after Solr was restarted because of
    failed writes."""

    def __init__(self, disk: DiskWatch, go_on: Callable[[], None]) -> None:
        self.suspect = False
        """Whether Solr may be unable to write. After a failed write to disk, Solr writes nothing until it is
        restarted."""
        self._disk = disk
        self._go_on = go_on
        self._restarting: threading.Thread | None = None

    def look_after(self, embedded: EmbeddedSolr) -> None:
        """Check Solr, and restart it if necessary. The restart runs in a thread, because Solr may have to replay its
        log, and the watchdog notifications to systemd must not wait."""
        if self._disk.short or (self._restarting is not None and self._restarting.is_alive()):
            return
        if not embedded.alive:
            self._begin(self._revive, embedded)
        elif self.suspect and self._disk.room_to_start:
            self._begin(self._try_writing, embedded)

    def _begin(self, work: Callable[[EmbeddedSolr], None], embedded: EmbeddedSolr) -> None:
        self._restarting = threading.Thread(target=work, args=(embedded,), name="solr-restart", daemon=True)
        self._restarting.start()

    def _revive(self, embedded: EmbeddedSolr) -> None:
        log.error("solr exited unexpectedly: restarting it")
        self._start(embedded)

    def _try_writing(self, embedded: EmbeddedSolr) -> None:
        """Restart Solr if it cannot commit. After a failed write to disk, Solr answers queries, but writes nothing
        until it is restarted. Acknowledged writes are in the update log; the next run repeats writes that were not
        durable."""
        self.suspect = False
        try:
            with Solr(embedded.address) as solr:
                for core in CORES:
                    solr.commit(core, soft=False)
        except SolrError as error:
            log.error("solr stopped accepting writes: restarting it", error=str(error))
            embedded.stop()
            self._start(embedded)
            self._go_on()

    def _start(self, embedded: EmbeddedSolr) -> None:
        try:
            embedded.start()
        except (NoSolr, OSError) as error:
            log.error("solr not restarted: retrying", error=str(error))
        else:
            log.info("solr restarted", pid=embedded.pid)
