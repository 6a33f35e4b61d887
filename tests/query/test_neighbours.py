"""One hop of a walk splits many ids into batches read in parallel, with the same result as a single request."""

from __future__ import annotations

import uuid
from typing import Any

from navlin.index.graph.graph import Graph
from navlin.index.graph.neighbours import IDS_A_PART, PARTS, Wanted
from navlin.index.schema.fields import RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.keys import RelationType

FLOWS = (RelationType.DATA_FLOW.value,)
COUNT = IDS_A_PART * PARTS + 1


def relation(name: str, sources: list[str], target: str, **fields: Any) -> dict[str, Any]:
    ends = {"endpoint1Ids": sources, "endpoint2Ids": [target]}
    return {"identity": name, "type": FLOWS[0], **ends, "deleted": False, **fields}


def indexed(solr: Solr, *relations: dict[str, Any]) -> Graph:
    assert not solr.add(RELATIONS, relations).refused
    solr.commit(RELATIONS, soft=True)
    return Graph(solr)


def test_each_id_gets_its_own_relations_in_order(solr: Solr) -> None:
    world = uuid.uuid4().hex
    ids = [f"{world}-{number}" for number in range(COUNT)]
    flows = [
        relation(f"{world}-{name}-{number}", [one], f"{world}-{name}")
        for number, one in enumerate(ids)
        for name in "ba"
    ]
    graph = indexed(solr, *flows)
    (found,) = graph.neighbours([Wanted(ids, 1, FLOWS, 10)])
    assert list(found.relations) == sorted(ids, key=lambda one: f"{world}-a-{one.rpartition('-')[2]}")
    for one, of_one in found.relations.items():
        assert [each.ep1.id for each in of_one] == [one, one]
        assert [each.ep2.id for each in of_one] == [f"{world}-a", f"{world}-b"]
    assert not found.cut


def test_a_relation_with_ids_in_both_batches_is_read_once(solr: Solr) -> None:
    world = uuid.uuid4().hex
    ids = [f"{world}-{number}" for number in range(COUNT)]
    # The ids are adjacent, but in different batches.
    graph = indexed(solr, relation(f"{world}-both", ids[:2], f"{world}-end"))
    (found,) = graph.neighbours([Wanted(ids, 1, FLOWS, 1)])
    assert {one: len(of_one) for one, of_one in found.relations.items()} == {ids[0]: 1, ids[1]: 1}
    assert not found.cut


def test_concurrent_hops_are_independent(solr: Solr) -> None:
    world = uuid.uuid4().hex
    ids = [f"{world}-{number}" for number in range(COUNT)]
    graph = indexed(
        solr,
        relation(f"{world}-flow", [ids[0]], ids[-1]),
        relation(f"{world}-location", [ids[0]], ids[-1], type=RelationType.LOGICAL_PHYSICAL.value),
        relation(f"{world}-gone", [ids[1]], ids[-1], deleted=True),
    )
    wanted = [
        Wanted(ids, 1, FLOWS, 10),
        Wanted(ids, 2, FLOWS, 10),
        Wanted(ids[:1], 1, (RelationType.LOGICAL_PHYSICAL.value,), 10),
        Wanted(ids[1:2], 1, FLOWS, 10),
    ]
    found = [
        {one: [each.id for each in of_one] for one, of_one in each.relations.items()}
        for each in graph.neighbours(wanted)
    ]
    flow = [f"{world}-flow"]
    assert found == [{ids[0]: flow}, {ids[-1]: flow}, {ids[0]: [f"{world}-location"]}, {}]


def test_duplicate_edges_merge_into_the_most_certain_one(solr: Solr) -> None:
    world = uuid.uuid4().hex
    start, end = f"{world}-start", f"{world}-end"
    graph = indexed(
        solr,
        relation(f"{world}-1", [start], end, inferred=True, unlinked=True),
        relation(f"{world}-2", [start], end, incomplete=True),
    )
    (found,) = graph.neighbours([Wanted([start], 1, FLOWS, 1)])
    (one,) = found.relations[start]
    assert (one.inferred, one.unlinked, one.incomplete) == (False, False, True)
    assert not found.cut


def test_relations_beyond_the_fan_out_limit_are_cut_and_reported(solr: Solr) -> None:
    world = uuid.uuid4().hex
    flows = [relation(f"{world}-{number}", [f"{world}-hub"], f"{world}-end-{number}") for number in range(3)]
    graph = indexed(solr, *flows)
    (found,) = graph.neighbours([Wanted([f"{world}-hub"], 1, FLOWS, 2)])
    assert [each.id for each in found.relations[f"{world}-hub"]] == [f"{world}-0", f"{world}-1"]
    assert found.cut == {f"{world}-hub"}
