"""Lineage: the entities shown around a start, and those that are passed through without being shown."""

from __future__ import annotations

import gc
import itertools
import json

import pytest

from navlin.index.schema.fields import RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.keys import EntityType, Key, RelationType, column_key, operation_key, partition_key
from navlin.query.answer import CutReason, Direction, Edge, Lineage
from navlin.query.lineage import Uncollected, UnknownEntity, lineage
from navlin.query.options import WalkOptions
from navlin.query.show import show
from tests.support.both_ways import asked_both_ways
from tests.support.folded_lineage import fold
from tests.support.query_estate import HDFS, HIVE, IMPALA, SPARK, World

NUMBERS = itertools.count(1)


@pytest.fixture
def world(solr: Solr) -> World:
    return World(solr, f"walk-{next(NUMBERS)}")


def ask(world: World, start: Key, **options: object) -> Lineage:
    return asked_both_ways(world.solr, start.identity, WalkOptions(**options))  # type: ignore[arg-type] # options by name


def short(name: str) -> str:
    return name.removeprefix("db.")


def arrows(answer: Lineage, *, kinds: bool = False) -> set[str]:
    """``a -> b`` for data flow, ``a ~> b`` for control flow, ``a = b`` for a table and its location, ``a : b`` for
    INSTANCE_OF.
    """
    names = {node.id: short(node.name) for node in answer.nodes}
    signs = {"DATA_FLOW": "->", "CONTROL_FLOW": "~>", "LOGICAL_PHYSICAL": "=", "INSTANCE_OF": ":"}
    return {f"{names[e.source]} {signs[e.type]} {names[e.target]}" for e in answer.edges}


def names(answer: Lineage) -> set[str]:
    return {short(node.name) for node in answer.nodes}


def edge(answer: Lineage, source: str, target: str) -> Edge:
    ids = {short(node.name): node.id for node in answer.nodes}
    (found,) = [each for each in answer.edges if (each.source, each.target) == (ids[source], ids[target])]
    return found


def via(edge: Edge) -> list[str]:
    return [short(hop.name) for hop in edge.via]


def cuts(answer: Lineage) -> set[tuple[str, str, str]]:
    return {(short(cut.name), cut.direction.value, cut.reason.value) for cut in answer.truncated_at}


# -- The example of "Generating Lineage Diagrams": temporary tables --------------------------------------------------


@pytest.fixture
def merge(world: World) -> Key:
    """temp_sample_07 was extracted and then dropped; temp_sample_08 was never extracted."""
    sample_07, sample_08 = (
        world.table("sample_07", "code", "salary"),
        world.table("sample_08", "code", "salary"),
    )
    temp_07, temp_08 = (
        world.table("temp_sample_07", "code", "salary", deleted=True),
        world.named("temp_sample_08"),
    )
    merged = world.table("sample_merge", "code", "salary")
    for number, sample, temp in (("07", sample_07, temp_07), ("08", sample_08, temp_08)):
        world.operation(
            f"create table temp_sample_{number} as table sample_{number}",
            [sample],
            [temp],
            parts={f"temp_sample_{number}.{c}": [f"sample_{number}.{c}"] for c in ("code", "salary")},
        )
        world.operation(
            f"insert into sample_merge table temp_sample_{number}",
            [temp],
            [merged],
            parts={f"sample_merge.{c}": [f"temp_sample_{number}.{c}"] for c in ("code", "salary")},
        )
    world.index()
    return merged


def test_by_default_sample_merge_comes_from_sample_07(world: World, merge: Key) -> None:
    answer = ask(world, merge)
    assert arrows(answer) == {"sample_07 -> sample_merge"}
    assert via(edge(answer, "sample_07", "sample_merge")) == [
        "create table temp_sample_07 as table sample_07",
        "temp_sample_07",
        "insert into sample_merge table temp_sample_07",
    ]
    assert answer.unlinked == 1
    assert not answer.truncated


def test_with_deleted_entities_the_temporary_table_appears(world: World, merge: Key) -> None:
    answer = ask(world, merge, deleted=True)
    assert arrows(answer) == {"sample_07 -> temp_sample_07", "temp_sample_07 -> sample_merge"}
    assert {short(node.name) for node in answer.nodes if node.deleted} == {"temp_sample_07"}


def test_with_operations_both_inserts_appear_and_the_second_lacks_its_input(world: World, merge: Key) -> None:
    create, insert = (
        "create table temp_sample_07 as table sample_07",
        "insert into sample_merge table temp_sample_07",
    )
    other = "insert into sample_merge table temp_sample_08"
    answer = ask(world, merge, operations=True)
    assert arrows(answer) == {
        f"sample_07 -> {create}",
        f"{create} -> {insert}",
        f"{insert} -> sample_merge",
        f"{other} -> sample_merge",
    }
    assert via(edge(answer, create, insert)) == ["temp_sample_07"]
    unlinked = {short(node.name): node.unlinked for node in answer.nodes if node.unlinked}
    assert unlinked == {other: 1}
    everything = ask(world, merge, operations=True, deleted=True)
    assert "temp_sample_07" in names(everything)
    assert f"{create} -> temp_sample_07" in arrows(everything)


def test_with_unlinked_the_uncaptured_table_joins_both_statements(world: World, merge: Key) -> None:
    answer = ask(world, merge, unlinked=True)
    assert arrows(answer) == {
        "sample_07 -> sample_merge",
        "sample_08 -> temp_sample_08",
        "temp_sample_08 -> sample_merge",
    }
    (placeholder,) = [node for node in answer.nodes if node.placeholder]
    assert (short(placeholder.name), placeholder.type) == ("temp_sample_08", "TABLE")
    assert answer.unlinked == 0


def test_lineage_may_start_at_an_uncaptured_table(world: World, merge: Key) -> None:
    temp = world.named("temp_sample_08")
    with pytest.raises(UnknownEntity):
        ask(world, temp)
    answer = ask(world, temp, unlinked=True)
    assert arrows(answer) == {"sample_08 -> temp_sample_08", "temp_sample_08 -> sample_merge"}
    assert answer.nodes[0].placeholder


def test_columns_are_contracted_like_their_tables(world: World, merge: Key) -> None:
    answer = ask(world, merge, columns=True)
    assert arrows(answer) == {
        "sample_07 -> sample_merge",
        "sample_07.code -> sample_merge.code",
        "sample_07.salary -> sample_merge.salary",
    }
    assert (
        ask(world, merge, columns=True, unlinked=True)
        .node(world.column("temp_sample_08.code").identity)
        .placeholder
    )


# -- Shapes ----------------------------------------------------------------------------------------------------------


def chain(world: World, *tables: str) -> list[Key]:
    keys = [world.table(name) for name in tables]
    for source, target in itertools.pairwise(keys):
        world.operation(f"{target.name} from {source.name}", [source], [target])
    return keys


def test_both_directions_are_walked_unless_one_is_given(world: World) -> None:
    a, b, c = chain(world, "a", "b", "c")
    world.index()
    assert arrows(ask(world, b)) == {"a -> b", "b -> c"}
    assert arrows(ask(world, b, direction=Direction.UPSTREAM)) == {"a -> b"}
    assert arrows(ask(world, b, direction=Direction.DOWNSTREAM)) == {"b -> c"}
    assert [short(node.name) for node in ask(world, b).nodes] == ["b", "a", "c"]
    assert a.identity != c.identity


def test_other_outputs_of_an_input_are_not_lineage_of_the_start(world: World) -> None:
    a, b, c, d = (world.table(name) for name in "abcd")
    world.operation("b and c from a", [a], [b, c])
    world.operation("c from d", [d], [c])
    world.index()
    assert arrows(ask(world, b)) == {"a -> b"}
    assert arrows(ask(world, a)) == {"a -> b", "a -> c"}


def test_a_cycle_is_kept_and_terminates(world: World) -> None:
    keys = chain(world, "a", "b", "c")
    world.operation("back", [keys[2]], [keys[0]])
    world.index()
    cycle = {"a -> b", "b -> c", "c -> a"}
    for start in keys:
        for direction in Direction:
            assert arrows(ask(world, start, direction=direction)) == cycle


def test_a_self_insert_is_a_loop(world: World) -> None:
    a, b = world.table("a"), world.table("b")
    own = world.operation("insert into a select * from a join b", [a, b], [a])
    world.index()
    assert arrows(ask(world, a)) == {"a -> a", "b -> a"}
    text = "insert into a select * from a join b"
    assert arrows(ask(world, a, operations=True)) == {f"a -> {text}", f"b -> {text}", f"{text} -> a"}
    assert arrows(ask(world, own)) == {f"a -> {text}", f"b -> {text}", f"{text} -> a", "a -> a", "b -> a"} - {
        "a -> a",
        "b -> a",
    }


def test_depth_counts_drawn_hops_per_side_and_reports_more(world: World) -> None:
    keys = chain(world, "a", "b", "c", "d", "e")
    world.index()
    answer = ask(world, keys[1], depth=1)
    assert arrows(answer) == {"a -> b", "b -> c"}
    assert cuts(answer) == {("c", "downstream", "depth")}
    assert answer.truncated
    assert arrows(ask(world, keys[1], depth=3)) == {"a -> b", "b -> c", "c -> d", "d -> e"}
    assert not ask(world, keys[1], depth=3).truncated
    shown = ask(world, keys[1], depth=1, operations=True)
    assert arrows(shown) == {"b from a -> b", "b -> c from b"}
    assert cuts(shown) == {
        ("b from a → db.b", "upstream", "depth"),
        ("c from b → db.c", "downstream", "depth"),
    }
    assert cuts(ask(world, keys[1], depth=0)) == {("b", "upstream", "depth"), ("b", "downstream", "depth")}


def test_named_nodes_are_expanded_by_one_more_hop(world: World) -> None:
    keys = {name: world.table(name) for name in ("far", "a", "b", "start", "x", "y", "z")}
    for source, target in (
        ("far", "a"), ("a", "start"), ("b", "start"), ("far", "b"), ("start", "x"), ("x", "y"), ("y", "z")
    ):  # fmt: skip
        world.operation(f"{target} from {source}", [keys[source]], [keys[target]])
    world.index()

    def going_on(*names_of_nodes: str) -> Lineage:
        ids = frozenset(keys[name].identity for name in names_of_nodes)
        return ask(world, keys["start"], depth=1, go_on=ids)

    assert arrows(going_on()) == {"a -> start", "b -> start", "start -> x"}
    once = going_on("x")
    assert arrows(once) == {"a -> start", "b -> start", "start -> x", "x -> y"}
    assert cuts(once) == {
        ("a", "upstream", "depth"),
        ("b", "upstream", "depth"),
        ("y", "downstream", "depth"),
    }
    assert arrows(going_on("x", "y")) == {"a -> start", "b -> start", "start -> x", "x -> y", "y -> z"}
    assert "y -> z" not in arrows(going_on("y")), "y is not shown, so nothing goes on there"
    assert arrows(going_on("a")) == {"far -> a", "far -> b", "a -> start", "b -> start", "start -> x"}
    assert cuts(going_on("a")) == {("x", "downstream", "depth")}


def test_a_deleted_intermediate_table_does_not_count_in_the_depth(world: World) -> None:
    a, b, c = world.table("a"), world.table("b", deleted=True), world.table("c")
    world.operation("b from a", [a], [b])
    world.operation("c from b", [b], [c])
    world.index()
    assert arrows(ask(world, c, depth=1)) == {"a -> c"}
    assert not ask(world, c, depth=1).truncated
    assert arrows(ask(world, c, depth=1, deleted=True)) == {"b -> c"}


def test_a_deleted_start_is_drawn(world: World) -> None:
    a, b = world.table("a"), world.table("b", deleted=True)
    world.operation("b from a", [a], [b])
    world.index()
    answer = ask(world, b)
    assert arrows(answer) == {"a -> b"}
    assert answer.nodes[0].deleted


def test_a_deleted_relation_is_not_walked(world: World) -> None:
    a, b = world.table("a"), world.table("b")
    operation = world.operation("b", [], [b])
    world.relate(RelationType.DATA_FLOW, a, operation, writer=IMPALA, deleted=True)
    world.index()
    assert arrows(ask(world, b)) == set()
    assert arrows(ask(world, b, deleted=True)) == set()


def test_a_relation_is_walked_once_it_is_linked(world: World) -> None:
    a, b = world.table("a"), world.table("b")
    world.operation("b from a", [a], [b])
    world.index()
    (claim,) = [
        each
        for each in world.relations.values()
        if each["endpoint1Ids"] == [a.identity] and "claimedIds" in each
    ]
    claim["unlinked"] = True
    world.solr.add(RELATIONS, [claim])
    world.solr.commit(RELATIONS, soft=True)
    answer = ask(world, b)
    assert (arrows(answer), answer.unlinked) == (set(), 1)
    assert arrows(ask(world, b, unlinked=True)) == {"a -> b"}


def test_a_column_is_drawn_only_along_a_flow_of_its_table(world: World) -> None:
    a, b, c = world.table("a", "x"), world.table("b", "y"), world.table("c", "z")
    world.operation("b and c", [a], [b, c], parts={"b.y": ["a.x"], "c.z": ["a.x", "b.y"]})
    world.index()
    answer = ask(world, c, columns=True)
    assert arrows(answer) == {"a -> c", "a.x -> c.z"}
    assert (
        ask(world, b, columns=True, direction=Direction.UPSTREAM).edges[-1].target
        == world.column("b.y").identity
    )


def test_a_flow_stated_by_two_sources_is_drawn_once(world: World) -> None:
    a, b = world.table("a"), world.table("b")
    world.relate(RelationType.DATA_FLOW, a, b, writer=HIVE, inferred=True)
    world.relate(RelationType.DATA_FLOW, a, b, writer=SPARK, incomplete=True)
    world.index()
    (only,) = ask(world, b).edges
    assert (only.via, only.inferred, only.incomplete, only.parsed) == ((), False, True, False)


def test_a_contracted_edge_is_as_certain_as_its_weakest_hop(world: World) -> None:
    a, b = world.table("a"), world.table("b")
    operation = world.operation("b", [], [b])
    world.relate(RelationType.DATA_FLOW, a, operation, writer=IMPALA, parsed=True, incomplete=True)
    world.index()
    (only,) = ask(world, b).edges
    assert (only.inferred, only.incomplete, only.parsed) == (False, True, True)


@pytest.mark.parametrize("indexed", [True, False], ids=["indexed", "only named by relations"])
def test_an_operation_that_leads_to_another_is_passed_through(world: World, indexed: bool) -> None:
    a, b = world.table("a"), world.table("b")
    first, second = world.operation("first", [a]), world.operation("second", [], [b])
    world.relate(RelationType.DATA_FLOW, first, second, writer=IMPALA)
    if not indexed:
        del world.elements[first.identity], world.elements[second.identity]
    world.index()
    for start in (a, b):
        (only,) = ask(world, start).edges
        assert (only.source, only.target) == (a.identity, b.identity)
        assert len(via(only)) == 2
        if indexed:
            assert via(only) == ["first", "second"]


def test_an_operation_met_twice_has_the_name_from_a_relation(world: World) -> None:
    a, b, c = (world.table(name) for name in "abc")
    first, second = world.operation("first", [a]), world.operation("second", [b], [c])
    world.operation("b from a", [a], [b])
    world.relate(RelationType.DATA_FLOW, first, second, writer=IMPALA)
    del world.elements[first.identity], world.elements[second.identity]
    world.index()
    answer = ask(world, a)
    assert via(edge(answer, "b", "c")) == ["second"]


def test_a_granted_table_is_an_ordinary_table(world: World) -> None:
    a, b = world.granted(world.named("a")), world.table("b")
    world.operation("b from a", [a], [b])
    world.index()
    answer = ask(world, b)
    assert arrows(answer) == {"a -> b"}
    assert [node.granted for node in answer.nodes] == [False, True]


def test_an_unknown_id_is_an_error(world: World) -> None:
    with pytest.raises(UnknownEntity, match="no-such-id"):
        lineage(world.solr, "no-such-id")


# -- Operations and executions -----------------------------------------------------------------------------------------


def test_a_select_is_drawn_only_from_its_operation(world: World) -> None:
    _, b, c = chain(world, "a", "b", "c")
    select = world.operation("select * from b", [b], [])
    world.index()
    assert arrows(ask(world, b, operations=True)) == {
        "a -> b from a",
        "b from a -> b",
        "b -> c from b",
        "c from b -> c",
    }
    assert arrows(ask(world, select)) == {"a -> b", "b -> select * from b"}
    assert c.name not in names(ask(world, select))


def test_an_operation_with_an_uncaptured_output_is_drawn(world: World) -> None:
    a = world.table("a")
    world.operation("create temp from a", [a], [world.named("temp")])
    world.index()
    answer = ask(world, a, operations=True)
    assert arrows(answer) == {"a -> create temp from a"}
    assert answer.unlinked == 1
    assert arrows(ask(world, a)) == set()


def test_all_executions_of_an_operation_are_drawn_on_request(world: World) -> None:
    a, b = world.table("a"), world.table("b")
    operation = world.operation("b from a", [a], [b])
    for number in range(12):
        world.execution(operation, f"run-{number}")
    world.index()

    latest, everything = ask(world, operation), ask(world, operation, all_executions=True)
    assert sum(edge.type == "INSTANCE_OF" for edge in latest.edges) == 10
    assert sum(edge.type == "INSTANCE_OF" for edge in everything.edges) == 12
    assert not everything.truncated


def test_executions_are_drawn_only_around_their_operation(world: World) -> None:
    a, b = world.table("a"), world.table("b")
    operation = world.operation("b from a", [a], [b])
    runs = [world.execution(operation, f"run {number:02}") for number in range(12)]
    world.index()
    assert arrows(ask(world, b, operations=True)) == {"a -> b from a", "b from a -> b"}
    answer = ask(world, operation)
    assert {"a -> b from a", "b from a -> b", "b from a : run 03"} <= arrows(answer)
    assert sum(node.type == "OPERATION_EXECUTION" for node in answer.nodes) == 10
    assert cuts(answer) == {("b from a → db.b", "downstream", "executions")}
    assert arrows(ask(world, runs[0])) == {"a -> b from a", "b from a -> b", "b from a : run 00"}


def test_a_deleted_operation_is_passed_through(world: World) -> None:
    a, b = world.table("a"), world.table("b")
    world.operation("b from a", [a], [b], deleted=True)
    world.index()
    assert arrows(ask(world, b, operations=True)) == {"a -> b"}


# -- Control flow ------------------------------------------------------------------------------------------------------


def test_control_flow_is_drawn_on_request(world: World) -> None:
    a, b, c, d = (world.table(name) for name in "abcd")
    world.operation("c from a where b", [a], [c], steered_by=[b])
    world.operation("d from c", [c], [d])
    world.index()
    assert arrows(ask(world, d)) == {"c -> d", "a -> c"}
    assert arrows(ask(world, d, control_flow=True)) == {"c -> d", "a -> c", "b ~> c"}
    assert arrows(ask(world, b)) == set()
    assert arrows(ask(world, b, control_flow=True)) == {"b ~> c", "c -> d"}


def test_a_contracted_edge_with_any_data_path_is_a_data_flow(world: World) -> None:
    a, b = world.table("a"), world.table("b")
    world.operation("b where a", [], [b], steered_by=[a])
    world.operation("b from a", [a], [b])
    world.index()
    assert arrows(ask(world, b, control_flow=True)) == {"a -> b"}


def test_control_flow_through_a_deleted_table_stays_control_flow(world: World) -> None:
    a, b, c = world.table("a"), world.table("b", deleted=True), world.table("c")
    world.operation("b where a", [], [b], steered_by=[a])
    world.operation("c from b", [b], [c])
    world.index()
    assert arrows(ask(world, c, control_flow=True)) == {"a ~> c"}


# -- Columns -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def sales(world: World) -> dict[str, Key]:
    """total.amount is written from orders.amount, filtered by customers.region and orders.customer; report.total is
    written from total.amount.
    """
    keys = {
        "orders": world.table("orders", "amount", "customer", "note"),
        "customers": world.table("customers", "id", "region"),
        "total": world.table("total", "amount", "day"),
        "report": world.table("report", "total"),
    }
    world.operation(
        "total from orders",
        [keys["orders"]],
        [keys["total"]],
        steered_by=[keys["customers"]],
        parts={"total.amount": ["orders.amount"], "total.day": []},
        steering_columns=["customers.region", "orders.customer"],
    )
    world.operation(
        "report from total", [keys["total"]], [keys["report"]], parts={"report.total": ["total.amount"]}
    )
    world.index()
    return keys


def test_columns_are_drawn_inside_their_tables(world: World, sales: dict[str, Key]) -> None:
    answer = ask(world, sales["report"], columns=True)
    assert arrows(answer) == {
        "orders -> total",
        "total -> report",
        "orders.amount -> total.amount",
        "total.amount -> report.total",
    }
    by_name = {short(node.name): node for node in answer.nodes}
    assert by_name["orders.amount"].parent == by_name["orders"].id
    assert "orders.note" not in by_name
    steered = ask(world, sales["report"], columns=True, control_flow=True)
    assert arrows(steered) - arrows(answer) == {
        "customers ~> total",
        "customers.region ~> total.amount",
        "customers.region ~> total.day",
        "orders.customer ~> total.amount",
        "orders.customer ~> total.day",
    }


@pytest.mark.parametrize("operations", [False, True])
@pytest.mark.parametrize("control_flow", [False, True])
@pytest.mark.parametrize("table", ["orders", "customers", "total", "report"])
def test_folded_columns_equal_the_tables_lineage(
    world: World, sales: dict[str, Key], table: str, operations: bool, control_flow: bool
) -> None:
    def asked(*, columns: bool) -> Lineage:
        return ask(world, sales[table], columns=columns, operations=operations, control_flow=control_flow)

    tables, columns = asked(columns=False), asked(columns=True)
    assert arrows(fold(columns)) == arrows(tables)
    assert names(fold(columns)) == names(tables)
    inner = [each for each in columns.edges if columns.node(each.source).parent]
    folded = fold(Lineage(columns.start, columns.direction, columns.nodes, tuple(inner)))
    pairs = {(each.source, each.target) for each in tables.edges}
    assert {(each.source, each.target) for each in folded.edges} <= pairs


def test_a_column_has_a_lineage_of_columns(world: World, sales: dict[str, Key]) -> None:
    answer = ask(world, world.column("report.total"))
    assert arrows(answer) == {"orders.amount -> total.amount", "total.amount -> report.total"}
    assert names(answer) == {"report.total", "total.amount", "orders.amount", "report", "total", "orders"}
    assert arrows(fold(answer)) == {"orders -> total", "total -> report"}
    assert "total.day" not in names(answer)
    steered = ask(world, world.column("report.total"), control_flow=True)
    assert arrows(steered) - arrows(answer) == {
        "customers.region ~> total.amount",
        "orders.customer ~> total.amount",
    }
    shown = ask(world, world.column("total.amount"), operations=True, direction=Direction.UPSTREAM)
    (part,) = [node for node in shown.nodes if node.type == "SUB_OPERATION"]
    assert {(e.source, e.target) for e in shown.edges} == {
        (world.column("orders.amount").identity, part.id),
        (part.id, world.column("total.amount").identity),
    }


def test_a_column_written_by_a_job_shows_its_contributing_tables(world: World) -> None:
    """The job's columns are unknown, so each table that it read contributes to every column that it wrote."""
    a, b, c = world.table("a", "x"), world.table("b", "y"), world.table("c", "z")
    world.operation("job", [a], [b], engine=SPARK)
    world.operation("c from b", [b], [c], parts={"c.z": ["b.y"]})
    world.index()
    assert arrows(ask(world, world.column("c.z"))) == {"b.y -> c.z", "a -> b.y"}
    assert arrows(ask(world, world.column("a.x"))) == {"a.x -> b"} | {"b -> c"}


def test_columns_unknown_to_an_operation_are_linked_to_whole_tables(world: World) -> None:
    a, b = world.table("a", "x", "y"), world.table("b", "told", "untold")
    world.operation("job", [a], [b], engine=SPARK, parts={"b.told": ["a.x"]}, incomplete=True)
    world.index()
    reported, untold = ask(world, world.column("b.told")), ask(world, world.column("b.untold"))
    assert arrows(reported) == {"a.x -> b.told"}
    assert arrows(untold) == {"a -> b.untold"}
    assert edge(untold, "a", "b.untold").incomplete
    assert arrows(ask(world, world.column("a.x"))) == {"a.x -> b.told"}
    assert arrows(ask(world, world.column("a.y"))) == {"a.y -> b"}
    assert edge(ask(world, world.column("a.y")), "a.y", "b").incomplete


# -- Locations ---------------------------------------------------------------------------------------------------------


def test_a_location_shows_its_table_but_not_the_reverse(world: World) -> None:
    a, b = chain(world, "a", "b")
    directory = world.path("/warehouse/b")
    world.located(b, directory)
    world.index()
    assert arrows(ask(world, b)) == {"a -> b"}
    answer = ask(world, directory)
    assert arrows(answer) == {"b = /warehouse/b", "a -> b"}
    assert a.name in names(answer)


def test_a_file_shows_its_table_even_if_no_job_named_it(world: World) -> None:
    a, b = chain(world, "a", "b")
    world.located(a, world.path("/warehouse"))
    world.located(b, world.path("/warehouse/b"))
    day = world.path("/warehouse/b/ds=1")
    file, neighbour = (
        world.path(f"/warehouse/{name}/part-0", kind=EntityType.FILE) for name in ("b/ds=1", "b_old")
    )
    world.index()

    assert arrows(ask(world, file)) == {"b = /warehouse/b/ds=1/part-0", "a -> b"}
    assert [each.inferred for each in ask(world, file).edges if each.type == "LOGICAL_PHYSICAL"] == [True]
    assert [each.inferred for each in ask(world, day).edges if each.type == "LOGICAL_PHYSICAL"] == [False]
    assert "a = /warehouse/b_old/part-0" in arrows(ask(world, neighbour))


def by_path(world: World, *, deleted: bool = False) -> dict[str, Key]:
    """Flows by path: a → job 1 → /warehouse/t, the location of t; t → job 2 → c; /warehouse/t/ds=1 → job 3 → d."""
    a, c, d = (world.table(name) for name in "acd")
    t = world.table("t", deleted=deleted)
    directory, inner = world.path("/warehouse/t"), world.path("/warehouse/t/ds=1")
    world.located(t, directory)
    world.located(t, inner, inferred=True)
    world.operation("job 1", [a], [directory], engine=SPARK)
    world.operation("job 2", [t], [c], engine=SPARK)
    world.operation("job 3", [inner], [d], engine=SPARK)
    world.index()
    return {"a": a, "t": t, "c": c, "d": d, "directory": directory, "inner": inner}


def test_writing_by_path_and_reading_by_name_is_one_lineage(world: World) -> None:
    keys = by_path(world)
    expected = {"a -> t", "t -> c", "t -> d"}
    answer = ask(world, keys["t"])
    assert arrows(answer) == expected
    assert via(edge(answer, "a", "t")) == ["job 1", "/warehouse/t"]
    assert via(edge(answer, "t", "d")) == ["/warehouse/t/ds=1", "job 3"]
    assert (edge(answer, "t", "d").inferred, edge(answer, "a", "t").inferred) == (True, False)
    assert arrows(ask(world, keys["a"])) == expected
    assert arrows(ask(world, keys["c"])) == {"a -> t", "t -> c"}
    assert arrows(ask(world, keys["d"])) == {"a -> t", "t -> d"}
    assert arrows(ask(world, keys["a"], depth=1)) == {"a -> t"}
    assert cuts(ask(world, keys["a"], depth=1)) == {("t", "downstream", "depth")}
    shown = arrows(ask(world, keys["c"], operations=True))
    assert shown == {"a -> job 1", "job 1 -> t", "t -> job 2", "job 2 -> c"}


def test_lineage_from_the_location_draws_both(world: World) -> None:
    keys = by_path(world)
    answer = ask(world, keys["directory"])
    assert arrows(answer) == {"t = /warehouse/t", "a -> /warehouse/t", "t -> c", "t -> d"}
    assert answer.node(keys["t"].identity).type == "TABLE"


def test_the_location_of_a_deleted_table_is_drawn_instead(world: World) -> None:
    """If something flowed through the table by its path, the location is shown in place of the table."""
    keys = by_path(world, deleted=True)
    assert arrows(ask(world, keys["c"])) == {"a -> /warehouse/t", "/warehouse/t -> c"}
    assert arrows(ask(world, keys["c"], deleted=True)) == {"a -> t", "t -> c"}


def test_a_path_without_a_table_is_drawn(world: World) -> None:
    a, b = world.path("/in"), world.path("/out", kind=EntityType.FILE)
    world.operation("copy", [a], [b], engine=SPARK)
    world.index()
    assert arrows(ask(world, b)) == {"/in -> /out"}


def test_flows_through_a_partitions_location_are_those_of_its_table(world: World) -> None:
    """This holds whether the partition is below the table's location or elsewhere."""
    t, c = world.table("t", partitionColNames=["ds"]), world.table("c")
    other = world.table("t_other", partitionColNames=["ds"])
    world.located(t, world.path("/warehouse/t"))
    world.located(other, world.path("/warehouse/t_other"))
    directories = [
        world.path("/warehouse/t/ds=1"),
        world.path("/archive/ds=2"),
        world.path("/warehouse/t_other/ds=1"),
    ]
    for number, (table, directory) in enumerate(zip((t, t, other), directories, strict=True), 1):
        partition = world.entity(partition_key(table, f"ds={number}"))
        world.located(partition, directory)
        world.operation(f"write {number}", [world.path(f"/in{number}")], [directory], engine=SPARK)
        world.operation(f"read {number}", [directory], [world.path(f"/out{number}")], engine=SPARK)
    world.operation("c from t", [t], [c])
    world.index()
    around_t = {"/in1 -> t", "/in2 -> t", "t -> /out1", "t -> /out2", "t -> c"}
    assert arrows(ask(world, t)) == around_t
    assert arrows(ask(world, c)) == {"/in1 -> t", "/in2 -> t", "t -> c"}
    assert arrows(ask(world, world.path("/in1"))) == {"/in1 -> t", "t -> /out1", "t -> /out2", "t -> c"}
    assert arrows(ask(world, directories[0])) == {
        "t = /warehouse/t/ds=1",
        "/in1 -> /warehouse/t/ds=1",
        "/warehouse/t/ds=1 -> /out1",
        "/in2 -> t",
        "t -> /out2",
        "t -> c",
    }
    assert via(edge(ask(world, t), "/in2", "t")) == ["write 2", "/archive/ds=2"]


@pytest.mark.parametrize("name", ["AND", "OR", "NOT", "a) OR (*:*"])
def test_query_keywords_are_ordinary_names(world: World, name: str) -> None:
    t, c = world.table(name, "x", partitionColNames=["ds"]), world.table("c", "x")
    world.located(t, world.path(f"/{name}"))
    inside, outside = world.path(f"/{name}/ds=1"), world.path("/archive/ds=2")
    for number, directory in enumerate((inside, outside), 1):
        world.located(world.entity(partition_key(t, f"ds={number}")), directory)
        world.operation(f"write {number}", [world.path(f"/in{number}")], [directory], engine=SPARK)
    world.operation(name, [t], [c])
    world.index()
    answer = ask(world, t, columns=True)
    assert arrows(answer) == {f"/in1 -> {name}", f"/in2 -> {name}", f"{name} -> c"}
    assert via(edge(answer, name, "c")) == [name]
    shown = show(world.solr, t.identity)
    assert (shown.entity.name, shown.executions.operations) == (f"db.{name}", 0)


def test_a_partition_has_the_lineage_of_its_table(world: World) -> None:
    t, c = world.table("t", partitionColNames=["ds"]), world.table("c")
    partition = world.entity(partition_key(t, "ds=1"))
    world.operation("c from t", [t], [c])
    world.index()
    answer = ask(world, partition)
    assert arrows(answer) == {"t -> c"}
    assert answer.nodes[0].parent == t.identity


def test_location_hints_are_ignored_if_the_tables_source_gives_one(world: World) -> None:
    a, t, u = world.table("a"), world.table("t"), world.table("u")
    world.located(t, world.path("/new"))
    for table in (t, u):
        world.relate(RelationType.LOGICAL_PHYSICAL, table, world.path("/old"), writer=IMPALA)
    world.operation("job", [a], [world.path("/old")], engine=SPARK)
    world.index()
    assert arrows(ask(world, t)) == set()
    assert arrows(ask(world, u)) == {"a -> u"}
    assert arrows(ask(world, a)) == {"a -> u"}


# -- Limits ------------------------------------------------------------------------------------------------------------


def star(world: World, count: int) -> Key:
    """A table that is read by ``count`` statements; each statement writes a different table."""
    hub = world.table("hub")
    for number in range(count):
        world.operation(f"op {number}", [hub], [world.table(f"t{number:05}")])
    world.index()
    return hub


def test_a_node_with_thousands_of_edges_is_cut_and_reported(world: World) -> None:
    hub = star(world, 3_000)
    world.operation("small", [world.table("other")], [hub])
    world.index()
    answer = ask(world, hub)
    assert len(answer.nodes) == 400
    assert answer.truncated
    assert ("hub", "downstream", "fan_out") in cuts(answer)
    assert ("hub", "downstream", "nodes") in cuts(answer)
    assert "other -> hub" in arrows(answer)
    assert len(ask(world, hub, max_nodes=5_000, max_fan_out=5_000).nodes) == 3_002
    walked = ask(world, hub, max_walked=500)
    assert CutReason.WALKED in {cut.reason for cut in walked.truncated_at}


def test_a_truncated_operation_next_to_a_column_is_reported(
    world: World,
) -> None:
    orders = world.table("orders", "id")
    outputs = [world.table(f"orders_{number}", "id") for number in range(12)]
    world.operation("split by day", [orders], outputs, parts={"orders_0.id": ["orders.id"]})
    world.index()

    answer = ask(world, column_key(orders, "id"), max_fan_out=10)

    assert arrows(answer) == {"orders.id -> orders_0.id"}
    assert ("split by day", "downstream", "fan_out") in cuts(answer)


def test_a_heavy_neighbour_does_not_displace_the_others(world: World) -> None:
    """The heavy node has more relations than one page of results, so it is cut; the light node next to it is complete."""
    start, heavy, light, end = (world.table(name) for name in ("start", "heavy", "light", "end"))
    world.operation("fan", [start], [heavy, light])
    sink = world.table("sink")
    for number in range(10_500):
        reader = operation_key(world.source(IMPALA), f"select {number}", ())
        world.relate(RelationType.DATA_FLOW, heavy, reader, writer=IMPALA)
        if number % 10 == 0:
            world.relate(RelationType.DATA_FLOW, reader, sink, writer=IMPALA)
    world.operation("end", [light], [end])
    world.index()
    answer = ask(world, start, direction=Direction.DOWNSTREAM)
    assert arrows(answer) == {"start -> heavy", "start -> light", "heavy -> sink", "light -> end"}
    assert cuts(answer) == {("heavy", "downstream", "fan_out")}


def test_the_node_limit_is_shared_by_both_sides(world: World) -> None:
    hub = world.table("hub")
    world.operation("fan in", [world.table(f"in{n}") for n in range(50)], [hub])
    world.operation("fan out", [hub], [world.table(f"out{n}") for n in range(3)])
    world.index()
    answer = ask(world, hub, max_nodes=20)
    assert len(answer.nodes) == 20
    assert cuts(answer) == {("hub", "upstream", "nodes"), ("hub", "downstream", "nodes")}
    assert cuts(ask(world, hub, max_nodes=52)) == {("hub", "downstream", "nodes")}
    assert not ask(world, hub, max_nodes=54).truncated


@pytest.mark.parametrize("max_nodes", range(1, 8))
def test_with_a_lower_limit_fewer_tables_are_shown_and_all_cuts_reported(
    world: World, max_nodes: int
) -> None:
    """If no room is left, traversal still continues through deleted tables, and the tables beyond them are reported as
    hidden.
    """
    start, near, gone = world.table("start"), world.table("near"), world.table("gone", deleted=True)
    last_gone = world.table("last_gone", deleted=True)
    world.operation("fan", [start], [near, gone, last_gone, world.named("never_captured")])
    world.operation("on", [gone], [far := world.table("far"), world.table("beside")])
    world.operation("back", [far], [near])
    world.index()
    whole, answer = ask(world, start), ask(world, start, max_nodes=max_nodes)
    assert names(whole) == {"start", "near", "far", "beside"}
    shown = {node.id for node in answer.nodes}
    assert len(shown) == min(max_nodes, 4)
    assert {node for node in whole.nodes if node.id in shown} == set(answer.nodes)
    assert arrows(answer) == {
        f"{short(whole.node(each.source).name)} -> {short(whole.node(each.target).name)}"
        for each in whole.edges
        if shown.issuperset((each.source, each.target))
    }
    assert {(cut.id, cut.direction) for cut in answer.truncated_at} == {
        (each.source, Direction.DOWNSTREAM)
        for each in whole.edges
        if each.source in shown and each.target not in shown
    }


def test_columns_have_their_own_limit(world: World) -> None:
    columns = [f"c{n}" for n in range(30)]
    a, b = world.table("a", *columns), world.table("b", *columns)
    world.operation("b from a", [a], [b], parts={f"b.{c}": [f"a.{c}"] for c in columns})
    world.index()
    answer = ask(world, b, columns=True, max_nodes=3)
    assert ("b", "both", "columns") in cuts(answer)
    assert sum(node.type == "FIELD" for node in answer.nodes) <= 30
    shown = {node.id for node in answer.nodes}
    assert all({each.source, each.target} <= shown for each in answer.edges)


# -- The structure of an answer ------------------------------------------------------------------------------------------


def test_the_json_form_lists_nodes_and_edges(world: World) -> None:
    a, b = chain(world, "a", "b")
    world.index()
    answer = json.loads(json.dumps(ask(world, b).to_json()))
    operation = next(each for each in world.elements.values() if each["type"] == "OPERATION")
    assert answer == {
        "start": b.identity,
        "direction": "both",
        "nodes": [
            {
                "id": key.identity,
                "name": f"db.{key.name}",
                "type": "TABLE",
                "sourceType": "HIVE",
                "sourceId": world.sources[HIVE].id,
                "deleted": False,
                "placeholder": False,
                "granted": False,
                "parent": None,
                "unlinked": 0,
                "columnIndex": None,
                "label": f"db.{key.name}",
            }
            for key in (b, a)
        ],
        "edges": [
            {
                "source": a.identity,
                "target": b.identity,
                "type": "DATA_FLOW",
                "via": [
                    {
                        "id": operation["identity"],
                        "name": "b from a",
                        "type": "OPERATION",
                        "deleted": False,
                        "placeholder": False,
                        "label": "b from a → db.b",
                        "parent": None,
                    }
                ],
                "inferred": False,
                "incomplete": False,
                "parsed": False,
            }
        ],
        "truncated": False,
        "truncatedAt": [],
        "unlinked": 0,
        "starts": [],
    }


def test_an_answer_is_deterministic(world: World) -> None:
    hub = star(world, 20)
    assert ask(world, hub) == ask(world, hub)
    assert column_key(hub, "x").identity != hub.identity
    assert HDFS not in world.sources


def test_overlapping_walks_restore_the_garbage_collector() -> None:
    walks = Uncollected()
    walks.__enter__()
    walks.__enter__()
    assert not gc.isenabled()
    walks.__exit__()
    assert not gc.isenabled()
    walks.__exit__()
    assert gc.isenabled()
