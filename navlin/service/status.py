"""The status of navlin: last run, positions, lag and rejects of each source, runs that wait for a user, and unlinked
relations with the reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from navlin.index.graph.incomplete import IncompleteOperations, Unparsed, incomplete_counts, unparsed_counts
from navlin.index.graph.sources import KnownSource, known_sources
from navlin.index.graph.unlinked import UnlinkedCount, unlinked_counts
from navlin.index.journal.export_positions import load_export
from navlin.index.journal.leases import held_lease
from navlin.index.journal.overview import SourceOverview, blocked_run, source_overview
from navlin.index.journal.purges import DailyPurge, UnfinishedPurge, daily_purge, unfinished_purge
from navlin.index.journal.removals import newest_run
from navlin.index.journal.runs import RunRecord, Status, last_run
from navlin.index.solr.solr import Solr
from navlin.service.disk_space import Space, space
from navlin.service.heartbeat import Heartbeat, read_heartbeat
from navlin.service.loader import Loaded, load
from navlin.service.settings.configuration import Configuration
from navlin.service.settings.export_settings import ExportSettings
from navlin.service.web_address import web_addresses

PURGE: Final = "purge"
"""Name of the daily purge in `Overall.failing`."""
NEVER, INTERRUPTED = "never", "interrupted"
"""States of a source in addition to the statuses of runs: it has never run; the last run was interrupted, and the next
one repeats it."""


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """One configured source.

    ``looked_ms`` is the start of the last successful run, even one that found nothing new; ``lag_s``, the time since
    then, is the maximum age of the source's data in the index. ``due_s`` is the time of the next run by the daemon
    (epoch s); None during a run, or without a daemon. ``held`` is the newest run that waits for a user. ``holder`` is
    the process that holds the source's lease, "" if there is none. That process is running the source, or has ended
    without releasing the lease.
    """

    name: str
    extractor: str
    mode: str
    source_id: str
    interval_s: float
    state: str
    error: str
    last: RunRecord | None
    looked_ms: int | None
    lag_s: float | None
    due_s: float | None
    held: str
    holder: str
    index: SourceOverview

    @property
    def failing(self) -> bool:
        """Whether the source needs attention."""
        return self.state == Status.FAILED or bool(self.held)


@dataclass(frozen=True, slots=True)
class ExportStatus:
    """One configured export. ``lag_s`` is the time since the target was last up to date (0: it is now; None: nothing
    has been exported yet), ``refused`` the number of records that the target did not accept, and ``error`` the failure
    of a later export."""

    name: str
    target: str
    until: str
    ended_ms: int
    lag_s: float | None
    refused: int
    error: str

    @property
    def failing(self) -> bool:
        """Whether the export needs attention."""
        return bool(self.error or self.refused)


@dataclass(frozen=True, slots=True)
class Overall:
    """The whole status. ``left`` are sources that are in the index but no longer in the configuration."""

    now_ms: int
    daemon: Heartbeat | None
    sources: tuple[SourceStatus, ...]
    left: tuple[KnownSource, ...]
    unlinked: tuple[UnlinkedCount, ...]
    unparsed: tuple[Unparsed, ...]
    incomplete: tuple[IncompleteOperations, ...]
    space: Space
    web: tuple[str, ...]
    """URLs of the web processes on this state directory, that of ``navlin serve`` first."""
    exports: tuple[ExportStatus, ...] = ()
    purge: UnfinishedPurge | None = None
    """The last daily purge, if it did not finish."""
    last_purge: DailyPurge | None = None
    """The last daily purge, whatever its result."""

    @property
    def failing(self) -> tuple[str, ...]:
        """Names of the sources and exports that need attention, and "purge" if the daily purge did not finish."""
        sources = [source.name for source in self.sources if source.failing]
        exports = [export.name for export in self.exports if export.failing]
        return (*sources, *exports, *([PURGE] if self.purge else ()))

    def as_json(self) -> dict[str, Any]:
        """Return the status as plain JSON. Times are epoch ms; ``due_s`` is epoch s."""
        return {
            "now_ms": self.now_ms,
            "daemon": {
                "pid": self.daemon.pid,
                "since_ms": self.daemon.since_ms,
                "clock_jump_ms": self.daemon.clock_jump_ms,
            }
            if self.daemon
            else None,
            "space": {
                "free_bytes": self.space.free_bytes,
                "least_bytes": self.space.least_bytes,
                "short": self.space.short,
                "text": str(self.space),
            },
            "web": next(iter(self.web), None),
            "web_addresses": list(self.web),
            "failing": list(self.failing),
            "sources": [
                {
                    **asdict(source),
                    "failing": source.failing,
                    "last": {"run_id": source.last.run_id, **asdict(source.last)} if source.last else None,
                }
                for source in self.sources
            ],
            "exports": [{**asdict(each), "failing": each.failing} for each in self.exports],
            "purge": asdict(self.purge) if self.purge else None,
            "last_purge_ms": self.last_purge.at_ms if self.last_purge and self.last_purge.made else None,
            "left": [asdict(source) for source in self.left],
            "unlinked": [asdict(unlinked) for unlinked in self.unlinked],
            "unparsed": [asdict(unparsed) for unparsed in self.unparsed],
            "incomplete": [asdict(incomplete) for incomplete in self.incomplete],
        }


def status(solr: Solr, configuration: Configuration, now_ms: int) -> Overall:
    """Determine the status from the index, the heartbeat of a daemon on the state directory, and the free space.
    Nothing is changed."""
    state_directory = configuration.navlin.state_directory
    known = known_sources(solr)
    sources = load(configuration, known)
    daemon = read_heartbeat(state_directory)
    configured = {source.id for source in sources.estate.sources}
    return Overall(
        now_ms,
        daemon,
        tuple(_source(solr, loaded, daemon, now_ms) for loaded in sources.sources),
        _left(known, configured, sources.estate.cluster),
        unlinked_counts(solr, now_ms),
        unparsed_counts(solr),
        incomplete_counts(solr),
        space(state_directory, configuration.navlin.least_free_bytes),
        tuple(web_addresses(state_directory)),
        tuple(_export(solr, each, now_ms) for each in configuration.exports),
        unfinished_purge(solr),
        daily_purge(solr),
    )


def _export(solr: Solr, settings: ExportSettings, now_ms: int) -> ExportStatus:
    kept = load_export(solr, settings.name)
    lag_s: float | None = None
    if kept.until:
        whole = kept.until == newest_run(solr)
        lag_s = 0.0 if whole else max(0, now_ms - kept.ended_ms) / 1000
    return ExportStatus(
        settings.name, settings.keys.target, kept.until, kept.ended_ms, lag_s, kept.refused, kept.error
    )


def _left(known: Sequence[KnownSource], configured: set[str], cluster: str) -> tuple[KnownSource, ...]:
    return tuple(
        source
        for source in known
        if source.id not in configured and not source.placeholder and source.cluster == cluster
    )


def _source(solr: Solr, loaded: Loaded, daemon: Heartbeat | None, now_ms: int) -> SourceStatus:
    source_id = loaded.source.id
    last = last_run(solr, source_id)
    good = last_run(solr, source_id, Status.FINISHED, Status.HELD)
    run = daemon.sources.get(loaded.name) if daemon else None
    due_s = daemon.due_s.get(loaded.name) if daemon else None
    runs = daemon is not None and loaded.name in daemon.due_s and due_s is None

    state, error = NEVER, ""
    if last is not None:
        state, error = last.status.value, last.error
        if last.status is Status.RUNNING and not runs:
            state = INTERRUPTED
    # A run that found nothing new leaves no record in the index; the daemon remembers it as long as the daemon runs.
    if run is not None and (last is None or run.started_ms > last.started_ms):
        state, error = run.status, run.error
    looks = [good.started_ms] if good else []
    if run is not None and run.status in (Status.IDLE, Status.FINISHED, Status.HELD):
        looks.append(run.started_ms)
    looked_ms = max(looks, default=None)
    return SourceStatus(
        loaded.name,
        loaded.settings.registration.name,
        loaded.settings.mode.value,
        source_id,
        loaded.settings.interval_s,
        Status.RUNNING.value if runs and state != Status.FAILED else state,
        error,
        last,
        looked_ms,
        (now_ms - looked_ms) / 1000 if looked_ms is not None else None,
        due_s,
        blocked_run(solr, source_id),
        _holder(solr, source_id),
        source_overview(solr, source_id),
    )


def _holder(solr: Solr, source_id: str) -> str:
    lease = held_lease(solr, source_id)
    if lease is None or lease.holder is None:
        return ""
    return f"{lease.holder} (epoch {lease.epoch})"
