"""Structured Streaming: one execution a query run, not one a micro-batch.

A micro-batch's plan shows that batch's files and, but for ``foreachBatch``, no sink. What a query reads and writes is in
its progress events; what its batches write by themselves is added. A query's id stays when it is started again from its
checkpoint, and makes the operation; a run's id makes the execution. A running query is told as RUNNING: it may never end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Final

from extractors._spark.application import Run
from extractors._spark.effect import Effect, effect_of
from extractors._spark.events import mapping, text
from extractors._spark.lineage import FAILED, RUNNING, SUCCEEDED, UNKNOWN, Names, Occurrence, tell
from extractors._spark.plan.names import is_path
from extractors._spark.plan.reads import End, EndKind, path_end
from navlin.model.records import Record

MAX_ENDS: Final = 200
MAX_STREAMS: Final = 200
_BATCH: Final = re.compile(
    r"(?P<name>[^\n]{0,400})\n?id = (?P<id>[0-9a-f-]{36})\nrunId = (?P<run>[0-9a-f-]{36})\nbatch = "
)
_DESCRIBED: Final = re.compile(r"\w*\[(.*)\]$", re.DOTALL)
_TOPICS: Final = re.compile(r"Kafka\w*\[Subscribe\[([^\]]*)\]\]")


@dataclass(slots=True)
class Stream:
    """One run of a streaming query, as far as it has been seen."""

    run: str
    query: str
    name: str
    started_ms: int
    last_ms: int
    inputs: list[list[str]] = field(default_factory=list)
    outputs: list[list[str]] = field(default_factory=list)
    status: str = RUNNING
    error: str = ""
    changed: bool = True


class Streams:
    """The streaming queries of an application. ``saved`` and the constructor keep them as JSON values."""

    def __init__(self, saved: Mapping[str, Any] | None = None) -> None:
        self._streams = {run: Stream(**value) for run, value in (saved or {}).items()}

    def saved(self) -> dict[str, Any]:
        """Those that have not ended."""
        return {run: asdict(each) for run, each in self._streams.items() if each.status == RUNNING}

    def take_batch(self, run: Run) -> bool:
        """Takes a run that is a micro-batch; False for any other."""
        started = next((member.started for member in run.members if member.started), None)
        batch = _BATCH.match(started.description) if started else None
        if started is None or batch is None:
            return False
        stream = self._stream(batch["run"], batch["id"], batch["name"], started.started_ms)
        if run.over:
            return True
        stream.last_ms = max(stream.last_ms, run.root.ended_ms)
        if not run.root.failed:
            effect = effect_of(run, failed=False)
            tables = [end for end in effect.inputs if end.kind is not EndKind.PATH]
            self._add(stream, stream.inputs, tables)
            self._add(stream, stream.outputs, effect.outputs)
        return True

    def take_progress(self, event: Mapping[str, Any]) -> None:
        """Learns from a ``QueryProgressEvent``."""
        progress = mapping(event.get("progress"))
        run, query = text(progress.get("runId")), text(progress.get("id"))
        if not run or not query:
            return
        at_ms = _epoch_ms(text(progress.get("timestamp")))
        stream = self._stream(run, query, text(progress.get("name")), at_ms)
        stream.last_ms = max(stream.last_ms, at_ms)
        sources = progress.get("sources")
        for source in sources if isinstance(sources, list) else ():
            self._add(stream, stream.inputs, _ends(text(mapping(source).get("description"))))
        self._add(stream, stream.outputs, _ends(text(mapping(progress.get("sink")).get("description"))))

    def take_end(self, event: Mapping[str, Any]) -> None:
        """Learns from a ``QueryTerminatedEvent``, which bears no time."""
        stream = self._streams.get(text(event.get("runId")))
        if stream is not None:
            stream.error = text(event.get("exception"))[:4000]
            stream.status = FAILED if stream.error else SUCCEEDED
            stream.changed = True

    def tell(self, names: Names, *, over: bool) -> Iterator[Record]:
        """The queries of which something new is known; all that still run, when nothing more will come."""
        for stream in self._streams.values():
            if over and stream.status == RUNNING:
                yield from _records(stream, names, UNKNOWN)
            elif stream.changed:
                yield from _records(stream, names, stream.status)
            stream.changed = False

    def _stream(self, run: str, query: str, name: str, at_ms: int) -> Stream:
        if run not in self._streams:
            while len(self._streams) >= MAX_STREAMS:
                del self._streams[next(iter(self._streams))]
            self._streams[run] = Stream(run, query, name.strip(), at_ms, at_ms)
        return self._streams[run]

    @staticmethod
    def _add(stream: Stream, side: list[list[str]], ends: Any) -> None:
        for end in ends:
            told = [end.kind.value, end.name, end.database, end.url]
            if told not in side and len(side) < MAX_ENDS:
                side.append(told)
                stream.changed = True


def _records(stream: Stream, names: Names, status: str) -> Iterator[Record]:
    app = names.application
    effect = Effect(
        operation="STREAM",
        inputs=tuple(_end(each) for each in stream.inputs),
        outputs=tuple(_end(each) for each in stream.outputs),
        stored=(),
        complete=True,
        unknown=(),
        subjects=(),
        query_text="",
        shape="",
    )
    occurrence = Occurrence(
        operation_text=f"{app.name}##stream##{stream.query}",
        name=f"{app.name}: {stream.name}" if stream.name else app.name,
        run=f"{app.run}-stream.{stream.run}",
        original_name=f"{app.id}-stream.{stream.started_ms}",
        started_ms=stream.started_ms,
        ended_ms=0 if status in (RUNNING, UNKNOWN) else stream.last_ms,
        as_of_ms=stream.last_ms,
        status=status,
        # What went through before it failed has gone through.
        flows=True,
        principal=app.user,
        error=stream.error,
        by_ends=False,
    )
    yield from tell(occurrence, effect, names)


def _end(told: list[str]) -> End:
    kind, name, database, url = told
    return End(EndKind(kind), name, database, url)


def _ends(description: str) -> Iterator[End]:
    """``FileStreamSource[file:/in]``, ``KafkaV2[Subscribe[a, b]]``; others say nothing that could be claimed."""
    if topics := _TOPICS.match(description):
        for topic in topics[1].split(","):
            if topic.strip():
                yield End(EndKind.TOPIC, topic.strip())
    elif (found := _DESCRIBED.match(description)) and is_path(found[1]):
        yield path_end(found[1])


def _epoch_ms(timestamp: str) -> int:
    try:
        at = datetime.fromisoformat(timestamp)
    except ValueError:
        return 0
    return int(at.timestamp() * 1000) if at.tzinfo else 0
