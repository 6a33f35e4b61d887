"""Inputs and outputs of a run, combined from all executions that belong to it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from extractors.spark.application import ExecutionTree, SqlExecution
from extractors.spark.carried import carried_columns, changed_columns
from extractors.spark.columns.flow import strongest
from extractors.spark.columns.written import ColumnFlow, WrittenColumns
from extractors.spark.deletions import with_deletion
from extractors.spark.incomplete import Incomplete
from extractors.spark.outputs import outputs_of
from extractors.spark.plan.conditions import Conditions
from extractors.spark.plan.jdbc import CATALOG_SCAN_CLASS
from extractors.spark.plan.kinds import own_name
from extractors.spark.plan.reads import PlanEnd, Reads
from extractors.spark.plan.writes import DELETE, SELECT, Write


@dataclass(frozen=True, slots=True)
class OutputColumns:
    """The columns that a run writes to one output."""

    end: PlanEnd
    flows: tuple[ColumnFlow, ...]


@dataclass(frozen=True, slots=True)
class RunEffect:
    """Inputs and outputs of a run, combined from all its executions. ``stored`` are pairs of a table and the path of its
    files.

    ``complete`` is False if inputs are missing or, in a stream or a record of the lineage log, outputs.
    ``columns_complete`` is False if written columns or their sources are unknown. ``reasons`` explain these and
    missing outputs.
    """

    operation: str
    inputs: tuple[PlanEnd, ...]
    outputs: tuple[PlanEnd, ...]
    stored: tuple[tuple[PlanEnd, str], ...]
    complete: bool
    unknown: tuple[str, ...]
    subjects: tuple[str, ...]
    query_text: str
    shape: str
    columns: tuple[OutputColumns, ...] = ()
    columns_complete: bool = True
    reasons: tuple[Incomplete, ...] = ()
    unread: tuple[tuple[Incomplete, str], ...] = ()
    """(reason, name) of each plan node whose sources or targets navlin does not read. The name is "" if it is unknown."""
    conditions: Conditions = field(default_factory=Conditions)


def unread_sources(unknown: Iterable[str]) -> tuple[tuple[Incomplete, str], ...]:
    """Return the entries for ``RunEffect.unread`` that correspond to the names in ``RunEffect.unknown``."""
    return tuple(dict.fromkeys((Incomplete.UNKNOWN_INPUT, own_name(each)) for each in unknown))


def effect_of(run: ExecutionTree, *, failed: bool) -> RunEffect:
    """Return the combined effect of a run's executions. For a failed run, this is the intended effect; otherwise
    failed executions are left out.
    """
    members = with_deletion([each for each in run.members if failed or each is run.root or not each.failed])
    writes = [(each, write) for each in members if each.started for write in each.started.plan.writes]
    outputs, stored, written_as = outputs_of(writes, run.application.catalogs_of)
    columns, column_reasons = _columns(members, written_as)
    inputs = _inputs(members)
    hidden = [write for each, write in writes if write.moves_data and (each.id, write.end) not in written_as]
    reasons = dict.fromkeys((*inputs.reasons, *column_reasons))
    if hidden:
        reasons[Incomplete.UNKNOWN_OUTPUT] = None
    if any(each.started.plan.unknown_operators for each in members if each.started):
        reasons[Incomplete.UNKNOWN_OPERATOR] = None
    main = next((write for _, write in writes), None)
    return RunEffect(
        operation=main.operation if main else SELECT,
        inputs=inputs.ends,
        outputs=outputs,
        stored=stored,
        complete=inputs.complete,
        unknown=inputs.unknown,
        subjects=tuple(dict.fromkeys(write.subject for _, write in writes if write.subject)),
        query_text=next((write.query_text for _, write in writes if write.query_text), ""),
        shape=_shape(members, writes),
        columns=columns,
        columns_complete=not column_reasons,
        reasons=tuple(reasons),
        unread=(
            *unread_sources(inputs.unknown),
            *((Incomplete.UNKNOWN_OUTPUT, write.command if write.unread else "") for write in hidden),
        ),
        conditions=Conditions.together(each.started.plan.conditions for each in members if each.started),
    )


def _columns(
    members: list[SqlExecution], written_as: dict[tuple[int, PlanEnd | None], PlanEnd]
) -> tuple[tuple[OutputColumns, ...], tuple[Incomplete, ...]]:
    """Return the columns of each output, and the reasons why some columns are unknown. Columns of an executed plan
    usually take precedence over those that the command planned.
    """
    found: dict[PlanEnd, dict[bool, list[WrittenColumns]]] = {}
    deleted_from: set[PlanEnd] = set()
    stated: set[PlanEnd] = set()
    for each in members:
        if each.started is None:
            continue
        plan = each.started.plan
        for write, columns in zip(plan.writes, plan.columns, strict=True):
            end = written_as.get((each.id, write.end))
            if end is not None and not write.reads:
                if write.carried and not columns.flows:
                    columns = carried_columns(write, each, members)
                if write.changes_rows:
                    columns = changed_columns(write, end, columns)
                if write.operation == DELETE:
                    deleted_from.add(end)
                if write.creates and columns.flows and columns.complete:
                    stated.add(end)
                found.setdefault(end, {}).setdefault(write.logical, []).append(columns)
    written_columns: list[OutputColumns] = []
    reasons: dict[Incomplete, None] = {}
    for end, by_plan in found.items():
        planned = by_plan.get(True, [])[-1:]
        written = by_plan.get(False) or planned
        unnamed = any(Incomplete.UNKNOWN_INPUT in each.reasons for each in written)
        known_before = unnamed and all(each.flows and each.complete for each in planned)
        if planned and (end in stated or known_before or not all(each.flows for each in written)):
            written = planned
        flows: dict[str, ColumnFlow] = {}
        known = [each for each in written if each.flows or each.reasons]
        if not known and end not in deleted_from:
            reasons[Incomplete.NO_COLUMNS] = None
        for columns in known:
            reasons |= dict.fromkeys(columns.reasons)
            for flow in columns.flows:
                flows[flow.output] = _merged(flows[flow.output], flow) if flow.output in flows else flow
        if flows:
            written_columns.append(OutputColumns(end, tuple(flows.values())))
    return tuple(written_columns), tuple(reasons)


def _merged(one: ColumnFlow, other: ColumnFlow) -> ColumnFlow:
    data = tuple(dict.fromkeys((*one.data, *other.data)))
    control = tuple(each for each in dict.fromkeys((*one.control, *other.control)) if each not in data)
    return ColumnFlow(
        one.output,
        data,
        control,
        strongest((one.kind, other.kind)),
        one.expression or other.expression,
        inferred=one.inferred or other.inferred,
        opaque=one.opaque or other.opaque,
        incomplete=one.incomplete or other.incomplete,
        parsed=one.parsed or other.parsed,
    )


def _inputs(members: list[SqlExecution]) -> Reads:
    plans = [each.started.plan for each in members if each.started]
    scanned = _together(plan.reads for plan in plans)
    named = _together(plan.named for plan in plans)
    # Before Spark 4, the scan of a JDBC catalogue's table does not name the table, but the command's logical plan
    # does.
    if any(CATALOG_SCAN_CLASS in each for each in scanned.unknown) and named.complete and named.ends:
        return named
    if scanned.ends:
        return scanned
    # Scans do not show views, nor queries that are left to a data source, but the command's logical plan does.
    return named if named.ends or not named.complete else scanned


def _together(reads: Iterable[Reads]) -> Reads:
    ends: dict[PlanEnd, None] = {}
    unknown: dict[str, None] = {}
    reasons: dict[Incomplete, None] = {}
    for each in reads:
        ends |= dict.fromkeys(each.ends)
        unknown |= dict.fromkeys(each.unknown)
        reasons |= dict.fromkeys(each.reasons)
    return Reads(tuple(ends), tuple(reasons), tuple(unknown))


def _shape(members: list[SqlExecution], writes: list[tuple[SqlExecution, Write]]) -> str:
    """Return a fingerprint of a run's plans. Executions that only look something up are left out, because some runs do
    not need them.
    """
    digest = hashlib.md5(usedforsecurity=False)
    for position, each in enumerate(members):
        if each.started is None:
            continue
        plan = each.started.plan
        if position and not plan.writes and not plan.reads.ends:
            continue
        for line in plan.shape:
            digest.update(line.encode("utf-8", "replace") + b"\n")
    for _, write in writes:
        statement = "\n".join((write.operation, write.subject, " ".join(write.query_text.split())))
        digest.update(statement.encode("utf-8", "replace") + b"\n")
    return digest.hexdigest()
