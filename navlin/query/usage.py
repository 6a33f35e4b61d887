"""Usage of a table, path or column: the executions of the operations that read or write it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from navlin.index.graph.entity import EXECUTION_LISTED, StoredEntity
from navlin.index.graph.filters import RelationFilter
from navlin.index.graph.graph import Graph
from navlin.index.graph.relation import ENDS, Side
from navlin.index.schema.fields import solr_date
from navlin.index.solr.solr import Solr
from navlin.model.keys import RelationType
from navlin.query.page import Page
from navlin.query.statement_names import statement_names
from navlin.query.usage_status import DAY_MS

MOST_OPERATIONS: Final = 1_000
"""Maximum number of readers, and of writers. The operations with the newest records are chosen."""
MOST_EXECUTIONS: Final = 10_000
COLUMNS: Final = ("user", "operation", "does", "executions", "first", "last", "engine", "id", "truncated")
"""Columns of the CSV output."""
_FLOWS: Final = (RelationType.DATA_FLOW.value, RelationType.CONTROL_FLOW.value)
_PARTS: Final = ("OPERATION", "SUB_OPERATION")
_READS: Final = RelationFilter(_FLOWS, deleted=False, ep2_types=_PARTS)
_WRITES: Final = RelationFilter(_FLOWS, deleted=False, ep1_types=_PARTS)
_SAME_DATA: Final = RelationFilter((RelationType.LOGICAL_PHYSICAL,), deleted=False)
_RUNS: Final = RelationFilter((RelationType.INSTANCE_OF,), deleted=False)


@dataclass(frozen=True, slots=True)
class Used:
    """The executions of one operation by one user. Times are epoch ms."""

    user: str
    operation: StoredEntity
    title: str
    """Display name of the operation."""
    reads: bool
    writes: bool
    executions: int
    first_ms: int
    last_ms: int
    engine: str

    @property
    def does(self) -> str:
        """ "reads", "writes", or "reads and writes"."""
        return " and ".join(["reads"] * self.reads + ["writes"] * self.writes)

    def to_json(self) -> dict[str, Any]:
        """JSON keys: user, id, operation (the name for people), reads, writes, executions (number), first, last
        (dates), engine."""
        return {
            "user": self.user,
            "id": self.operation.id,
            "operation": self.title,
            "reads": self.reads,
            "writes": self.writes,
            "executions": self.executions,
            "first": solr_date(self.first_ms),
            "last": solr_date(self.last_ms),
            "engine": self.engine,
        }


@dataclass(frozen=True, slots=True)
class Usage:
    """Uses of an entity since ``since_ms`` (epoch ms), the last use first. ``reads`` and ``writes`` count executions.
    ``cut`` is True if there are more operations or executions than were read."""

    entity: StoredEntity
    since_ms: int
    reads: int
    writes: int
    cut: bool
    every: tuple[Used, ...]
    listed: Page[Used]

    def to_json(self) -> dict[str, Any]:
        """id, name, type, since (a date), reads, writes (how many executions), cut (whether there is more than was looked
        at), total, offset, limit, truncated, results (user, id, operation, reads, writes, executions, first, last,
        engine)."""
        return {
            "id": self.entity.id,
            "name": self.entity.name,
            "type": self.entity.type,
            "since": solr_date(self.since_ms),
            "reads": self.reads,
            "writes": self.writes,
            "cut": self.cut,
            **self.listed.to_json(),
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield all uses as rows with `COLUMNS`, and a last row if there are more."""
        for each in self.every:
            yield {**each.to_json(), "does": each.does}
        if self.cut:
            yield {"truncated": "more operations or executions than navlin examines"}


def usage(solr: Solr, entity: StoredEntity, now_ms: int, *, days: int, limit: int, offset: int) -> Usage:
    """Return the uses of an entity in the days before ``now_ms`` (epoch ms), as far as the executions are still in the
    index. A table and its location are the same data."""
    graph, since_ms = Graph(solr), now_ms - days * DAY_MS
    relations = graph.relations(_SAME_DATA, of=[entity.id], fields=ENDS)
    same = {entity.id, *(end.id for each in relations for end in (each.ep1, each.ep2))}
    readers, more_readers = _operations(graph, same, 1)
    writers, more_writers = _operations(graph, same, 2)
    runs, count = graph.latest_relations({*readers, *writers}, 1, _RUNS, MOST_EXECUTIONS)
    executions = graph.entities_of((each.ep2.id for each in runs), EXECUTION_LISTED)
    oldest_ms = min((each.started_ms for each in executions.values()), default=0)
    by: dict[tuple[str, str], list[StoredEntity]] = defaultdict(list)
    for each in runs:
        execution = executions.get(each.ep2.id)
        if execution is not None and execution.started_ms >= since_ms:
            by[execution.principal, each.ep1.id].append(execution)
    operations = graph.entities_of({operation for _, operation in by})
    titles = statement_names(graph, {each.id: each.name for each in operations.values()})
    found = [
        Used(
            user,
            operations[operation],
            titles[operation],
            operation in readers,
            operation in writers,
            len(ran),
            min(each.started_ms for each in ran),
            max(each.started_ms for each in ran),
            ran[0].engine,
        )
        for (user, operation), ran in by.items()
        if operation in operations
    ]
    found.sort(key=lambda each: (-each.last_ms, each.user, each.title, each.operation.id))
    return Usage(
        entity,
        since_ms,
        sum(each.executions for each in found if each.reads),
        sum(each.executions for each in found if each.writes),
        more_readers or more_writers or (count > MOST_EXECUTIONS and oldest_ms >= since_ms),
        tuple(found),
        Page(tuple(found[offset : offset + limit]), len(found), offset, limit),
    )


def _operations(graph: Graph, ids: set[str], side: Side) -> tuple[set[str], bool]:
    """Return the ids of the operations at the other end of flows, and whether there are more."""
    flows, count = graph.latest_relations(ids, side, _READS if side == 1 else _WRITES, MOST_OPERATIONS)
    ends = [each.ep2 if side == 1 else each.ep1 for each in flows]
    parts = graph.entities_of(each.id for each in ends if each.type == "SUB_OPERATION")
    found = {parts[each.id].parent_id if each.id in parts else each.id for each in ends}
    return found, count > len(flows)
