"""The purge rules as data: candidates, reasons to keep them, and kinds that are never removed.

Five rules come from Cloudera Navigator's documentation of purge: three remove data and two protect it. The sixth, for
files, is navlin's own and can be switched off.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from linker.locations import FLOWS
from navlin.index.graph.entity import CORE, PURGE, TABLE_TYPES, StoredEntity
from navlin.index.graph.filters import EntityFilter, RelationFilter
from navlin.index.graph.graph import IDS_A_QUERY, Graph
from navlin.index.graph.relation import BOTH, ENDS, Side
from navlin.model.batches import in_batches
from navlin.model.keys import RelationType

Aged = Callable[[int], EntityFilter]
"""Threshold (epoch ms) → filter for entities older than the threshold."""
Check = Callable[[Graph, Sequence[StoredEntity], int], set[str]]
"""(graph, candidates, threshold in epoch ms) → ids of the candidates to keep."""


def _deleted_before(*types: str) -> Aged:
    return lambda before_ms: EntityFilter(types=types, deleted_before_ms=before_ms)


# -- Reasons to keep -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Keep:
    name: str
    what: str
    check: Check


def _is_end_of(where: RelationFilter, sides: Sequence[Side] = BOTH) -> Check:
    return lambda graph, candidates, _: graph.ends_among([each.id for each in candidates], where, sides)


def _described(_: Graph, candidates: Sequence[StoredEntity], __: int) -> set[str]:
    return {each.id for each in candidates if each.described}


def _has_described_execution(graph: Graph, operations: Sequence[StoredEntity], _: int) -> set[str]:
    instances = RelationFilter(types=(RelationType.INSTANCE_OF,))
    found: set[str] = set()
    of = [operation.id for operation in operations]
    for batch in in_batches(graph.relations(instances, of=of, sides=(1,), fields=ENDS), IDS_A_QUERY):
        operation_of = {relation.ep2.id: relation.ep1.id for relation in batch}
        executions = graph.entities_of(operation_of, PURGE)
        found.update(operation_of[each] for each, execution in executions.items() if execution.described)
    return found


def _has_output(graph: Graph, operations: Sequence[StoredEntity], _: int) -> set[str]:
    return operations_with_output(graph, [operation.id for operation in operations])


def _executed_since(graph: Graph, operations: Sequence[StoredEntity], before_ms: int) -> set[str]:
    return operations_executed_since(graph, [operation.id for operation in operations], before_ms)


def operations_with_output(graph: Graph, ids: Sequence[str]) -> set[str]:
    """Return the ids of the operations that produce something, at table or column level."""
    flows = RelationFilter(types=(RelationType.DATA_FLOW,), deleted=False)
    found = graph.ends_among(ids, replace(flows, but_ep2_types=("SUB_OPERATION",)), (1,))
    # Column-level output counts as well, because a record may have only columns.
    operations = {part.id: part.parent_id for part in parts_of(graph, ids)}
    return found | {operations[part] for part in graph.ends_among(operations, flows, (1,))}


def operations_executed_since(graph: Graph, ids: Collection[str], before_ms: int) -> set[str]:
    """Return the ids of the operations with an execution that is not older than the threshold."""
    instances = RelationFilter(types=(RelationType.INSTANCE_OF,))
    recent = EntityFilter(not_executed_before_ms=before_ms)
    found: set[str] = set()
    for batch in in_batches(graph.relations(instances, of=ids, sides=(1,), fields=ENDS), IDS_A_QUERY):
        operation_of = {relation.ep2.id: relation.ep1.id for relation in batch}
        found.update(operation_of[each] for each in graph.present(operation_of.keys(), recent))
    return found


def parts_of(graph: Graph, operation_ids: Sequence[str], fields: str = CORE) -> list[StoredEntity]:
    return [
        part
        for batch in in_batches(operation_ids, IDS_A_QUERY)
        for part in graph.entities(
            EntityFilter(types=("SUB_OPERATION",), parents=tuple(batch)), fields=fields
        )
    ]


IN_A_FLOW: Final = Keep(
    "in a flow", "an operation read or wrote it", _is_end_of(RelationFilter(types=FLOWS, deleted=False))
)
A_LOCATION: Final = Keep(
    "a table's location",
    "the relation between a Hive table and its directory is never removed, so neither is the directory",
    _is_end_of(
        RelationFilter(
            types=(RelationType.LOGICAL_PHYSICAL,), deleted=False, ep1_types=tuple(sorted(TABLE_TYPES))
        ),
        (2,),
    ),
)
DESCRIBED: Final = Keep("described", "a person named, described or tagged it", _described)
EXECUTION_DESCRIBED: Final = Keep(
    "an execution described", "a person described or tagged one of its executions", _has_described_execution
)
HAS_OUTPUT: Final = Keep("has output", "operations that produce something are never removed", _has_output)
EXECUTED_SINCE: Final = Keep("executed since", "it was executed after the date", _executed_since)
CHANGED: Final = "changed meanwhile"
"""Reason for keeping entities written after they were read as candidates. It overrides every rule."""


# -- The rules -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PurgeRule:
    """One kind of entity to remove, with the filter for candidates and the reasons to keep one."""

    name: str
    what: str
    candidates: Aged
    keeps: tuple[Keep, ...] = ()
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Never:
    """A kind of entity that is never removed. Either no rule considers it, and ``aged`` selects those that are old
    enough, or a rule's ``keep`` protects it.
    """

    name: str
    what: str
    aged: Aged | None = None
    keep: Keep | None = None


PURGE_RULES: Final[tuple[PurgeRule, ...]] = (
    # Rules that check flows come before the rule that removes flows, so that a dry run gives the exact result.
    PurgeRule(
        "directories",
        "directories deleted before that date, with their contents",
        _deleted_before("DIRECTORY"),
        (IN_A_FLOW, A_LOCATION, DESCRIBED),
    ),
    PurgeRule(
        "files",
        "files deleted before that date, without lineage and without user metadata",
        _deleted_before("FILE"),
        (IN_A_FLOW, A_LOCATION, DESCRIBED),
        ours=True,
    ),
    PurgeRule(
        "executions",
        "executions before that date. The operation keeps the time and user of its last execution, and the number of"
        " executions; the entities that it read keep the time and user of their last read",
        lambda before_ms: EntityFilter(executed_before_ms=before_ms),
        (DESCRIBED,),
    ),
    PurgeRule(
        "operations",
        "operations without output whose executions were all before that date, with their data flow",
        lambda before_ms: EntityFilter(types=("OPERATION",), as_of_before_ms=before_ms),
        (HAS_OUTPUT, EXECUTED_SINCE, DESCRIBED, EXECUTION_DESCRIBED),
    ),
)
"""The rules in the order in which they run."""

NEVER: Final[tuple[Never, ...]] = (
    Never(
        "tables",
        "Hive databases, tables, views, partitions and columns, even if deleted long ago",
        aged=_deleted_before("DATABASE", "TABLE", "VIEW", "PARTITION", "FIELD"),
    ),
    Never("producing operations", "operations with output", keep=HAS_OUTPUT),
    Never("locations", "relations between a Hive table and its directory", keep=A_LOCATION),
)
