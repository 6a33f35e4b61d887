"""``/metrics``: navlin's state, for Prometheus.

The figures of ``navlin status`` and the durations of this process's responses, as a snapshot no older than 15 s.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import structlog
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from navlin.api.repeated import Repeated
from navlin.api.service import Service
from navlin.index.solr.solr import SolrError

log = structlog.stdlib.get_logger(__name__)
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
EVERY_S: Final = 10.0
MOST_AGE_S: Final = 15.0
WAITED_S: Final = 10.0
"""Maximum time to wait for the first snapshot, or for one after an idle time."""
UNASKED_S: Final = 300.0
"""Time after the last request until snapshots stop."""
_AGE: Final = (
    b"# HELP navlin_snapshot_age_seconds Age of all other figures.\n"
    b"# TYPE navlin_snapshot_age_seconds gauge\n"
    b"navlin_snapshot_age_seconds %.3f\n"
)
BUCKETS_S: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    def __init__(self, service: Service) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Estate(service))
        self._seconds = Histogram(
            "navlin_http_request_seconds",
            "Duration of responses, including the last byte.",
            ("address", "status"),
            buckets=BUCKETS_S,
            registry=self._registry,
        )
        self._snapshots = Repeated(
            "metrics", partial(generate_latest, self._registry), every_s=EVERY_S, until_unasked_s=UNASKED_S
        )

    async def text(self) -> bytes:
        """Return a snapshot of all metrics with its age, in Prometheus' text format. A stale snapshot is left out; b""
        if there has been none yet."""
        await self._snapshots.wait(MOST_AGE_S, WAITED_S)
        snapshot, age_s = self._snapshots.last
        if snapshot is None:
            return b""
        return (snapshot if age_s <= MOST_AGE_S else b"") + _AGE % age_s

    def answered(self, address: str, status: int, seconds: float) -> None:
        """Count one response. ``address`` is the endpoint's name, not the requested path, so that there are few label
        values."""
        self._seconds.labels(address, str(status)).observe(seconds)


class Timed:
    """Middleware that counts each response under the endpoint that the application stored in the request state."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun_s, status = time.perf_counter(), 500
        state = scope["state"] = {"address": "other"}

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noted)
        finally:
            self.metrics.answered(state["address"], status, time.perf_counter() - begun_s)


class _Estate(Collector):
    """The state of the index and the daemon, read at each collection."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def describe(self) -> Iterable[Metric]:
        """Return nothing, because the registration must not query the index."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield the gauges; if the index is down, only the two ``up`` gauges."""
        yield _gauge("navlin_daemon_up", "Whether navlin serve runs.", float(self._service.daemon_runs()))
        begun_s = time.perf_counter()
        try:
            with self._service.index.solr() as solr:
                status = self._service.status(solr)
        except (SolrError, OSError) as error:
            log.warning("figures of the index not read", error=str(error))
            yield _gauge("navlin_solr_up", "Whether the index responds.", 0.0)
            return
        yield _gauge("navlin_solr_up", "Whether the index responds.", 1.0)
        took_s = time.perf_counter() - begun_s
        yield _gauge("navlin_status_seconds", "Time that the index took for these figures.", took_s)
        yield from gauges(status)


SOURCE: Final[Mapping[str, tuple[str, Callable[[Any], float | None]]]] = {
    "navlin_source_lag_seconds": (
        "Maximum age of the index's data of a source.",
        lambda source: source["lag_s"],
    ),
    "navlin_source_failing": (
        "Whether the last run failed, or a run is on hold.",
        lambda source: source["failing"],
    ),
    "navlin_source_held": ("Whether a run is on hold for review.", lambda source: bool(source["held"])),
    "navlin_source_entities": ("Live entities of a source.", lambda source: source["index"]["entities"]),
    "navlin_source_relations": (
        "Live relations that a source reported.",
        lambda source: source["index"]["relations"],
    ),
    "navlin_source_unlinked_relations": (
        "Relations of a source with an end that has not been extracted.",
        lambda source: source["index"]["unlinked"],
    ),
    "navlin_source_rejects": (
        "Records that could not be parsed.",
        lambda source: source["index"]["reject_count"],
    ),
    "navlin_source_last_run_timestamp_seconds": (
        "Start of the last recorded run.",
        lambda source: source["last"] and source["last"]["started_ms"] / 1000,
    ),
    "navlin_source_last_run_seconds": (
        "Duration of the last recorded run.",
        lambda source: _took_s(source["last"]),
    ),
}
"""Gauge name → (help text, function that reads the figure from a source's status). The function returns None if the
figure is unknown."""
EXPORT: Final[Mapping[str, tuple[str, Callable[[Any], float | None]]]] = {
    "navlin_export_lag_seconds": (
        "Age of the data at an export's target; 0 if the target is up to date.",
        lambda export: export["lag_s"],
    ),
    "navlin_export_failing": (
        "Whether the last export failed, or a record was refused.",
        lambda export: export["failing"],
    ),
}
"""Gauge name → (help text, function that reads the figure from an export's status)."""
REASONS: Final[Mapping[str, tuple[str, str, tuple[str, ...], str]]] = {
    "navlin_unlinked_relations": (
        "Relations with an end that has not been extracted.",
        "unlinked",
        ("reason", "age"),
        "relations",
    ),
    "navlin_incomplete_operations": (
        "Operations with missing lineage.",
        "incomplete",
        ("reason",),
        "operations",
    ),
    "navlin_unparsed_views": ("Views without complete lineage.", "unparsed", ("reason",), "views"),
}
"""Gauge name → (help text, key of a list in the status, labels, key of the figure)."""


def gauges(status: Mapping[str, Any]) -> Iterator[Metric]:
    """Yield the gauges of a status (the JSON of ``navlin status``). An unknown figure has no sample."""
    sources = status["sources"]
    for name, (text, figure) in SOURCE.items():
        metric = GaugeMetricFamily(name, text, labels=("source", "extractor"))
        for source in sources:
            if (value := figure(source)) is not None:
                metric.add_metric((source["name"], source["extractor"]), float(value))
        yield metric
    state = GaugeMetricFamily(
        "navlin_source_state", "1 for the present state of a source.", labels=("source", "state")
    )
    for source in sources:
        state.add_metric((source["name"], source["state"]), 1.0)
    yield state
    for name, (text, figure) in EXPORT.items():
        metric = GaugeMetricFamily(name, text, labels=("export", "target"))
        for export in status["exports"]:
            if (value := figure(export)) is not None:
                metric.add_metric((export["name"], export["target"]), float(value))
        yield metric
    for name, (text, key, labels, counted) in REASONS.items():
        metric = GaugeMetricFamily(name, text, labels=labels)
        for each in status[key]:
            metric.add_metric([each[label] for label in labels], float(each[counted]))
        yield metric
    text = "Whether the last daily purge was put on hold, put off, or failed."
    yield _gauge("navlin_purge_failing", text, float(status["purge"] is not None))
    if last_ms := status["last_purge_ms"]:
        text = "Time of the last daily purge, whatever its result."
        yield _gauge("navlin_last_purge_timestamp_seconds", text, last_ms / 1000)
    for name, text, count in HOSTS:
        yield _gauge(name, text, float(sum(map(count, status["hosts"]))))
    space, daemon = status["space"], status["daemon"]
    yield _gauge("navlin_free_bytes", "Free space on the disk of the state directory.", space["free_bytes"])
    yield _gauge(
        "navlin_least_free_bytes", "Minimum free space; below it navlin writes nothing.", space["least_bytes"]
    )
    if daemon:
        text = "Jump of this machine's clock, while sources are not pulled because of it."
        yield _gauge("navlin_clock_jump_seconds", text, daemon["clock_jump_ms"] / 1000)


HOSTS: Final[tuple[tuple[str, str, Callable[[Any], int]], ...]] = (
    ("navlin_hosts", "Hosts that have sent logs.", lambda host: 1),
    ("navlin_hosts_late", "Hosts whose agent has missed two heartbeats.", lambda host: host["late"]),
    ("navlin_hosts_concern", "Hosts at which somebody should look.", lambda host: bool(host["concern"])),
    ("navlin_hosts_behind_bytes", "What agents have still to send.", lambda host: host["behind_bytes"]),
    ("navlin_hosts_kept_bytes", "Files of other hosts that are kept.", lambda host: host["bytes"]),
    ("navlin_hosts_lost_files", "Files removed unread to make room.", lambda host: host["lost_files"]),
)
"""(metric, help text, figure of one host) of the sums over all hosts."""


def _took_s(run: Mapping[str, Any] | None) -> float | None:
    return (run["ended_ms"] - run["started_ms"]) / 1000 if run and run["ended_ms"] else None


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)
