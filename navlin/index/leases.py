"""Leases: who runs a source, or purges. They keep a second process out, and tell whether the first one still lives.

A lease is a document of ``nav_runs``. On the host of its holder it is free as soon as that process has ended; for other
hosts it expires when it was not renewed for `LEASE_MS`.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from navlin.index.fields import RUNS
from navlin.index.solr import Solr, SolrError

LEASE_MS = 120_000
"""How long a lease holds without a renewal. On the holder's own host the end of the holder frees it at once."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that holds a lease."""

    host: str
    pid: int
    started: str
    """When the process started, as its kernel counts: process ids are used again."""


class Leased(Exception):
    """Another process runs this source."""


# -- Processes ---------------------------------------------------------------------------------------------------------


def this_process() -> Holder:
    """This process, as a holder of leases."""
    return Holder(socket.gethostname(), os.getpid(), _started(os.getpid()))


def lives(holder: Holder) -> bool:
    """Whether a process of this host is still the one that took the lease."""
    started = _started(holder.pid)
    return started != "" and started == holder.started


def _started(pid: int) -> str:
    # Field 22 of /proc/PID/stat, in clock ticks since boot; the name in field 2 may hold spaces and parentheses.
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    # A dead process stays in the table, as a zombie, until its parent has waited for it.
    return "" if state in "ZX" else fields[18]


# -- Leases ------------------------------------------------------------------------------------------------------------


@contextmanager
def lease(solr: Solr, name: str, clock: Callable[[], int]) -> Iterator[None]:
    """Holds the lease ``name`` for this process, renewing it in the background. Raises `Leased` if another process has it.

    ``clock`` gives epoch ms.
    """
    holder = this_process()
    take_lease(solr, name, holder, clock(), lives=lives)
    over = threading.Event()

    def renew() -> None:
        while not over.wait(LEASE_MS / 4_000):
            try:
                take_lease(solr, name, holder, clock(), lives=lives)
            except SolrError:
                continue  # the run itself will meet it, and report it

    renewing = threading.Thread(target=renew, name=f"lease of {name}", daemon=True)
    renewing.start()
    try:
        yield
    except BaseException:
        with suppress(SolrError):  # the error that ended the run is the one to report
            _end(renewing, over, solr, name)
        raise
    _end(renewing, over, solr, name)


def _end(renewing: threading.Thread, over: threading.Event, solr: Solr, name: str) -> None:
    over.set()
    renewing.join()
    free_lease(solr, name)


def take_lease(
    solr: Solr, name: str, holder: Holder, now_ms: int, *, lives: Callable[[Holder], bool]
) -> None:
    """Takes or renews the lease ``name``; raises `Leased` with its holder. ``lives(holder)`` knows this host's processes.

    If two processes try at once, Solr's optimistic concurrency decides.
    """
    identity = "lease:" + name
    version = -1
    for document in solr.get(RUNS, [identity]):
        other = orjson.loads(document["body"])
        held_by = Holder(other["host"], other["pid"], other["started"])
        if held_by != holder and _holds(held_by, holder, other["until_ms"], now_ms, lives):
            raise Leased(f"{name} is being run by process {held_by.pid} on {held_by.host}")
        version = document["_version_"]
    body = orjson.dumps({**asdict(holder), "until_ms": now_ms + LEASE_MS}).decode()
    answer = solr.add(
        RUNS, [{"identity": identity, "kind": "lease", "source": name, "body": body, "_version_": version}]
    )
    if answer.conflicts:
        raise Leased(f"{name} has just been taken by another process")


def free_lease(solr: Solr, name: str) -> None:
    """Gives a lease back. Only its holder may call this."""
    solr.delete_ids(RUNS, ["lease:" + name])


def _holds(other: Holder, me: Holder, until_ms: int, now_ms: int, lives: Callable[[Holder], bool]) -> bool:
    return lives(other) if other.host == me.host else until_ms > now_ms
