"""Flag reports as deleted if the engine recorded the executions itself.

Spark with OpenLineage's agent reports each SQL execution twice: in the event log, and through the agent. Two records
describe the same execution if the application and the start time, or the application and the end time, are equal to
the millisecond, because the agent takes both times from the log's events. A report of an SQL execution that ran within
a recorded one, by start and end, is also a duplicate, because the event log counts that execution as part of the
recorded one.

The engine's record takes precedence. The reported execution is flagged deleted, and so is the reported operation, with
its sub-operations and flows, once all of its executions are flagged. The report is kept if it names outputs and the
engine's record does not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from linker.linking import Linking
from linker.locations import FLOWS
from navlin.index.graph.entity import EXECUTED, StoredEntity
from navlin.index.graph.filters import EntityFilter, RelationFilter
from navlin.index.graph.graph import CLAUSES_A_QUERY
from navlin.index.graph.relation import ENDS
from navlin.model.batches import in_batches
from navlin.model.keys import RelationType
from navlin.model.source import SPARK

EXECUTIONS = ("OPERATION_EXECUTION",)
REPORTED = EntityFilter(EXECUTIONS, deleted=False, reported=True)
_LIVE_ENTITY = EntityFilter(deleted=False)
_LIVE_PARTS = EntityFilter(("SUB_OPERATION",), deleted=False)
_LIVE = RelationFilter(deleted=False)
_INSTANCES = RelationFilter((RelationType.INSTANCE_OF,), deleted=False)
_WRITES = RelationFilter(FLOWS, deleted=False)
_MANY = 1_000_000


def prefer_engines(linking: Linking) -> int:
    """Flag reports as deleted if they duplicate engines' own records. Return the number of flagged documents."""
    if not linking.graph.count_entities(REPORTED):
        return 0
    changed = 0
    for batch in in_batches(_applications(linking), CLAUSES_A_QUERY):
        changed += _of_applications(linking, batch)
    return changed


def _applications(linking: Linking) -> Iterator[str]:
    """Yield each application once that has executions written by the runs or, with ``everything``, that has reports."""
    runs = () if linking.everything else linking.runs
    where = EntityFilter(EXECUTIONS, deleted=False, runs=runs, reported=True if linking.everything else None)
    found = (each.application for each in linking.graph.entities(where, fields=EXECUTED))
    return iter(dict.fromkeys(each for each in found if each))


def _of_applications(linking: Linking, applications: Collection[str]) -> int:
    reported: list[StoredEntity] = []
    recorded: dict[tuple[str, str, int], StoredEntity] = {}
    where = EntityFilter(EXECUTIONS, deleted=False, applications=tuple(applications))
    for each in linking.graph.entities(where, fields=EXECUTED):
        if each.reported:
            reported.append(each)
        elif each.source_type == SPARK:  # YARN records the whole application under the same id
            recorded |= dict.fromkeys(_moments(each), each)
    engines = list({each.id: each for each in recorded.values()}.values())
    of_engine = {
        each.id: known
        for each in reported
        if (known := next((recorded[at] for at in _moments(each) if at in recorded), None)) is not None
        or (known := next((other for other in engines if _within(each, other)), None)) is not None
    }
    if not of_engine:
        return 0
    operations = _operations(linking, [*of_engine, *(each.id for each in of_engine.values())])
    writing = linking.graph.ends_among(sorted(set(operations.values())), _WRITES, sides=(1,))

    def doubled(report: str) -> bool:
        engine = operations.get(of_engine[report].id)
        return operations.get(report) not in writing or engine in writing

    return _flag(linking, {each: operations.get(each, "") for each in of_engine if doubled(each)})


def _within(report: StoredEntity, engine: StoredEntity) -> bool:
    """Whether a reported SQL execution ran within a recorded one of the same application, so that the event log counts
    it as part of the recorded one.
    """
    return (
        report.operation_type == "SQL_JOB"
        and report.application == engine.application
        and 0 < engine.started_ms <= report.started_ms
        and 0 < report.ended_ms <= engine.ended_ms
    )


def _operations(linking: Linking, executions: Iterable[str]) -> dict[str, str]:
    """Return execution id → operation id."""
    found = linking.graph.relations(_INSTANCES, of=sorted(executions), sides=(2,), fields=ENDS)
    return {each.ep2.id: each.ep1.id for each in found}


def _moments(execution: StoredEntity) -> Iterator[tuple[str, str, int]]:
    """Yield the keys that identify an execution: (application, ``started`` or ``ended``, epoch ms)."""
    for name, at_ms in (("started", execution.started_ms), ("ended", execution.ended_ms)):
        if at_ms:
            yield execution.application, name, at_ms


def _flag(linking: Linking, doubles: Mapping[str, str]) -> int:
    """Flag these executions deleted, and each operation that has no other execution. ``doubles`` maps execution ids to
    operation ids. Return the number of changed documents.
    """
    graph = linking.graph
    operations = set(doubles.values()) - {""}
    instances = graph.relations(_INSTANCES, of=sorted(operations), sides=(1,), fields=ENDS)
    operations -= {each.ep1.id for each in instances if each.ep2.id not in doubles}
    parts, _ = graph.children(operations, _LIVE_PARTS, _MANY)
    ids = sorted({*doubles, *operations, *(each.id for each in parts)})
    as_of = {each.id: each.as_of_ms for each in graph.entities(_LIVE_ENTITY, ids=ids, fields=EXECUTED)}
    relations = {each.id: each.as_of_ms for each in graph.relations(_LIVE, of=sorted(as_of))}
    changed = linking.changes.flag_entities(as_of, linking.stamp) + linking.changes.flag_relations(
        relations, linking.stamp
    )
    linking.changes.commit()
    return changed
