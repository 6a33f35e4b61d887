"""Merge an operation that a program referred to by its text into the operation that the source reports.

The id of an operation cannot be computed from the text alone, because it also depends on inputs and outputs. Until the
source reports an operation with that text, data that programs send about the operation are stored under an id derived
from the text. As soon as the source reports it, the user-written fields and the programs' relations are moved to it.
If several operations have the same text (in two databases), the first is chosen. The same choice applies to references
to existing operations.
"""

from __future__ import annotations

from collections import defaultdict

from linker.linking import Linking
from navlin.index.graph.entity import VIEW, StoredEntity
from navlin.index.graph.filters import EntityFilter
from navlin.index.graph.relation import WHOLE
from navlin.index.graph.sources import known_sources
from navlin.index.people.user_entities import adopt_annotations, at_other_end

_AWAITED = EntityFilter(("OPERATION",), awaited=True)


def adopt_operations(linking: Linking) -> int:
    """Merge placeholder operations into those that have arrived. Return the number of merged operations."""
    graph = linking.graph
    if not graph.count_entities(_AWAITED):
        return 0
    arrived = graph.entities_by_source(
        EntityFilter(("OPERATION",), runs=() if linking.everything else linking.runs)
    )
    known = {source.id: source for source in known_sources(linking.solr)}
    alike: dict[tuple[str, str], list[str]] = defaultdict(list)
    for source in known.values():
        if source.id in arrived:
            alike[source.type, source.cluster].append(source.id)
    adopted = 0
    for awaited in list(graph.entities(_AWAITED, fields=VIEW)):
        if not awaited.text or awaited.source_id not in known:
            continue
        # Any source of the same type and cluster may report the operation: for a Hive statement, clients name the
        # metastore.
        named = known[awaited.source_id]
        others = sorted(set(alike[named.type, named.cluster]) - {named.id})
        sources = [*([named.id] if named.id in arrived else []), *others]
        if sources:
            shown = [each for each in graph.operations_of_text(awaited.text, sources) if not each.placeholder]
            if shown:
                _adopt(linking, awaited, shown[0])
                adopted += 1
    if adopted:
        linking.changes.commit()
    return adopted


def _adopt(linking: Linking, awaited: StoredEntity, shown: StoredEntity) -> None:
    # The order matters: if interrupted at any point, the next pass repeats the move.
    adopt_annotations(linking.solr, awaited.id, shown.id)
    relations = {each.id: each for each in linking.graph.relations(of=[awaited.id], fields=WHOLE)}
    for each in relations.values():
        at_other_end(linking.solr, each, awaited.id, shown, linking.now_ms)
    linking.changes.remove_relations({each.id: each.version for each in relations.values()}, linking.stamp)
    (now,) = linking.graph.entities_now([awaited.id], WHOLE).values()
    linking.changes.remove_entities({awaited.id: now.version}, linking.stamp)
