"""Transfer of executions to another operation, when more becomes known about the executions' text or outputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from navlin.index.graph.filters import RelationFilter
from navlin.index.graph.graph import Graph
from navlin.index.graph.relation import ENDS
from navlin.index.schema.envelope import Envelope
from navlin.index.schema.stamp import Stamp
from navlin.index.solr.solr import Solr
from navlin.index.write.graph_changes import GraphChanges
from navlin.index.write.writing import write_implied
from navlin.model.keys import EntityType, RelationType

_INSTANCES: Final = RelationFilter((RelationType.INSTANCE_OF,), rule="")


def follow_operations(solr: Solr, changed: Iterable[Envelope], stamp: Stamp) -> None:
    """Relate each changed execution to its present operation, and remove its relation to the former one. Call this
    before the executions are written, so that after an interruption the next run does the rest."""
    by_id = {each.identity: each for each in changed if each.type == EntityType.OPERATION_EXECUTION}
    if not by_id:
        return
    graph = Graph(solr)
    right, stale = set[str](), dict[str, int]()
    for each in graph.relations(_INSTANCES, of=sorted(by_id), sides=(2,), fields=ENDS):
        if each.ep1.id == by_id[each.ep2.id].parent_id:
            right.add(each.ep2.id)
        else:
            stale[each.id] = each.version
    write_implied(solr, (each for identity, each in by_id.items() if identity not in right), stamp)
    if stale:
        GraphChanges(solr).remove_relations(stale, stamp)
