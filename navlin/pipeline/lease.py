"""Holding a source's lease while it runs, so that no second process runs it too."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from navlin.index.runs import LEASE_MS, Holder, free_lease, take_lease
from navlin.index.solr import Solr, SolrError


def this_process() -> Holder:
    """This process, as a holder of leases."""
    return Holder(socket.gethostname(), os.getpid(), _started(os.getpid()))


def lives(holder: Holder) -> bool:
    """Whether a process of this host is still the one that took the lease."""
    started = _started(holder.pid)
    return started != "" and started == holder.started


@contextmanager
def lease(solr: Solr, name: str, clock: Callable[[], int]) -> Iterator[None]:
    """Holds the lease ``name``, renewing it in the background. Raises `Leased` when another process has it."""
    holder = this_process()
    take_lease(solr, name, holder, clock(), lives=lives)
    over = threading.Event()

    def renew() -> None:
        while not over.wait(LEASE_MS / 4_000):
            try:
                take_lease(solr, name, holder, clock(), lives=lives)
            except SolrError:
                continue  # the run itself will meet it, and say so

    renewing = threading.Thread(target=renew, name=f"lease of {name}", daemon=True)
    renewing.start()
    try:
        yield
    except BaseException:
        with suppress(SolrError):  # what ended the run is what must be heard of
            _end(renewing, over, solr, name)
        raise
    _end(renewing, over, solr, name)


def _end(renewing: threading.Thread, over: threading.Event, solr: Solr, name: str) -> None:
    over.set()
    renewing.join()
    free_lease(solr, name)


def _started(pid: int) -> str:
    # Field 22 of /proc/PID/stat, in clock ticks since boot; the name in field 2 may hold spaces and parentheses.
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    # A dead process stays in the table, as a zombie, until its parent has heard of it.
    return "" if state in "ZX" else fields[18]
