"""Structured Streaming: one execution a query run, not one a micro-batch.

A micro-batch's plan scans that batch's files and, but for ``foreachBatch``, names no sink. What a query reads and writes is
in its progress events, which follow the batch; what its batches write by themselves is added. A query's id stays when it is
started again from its checkpoint, and makes the operation; a run's id makes the execution. A running query is written as
RUNNING: it may never end.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from extractors.spark.application import Execution, Run, Started
from extractors.spark.effect import Effect, effect_of
from extractors.spark.events import mapping, text
from extractors.spark.lineage import FAILED, RUNNING, SUCCEEDED, UNKNOWN, Names
from extractors.spark.stream_columns import Batch, bounded, joined
from extractors.spark.stream_ends import StreamSource, source_of
from extractors.spark.stream_records import stream_records
from extractors.spark.stream_state import Stream, stream_from_json, stream_to_json
from extractors.spark.times import instant, no_time
from navlin.model.records import Record
from navlin.model.redaction import redact, without_credentials

MAX_STREAMS: Final = 200
"""Running queries of one application that are remembered between two readings."""
MAX_PLANS: Final = 50
"""Plans of one stream's batches that are remembered as read. They differ where a source has brought nothing."""


class Streams:
    """The streaming queries of an application. ``saved`` and the constructor keep them as JSON values.

    ``rejected``: what was wrong in events that count all the same; the caller that yields it clears it.
    """

    def __init__(self, saved: Mapping[str, Any] | None = None) -> None:
        self.rejected: list[str] = []
        self._streams = {run: stream_from_json(value) for run, value in (saved or {}).items()}

    def saved(self) -> dict[str, Any]:
        """Those that have not ended and are followed on."""
        return {
            run: stream_to_json(each)
            for run, each in self._streams.items()
            if each.status == RUNNING and not each.given_up
        }

    # -- Events of the log ----------------------------------------------------------------------------------------

    def take_batch(self, run: Run) -> bool:
        """Takes a run that is a micro-batch; False for any other."""
        started = next((member.started for member in run.members if member.started), None)
        batch = started.batch if started else None
        if started is None or batch is None or not batch.run:
            return False
        stream = self._stream(batch.run, batch.query, batch.name, started.started_ms)
        if run.over:
            return True
        stream.last_ms = max(stream.last_ms, started.started_ms, run.root.ended_ms)
        if stream.pending and stream.pending.number != batch.batch:
            stream.close_batch()
        if run.root.failed:
            stream.pending = None
            return True
        effects = [effect_of(each, failed=False) for each in _statements(run)]
        pending = stream.pending = stream.pending or Batch(batch.batch)
        for effect in effects:
            pending.outputs = tuple(stream.keep((*pending.outputs, *effect.outputs)))
            pending.stored = tuple(stream.keep((*pending.stored, *effect.stored)))
        members = [
            each.started for each in run.members if each.started and (each is run.root or not each.failed)
        ]
        self._scans(stream, pending, members, inner=batch.inner)
        plan = _fingerprint(effects, stream, pending)
        if plan in stream.plans:
            return True
        stream.plans = dict.fromkeys([*stream.plans, plan][-MAX_PLANS:]) if stream.sources else stream.plans
        self._columns(pending, effects, members, inner=batch.inner)
        return True

    @staticmethod
    def _scans(stream: Stream, pending: Batch, members: list[Started], *, inner: bool) -> None:
        """What is scanned. The last run of one batch is the batch's own: those before it have looked
        something up for it, or are what its function has written."""
        scans = [each.batch.scans() if each.batch else () for each in members]
        beside = [*pending.beside, *(scanned for each in scans[not inner :] for scanned in each)]
        if not inner:
            beside += pending.scans
            pending.scans = tuple(stream.keep(scans[0]))
            pending.own = ()
        pending.beside = tuple(stream.keep(beside))

    @staticmethod
    def _columns(pending: Batch, effects: list[Effect], members: list[Started], *, inner: bool) -> None:
        for output in (output for effect in effects for output in effect.columns):
            pending.written[output.end] = joined(pending.written.get(output.end, ()), output.flows)
        first = members[0].batch
        if first and not inner:
            pending.own = first.columns().flows
        flows = [flow for each in (pending.own, *pending.written.values()) for flow in each]
        ends = {source.end for flow in flows for source in (*flow.data, *flow.control)}
        for each in members:
            if each.batch:
                pending.named |= each.batch.named(ends)
        if not bounded((pending.own, *pending.written.values())):
            pending.own, pending.written = (), {}

    def take_started(self, event: Mapping[str, Any]) -> None:
        """Learns from a ``QueryStartedEvent``."""
        if not self._take_old(event):
            run, query = text(event.get("runId")), text(event.get("id"))
            if run and query:
                at_ms = self._time(event, f"query {query} starts at")
                self._stream(run, query, text(event.get("name")), at_ms)

    def take_progress(self, event: Mapping[str, Any]) -> None:
        """Learns from a ``QueryProgressEvent``, which follows its batch."""
        progress = mapping(event.get("progress"))
        run, query = text(progress.get("runId")), text(progress.get("id"))
        if self._take_old(event) or not run or not query:
            return
        at_ms = self._time(progress, f"query {query} goes on at")
        stream = self._stream(run, query, text(progress.get("name")), at_ms)
        stream.last_ms = max(stream.last_ms, at_ms)
        self._ends(stream, progress.get("sources"), mapping(progress.get("sink")))
        stream.close_batch()

    def take_idle(self, event: Mapping[str, Any]) -> None:
        """Learns from a ``QueryIdleEvent``: it is still there."""
        stream = self._streams.get(text(event.get("runId")))
        if stream is not None:
            stream.last_ms = max(stream.last_ms, self._time(event, f"query {stream.query} is idle at"))

    def take_end(self, event: Mapping[str, Any]) -> None:
        """Learns from a ``QueryTerminatedEvent``, which has no time."""
        stream = self._take_old(event) or self._streams.get(text(event.get("runId")))
        error = redact(text(event.get("exception")))[:4000]
        if stream is None and error and event.get("id") and text(event.get("runId")):
            stream = self._stream(text(event.get("runId")), text(event.get("id")), "", 0)
        if stream is not None:
            stream.close_batch()
            stream.error = error
            stream.status = FAILED if error else SUCCEEDED
            stream.changed = True

    def records(self, names: Names, *, over: bool) -> Iterator[Record]:
        """The queries of which something new is known; all that still run, when nothing more will come."""
        for stream in self._streams.values():
            if over:
                stream.close_batch()
            if over and stream.status == RUNNING:
                yield from stream_records(stream, names, UNKNOWN)
            elif stream.changed:
                yield from stream_records(stream, names, stream.status)
            stream.changed = False

    def bound(self, most_bytes: int) -> None:
        """Gives up those that were quiet longest where more are running than are kept, or they take more bytes as JSON."""
        running = [each for each in self._streams.values() if each.status == RUNNING]
        size_bytes = 0
        for count, each in enumerate(sorted(running, key=lambda each: -each.last_ms), 1):
            size_bytes += len(json.dumps(stream_to_json(each)))
            if count > MAX_STREAMS or size_bytes > most_bytes:
                each.given_up = each.changed = True
                self.rejected.append(
                    f"run {each.run:.100} of query {each.query:.100} is not followed on: {len(running)} queries are running"
                )

    # -- Parts of it ----------------------------------------------------------------------------------------------

    def _stream(self, run: str, query: str, name: str, at_ms: int) -> Stream:
        stream = self._streams.get(run)
        if stream is None:
            stream = self._streams[run] = Stream(run, query, name.strip())
        stream.started_ms = stream.started_ms or at_ms
        stream.last_ms = stream.last_ms or at_ms
        return stream

    def _take_old(self, event: Mapping[str, Any]) -> Stream | None:
        """Spark 2.0's events, which have a state where later ones have fields. Its queries have numbers, no runs."""
        state = mapping(event.get("queryStatus")) or mapping(event.get("queryInfo"))
        number = state.get("id")
        if not isinstance(number, int):
            return None
        name = text(state.get("name"))
        at_ms = self._time(state, f"query {number} goes on at") if "timestamp" in state else 0
        stream = self._stream(str(number), name or str(number), name, at_ms)
        stream.last_ms = max(stream.last_ms, at_ms)
        self._ends(stream, state.get("sourceStatuses"), mapping(state.get("sinkStatus")))
        # A sink that has got something prints where its rows end; another prints `[-]`.
        offset = text(mapping(state.get("sinkStatus")).get("offsetDesc")).strip("[]-, ")
        stream.rows = stream.rows or bool(offset)
        return stream

    @staticmethod
    def _ends(stream: Stream, sources: Any, sink: Mapping[str, Any]) -> None:
        for described in sources if isinstance(sources, list) else ():
            source = source_of(described)
            if source is None or source.description not in stream.keep((*stream.sources, source.description)):
                continue
            before = stream.sources.get(source.description)
            topics = tuple(stream.keep((*(before.topics if before else ()), *source.topics)))
            if before is None or topics != before.topics:
                stream.sources[source.description] = StreamSource(source.description, topics)
                stream.changed = True
            rows = mapping(described).get("numInputRows")
            if isinstance(rows, int) and rows > 0 and not stream.rows:
                stream.rows = stream.changed = True
        if (
            described := redact(without_credentials(text(sink.get("description"))))[:2000]
        ) and described != stream.sink:
            stream.sink = described
            stream.changed = True

    def _time(self, event: Mapping[str, Any], what: str) -> int:
        at_ms = instant(event.get("timestamp"))
        if not at_ms and event.get("timestamp") is not None:
            self.rejected.append(no_time(what, event.get("timestamp")))
        return at_ms


def _statements(run: Run) -> Iterator[Run]:
    """The batch's own execution, and each statement of its function that did not fail with those that Spark ran for it:
    what is alike of several statements must not be taken for one's."""
    by_id = {each.id: each for each in run.members}
    statements: dict[int, list[Execution]] = {}
    for each in run.members:
        first = each
        while first is not run.root and first.within != run.root.id and first.within in by_id:
            first = by_id[first.within]
        statements.setdefault(first.id, []).append(each)
    for number, members in statements.items():
        if not by_id[number].failed:
            members.sort(key=lambda each: (each.id != number, each.id))
            yield replace(run, members=members)


def _fingerprint(effects: list[Effect], stream: Stream, pending: Batch) -> str:
    """What distinguishes one batch's plan from another's: its operators, and the places in which its files lie."""
    sources = tuple(stream.sources.values())
    places = {
        next((place for each in sources if (place := each.holds(scanned.name))), scanned.name)
        for scanned in (*pending.scans, *pending.beside)
    }
    ends = [f"{end.kind} {end.readable}" for effect in effects for end in effect.outputs]
    printed = "\n".join((*(effect.shape for effect in effects), *sorted(places), *ends))
    return hashlib.md5(printed.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
