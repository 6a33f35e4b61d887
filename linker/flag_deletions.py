"""Flag relations as deleted if reconciliation found that they no longer exist. Nothing is removed; purge does that
later.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from navlin.index.graph.graph import Graph
from navlin.index.graph.relation import BOTH, ENDS
from navlin.index.schema.stamp import Stamp
from navlin.index.write.graph_changes import GraphChanges

CATALOGUED_TYPES: Final = frozenset(
    {"DATABASE", "TABLE", "VIEW", "PARTITION", "FIELD", "FILE", "DIRECTORY", "DATASET"}
)


def flag_relations(changes: GraphChanges, gone: Mapping[str, int], stamp: Stamp) -> int:
    """Flag as deleted the relations whose statement was withdrawn. Return the number flagged. Must be called after
    deleted entities were flagged.

    ``gone`` maps relation ids to the time of the withdrawal (epoch ms). A relation of a deleted entity is not flagged,
    because the location of a dropped table is history, not an error.
    """
    history = _of_deleted_ends(Graph(changes.solr), gone)
    return changes.flag_relations({each: as_of for each, as_of in gone.items() if each not in history}, stamp)


def _of_deleted_ends(graph: Graph, relation_ids: Collection[str]) -> set[str]:
    own = {
        relation.id: {end.id for end in map(relation.end, BOTH) if end.source_id == relation.writer}
        for relation in graph.relations_now(relation_ids, ENDS).values()
    }
    entities = graph.entities_now({identity for ends in own.values() for identity in ends}).values()
    deleted = {entity.id for entity in entities if entity.deleted and entity.type in CATALOGUED_TYPES}
    return {relation for relation, ends in own.items() if deleted & ends}
