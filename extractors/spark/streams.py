"""Track the queries of Structured Streaming. Each run of a query becomes one execution, not one per micro-batch.

The plan of a micro-batch scans the files of that batch and, except with ``foreachBatch``, does not name the sink. The
sources and the sink of a query are in the progress event that follows each batch; the writes of the batches are added.
A query's id survives a restart from its checkpoint and identifies the operation; a run's id identifies the execution.
A running query is recorded as RUNNING, because it may never end.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from extractors.spark.application import ExecutionTree, SqlExecution, Started
from extractors.spark.effect import RunEffect, effect_of
from extractors.spark.events import mapping, text
from extractors.spark.lineage import FAILED, RUNNING, SUCCEEDED, UNKNOWN, ApplicationKeys
from extractors.spark.stream_columns import BatchExecutions, bounded, joined
from extractors.spark.stream_ends import StreamSource, source_of
from extractors.spark.stream_records import stream_records
from extractors.spark.stream_state import Stream, stream_from_json, stream_to_json
from extractors.spark.times import instant, no_time
from navlin.model.records import Record
from navlin.model.redaction import redact, without_credentials

MAX_STREAMS: Final = 200
"""Maximum number of running queries of one application that are stored between two reads."""
MAX_PLANS: Final = 50
"""Maximum number of batch plans that are remembered as read for one stream. Plans differ if a source had no rows."""


class Streams:
    """The streaming queries of an application. `saved` returns the queries as JSON values, which the constructor
    accepts.

    ``rejected`` lists errors in events that were accepted nevertheless; the caller reports the errors and clears the
    list.
    """

    def __init__(self, saved: Mapping[str, Any] | None = None) -> None:
        self.rejected: list[str] = []
        self._streams = {run: stream_from_json(value) for run, value in (saved or {}).items()}

    def saved(self) -> dict[str, Any]:
        """Return run id → state as JSON values, for queries that have not ended and are still followed."""
        return {
            run: stream_to_json(each)
            for run, each in self._streams.items()
            if each.status == RUNNING and not each.given_up
        }

    # -- Events of the log ----------------------------------------------------------------------------------------

    def take_batch(self, run: ExecutionTree) -> bool:
        """Process a run if it is a micro-batch. Return whether it is one."""
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
        pending = stream.pending = stream.pending or BatchExecutions(batch.batch)
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
    def _scans(stream: Stream, pending: BatchExecutions, members: list[Started], *, inner: bool) -> None:
        """Add the scans of a run to its batch. The last run of a batch belongs to the batch itself. Earlier runs
        looked something up for the batch, or are writes of its function.
        """
        scans = [each.batch.scans() if each.batch else () for each in members]
        beside = [*pending.beside, *(scanned for each in scans[not inner :] for scanned in each)]
        if not inner:
            beside += pending.scans
            pending.scans = tuple(stream.keep(scans[0]))
            pending.own = ()
        pending.beside = tuple(stream.keep(beside))

    @staticmethod
    def _columns(
        pending: BatchExecutions, effects: list[RunEffect], members: list[Started], *, inner: bool
    ) -> None:
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
        """Process a ``QueryStartedEvent``."""
        if not self._take_old(event):
            run, query = text(event.get("runId")), text(event.get("id"))
            if run and query:
                at_ms = self._time(event, f"query {query} starts at")
                self._stream(run, query, text(event.get("name")), at_ms)

    def take_progress(self, event: Mapping[str, Any]) -> None:
        """Process a ``QueryProgressEvent``, which follows the batch that it describes."""
        progress = mapping(event.get("progress"))
        run, query = text(progress.get("runId")), text(progress.get("id"))
        if self._take_old(event) or not run or not query:
            return
        at_ms = self._time(progress, f"query {query} progresses at")
        stream = self._stream(run, query, text(progress.get("name")), at_ms)
        stream.last_ms = max(stream.last_ms, at_ms)
        self._ends(stream, progress.get("sources"), mapping(progress.get("sink")))
        stream.close_batch()

    def take_idle(self, event: Mapping[str, Any]) -> None:
        """Process a ``QueryIdleEvent``, which shows that the query is still running."""
        stream = self._streams.get(text(event.get("runId")))
        if stream is not None:
            stream.last_ms = max(stream.last_ms, self._time(event, f"query {stream.query} is idle at"))

    def take_end(self, event: Mapping[str, Any]) -> None:
        """Process a ``QueryTerminatedEvent``, which has no time."""
        stream = self._take_old(event) or self._streams.get(text(event.get("runId")))
        error = redact(text(event.get("exception")))[:4000]
        if stream is None and error and event.get("id") and text(event.get("runId")):
            stream = self._stream(text(event.get("runId")), text(event.get("id")), "", 0)
        if stream is not None:
            stream.close_batch()
            stream.error = error
            stream.status = FAILED if error else SUCCEEDED
            stream.changed = True

    def records(self, names: ApplicationKeys, *, over: bool) -> Iterator[Record]:
        """Yield the records of changed queries. With ``over``, also yield those of queries that are still running."""
        for stream in self._streams.values():
            if over:
                stream.close_batch()
            if over and stream.status == RUNNING:
                yield from stream_records(stream, names, UNKNOWN)
            elif stream.changed:
                yield from stream_records(stream, names, stream.status)
            stream.changed = False

    def bound(self, most_bytes: int) -> None:
        """Stop following the longest-idle queries beyond `MAX_STREAMS` running queries, or beyond ``most_bytes`` as
        JSON.
        """
        running = [each for each in self._streams.values() if each.status == RUNNING]
        size_bytes = 0
        for count, each in enumerate(sorted(running, key=lambda each: -each.last_ms), 1):
            size_bytes += len(json.dumps(stream_to_json(each)))
            if count > MAX_STREAMS or size_bytes > most_bytes:
                each.given_up = each.changed = True
                self.rejected.append(
                    f"run {each.run:.100} of query {each.query:.100} is no longer followed: {len(running)}"
                    " queries are running"
                )

    # -- Helpers --------------------------------------------------------------------------------------------------

    def _stream(self, run: str, query: str, name: str, at_ms: int) -> Stream:
        stream = self._streams.get(run)
        if stream is None:
            stream = self._streams[run] = Stream(run, query, name.strip())
        stream.started_ms = stream.started_ms or at_ms
        stream.last_ms = stream.last_ms or at_ms
        return stream

    def _take_old(self, event: Mapping[str, Any]) -> Stream | None:
        """Process an event of Spark 2.0, and return the query's stream. These events have a state instead of the
        fields of later versions, and numbers instead of run ids. Return None for any other event.
        """
        state = mapping(event.get("queryStatus")) or mapping(event.get("queryInfo"))
        number = state.get("id")
        if not isinstance(number, int):
            return None
        name = text(state.get("name"))
        at_ms = self._time(state, f"query {number} progresses at") if "timestamp" in state else 0
        stream = self._stream(str(number), name or str(number), name, at_ms)
        stream.last_ms = max(stream.last_ms, at_ms)
        self._ends(stream, state.get("sourceStatuses"), mapping(state.get("sinkStatus")))
        # A sink that has received rows prints their end offset; otherwise it prints `[-]`.
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


def _statements(run: ExecutionTree) -> Iterator[ExecutionTree]:
    """Yield one run for the batch's own execution, and one for each successful statement of the batch's function. Each
    has the executions that Spark ran for it. Otherwise, details of similar statements could be confused.
    """
    by_id = {each.id: each for each in run.members}
    statements: dict[int, list[SqlExecution]] = {}
    for each in run.members:
        first = each
        while first is not run.root and first.within != run.root.id and first.within in by_id:
            first = by_id[first.within]
        statements.setdefault(first.id, []).append(each)
    for number, members in statements.items():
        if not by_id[number].failed:
            members.sort(key=lambda each: (each.id != number, each.id))
            yield replace(run, members=members)


def _fingerprint(effects: list[RunEffect], stream: Stream, pending: BatchExecutions) -> str:
    """Return the fingerprint of a batch's plan: its operators, the locations of its files, and its outputs."""
    sources = tuple(stream.sources.values())
    places = {
        next((place for each in sources if (place := each.holds(scanned.name))), scanned.name)
        for scanned in (*pending.scans, *pending.beside)
    }
    ends = [f"{end.kind} {end.readable}" for effect in effects for end in effect.outputs]
    printed = "\n".join((*(effect.shape for effect in effects), *sorted(places), *ends))
    return hashlib.md5(printed.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
