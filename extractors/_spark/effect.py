"""What a run reads and writes, all the executions that Spark ran for it together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from extractors._spark.application import Execution, Run
from extractors._spark.plan.names import without_partitions
from extractors._spark.plan.reads import End, EndKind, Reads
from extractors._spark.plan.writes import CREATE_AS_SELECT, SELECT, Write
from navlin.model.keys import split_location


@dataclass(frozen=True, slots=True)
class Effect:
    """What a run reads and writes, all its executions together. ``stored`` are tables with the paths of their files."""

    operation: str
    inputs: tuple[End, ...]
    outputs: tuple[End, ...]
    stored: tuple[tuple[End, str], ...]
    complete: bool
    unknown: tuple[str, ...]
    subjects: tuple[str, ...]
    query_text: str
    shape: str


def effect_of(run: Run, *, failed: bool) -> Effect:
    """Of a run that failed, what it set out to do; of another, what those of its executions did that did not fail."""
    members = [each for each in run.members if failed or each is run.root or not each.failed]
    writes = [(each, write) for each in members if each.started for write in each.started.plan.writes]
    outputs, stored = _outputs(writes)
    inputs = _inputs(members)
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
    )


def _outputs(
    writes: list[tuple[Execution, Write]],
) -> tuple[tuple[End, ...], tuple[tuple[End, str], ...]]:
    stored = {
        (write.end, without_partitions(write.path)): None for _, write in writes if write.end and write.path
    }
    # A statement that creates a table leaves the writing to an execution of its own, which knows the path only.
    creators = {
        execution.id: write.end
        for execution, write in writes
        if write.operation == CREATE_AS_SELECT and write.end
    }
    created = set(creators.values())
    outputs: dict[End, None] = {}
    for execution, write in writes:
        end = write.end
        if end is None:
            continue
        if end.kind is EndKind.PATH and len(created) == 1 and execution.id not in creators:
            stored[next(iter(created)), end.name] = None
            continue
        outputs[end] = None
    return tuple(_qualified(outputs)), tuple(stored)


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
    complete = True
    for each in reads:
        ends |= dict.fromkeys(each.ends)
        unknown |= dict.fromkeys(each.unknown)
        complete = complete and each.complete
    return Reads(tuple(ends), complete, tuple(unknown))


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
