"""Executions known for operations (count, first and last), found with a few requests for any number of operations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from navlin.index.graph.entity import EXECUTION_LISTED, ID, LAST_EXECUTION, StoredEntity
from navlin.index.graph.filters import RelationFilter
from navlin.index.graph.graph import Graph
from navlin.index.graph.memory import PartKind
from navlin.index.graph.relation import ENDS
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr
from navlin.model.batches import in_batches
from navlin.model.keys import RelationType

OPERATIONS_A_QUERY: Final = 100
EXECUTIONS_TOGETHER: Final = 1_000
"""Maximum number of executions that are read for several operations in one request."""
OF_ONE_TIME: Final = 10
"""Maximum number of executions to examine per operation if several share the newest record time."""
_RUNNING: Final = ("status:RUNNING", "-deleted:true")
_INSTANCE: Final = (RelationType.INSTANCE_OF.value,)
_RECORDED: Final = PartKind(RELATIONS, "endpoint1Ids", _INSTANCE, True, "times", versioned=False)
_RUNS: Final = PartKind(RELATIONS, "endpoint1Ids", _INSTANCE, True, "runs", versioned=False)
_FILTERS: Final = tuple(RelationFilter((RelationType.INSTANCE_OF,), deleted=False).filters())


@dataclass(frozen=True, slots=True)
class KnownExecutions:
    """The executions of one operation: ``count`` in the index, ``purged`` removed by purges.

    ``first_ms`` is the time of the oldest record in the index, ``last_ms`` the start of the last execution, else the
    time of its record (epoch ms; 0 if there is none). ``principal`` is the user of the last execution, which may have
    been purged. ``newest_ms`` is the time of the newest record, which for a long execution is long after the start.
    """

    count: int = 0
    purged: int = 0
    first_ms: int = 0
    last_ms: int = 0
    principal: str = ""
    newest_ms: int = 0


def executions_of(graph: Graph, operations: Iterable[StoredEntity]) -> dict[str, KnownExecutions]:
    """Return operation id → known executions. The operations must have been read with `navlin.index.graph.entity.OWNED`."""
    known = {each.id: each for each in operations}
    recorded = graph.of_each(_RECORDED, known, lambda ids: _recorded(graph.solr, ids))
    latest = _latest(graph, recorded)
    found: dict[str, KnownExecutions] = {}
    for each, operation in known.items():
        count, first_ms, record_ms, _ = recorded.get(each, _NEVER)
        started_ms, principal = latest.get(each, (record_ms, ""))
        purged = operation.last_run
        if purged.last_ms > started_ms or not count:
            started_ms, principal = purged.last_ms, purged.principal
        newest_ms = max(record_ms, started_ms, purged.last_ms)
        found[each] = KnownExecutions(count, purged.count, first_ms, started_ms, principal, newest_ms)
    return found


class _Recorded(NamedTuple):
    """The relations to the executions of an operation: their number, their oldest and newest time, and the ids of the
    executions, or of some of them, with the newest time."""

    executions: int
    first_ms: int
    newest_ms: int
    newest: tuple[str, ...] = ()


_NEVER: Final = _Recorded(0, 0, 0)


def _recorded(solr: Solr, operations: Sequence[str]) -> dict[str, _Recorded]:
    """Return operation id → relations to its executions, for operations with executions."""
    counted = _counted(solr, list(in_batches(operations, OPERATIONS_A_QUERY)))
    newest: dict[str, list[str]] = {each: [] for each in counted}
    searches = [
        {
            "q": " ".join(
                f"(+endpoint1Ids:{q.phrase(each)}"
                f" +{q.in_range('asOf', counted[each].newest_ms, counted[each].newest_ms + 1)})"
                for each in batch
            ),
            "fq": _FILTERS,
            "fl": "endpoint1Ids,endpoint2Ids",
            "rows": OF_ONE_TIME * len(batch),
        }
        for batch in in_batches(counted, OPERATIONS_A_QUERY)
    ]
    for answer in solr.select_each(RELATIONS, searches):
        for document in answer["response"]["docs"]:
            for operation, execution in _ends(document):
                if operation in newest:
                    newest[operation].append(execution)
    return {each: of._replace(newest=tuple(newest[each])) for each, of in counted.items()}


def _counted(solr: Solr, batches: Sequence[Sequence[str]]) -> dict[str, _Recorded]:
    answers = solr.select_each(RELATIONS, [_counting(batch) for batch in batches])
    return {
        each: _Recorded(int(of["count"]), int(of.get("first", 0)), int(of.get("last", 0)))
        for batch, answer in zip(batches, answers, strict=True)
        for at, each in enumerate(batch)
        if (of := answer["facets"].get(f"of{at}")) and of["count"]
    }


def _counting(operations: Sequence[str]) -> dict[str, Any]:
    # One query for each operation, because a facet over the field would count all operations in the index.
    facets = {
        f"of{at}": {
            "type": "query",
            "q": q.term("endpoint1Ids", each),
            "facet": {"first": "min(asOf)", "last": "max(asOf)"},
        }
        for at, each in enumerate(operations)
    }
    params = {"q": q.terms("endpoint1Ids", operations), "fq": _FILTERS, "rows": 0}
    return {**params, "json.facet": orjson.dumps(facets).decode()}


def _latest(graph: Graph, recorded: Mapping[str, _Recorded]) -> dict[str, tuple[int, str]]:
    """Return operation id → (start, user) of the last execution."""
    pairs = [(operation, each) for operation, of in recorded.items() for each in of.newest]
    executions = graph.entities_of((execution for _, execution in pairs), LAST_EXECUTION)
    latest: dict[str, tuple[int, str]] = {}
    for operation, each in pairs:
        if (execution := executions.get(each)) is not None:
            when = execution.started_ms or recorded[operation].newest_ms
            latest[operation] = max(latest.get(operation, (0, "")), (when, execution.principal))
    return latest


def _ends(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for one in document.get("endpoint1Ids", ()):
        for other in document.get("endpoint2Ids", ()):
            yield one, other


def latest_executions(graph: Graph, operations: Sequence[str], rows: int) -> dict[str, list[StoredEntity]]:
    """Return operation id → its latest executions, newest first, at most ``rows`` each, with the fields of a
    listing."""
    listed = graph.of_each(_RUNS._replace(most=rows), operations, lambda ids: _listed(graph.solr, ids, rows))
    known = graph.entities_of((each for ids in listed.values() for each in ids), EXECUTION_LISTED)
    return {
        operation: sorted(
            (known[each] for each in listed.get(operation, ()) if each in known),
            key=lambda run: -run.started_ms,
        )
        for operation in operations
    }


def _listed(solr: Solr, operations: Sequence[str], rows: int) -> dict[str, tuple[str, ...]]:
    listed: dict[str, list[str]] = {each: [] for each in operations}
    crowded: list[str] = []
    batches = list(in_batches(listed, OPERATIONS_A_QUERY))
    together = [_newest_first(q.terms("endpoint1Ids", batch), EXECUTIONS_TOGETHER) for batch in batches]
    for batch, answer in zip(batches, solr.select_each(RELATIONS, together), strict=True):
        if answer["response"]["numFound"] > EXECUTIONS_TOGETHER:
            crowded.extend(batch)
            continue
        for document in answer["response"]["docs"]:
            for operation, execution in _ends(document):
                if operation in listed and len(listed[operation]) < rows:
                    listed[operation].append(execution)
    alone = [_newest_first(q.term("endpoint1Ids", each), rows) for each in crowded]
    for operation, answer in zip(crowded, solr.select_each(RELATIONS, alone), strict=True):
        listed[operation] = [
            execution for document in answer["response"]["docs"] for _, execution in _ends(document)
        ]
    return {operation: tuple(ids) for operation, ids in listed.items()}


def _newest_first(query: str, rows: int) -> dict[str, Any]:
    return {
        "q": query,
        "fq": _FILTERS,
        "fl": "endpoint1Ids,endpoint2Ids",
        "sort": "asOf desc,identity asc",
        "rows": rows,
    }


def running_operations(graph: Graph) -> set[str]:
    """Return the ids of operations with a running execution, such as streaming queries, which run for months."""
    running = graph.solr.cursor(ELEMENTS, "type:OPERATION_EXECUTION", ID, filters=_RUNNING)
    instances = RelationFilter((RelationType.INSTANCE_OF,), deleted=False)
    ids = [document["identity"] for document in running]
    return {relation.ep1.id for relation in graph.relations(instances, of=ids, sides=(2,), fields=ENDS)}
