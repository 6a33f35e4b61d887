"""Relations find their ends in whatever order both arrive, and record the reason if they do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from linker.linking import Linking
from linker.resolve_endpoints import UnlinkedReason, unlink
from navlin.index.graph.unlinked import unlinked_counts
from navlin.index.schema.fields import ELEMENTS, RELATIONS, date_ms
from navlin.index.solr.solr import AddOutcome, Solr
from navlin.model.keys import RelationType
from navlin.model.source import Source
from tests.support.indexed_estate import DAY_MS, World


@pytest.fixture
def world(solr: Solr, request: pytest.FixtureRequest) -> World:
    return World(solr, request.node.name)


def verdict(relation: dict[str, Any]) -> tuple[bool, str | None]:
    return relation.get("unlinked", False), relation.get("unlinkedReason")


def select_from(world: World, table: str) -> tuple[Any, Any]:
    operation = world.operation(f"read {table}")
    return world.entity(operation), world.flow(world.table(table), operation)


def test_a_relation_with_existing_ends_is_linked(world: World) -> None:
    world.put(world.hive, world.entity(world.table("sales.orders")))
    operation, read = select_from(world, "sales.orders")

    run = world.put(world.impala, operation, read)
    assert verdict(world.relation(world.impala, read)) == (True, None)
    world.link(run)

    linked = world.relation(world.impala, read)
    assert verdict(linked) == (False, None)
    assert "unlinkedSince" not in linked
    assert linked["extractorRunId"] == run


def test_a_missing_end_names_its_source_and_the_waiting_time(
    world: World,
) -> None:
    world.put(world.hive)
    operation, read = select_from(world, "sales.orders")
    world.link(world.put(world.impala, operation, read))

    waiting = world.relation(world.impala, read)
    assert verdict(waiting) == (True, "not in HIVE-1 yet")
    assert date_ms(waiting["unlinkedSince"]) == world.now_ms


def test_a_relation_to_an_unread_source_has_that_reason_until_it_is_read(
    world: World,
) -> None:
    operation, read = select_from(world, "sales.orders")
    world.link(world.put(world.impala, operation, read))
    assert verdict(world.relation(world.impala, read)) == (True, "its source has not been read yet")

    world.link(world.put(world.hive))
    assert verdict(world.relation(world.impala, read)) == (True, "not in HIVE-1 yet")


def test_a_relation_with_two_missing_ends_names_both_and_is_linked_with_the_second(
    world: World,
) -> None:
    world.put(world.hive)
    world.put(world.hdfs)
    hint = world.location(world.table("sales.orders"), world.path("/sales/orders"))
    world.link(world.put(world.impala, hint))
    assert verdict(world.relation(world.impala, hint)) == (True, "not in HDFS-1 yet, not in HIVE-1 yet")

    world.link(world.put(world.hive, world.entity(hint.ep1)))
    assert verdict(world.relation(world.impala, hint)) == (True, "not in HDFS-1 yet")

    world.link(world.put(world.hdfs, world.entity(hint.ep2)))
    assert verdict(world.relation(world.impala, hint)) == (False, None)


def test_an_arriving_end_links_only_the_relations_waiting_for_it(world: World) -> None:
    world.put(world.hive)
    one, reads_orders = select_from(world, "sales.orders")
    other, reads_clients = select_from(world, "sales.clients")
    world.link(world.put(world.impala, one, reads_orders, other, reads_clients))

    world.now_ms += DAY_MS
    world.link(world.put(world.hive, world.entity(world.table("sales.orders"))))

    assert verdict(world.relation(world.impala, reads_orders)) == (False, None)
    still = world.relation(world.impala, reads_clients)
    assert verdict(still) == (True, "not in HIVE-1 yet")
    assert date_ms(still["unlinkedSince"]) == world.now_ms - DAY_MS, "it has waited since the first day"


@pytest.mark.parametrize("arrivals", [3, 40], ids=["few arrive, many wait", "many arrive, few wait"])
def test_arrivals_are_matched_from_the_smaller_side(
    world: World, arrivals: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("linker.resolve_endpoints"), "FEW_ARRIVALS", 0)
    world.put(world.hive)
    waiting = [select_from(world, f"sales.t{number}") for number in range(12)]
    world.link(world.put(world.impala, *[record for pair in waiting for record in pair]))

    run = world.put(
        world.hive, *[world.entity(world.table(f"sales.t{number}")) for number in range(arrivals)]
    )
    world.link(run)

    linked = [verdict(world.relation(world.impala, read)) == (False, None) for _, read in waiting]
    assert linked == [number < arrivals for number in range(12)]


def test_a_deleted_end_exists(world: World) -> None:
    table = world.table("sales.orders")
    world.put(world.hive, world.entity(table))
    world.drop(world.hive, table)
    operation, read = select_from(world, "sales.orders")

    world.link(world.put(world.impala, operation, read))

    assert verdict(world.relation(world.impala, read)) == (False, None)


def test_a_relation_stays_linked_if_its_end_is_deleted_or_its_attributes_change(
    world: World,
) -> None:
    table = world.table("sales.orders")
    world.put(world.hive, world.entity(table))
    operation, read = select_from(world, "sales.orders")
    world.link(world.put(world.impala, operation, read))

    world.link(world.drop(world.hive, table))
    assert verdict(world.relation(world.impala, read)) == (False, None)

    changed = type(read)(read.type, read.ep1, read.ep2, read.tree_path, read.as_of_ms, {"incomplete": True})
    world.link(world.put(world.impala, operation, changed))
    assert world.relation(world.impala, read)["incomplete"] is True
    assert verdict(world.relation(world.impala, read)) == (False, None)


def test_a_relation_within_one_source_is_left_alone(world: World) -> None:
    operation = world.operation("create table")
    part = world.part(operation, "1")
    run = world.put(world.impala, world.entity(operation), world.entity(part))
    before = world.versions()
    world.link(run)

    [implied] = [d for d in world.documents(RELATIONS) if d["type"] == "PARENT_CHILD"]
    assert "unlinked" not in implied
    assert world.versions() == before


def test_a_granted_end_exists_from_the_start(solr: Solr) -> None:
    world = World(solr, "granted", configured=False)
    operation, read = select_from(world, "sales.orders")
    world.link(world.put(world.impala, operation, read))

    assert verdict(world.relation(world.impala, read)) == (False, None)


@pytest.mark.services
def test_a_lost_granted_end_is_reported_as_no_such_authority(solr: Solr) -> None:
    world = World(solr, "granted and lost", configured=False)
    operation, read = select_from(world, "sales.orders")
    world.put(world.impala, operation, read)
    solr.delete_ids(ELEMENTS, [world.table("sales.orders").identity])
    world.commit()

    world.link(everything=True)

    assert verdict(world.relation(world.impala, read)) == (True, "no such authority")


@pytest.mark.services
def test_linking_twice_changes_nothing(world: World) -> None:
    world.put(world.hive, world.entity(world.table("sales.orders")))
    one, reads_orders = select_from(world, "sales.orders")
    other, reads_clients = select_from(world, "sales.clients")
    run = world.put(world.impala, one, reads_orders, other, reads_clients)
    assert world.link(run)["resolve_endpoints"] == 2
    before = world.versions()

    world.now_ms += DAY_MS
    assert world.link(run)["resolve_endpoints"] == 0
    world.link(everything=True)

    assert world.versions() == before


def test_relations_of_an_unfinished_run_are_linked_by_the_next(world: World) -> None:
    world.put(world.hive, world.entity(world.table("sales.orders")))
    operation, read = select_from(world, "sales.orders")
    crashed = world.put(world.impala, operation, read)
    again = world.put(world.impala, operation, read)

    world.link(again)
    assert verdict(world.relation(world.impala, read)) == (True, None), (
        "unchanged, so not stamped by the second run"
    )
    world.link(crashed, again)
    assert verdict(world.relation(world.impala, read)) == (False, None)


def test_fields_of_others_survive_linking(world: World) -> None:
    world.put(world.hive, world.entity(world.table("sales.orders")))
    operation, read = select_from(world, "sales.orders")
    run = world.put(world.impala, operation, read)
    before = world.relation(world.impala, read)
    before["up_reviewed"] = "yes"
    world.solr.add(RELATIONS, [before])
    world.commit()

    world.link(run)

    after = world.relation(world.impala, read)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert changed == {"unlinked", "_version_"}


class Interrupted(Solr):
    """A Solr where another process writes just before the test's first write to the relations arrives."""

    meanwhile: Callable[[], None] | None = None

    def add(self, core: str, documents: Any) -> AddOutcome:
        if core == RELATIONS and documents and (others := self.meanwhile):
            self.meanwhile = None
            others()
        return super().add(core, documents)


def test_a_conflicting_write_is_repeated_on_the_new_version(world: World) -> None:
    world.put(world.hive, world.entity(world.table("sales.orders")))
    operation, read = select_from(world, "sales.orders")
    run = world.put(world.impala, operation, read)

    def describe() -> None:
        world.solr.add(RELATIONS, [{**world.relation(world.impala, read), "up_reviewed": "yes"}])

    ours = World(Interrupted(world.solr.address), world.cluster)
    ours.solr.meanwhile = describe  # type: ignore[attr-defined]  # this Solr is an Interrupted
    ours.link(run)

    after = world.relation(world.impala, read)
    assert verdict(after) == (False, None)
    assert after["up_reviewed"] == "yes"


def test_a_removed_end_unlinks_its_relations_until_it_returns(world: World) -> None:
    orders, directory = world.table("sales.orders"), world.path("/sales/orders")
    lies = world.location(orders, directory)
    world.put(world.hdfs, world.entity(directory))
    world.link(world.put(world.hive, world.entity(orders), lies))
    assert verdict(world.relation(world.hive, lies)) == (False, None)

    world.solr.delete_ids(ELEMENTS, [directory.identity])
    world.commit()
    linking = Linking(world.solr, world.now_ms, "purge##1")
    assert unlink(linking, [directory.identity], UnlinkedReason.PURGED) == 1
    world.commit()
    assert verdict(world.relation(world.hive, lies)) == (True, "purged")
    assert unlink(linking, [directory.identity], UnlinkedReason.PURGED) == 0

    world.link(everything=True)
    assert verdict(world.relation(world.hive, lies)) == (True, "purged"), (
        "everything is linked to the same end"
    )

    world.link(world.put(world.hdfs, world.entity(directory)))
    assert verdict(world.relation(world.hive, lies)) == (False, None)


def test_a_removed_end_of_the_same_writer_unlinks_and_links_again(world: World) -> None:
    directory, file = world.path("/d"), world.path("/d/f")
    contains = world.flow(directory, file, RelationType.DATA_FLOW)
    world.link(world.put(world.hdfs, world.entity(directory), world.entity(file), contains))
    world.solr.delete_ids(ELEMENTS, [file.identity])
    world.commit()
    unlink(Linking(world.solr, world.now_ms, "purge##1"), [file.identity], UnlinkedReason.PURGED)
    world.commit()
    assert verdict(world.relation(world.hdfs, contains)) == (True, "purged")

    world.link(world.put(world.hdfs, world.entity(file)))
    assert verdict(world.relation(world.hdfs, contains)) == (False, None)


def test_uncommitted_relations_of_a_dead_run_are_unlinked_too(world: World) -> None:
    world.put(world.hive, world.entity(world.table("sales.orders")))
    operation, read = select_from(world, "sales.orders")
    world.link(world.put(world.impala, operation, read))
    document = world.relation(world.impala, read)
    world.solr.delete_ids(RELATIONS, [document["identity"]])
    world.commit()
    world.solr.add_all(RELATIONS, [{**document, "_version_": -1}])
    world.solr.delete_ids(ELEMENTS, [read.ep1.identity])
    world.solr.commit(ELEMENTS, soft=True)

    unlink(Linking(world.solr, world.now_ms, "purge##1"), [read.ep1.identity], UnlinkedReason.PURGED)
    assert verdict(world.relation(world.impala, read)) == (True, "purged")


def test_an_entity_restored_before_unlinking_keeps_its_relations(world: World) -> None:
    world.put(world.hive, world.entity(world.table("sales.orders")))
    operation, read = select_from(world, "sales.orders")
    world.link(world.put(world.impala, operation, read))

    assert (
        unlink(Linking(world.solr, world.now_ms, "purge##1"), [read.ep1.identity], UnlinkedReason.PURGED) == 0
    )
    assert verdict(world.relation(world.impala, read)) == (False, None)


@pytest.mark.services
def test_linking_everything_equals_the_incremental_result(world: World) -> None:
    def send(then: Callable[[str], object]) -> dict[str, Any]:
        world.clear()
        orders, directory = world.table("sales.orders"), world.path("/sales/orders")
        one, reads_orders = select_from(world, "sales.orders")
        other, reads_temp = select_from(world, "sales.temp")
        stated: list[tuple[Source, tuple[Any, ...]]] = [
            (world.hive, ()),
            (world.hdfs, ()),
            (world.impala, (one, reads_orders, other, reads_temp)),
            (world.hive, (world.entity(orders), world.location(orders, directory))),
            (world.hdfs, (world.entity(directory),)),
        ]
        for source, records in stated:
            then(world.put(source, *records))
        return world.index()

    increments = send(world.link)
    send(lambda _: None)
    world.link(everything=True)

    assert world.index() == increments
    assert {d.get("unlinkedReason") for d in increments[RELATIONS]} == {None, "not in HIVE-1 yet"}


def test_unlinked_relations_are_counted_by_reason_and_age(world: World) -> None:
    def counts() -> Counter[tuple[str, str]]:
        return Counter(
            {(each.reason, each.age): each.relations for each in unlinked_counts(world.solr, world.now_ms)}
        )

    world.put(world.hive)
    world.now_ms += 3 * DAY_MS
    before = counts()
    world.now_ms -= 3 * DAY_MS
    world.link(world.put(world.impala, *select_from(world, "sales.a")))
    world.now_ms += 3 * DAY_MS
    world.link(world.put(world.impala, *select_from(world, "sales.b")))
    world.put(world.impala, *select_from(world, "sales.c"))
    dropped = select_from(world, "sales.d")
    world.link(world.put(world.impala, *dropped))
    world.drop(world.impala, dropped[1])

    # Withdrawn relations are not counted.
    assert counts() - before == {
        ("not in HIVE-1 yet", "under a week"): 1,
        ("not in HIVE-1 yet", "under an hour"): 1,
        ("not looked for yet", "under an hour"): 1,
    }


def test_a_conflicting_unlink_still_records_the_reason(world: World) -> None:
    orders = world.table("sales.orders")
    world.put(world.hive, world.entity(orders))
    operation, read = select_from(world, "sales.orders")
    world.link(world.put(world.impala, operation, read))
    world.solr.delete_ids(ELEMENTS, [orders.identity])
    world.commit()
    crossed = Interrupted(world.solr.address)

    def write() -> None:
        world.solr.add(RELATIONS, [world.relation(world.impala, read)])

    crossed.meanwhile = write

    unlink(Linking(crossed, world.now_ms, "purge##1"), [orders.identity], UnlinkedReason.PURGED)

    assert verdict(world.relation(world.impala, read)) == (True, "purged")
