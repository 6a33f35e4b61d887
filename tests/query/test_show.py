"""Everything known about one entity."""

from __future__ import annotations

import json

import pytest

from navlin.index.solr.solr import Solr
from navlin.model.keys import RelationType, sub_operation_key
from navlin.query.column_flows import column_flows
from navlin.query.lineage import UnknownEntity
from navlin.query.show import LISTED, show
from tests.support.query_estate import AS_OF_MS, HIVE, IMPALA, SPARK, World


@pytest.fixture
def world(solr: Solr, request: pytest.FixtureRequest) -> World:
    return World(solr, request.node.name)


def test_fields_are_grouped_by_their_owners(world: World) -> None:
    table = world.table("t", owner="ann", weird="x")
    world.elements[table.identity].update(
        {"name": "Tee", "up_team": "a", "cp_ns.k": "b", "firstSeen": "2026-01-01T00:00:00Z"}
    )
    world.index()
    fields = show(world.solr, table.identity).fields
    assert fields.extractor["owner"] == "ann"
    assert fields.technical == {"tp_weird": ["x"]}
    assert fields.people == {"cp_ns.k": ["b"], "name": "Tee", "up_team": "a"}
    assert {"deleted", "asOf", "extractorRunId", "firstSeen", "writer"} <= fields.navlin.keys()
    every = {**fields.extractor, **fields.technical, **fields.people, **fields.linker, **fields.navlin}
    assert not {"identity", "digest", "_version_", "treePath"} & every.keys()


def test_relations_are_counted_in_full_and_listed_up_to_a_limit(world: World) -> None:
    a, b = world.table("a"), world.table("b")
    for number in range(LISTED + 3):
        world.operation(f"op {number}", [a], [b])
    gone = world.operation("gone", [], [b])
    world.relate(RelationType.DATA_FLOW, a, gone, writer=IMPALA, deleted=True)
    world.index()
    groups = {(group.type, group.incoming): group for group in show(world.solr, a.identity).relations}
    flows = groups[("DATA_FLOW", False)]
    assert (flows.count, flows.deleted, len(flows.listed)) == (LISTED + 3, 1, LISTED)
    assert not any(related.relation.deleted for related in flows.listed)
    assert groups[("PARENT_CHILD", True)].listed[0].end.name == "db"
    (withdrawn,) = [each for each in show(world.solr, gone.identity).relations if each.incoming]
    assert (withdrawn.count, withdrawn.deleted, withdrawn.listed[0].relation.deleted) == (0, 1, True)


def test_an_expression_is_shown_with_its_inputs_or_else_with_its_conditions(
    world: World,
) -> None:
    facts, made = world.table("facts", "amount", "country"), world.table("made", "revenue", "orders")
    parts = {"made.revenue": ["facts.amount"], "made.orders": []}
    operation = world.operation("sum", [facts], [made], parts=parts, steering_columns=["facts.country"])
    for name, expression in (("made.revenue", "sum(amount)"), ("made.orders", "count(1)")):
        world.entity(sub_operation_key(operation, name), expression=expression)
    world.index()

    def expressions(column: str) -> dict[str, tuple[str, ...]]:
        return {
            each.other.title: each.expressions
            for each in column_flows(world.solr, world.column(column).identity)
        }

    assert expressions("made.revenue") == {"db.facts.amount": ("sum(amount)",), "db.facts.country": ()}
    assert expressions("made.orders") == {"db.facts.country": ("count(1)",)}
    assert expressions("facts.country") == {"db.made.revenue": (), "db.made.orders": ()}


def test_a_relation_from_two_sources_is_listed_once(world: World) -> None:
    table, place = world.table("a"), world.path("/warehouse/a")
    for writer in (IMPALA, HIVE):
        world.relate(RelationType.LOGICAL_PHYSICAL, table, place, writer=writer)
    world.relate(RelationType.LOGICAL_PHYSICAL, table, place, writer=SPARK, deleted=True)
    world.index()
    (kept,) = [each for each in show(world.solr, table.identity).relations if each.type == "LOGICAL_PHYSICAL"]
    assert (kept.count, kept.deleted) == (1, 1)
    assert [(each.end.name, each.relation.deleted) for each in kept.listed] == [
        ("/warehouse/a", False),
        ("/warehouse/a", True),
    ]


def test_execution_counts_include_purged_ones(world: World) -> None:
    a, b = world.table("a"), world.table("b")
    operation = world.operation("b from a", [a], [b])
    world.execution(operation, "early", started=AS_OF_MS, principal="ann")
    world.index()
    for entity in (operation, b):
        runs = show(world.solr, entity.identity).executions
        assert (runs.count, runs.operations) == (1, 1)
        assert (runs.last, runs.last_principal) == ("2026-01-01T00:00:00.000Z", "ann")
    assert show(world.solr, a.identity).executions.count == 0
    world.elements[operation.identity].update(
        {"lastExecuted": "2026-02-01T00:00:00Z", "lastPrincipal": "bob", "purgedExecutions": 7}
    )
    world.index()
    for entity in (operation, b):
        runs = show(world.solr, entity.identity).executions
        assert (runs.count, runs.last, runs.last_principal) == (8, "2026-02-01T00:00:00.000Z", "bob")
        assert [run.own_name for run in runs.listed] == ["early"]


def test_unlinked_relations_are_reported_with_their_reason(world: World) -> None:
    operation = world.operation("x", [world.named("ghost")], [world.table("t")])
    world.index()
    shown = show(world.solr, operation.identity)
    (related,) = shown.unlinked
    unlinked = related.relation
    assert (shown.unlinked_count, unlinked.type, related.end.name, unlinked.unlinked_reason) == (
        1,
        "DATA_FLOW",
        "db.ghost",
        "no match",
    )


def test_an_unknown_id_is_an_error(world: World) -> None:
    with pytest.raises(UnknownEntity, match="nothing in the index has the id nobody"):
        show(world.solr, "nobody")


def test_the_json_form_lists_fields_relations_and_executions(world: World) -> None:
    table = world.table("t")
    world.index()
    answer = json.loads(json.dumps(show(world.solr, table.identity).to_json()))
    assert answer["name"] == "db.t"
    assert answer["fields"]["extractor"]["sourceId"] == world.sources[HIVE].id
    assert answer["relations"] == [
        {
            "type": "PARENT_CHILD",
            "direction": "in",
            "count": 1,
            "deleted": 0,
            "listed": [
                {
                    "id": table.parent.identity if table.parent else "",
                    "name": "db",
                    "label": "db",
                    "type": "DATABASE",
                    "deleted": False,
                    "unlinked": False,
                    "reason": None,
                    "since": None,
                }
            ],
        }
    ]
    assert answer["executions"] == {
        "count": 0,
        "operations": 0,
        "last": None,
        "lastPrincipal": None,
        "listed": [],
    }
    assert answer["unlinked"] == {"count": 0, "listed": []}
