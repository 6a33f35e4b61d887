"""Count the relations that a purge would remove, for a dry run. Nothing is changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final

from linker.purge_removal import RemovalBatch
from linker.purge_rules import parts_of
from navlin.index.graph.filters import EntityFilter, RelationFilter
from navlin.index.graph.graph import ANY_RELATION, IDS_A_QUERY, Graph
from navlin.index.graph.relation import BOTH, ENDS, Side
from navlin.model.batches import in_batches
from navlin.model.keys import RelationType

Forecast = Callable[[Graph, RemovalBatch, int], int]
"""(graph, batch, threshold in epoch ms) → number of relations removed together with the batch."""
_CONTAINS: Final = RelationFilter(types=(RelationType.PARENT_CHILD,))


def of_directories(graph: Graph, batch: RemovalBatch, before_ms: int) -> int:
    """Count the PARENT_CHILD relations from these directories to their content, and those to the directories
    themselves except from a parent that loses all of its content anyway.
    """
    emptied = [*batch.versions, *batch.kept]
    return _count(graph, emptied, _CONTAINS, (1,)) + of_files(graph, batch, before_ms)


def of_files(graph: Graph, batch: RemovalBatch, before_ms: int) -> int:
    """Count the PARENT_CHILD relations to these files, except from a parent that loses all of its content anyway."""
    emptied = EntityFilter(types=("DIRECTORY",), deleted_before_ms=before_ms)
    relations = graph.relations(_CONTAINS, of=batch.versions, sides=(2,), fields=ENDS)
    count = 0
    for some in in_batches(relations, IDS_A_QUERY):
        parents = [relation.ep1.id for relation in some]
        emptied_parents = graph.present(set(parents), emptied)
        count += sum(1 for parent in parents if parent not in emptied_parents)
    return count


def of_executions(graph: Graph, batch: RemovalBatch, _: int) -> int:
    """Count all relations of these executions."""
    return _count(graph, batch.versions, ANY_RELATION)


def of_operations(graph: Graph, batch: RemovalBatch, _: int) -> int:
    """Count all relations of these operations and their sub-operations, except those to executions, which are counted
    with the executions."""
    parts = [part.id for part in parts_of(graph, list(batch.versions))]
    but_instances = RelationFilter(but_types=(RelationType.INSTANCE_OF,))
    return _count(graph, [*batch.versions, *parts], but_instances)


def _count(graph: Graph, ids: Collection[str], where: RelationFilter, sides: Iterable[Side] = BOTH) -> int:
    return len({relation.id for relation in graph.relations(where, of=ids, sides=sides, fields=ENDS)})
