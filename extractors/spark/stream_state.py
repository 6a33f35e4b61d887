"""State of one run of a streaming query, and its JSON form between two reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from extractors.spark.batches import ScanKind, ScanSource
from extractors.spark.columns.flow import FlowKind as Made
from extractors.spark.columns.flow import PlanColumn, Uncertainty
from extractors.spark.columns.written import ColumnFlow
from extractors.spark.lineage import RUNNING
from extractors.spark.plan.reads import EndKind, PlanEnd
from extractors.spark.stream_columns import (
    BatchExecutions,
    Flows,
    bounded,
    joined,
    matched_to_sources,
    uncertainty_of,
)
from extractors.spark.stream_ends import StreamSource
from navlin.model.redaction import redact
from navlin.model.redaction.literals import said_in_state

MAX_ENDS: Final = 200
_Value = TypeVar("_Value")


@dataclass(slots=True)
class Stream:
    """One run of a streaming query, as far as it has been seen.

    ``sources`` maps descriptions to the sources that the progress events name, with their topics. ``tables`` and
    ``places`` map descriptions to the tables and paths that batches have shown. ``columns`` maps an output (None: the
    sink) to its columns. ``rows`` is true if any rows have arrived, ``batches`` if a batch has succeeded. ``cut`` is
    true if there were more columns than can be stored, ``few`` if there was more of anything else, such as sources.
    ``given_up`` is true if the run is no longer followed.
    """

    run: str
    query: str
    name: str
    started_ms: int = 0
    last_ms: int = 0
    status: str = RUNNING
    error: str = ""
    sources: dict[str, StreamSource] = field(default_factory=dict)
    sink: str = ""
    matched: dict[str, None] = field(default_factory=dict)
    tables: dict[str, dict[PlanEnd, None]] = field(default_factory=dict)
    places: dict[str, dict[PlanEnd, None]] = field(default_factory=dict)
    inputs: dict[PlanEnd, None] = field(default_factory=dict)
    outputs: dict[PlanEnd, None] = field(default_factory=dict)
    stored: dict[tuple[PlanEnd, str], None] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    columns: dict[PlanEnd | None, Flows] = field(default_factory=dict)
    plans: dict[str, None] = field(default_factory=dict)
    pending: BatchExecutions | None = None
    rows: bool = False
    batches: bool = False
    cut: bool = False
    few: bool = False
    given_up: bool = False
    changed: bool = True

    def keep(self, values: Iterable[_Value]) -> dict[_Value, None]:
        """Return the first `MAX_ENDS` distinct values. Set ``few`` if there are more."""
        each = dict.fromkeys(values)
        self.few = self.few or len(each) > MAX_ENDS
        return dict.fromkeys([*each][:MAX_ENDS])

    def close_batch(self) -> None:
        """Add the pending batch to the stream, once its sources are known or nothing more will be learned about them."""
        batch, self.pending = self.pending, None
        if batch is None:
            return
        found = matched_to_sources(batch, tuple(self.sources.values()), self.columns.get(None, ()))
        before = self._known()
        self.batches = True
        self.matched |= dict.fromkeys(found.matched)
        for ends_of, more in ((self.tables, found.tables), (self.places, found.places)):
            for name, ends in more.items():
                ends_of[name] = self.keep((*ends_of.get(name, {}), *ends))
        self.inputs = self.keep((*self.inputs, *found.inputs))
        self.outputs = self.keep((*self.outputs, *batch.outputs))
        self.stored = self.keep((*self.stored, *batch.stored))
        self.unknown = self.keep((*self.unknown, *found.unknown))
        columns = {
            end: joined(self.columns.get(end, ()), flows) for end, flows in found.columns.items() if flows
        }
        columns = self.columns | columns
        if bounded(columns.values()):
            self.columns = columns
        else:
            self.cut = True
        self.changed = self.changed or self._known() != before

    def _known(self) -> tuple[Any, ...]:
        ends = (dict(self.tables), dict(self.places), self.inputs, self.outputs, self.stored)
        return self.batches, self.cut, self.few, self.matched, ends, self.unknown, self.columns


# -- As JSON ----------------------------------------------------------------------------------------------------------


def stream_to_json(stream: Stream) -> dict[str, Any]:
    return {
        "run": stream.run,
        "query": stream.query,
        "name": stream.name,
        "started_ms": stream.started_ms,
        "last_ms": stream.last_ms,
        "sources": [[each.description, list(each.topics)] for each in stream.sources.values()],
        "sink": stream.sink,
        "matched": list(stream.matched),
        "tables": [[name, [_end_to_json(end) for end in ends]] for name, ends in stream.tables.items()],
        "places": [[name, [_end_to_json(end) for end in ends]] for name, ends in stream.places.items()],
        "inputs": [_end_to_json(end) for end in stream.inputs],
        "outputs": [_end_to_json(end) for end in stream.outputs],
        "stored": [[_end_to_json(end), path] for end, path in stream.stored],
        "unknown": [*dict.fromkeys(map(said_in_state, stream.unknown))],
        "columns": [
            [end and _end_to_json(end), _flows_to_json(flows)] for end, flows in stream.columns.items()
        ],
        "plans": list(stream.plans),
        "pending": stream.pending and _batch_to_json(stream.pending),
        "flags": [stream.rows, stream.batches, stream.cut, stream.few],
    }


def stream_from_json(value: Mapping[str, Any]) -> Stream:
    rows, batches, cut, few = [*value["flags"], False][:4]
    return Stream(
        value["run"],
        value["query"],
        value["name"],
        value["started_ms"],
        value["last_ms"],
        sources={name: StreamSource(name, tuple(topics)) for name, topics in value["sources"]},
        sink=value["sink"],
        matched=dict.fromkeys(value["matched"]),
        tables={name: {_end_from_json(end): None for end in ends} for name, ends in value["tables"]},
        places={name: {_end_from_json(end): None for end in ends} for name, ends in value["places"]},
        inputs={_end_from_json(end): None for end in value["inputs"]},
        outputs={_end_from_json(end): None for end in value["outputs"]},
        stored={(_end_from_json(end), path): None for end, path in value["stored"]},
        unknown=dict.fromkeys(value["unknown"]),
        columns={
            _end_from_json(end) if end else None: _flows_from_json(flows) for end, flows in value["columns"]
        },
        plans=dict.fromkeys(value["plans"]),
        pending=_batch_from_json(value["pending"]) if value["pending"] else None,
        rows=rows,
        batches=batches,
        cut=cut,
        few=few,
        changed=False,
    )


def _end_to_json(end: PlanEnd) -> list[str]:
    return [end.kind.value, redact(end.name), end.database, redact(end.url)]


def _end_from_json(value: Sequence[str]) -> PlanEnd:
    kind, name, database, url = value
    return PlanEnd(EndKind(kind), name, database, url)


def _flows_to_json(flows: Iterable[ColumnFlow]) -> dict[str, Any]:
    places: dict[PlanEnd, int] = {}

    def columns(sources: Iterable[PlanColumn]) -> list[Any]:
        return [[places.setdefault(each.end, len(places)), each.name] for each in sources]

    rows = [
        [
            each.output,
            columns(each.data),
            columns(each.control),
            each.kind.value,
            said_in_state(each.expression),
            uncertainty_of(each),
        ]
        for each in flows
    ]
    return {"ends": [_end_to_json(end) for end in places], "flows": rows}


def _flows_from_json(value: Mapping[str, Any]) -> Flows:
    ends = [_end_from_json(each) for each in value["ends"]]

    def columns(pairs: Iterable[Any]) -> tuple[PlanColumn, ...]:
        return tuple(PlanColumn(ends[place], name) for place, name in pairs)

    return tuple(
        ColumnFlow(
            output,
            columns(data),
            columns(control),
            Made(kind),
            expression,
            inferred=bool(uncertainty & Uncertainty.INFERRED),
            opaque=bool(uncertainty & Uncertainty.OPAQUE),
            incomplete=bool(uncertainty & Uncertainty.INCOMPLETE),
        )
        for output, data, control, kind, expression, uncertainty in value["flows"]
    )


def _scanned_to_json(scanned: ScanSource) -> list[Any]:
    return [scanned.kind.value, scanned.name, scanned.end and _end_to_json(scanned.end), scanned.streams]


def _scanned_from_json(value: Sequence[Any]) -> ScanSource:
    kind, name, end, streams = value
    return ScanSource(ScanKind(kind), name, _end_from_json(end) if end else None, streams)


def _batch_to_json(batch: BatchExecutions) -> dict[str, Any]:
    return {
        "number": batch.number,
        "own": _flows_to_json(batch.own),
        "scans": [_scanned_to_json(each) for each in batch.scans],
        "beside": [_scanned_to_json(each) for each in batch.beside],
        "written": [[_end_to_json(end), _flows_to_json(flows)] for end, flows in batch.written.items()],
        "outputs": [_end_to_json(each) for each in batch.outputs],
        "stored": [[_end_to_json(end), path] for end, path in batch.stored],
        "named": [
            [_end_to_json(end), [_scanned_to_json(each) for each in scans]]
            for end, scans in batch.named.items()
        ],
    }


def _batch_from_json(value: Mapping[str, Any]) -> BatchExecutions:
    return BatchExecutions(
        value["number"],
        _flows_from_json(value["own"]),
        tuple(_scanned_from_json(each) for each in value["scans"]),
        tuple(_scanned_from_json(each) for each in value["beside"]),
        {_end_from_json(end): _flows_from_json(flows) for end, flows in value["written"]},
        tuple(_end_from_json(each) for each in value["outputs"]),
        tuple((_end_from_json(end), path) for end, path in value["stored"]),
        {
            _end_from_json(end): tuple(_scanned_from_json(each) for each in scans)
            for end, scans in value["named"]
        },
    )
