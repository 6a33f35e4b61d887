"""Match the scans of a micro-batch to the stream's sources, to determine the flow through the batch.

Nothing is guessed: a scan that may read either of two sources is assigned to neither, and its columns are incomplete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from extractors.spark.batches import MARK, ScanKind, ScanSource
from extractors.spark.columns.flow import FlowKind as Made
from extractors.spark.columns.flow import PlanColumn, Uncertainty, strongest
from extractors.spark.columns.written import ColumnFlow
from extractors.spark.plan.names import without_partitions
from extractors.spark.plan.reads import EndKind, PlanEnd, path_end
from extractors.spark.stream_ends import SourceKind, StreamSource, family
from navlin.model.redaction import redact

MAX_COLUMNS: Final = 2_000
MAX_SOURCES: Final = 20_000
"""Maximum number of a stream's columns, and maximum number of data and control sources of all its columns."""
MAX_EXPRESSION: Final = 1_000

Flows = tuple[ColumnFlow, ...]


@dataclass(slots=True)
class BatchExecutions:
    """The successful executions of one micro-batch, until its sources are known.

    ``own`` are the columns that the batch passes to its sink. ``scans`` are the scans in the plan of these columns,
    and ``beside`` the scans of all other executions. ``written`` maps an output to the columns that a function of the
    program writes to it. ``named`` maps an end to the nameless scans that it represents.
    """

    number: str
    own: Flows = ()
    scans: tuple[ScanSource, ...] = ()
    beside: tuple[ScanSource, ...] = ()
    written: dict[PlanEnd, Flows] = field(default_factory=dict)
    outputs: tuple[PlanEnd, ...] = ()
    stored: tuple[tuple[PlanEnd, str], ...] = ()
    named: dict[PlanEnd, tuple[ScanSource, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MatchedBatch:
    """Information from a batch about its stream. ``columns`` maps an output (None: the sink) to the columns written to
    it. ``matched`` are the descriptions of the sources that the batch reads. ``tables`` and ``places`` map
    descriptions to the tables and paths of these sources. ``unknown`` are scans of unknown sources.
    """

    columns: Mapping[PlanEnd | None, Flows]
    inputs: tuple[PlanEnd, ...]
    matched: tuple[str, ...]
    tables: Mapping[str, tuple[PlanEnd, ...]]
    places: Mapping[str, tuple[PlanEnd, ...]]
    unknown: tuple[str, ...]


def matched_to_sources(
    batch: BatchExecutions, sources: Sequence[StreamSource], before: Flows
) -> MatchedBatch:
    """Match the scans of a batch to the sources of its stream. ``before`` are the columns that earlier batches passed
    to the sink.
    """
    matching = _Matching(batch, {each.description: each for each in sources})
    own = tuple(matching.resolved(flow, None) for flow in batch.own)
    rows = {flow.output: flow for flow in own or before}
    columns: dict[PlanEnd | None, Flows] = {None: own}
    columns |= {
        end: tuple(matching.resolved(flow, rows) for flow in flows) for end, flows in batch.written.items()
    }
    return MatchedBatch(
        columns,
        tuple(matching.inputs()),
        tuple(matching.matched),
        {name: tuple(ends) for name, ends in matching.tables.items()},
        {name: tuple(ends) for name, ends in matching.places.items()},
        tuple(matching.unknown),
    )


class _Matching:
    def __init__(self, batch: BatchExecutions, sources: Mapping[str, StreamSource]) -> None:
        self._batch = batch
        self._sources = sources
        self.matched: dict[str, None] = {}
        self.tables: dict[str, dict[PlanEnd, None]] = {}
        self.places: dict[str, dict[PlanEnd, None]] = {}
        self.unknown: dict[str, None] = {}
        self._left: tuple[str, ...] = ()
        for scanned in batch.scans:
            self._found(scanned)
        self._left = tuple(
            name
            for name, each in sources.items()
            if name not in self.matched and each.kind is not SourceKind.MADE_UP
        )
        if len(self._left) == 1 and any(each.kind is ScanKind.ROWS for each in batch.scans):
            self.matched |= dict.fromkeys(self._left)

    def inputs(self) -> Iterator[PlanEnd]:
        """Yield the inputs that are read in addition to the stream's sources."""
        for scanned in dict.fromkeys((*self._batch.scans, *self._batch.beside)):
            match scanned.kind:
                case ScanKind.TABLE if scanned.end is not None:
                    yield scanned.end
                case ScanKind.PATH | ScanKind.CUT_PATH if self._sources and not self._holders(scanned):
                    yield path_end(scanned.name)
                    if scanned.kind is ScanKind.CUT_PATH:
                        self.unknown[redact(f"further paths beside {scanned.name}")[:200]] = None
                case ScanKind.STREAM if not scanned.streams:
                    self.unknown[scanned.name[:200]] = None
                case _:
                    pass

    def resolved(self, flow: ColumnFlow, rows: Mapping[str, ColumnFlow] | None) -> ColumnFlow:
        """Return a column with its scans replaced by the inputs that they read. ``rows`` maps names to columns of the
        batch if the column is written by a function that received the batch; otherwise it is None.
        """
        data: dict[PlanColumn, None] = {}
        control: dict[PlanColumn, None] = {}
        uncertainty, kinds = Uncertainty.NONE, [flow.kind]
        for source in flow.data:
            for through in self._columns(source, rows):
                data |= dict.fromkeys(through.data)
                control |= dict.fromkeys(through.control)
                uncertainty |= uncertainty_of(through)
                kinds.append(through.kind if through.data else Made.TRANSFORMATION)
        for source in flow.control:
            for through in self._columns(source, rows):
                control |= dict.fromkeys((*through.data, *through.control))
                uncertainty |= uncertainty_of(through)
        return ColumnFlow(
            flow.output,
            tuple(data),
            tuple(each for each in control if each not in data),
            strongest(kinds),
            redact(flow.expression)[:MAX_EXPRESSION],
            inferred=flow.inferred or bool(uncertainty & Uncertainty.INFERRED),
            opaque=flow.opaque or bool(uncertainty & Uncertainty.OPAQUE),
            incomplete=flow.incomplete or bool(uncertainty & Uncertainty.INCOMPLETE),
        )

    def _columns(self, source: PlanColumn, rows: Mapping[str, ColumnFlow] | None) -> Iterator[ColumnFlow]:
        """Yield the flows into one column of a scan."""
        end = source.end
        if end.kind is EndKind.PATH:
            scans: tuple[ScanSource, ...] = (ScanSource(ScanKind.PATH, end.name),)
        elif end.database.startswith(MARK):
            scans = self._batch.named.get(end, ())
        else:
            yield _column((end,), source.name)
            return
        if not scans:
            yield _column((), source.name, Uncertainty.INCOMPLETE)
        for scanned in scans:
            if rows is not None and scanned.kind in (ScanKind.ROWS, ScanKind.BATCH_ROWS):
                if rows and scanned.name.split("\n") == list(rows):
                    through = rows[source.name]
                    yield replace(through, inferred=through.inferred or scanned.kind is ScanKind.ROWS)
                else:
                    yield _column((), source.name, Uncertainty.INCOMPLETE)
            else:
                ends, uncertainty = self._found(scanned)
                yield _column(ends, source.name, uncertainty)

    def _found(self, scanned: ScanSource) -> tuple[tuple[PlanEnd, ...], int]:
        """Return the tables and paths that a scan reads, and the uncertainty about them."""
        match scanned.kind:
            case ScanKind.TABLE if scanned.end is not None:
                for name in self._of_table(scanned):
                    self.matched[name] = None
                    self.tables.setdefault(name, {})[scanned.end] = None
                return (scanned.end,), Uncertainty.NONE
            case ScanKind.PATH | ScanKind.CUT_PATH:
                return self._path(scanned)
            case ScanKind.STREAM:
                return self._stream(scanned)
            case _ if len(self._left) == 1:
                # These are rows without details in the plan, and there is only one source that no other scan reads.
                return self._ends(self._left[0], Uncertainty.INFERRED)
            case _:
                return (), Uncertainty.INCOMPLETE

    def _of_table(self, scanned: ScanSource) -> Iterator[str]:
        if scanned.name:
            yield from (name for name, each in self._sources.items() if each.holds(scanned.name))
        elif scanned.streams:
            kin = [
                name
                for name, each in self._sources.items()
                if each.kind is SourceKind.UNKNOWN and family(name) in ("iceberg", "")
            ]
            # Several nameless sources need not be distinguished, because there is a table for each of them.
            tables = {each for each in self._batch.scans if each.kind is ScanKind.TABLE and each.streams}
            yield from kin if len(kin) <= len(tables) else ()

    def _holders(self, scanned: ScanSource) -> dict[str, str]:
        holders = {name: each.holds(scanned.name) for name, each in self._sources.items()}
        return {name: place for name, place in holders.items() if place}

    def _path(self, scanned: ScanSource) -> tuple[tuple[PlanEnd, ...], int]:
        holders = self._holders(scanned)
        places = {path_end(place) for place in holders.values()}
        if len(places) > 1 or not self._sources:
            return (), Uncertainty.INCOMPLETE
        if not places:
            return (
                path_end(scanned.name),
            ), Uncertainty.INCOMPLETE if scanned.kind is ScanKind.CUT_PATH else Uncertainty.NONE
        [end] = places
        for name in holders:
            self.matched[name] = None
            self.places.setdefault(name, {})[end] = None
        globbed = any(self._sources[name].kind is SourceKind.GLOB for name in holders)
        cut = scanned.kind is ScanKind.CUT_PATH and (globbed or without_partitions(scanned.name) == end.name)
        return (end,), Uncertainty.INCOMPLETE if cut else Uncertainty.NONE

    def _stream(self, scanned: ScanSource) -> tuple[tuple[PlanEnd, ...], int]:
        kind = family(scanned.name)
        kin = [name for name, each in self._sources.items() if not each.path and family(name) == kind]
        if not kind or not kin:
            kin = [
                name for name, each in self._sources.items() if not each.path and not (kind and family(name))
            ]
        if scanned.streams and len(kin) == 1:
            return self._ends(kin[0], Uncertainty.NONE)
        return (), Uncertainty.INCOMPLETE

    def _ends(self, name: str, uncertainty: int) -> tuple[tuple[PlanEnd, ...], int]:
        source = self._sources[name]
        self.matched[name] = None
        known = source.kind in (SourceKind.ENDS, SourceKind.MADE_UP)
        return source.ends, uncertainty if known else uncertainty | Uncertainty.INCOMPLETE


def _column(ends: Iterable[PlanEnd], name: str, uncertainty: int = Uncertainty.NONE) -> ColumnFlow:
    return ColumnFlow(
        name,
        tuple(PlanColumn(end, name) for end in ends),
        (),
        Made.IDENTITY,
        "",
        inferred=bool(uncertainty & Uncertainty.INFERRED),
        incomplete=bool(uncertainty & Uncertainty.INCOMPLETE),
    )


def uncertainty_of(flow: ColumnFlow) -> int:
    """Return the uncertainties about a column, as bits of `Uncertainty`."""
    return (
        Uncertainty.INFERRED * flow.inferred
        | Uncertainty.OPAQUE * flow.opaque
        | Uncertainty.INCOMPLETE * flow.incomplete
    )


def joined(one: Flows, other: Flows) -> Flows:
    """Return the merged columns that two batches of a stream write."""
    flows = {flow.output: flow for flow in one}
    for flow in other:
        before = flows.get(flow.output, flow)
        data = tuple(dict.fromkeys((*before.data, *flow.data)))
        control = dict.fromkeys((*before.control, *flow.control))
        flows[flow.output] = ColumnFlow(
            flow.output,
            data,
            tuple(each for each in control if each not in data),
            # If a batch has no rows from a source, constants replace the columns of the source.
            strongest(each.kind for each in (before, flow) if each.data or not data),
            before.expression or flow.expression,
            inferred=before.inferred or flow.inferred,
            opaque=before.opaque or flow.opaque,
            incomplete=before.incomplete or flow.incomplete,
        )
    return tuple(flows.values())


def bounded(columns: Iterable[Flows]) -> bool:
    """Whether there are few enough columns to be stored."""
    flows = [flow for each in columns for flow in each]
    return (
        len(flows) <= MAX_COLUMNS and sum(len(each.data) + len(each.control) for each in flows) <= MAX_SOURCES
    )
