"""Create the records of a streaming query, as far as it has been seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from extractors.spark.effect import OutputColumns, RunEffect, unread_sources
from extractors.spark.incomplete import Incomplete
from extractors.spark.lineage import RUNNING, UNKNOWN, ApplicationKeys, Occurrence, occurrence_records
from extractors.spark.plan.reads import PlanEnd
from extractors.spark.stream_columns import joined
from extractors.spark.stream_ends import SourceKind, readable_sink, sink_of
from extractors.spark.stream_state import Stream
from navlin.model.records import Record


def stream_records(stream: Stream, names: ApplicationKeys, status: str) -> Iterator[Record]:
    """Yield the query's operation and an execution for this run, with their flows."""
    app = names.application
    name = app.name or app.id or app.log
    occurrence = Occurrence(
        operation_text=f"{app.name}##stream##{stream.query}",
        name=f"{name}: {stream.name}" if stream.name else name,
        run=f"{app.run}-stream.{stream.run}",
        original_name=f"{app.id or app.log}-stream.{stream.started_ms or stream.run}",
        started_ms=stream.started_ms,
        ended_ms=0 if status in (RUNNING, UNKNOWN) else stream.last_ms,
        as_of_ms=stream.last_ms or app.known_ms,
        status=status,
        # A failure does not undo earlier data flow.
        flows=stream.batches or stream.rows,
        # If no batch has been seen, an earlier run may have shown more.
        covers=stream.batches,
        principal=app.user,
        error=stream.error,
        by_ends=False,
    )
    yield from occurrence_records(occurrence, _effect(stream, names), names)


def _effect(stream: Stream, names: ApplicationKeys) -> RunEffect:
    sink = sink_of(stream.sink)
    inputs = dict(stream.inputs)
    unknown = dict(stream.unknown)
    stored = dict(stream.stored)
    for name, source in stream.sources.items():
        tables = stream.tables.get(name, {})
        # The table is the input, and its path is only the location.
        inputs |= tables or dict.fromkeys(source.ends) or stream.places.get(name, {})
        stored |= {(table, source.path): None for table in tables if source.path}
        if not tables and (source.kind is SourceKind.UNKNOWN or source.kind is SourceKind.GLOB):
            unknown[source.readable] = None
    outputs = dict.fromkeys([sink.end] if sink.end else []) | stream.outputs
    columns = _columns(stream, sink.end, names)
    inputs_known = bool(stream.sources) and not unknown
    outputs_known = bool(outputs or sink.kept)
    columns_known = _columns_known(stream, outputs, columns, names)
    facts = (
        (inputs_known, Incomplete.UNKNOWN_INPUT),
        (outputs_known, Incomplete.UNKNOWN_OUTPUT),
        (columns_known, Incomplete.UNKNOWN_COLUMN),
        (not stream.few, Incomplete.TOO_MANY_ENDS),
        (not stream.given_up, Incomplete.GIVEN_UP),
    )
    return RunEffect(
        operation="STREAM",
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        stored=tuple(stored),
        complete=inputs_known and outputs_known and not stream.few,
        unknown=tuple(unknown),
        subjects=() if outputs or sink.batches or not stream.sink else (readable_sink(stream.sink),),
        query_text="",
        shape="",
        columns=columns,
        columns_complete=columns_known,
        reasons=tuple(reason for known, reason in facts if not known),
        unread=unread_sources(unknown),
    )


def _columns(stream: Stream, sink: PlanEnd | None, names: ApplicationKeys) -> tuple[OutputColumns, ...]:
    """Return the columns of each output. If a function also writes to the sink, the columns of both are merged."""
    by_output: dict[str, OutputColumns] = {}
    for end, flows in stream.columns.items():
        written = end or sink
        if written is not None:
            key = names.key(written).identity
            before = by_output.get(key)
            by_output[key] = OutputColumns(written, joined(before.flows if before else (), flows))
    return tuple(by_output.values())


def _columns_known(
    stream: Stream, outputs: Iterable[PlanEnd], columns: tuple[OutputColumns, ...], names: ApplicationKeys
) -> bool:
    """Whether all columns that a stream writes and all their sources are known. The known sources must include all
    sources of the stream. Columns that a program computes are not known, because they may depend on rows of earlier
    batches.
    """
    written = {names.key(each.end).identity for each in columns}
    if any(names.key(end).identity not in written for end in outputs):
        return False
    if stream.cut or any(flow.incomplete or flow.opaque for each in columns for flow in each.flows):
        return False
    read = {name for name, each in stream.sources.items() if each.kind is not SourceKind.MADE_UP}
    return not columns or read <= set(stream.matched)
