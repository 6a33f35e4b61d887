"""What a run reads and writes, all the executions that Spark ran for it together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from extractors._spark.application import Execution, Run
from extractors._spark.columns.flow import strongest
from extractors._spark.columns.written import ColumnFlow, WrittenColumns
from extractors._spark.incomplete import Incomplete
from extractors._spark.plan.names import without_partitions
from extractors._spark.plan.reads import End, EndKind, Reads, path_end
from extractors._spark.plan.writes import CREATE_AS_SELECT, SELECT, Write
from navlin.model.keys import split_location


@dataclass(frozen=True, slots=True)
class OutputColumns:
    """The columns that a run writes of one of its outputs."""

    end: End
    flows: tuple[ColumnFlow, ...]


@dataclass(frozen=True, slots=True)
class Effect:
    """What a run reads and writes, all its executions together. ``stored`` are tables with the paths of their files.

    ``complete`` is False where inputs are missing, ``columns_complete`` where columns that it writes, or what they come
    from, are not known. ``reasons`` say why, and name outputs that are missing.
    """

    operation: str
    inputs: tuple[End, ...]
    outputs: tuple[End, ...]
    stored: tuple[tuple[End, str], ...]
    complete: bool
    unknown: tuple[str, ...]
    subjects: tuple[str, ...]
    query_text: str
    shape: str
    columns: tuple[OutputColumns, ...] = ()
    columns_complete: bool = True
    reasons: tuple[Incomplete, ...] = ()


def effect_of(run: Run, *, failed: bool) -> Effect:
    """Of a run that failed, what it set out to do; of another, what those of its executions did that did not fail."""
    members = [each for each in run.members if failed or each is run.root or not each.failed]
    writes = [(each, write) for each in members if each.started for write in each.started.plan.writes]
    outputs, stored, written_as = _outputs(writes)
    columns, column_reasons = _columns(members, written_as)
    inputs = _inputs(members)
    hidden = [write for each, write in writes if write.moves_data and (each.id, write.end) not in written_as]
    reasons = dict.fromkeys((*inputs.reasons, *column_reasons))
    if hidden:
        reasons[Incomplete.UNKNOWN_OUTPUT] = None
    if any(each.started.plan.unknown_operators for each in members if each.started):
        reasons[Incomplete.UNKNOWN_OPERATOR] = None
    main = next((write for _, write in writes), None)
    return Effect(
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
    )


def _outputs(
    writes: list[tuple[Execution, Write]],
) -> tuple[tuple[End, ...], tuple[tuple[End, str], ...], dict[tuple[int, End | None], End]]:
    """The outputs, the paths of tables, and the output that each execution's end is."""
    ends = {(execution.id, write.end): _end(execution, write, writes) for execution, write in writes}
    stored: dict[tuple[End, str], None] = {}
    for execution, write in writes:
        end = ends[execution.id, write.end]
        if end is not None and end.kind is not EndKind.PATH and write.path:
            stored[end, without_partitions(write.path)] = None
    # A statement that creates a table leaves the writing to an execution of its own, which knows the path only.
    creators = {execution.id for execution, write in writes if write.operation == CREATE_AS_SELECT}
    created = {
        end
        for execution, write in writes
        if write.operation == CREATE_AS_SELECT and (end := ends[execution.id, write.end])
    }
    written_as: dict[tuple[int, End | None], End] = {}
    for (number, named), end in ends.items():
        if end is None:
            continue
        written_as[number, named] = end
        if end.kind is EndKind.PATH and len(created) == 1 and number not in creators:
            table = next(iter(created))
            stored[table, end.name] = None
            written_as[number, named] = table
    outputs = tuple(_qualified(dict.fromkeys(written_as.values())))
    return outputs, tuple(stored), {key: _as_output(end, outputs) for key, end in written_as.items()}


def _end(execution: Execution, write: Write, writes: list[tuple[Execution, Write]]) -> End | None:
    """What a command writes; of a table that it names without a database, as it is named elsewhere in its run.

    An execution below it prints the whole name (since 3.4), or the catalogue says that such a table was created meanwhile.
    Where nothing does, the path is what is certain: which database is the session's current one, no log says.
    """
    end = write.end
    if end is None or end.kind not in (EndKind.TABLE, EndKind.VIEW) or end.database:
        return end
    named = {
        other.end for _, other in writes if other.end and other.end.name == end.name and other.end.database
    }
    if not named:
        changed = (name.rpartition(".") for name in execution.changed)
        named = {replace(end, database=database) for database, _, name in changed if name == end.name}
    if len(named) == 1:
        return next(iter(named))
    return path_end(write.path) if write.path else None


def _as_output(end: End, outputs: tuple[End, ...]) -> End:
    """The output that an end is, which may be named with its file system."""
    if end in outputs:
        return end
    path = split_location(end.name)[2]
    return next((each for each in outputs if split_location(each.name)[2] == path), end)


def _columns(
    members: list[Execution], written_as: dict[tuple[int, End | None], End]
) -> tuple[tuple[OutputColumns, ...], tuple[Incomplete, ...]]:
    """The columns of each output, and why some are not known. What an execution carries out is believed before what its
    command planned."""
    found: dict[End, dict[bool, list[WrittenColumns]]] = {}
    for each in members:
        if each.started is None:
            continue
        plan = each.started.plan
        for write, columns in zip(plan.writes, plan.columns, strict=True):
            end = written_as.get((each.id, write.end))
            if end is not None and not write.reads:
                found.setdefault(end, {}).setdefault(write.logical, []).append(columns)
    told: list[OutputColumns] = []
    reasons: dict[Incomplete, None] = {}
    for end, by_plan in found.items():
        planned = by_plan.get(True, [])[-1:]
        written = by_plan.get(False) or planned
        if planned and not all(each.flows for each in written):
            written = planned
        flows: dict[str, ColumnFlow] = {}
        for columns in written:
            reasons |= dict.fromkeys(columns.reasons)
            if not columns.flows and not columns.reasons:
                reasons[Incomplete.NO_COLUMNS] = None
            for flow in columns.flows:
                flows[flow.output] = _merged(flows[flow.output], flow) if flow.output in flows else flow
        if flows:
            told.append(OutputColumns(end, tuple(flows.values())))
    return tuple(told), tuple(reasons)


def _merged(one: ColumnFlow, other: ColumnFlow) -> ColumnFlow:
    """A column that is written twice."""
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
    )


def _qualified(ends: Iterable[End]) -> Iterator[End]:
    """Without the paths that are there a second time with their file system: a directory command and its execution."""
    ends = list(ends)
    full = {
        split_location(end.name)[2]
        for end in ends
        if end.kind is EndKind.PATH and not end.name.startswith("/")
    }
    for end in ends:
        if not (
            end.kind is EndKind.PATH and end.name.startswith("/") and split_location(end.name)[2] in full
        ):
            yield end


def _inputs(members: list[Execution]) -> Reads:
    plans = [each.started.plan for each in members if each.started]
    scanned = _together(plan.reads for plan in plans)
    if scanned.ends:
        return scanned
    # Views, and what leaves its query to a data source: no scan tells, the command's logical plan does.
    named = _together(plan.named for plan in plans)
    return named if named.ends or not named.complete else scanned


def _together(reads: Iterable[Reads]) -> Reads:
    ends: dict[End, None] = {}
    unknown: dict[str, None] = {}
    reasons: dict[Incomplete, None] = {}
    for each in reads:
        ends |= dict.fromkeys(each.ends)
        unknown |= dict.fromkeys(each.unknown)
        reasons |= dict.fromkeys(each.reasons)
    return Reads(tuple(ends), tuple(reasons), tuple(unknown))


def _shape(members: list[Execution], writes: list[tuple[Execution, Write]]) -> str:
    """The fingerprint of the plan. Executions that only look something up on the way do not count: some runs need none."""
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
        told = "\n".join((write.operation, write.subject, " ".join(write.query_text.split())))
        digest.update(told.encode("utf-8", "replace") + b"\n")
    return digest.hexdigest()
