"""Leases for running a source, purging or upgrading. They exclude a second process, and stop a run that lost its lease.

The rule
  - A lease is a document of ``nav_runs``. Its holder renews it `RENEWALS` times in its length, and each renewal gives the
    document another ``_version_``. Each acquisition raises its epoch by one; after a release, document and epoch remain.
  - Clocks of different machines are never compared. A waiter watches the version of a held lease by the waiter's own
    monotonic clock. If the version changes, the holder is alive, and `Leased` is raised; if the version stays the same for
    the lease's length, the waiter takes the lease over.
  - A lease is taken at once if its holder has certainly ended (`may_live`), or if this process holds it already, for
    example because releasing it failed.
  - Every write to a lease carries the version that was read, so only one of several concurrent writes succeeds, and a loser
    can neither renew nor release another holder's lease.
  - A holder has lost its lease if another process has taken it, or if no renewal reached Solr for its length. From then on,
    `Lease.check` raises `LeaseLost`. A process that was suspended for longer notices before its next step.
  - A run's final writes carry the versions that were read under the lease, and its epoch: see `navlin.index.journal.runs`.

Kafka Connect fences its zombies by epochs in the same way (KIP-618), with a broker instead of Solr's optimistic
concurrency.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final

import orjson

from navlin.index.journal.holder import Holder, Lives, may_live, this_process
from navlin.index.schema.fields import RUNS
from navlin.index.solr.solr import Solr, SolrError

LEASE_S: Final = 120.0
"""Validity of a lease that is not renewed, in seconds."""
RENEWALS: Final = 12
"""Number of renewals in the length of a lease. After one interval a waiter knows that the holder is alive."""
LOOKS: Final = 120
"""Number of times that a waiter checks in the length of a lease."""
TIMEOUT_S: Final = 10.0
"""Timeout of a renewal, in seconds. The renewal is then tried again."""


class Leased(Exception):
    """Another live process holds the lease."""


class LeaseLost(Exception):
    """This process has lost its lease and must stop its work."""


@dataclass(frozen=True, slots=True)
class HeldLease:
    """A lease as stored in the index. ``holder`` is None if the lease is free, and has pid 0 if the document's form is
    unknown. A lease of an early version has the epoch 0."""

    holder: Holder | None
    epoch: int
    version: int


# -- The document ------------------------------------------------------------------------------------------------------


def held_lease(solr: Solr, name: str) -> HeldLease | None:
    """Return the current state of the lease ``name``; None if it was never taken."""
    for document in solr.get(RUNS, [_identity(name)]):
        return _held(document)
    return None


def _held(document: dict[str, Any]) -> HeldLease:
    version = int(document["_version_"])
    try:
        body = orjson.loads(document["body"])
        epoch = int(body.get("epoch", 0))
        if body.get("free"):
            return HeldLease(None, epoch, version)
        known = {each.name for each in fields(Holder)}
        holder = Holder(**{name: value for name, value in body.items() if name in known})
    except (KeyError, TypeError, ValueError, AttributeError):
        return HeldLease(Holder("an unknown host", 0, ""), 0, version)
    return HeldLease(holder, epoch, version)


def _write(solr: Solr, name: str, holder: Holder | None, epoch: int, version: int) -> int | None:
    """Write a lease if its indexed version is ``version`` (-1: none), and return the new version; None after a
    conflict."""
    body = {"epoch": epoch, **(asdict(holder) if holder is not None else {"free": True})}
    identity = _identity(name)
    document = {
        "identity": identity,
        "kind": "lease",
        "source": name,
        "body": orjson.dumps(body).decode(),
        "_version_": version,
    }
    added = solr.add_all(RUNS, [document])
    if added.conflicts:
        return None
    new = added.applied[identity]
    if not new:  # a SolrCloud does not always return the version
        written = held_lease(solr, name)
        return (
            written.version
            if written is not None and (written.holder, written.epoch) == (holder, epoch)
            else None
        )
    return new


def _newest_epoch(solr: Solr, name: str) -> int:
    """Return the highest epoch saved under a lease whose document is gone, as after an upgrade of the index."""
    own = f"{{!term f=sourceId}}{name}"
    found, _ = solr.page(RUNS, "*:*", "epoch_l", filters=own, sort="epoch_l desc", rows=1)
    return int(found[0].get("epoch_l", 0)) if found else 0


def _identity(name: str) -> str:
    return "lease:" + name


# -- Holding a lease ---------------------------------------------------------------------------------------------------


class Lease:
    """A lease held by this process. Thread-safe."""

    def __init__(
        self,
        solr: Solr,
        name: str,
        holder: Holder,
        taken: HeldLease,
        *,
        length_s: float,
        renewals: int,
        asked_s: float,
    ) -> None:
        self.name, self.epoch = name, taken.epoch
        self.lost = ""
        """Reason for the loss of the lease; "" while it is held."""
        self._solr, self._holder, self._version = solr, holder, taken.version
        self._length_s, self._renewals, self._renewed_s = length_s, renewals, asked_s
        self._lock = threading.Lock()

    def check(self) -> None:
        """Return while the lease is held; raise `LeaseLost` otherwise. Ask Solr only if no renewal succeeded for the
        lease's length, for example after this process was suspended."""
        if not self.lost and self._still_s() >= self._length_s:
            try:
                self.renew()
            except SolrError as error:
                self._lose(self._not_renewed(error))
        if self.lost:
            raise LeaseLost(self.lost)

    def renew(self) -> None:
        """Renew the lease, which proves that it is still held. Raises `LeaseLost` or `SolrError`."""
        with self._lock:
            if self.lost:
                raise LeaseLost(self.lost)
            asked_s = _awake_s()
            while (version := self._write(self._holder)) is None:
                if not self._is_mine():
                    raise LeaseLost(self.lost)
            self._version, self._renewed_s = version, asked_s

    def free(self) -> None:
        """Release the lease, unless another process has taken it. Raises `SolrError`."""
        with self._lock:
            while not self.lost and self._write(None) is None:
                self._is_mine()

    def keep(self, over: threading.Event, on_lost: Callable[[], None]) -> None:
        """Renew the lease until ``over`` is set. If the lease is lost, stop and call ``on_lost``."""
        interval_s = self._length_s / self._renewals
        while not over.wait(interval_s):
            try:
                self.renew()
            except LeaseLost:
                break
            except SolrError as error:
                if self._still_s() >= self._length_s:
                    self._lose(self._not_renewed(error))
                    break
            except Exception as error:
                self._lose(f"the lease of {self.name} cannot be renewed: {type(error).__name__}: {error}")
                break
        if self.lost:
            with suppress(Exception):  # `check` raises the reason
                on_lost()

    def _write(self, holder: Holder | None) -> int | None:
        return _write(self._solr, self.name, holder, self.epoch, self._version)

    def _is_mine(self) -> bool:
        """Return whether the indexed version differs only because a response from Solr was lost. If not, mark the lease
        as lost."""
        found = held_lease(self._solr, self.name)
        if found is not None and (found.holder, found.epoch) == (self._holder, self.epoch):
            self._version = found.version
            return True
        by = "somebody" if found is None or found.holder is None else str(found.holder)
        self._lose(f"the lease of {self.name} was taken by {by}, because it was not renewed in time")
        return False

    def _lose(self, reason: str) -> None:
        self.lost = self.lost or reason

    def _still_s(self) -> float:
        return _awake_s() - self._renewed_s

    def _not_renewed(self, error: SolrError) -> str:
        return f"the lease of {self.name} could not be renewed for {self._still_s():.0f} s: {error}"


@contextmanager
def lease(
    solr: Solr,
    name: str,
    *,
    holder: Holder | None = None,
    lives: Lives = may_live,
    length_s: float = LEASE_S,
    renewals: int = RENEWALS,
    on_lost: Callable[[], None] = lambda: None,
) -> Iterator[Lease]:
    """Hold the lease ``name`` for this process (or ``holder``), and renew it in the background, ``renewals`` times in
    ``length_s``, which must be the same wherever this name is leased.

    It excludes other processes, not other threads of this one: they would take it over, so use a lock as well. If the
    lease is lost, the body is not interrupted: it must call `Lease.check`. ``on_lost`` is called by the renewing thread.

    Raises `Leased` if another process has the lease and renews it, usually within one renewal interval; waits for
    ``length_s`` if the other process does not renew it. Raises `SolrError` if the lease cannot be taken. If Solr does
    not respond when it is released, no error is raised: this process can take the lease over at once, others on the
    same kernel when this process has ended, and all others after ``length_s``.
    """
    # Renewals have their own connection, because they must not wait as long as a search may.
    timeout_s = min(TIMEOUT_S, length_s / 4)
    me = holder or this_process()
    asked_s, taken = _take(solr, name, me, lives, length_s)
    with Solr(replace(solr.address, timeout_s=timeout_s, connect_timeout_s=timeout_s)) as own:
        own_lease = Lease(own, name, me, taken, length_s=length_s, renewals=renewals, asked_s=asked_s)
        over = threading.Event()
        keeping = threading.Thread(
            target=own_lease.keep, args=(over, on_lost), name=f"lease of {name}", daemon=True
        )
        keeping.start()
        try:
            yield own_lease
        finally:
            over.set()
            keeping.join()
            with suppress(SolrError):
                own_lease.free()


def _take(solr: Solr, name: str, holder: Holder, lives: Lives, length_s: float) -> tuple[float, HeldLease]:
    """Take the lease, waiting if necessary. Return the time of the request (by `_awake_s`) and the lease."""
    seen, since_s = 0, 0.0
    while True:
        # Read the clocks before the request, so that the response is at least as new.
        asked_s, now_s = _awake_s(), time.monotonic()
        found = held_lease(solr, name)
        if found is not None and found.holder is not None and found.holder != holder and lives(found.holder):
            if seen not in (0, found.version):
                raise Leased(f"{name} is being run by {found.holder}")
            if not seen:
                # Count from the arrival of the version, not from the request.
                seen, since_s = found.version, time.monotonic()
            if now_s - since_s < length_s:
                time.sleep(length_s / LOOKS)
                continue
        epoch = (found.epoch if found is not None else _newest_epoch(solr, name)) + 1
        version = _write(solr, name, holder, epoch, found.version if found is not None else -1)
        if version is not None:
            return asked_s, HeldLease(holder, epoch, version)


def _awake_s() -> float:
    """Return a clock that also counts while the machine sleeps, because a holder must not assume that no time passed.

    A waiter uses `time.monotonic`, which does not count then: while the waiter slept, the holder may have been asleep
    as well.
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME)
