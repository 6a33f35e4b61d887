"""A run of the pipeline plans, reads, reconciles, writes, links and saves, on a real Solr and a real Spark."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from linker import link
from linker.linking import Linking
from navlin.index.graph.graph import Graph
from navlin.index.graph.sources import known_sources
from navlin.index.journal.freshness import freshness_of
from navlin.index.journal.holder import this_process
from navlin.index.journal.leases import held_lease
from navlin.index.journal.runs import RunRecord, Status, last_run, save_run
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS
from navlin.index.schema.stamp import Stamp
from navlin.index.solr.solr import Solr
from navlin.index.write.graph_changes import GraphChanges
from navlin.model.identity import relation_id
from navlin.model.keys import location_key, operation_key
from navlin.model.source import HDFS
from navlin.pipeline.guard import Guard
from tests.support.leases import ANOTHER, held_by, leave
from tests.support.pipeline_estate import FIRST_MS, SmallEstate

T1, T2, T3 = FIRST_MS + 1_000, FIRST_MS + 2_000, FIRST_MS + 3_000


def operation_id(estate: SmallEstate, text: str, *tables: str) -> str:
    return operation_key(estate.impala, text, tuple(estate.key(table).identity for table in tables)).identity


# -- new, changed and deleted entities -----------------------------------------------------------------------------


def test_a_run_indexes_the_entities_of_a_source(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": ["id", "amount"]})
    assert estate.pull().status is Status.FINISHED
    assert estate.live("DATABASE", "TABLE", "FIELD") == {
        "/SALES",
        "/SALES/ORDERS",
        "/SALES/ORDERS/ID",
        "/SALES/ORDERS/AMOUNT",
    }
    orders = estate.element("sales.orders")
    assert (orders["type"], orders["internalType"], orders["originalName"]) == ("TABLE", "hv_table", "orders")
    assert orders["parentPath"] == "/sales"
    contained = {
        (d["endpoint1Name"], d["endpoint2Name"])
        for d in estate.documents(RELATIONS)
        if d["type"] == "PARENT_CHILD"
    }
    assert contained == {
        ("sales", "sales.orders"),
        ("sales.orders", "sales.orders.id"),
        ("sales.orders", "sales.orders.amount"),
    }


def test_a_second_run_without_changes_writes_nothing(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": ["id"]})
    first = estate.pull()
    versions = {d["identity"]: d["_version_"] for d in estate.documents(ELEMENTS) if d["type"] != "SOURCE"}
    second = estate.pull()
    assert second.counts.unchanged == first.counts.new
    assert versions == {
        d["identity"]: d["_version_"] for d in estate.documents(ELEMENTS) if d["type"] != "SOURCE"
    }


def test_only_changed_entities_are_written_and_stamped(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": {"columns": ["id"], "owner": "ann"}, "sales.items": ["id"]})
    first = estate.pull()
    estate.tables({"sales.orders": {"columns": ["id"], "owner": "bob"}, "sales.items": ["id"]})
    second = estate.pull()
    assert second.counts.changed == 1
    assert estate.element("sales.orders")["owner"] == "bob"
    assert estate.element("sales.orders")["extractorRunId"] == second.run_id
    assert estate.element("sales.items")["extractorRunId"] == first.run_id


@pytest.mark.services
def test_statistics_alone_are_not_a_change_but_are_written_with_one(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": {"columns": ["id"], "rows": 1}})
    estate.pull()
    estate.tables({"sales.orders": {"columns": ["id"], "rows": 2}})
    assert estate.pull().counts.changed == 0
    assert estate.element("sales.orders")["tp_numRows"] == ["1"]
    estate.tables({"sales.orders": {"columns": ["id"], "rows": 2, "owner": "bob"}})
    estate.pull()
    assert estate.element("sales.orders")["tp_numRows"] == ["2"]


def test_tables_missing_from_a_complete_listing_are_deleted_with_their_columns(
    estate: SmallEstate,
) -> None:
    estate.tables({"sales.orders": ["id"], "sales.items": ["id"]})
    estate.pull()
    estate.tables({"sales.items": ["id"]})
    run = estate.pull()
    assert estate.deleted("TABLE", "FIELD") == {"/SALES/ORDERS", "/SALES/ORDERS/ID"}
    assert estate.live("TABLE", "FIELD") == {"/SALES/ITEMS", "/SALES/ITEMS/ID"}
    orders = estate.element("sales.orders")
    assert orders["deleteTime"] == run.started_ms
    assert orders["extractorRunId"] == run.run_id


@pytest.mark.services
def test_a_returning_unchanged_table_is_undeleted(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": ["id"], "sales.items": ["id"]})
    estate.pull()
    estate.tables({"sales.items": ["id"]})
    estate.pull()
    estate.tables({"sales.orders": ["id"], "sales.items": ["id"]})
    estate.pull()
    assert estate.deleted("TABLE", "FIELD") == set()
    assert "deleteTime" not in estate.element("sales.orders")


@pytest.mark.services
def test_a_table_returning_after_a_purge_gets_its_parent_again(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": ["id"], "sales.items": ["id"]})
    estate.pull()
    estate.tables({"sales.items": ["id"]})
    estate.pull()
    contained = relation_id(
        "PARENT_CHILD", estate.key("sales").identity, estate.key("sales.orders").identity, estate.hive.id
    )
    estate.solr.delete_ids(RELATIONS, [contained])
    estate.tables({"sales.orders": ["id"], "sales.items": ["id"]})
    estate.pull()
    assert len(estate.solr.get(RELATIONS, [contained])) == 1


def test_a_recreated_table_keeps_its_id_and_records_the_recreation(
    estate: SmallEstate,
) -> None:
    estate.tables({"sales.orders": {"columns": ["id"], "created_ms": T1}})
    estate.pull()
    estate.tables({"sales.orders": {"columns": ["id"], "created_ms": T2}})
    estate.pull()
    assert len(estate.element("sales.orders")["recreated"]) == 1


@pytest.mark.parametrize("created_ms", [1_700_000_000_000, 1_700_000_000_120])
def test_an_altered_table_is_not_recreated(estate: SmallEstate, created_ms: int) -> None:
    for owner in ("etl", "ann"):
        estate.tables({"sales.orders": {"columns": ["id"], "created_ms": created_ms, "owner": owner}})
        estate.pull()
    orders = estate.element("sales.orders")
    assert (orders["owner"], "recreated" in orders) == ("ann", False)


@pytest.mark.services
def test_a_changed_location_leaves_one_live_relation(estate: SmallEstate) -> None:
    for location in ("hdfs://ns/w/a", "hdfs://ns/w/b"):
        estate.tables({"sales.orders": {"columns": ["id"], "location": location}})
        estate.pull()
    stored = {
        d["endpoint2Name"]: d["deleted"]
        for d in estate.documents(RELATIONS)
        if d["type"] == "LOGICAL_PHYSICAL"
    }
    assert stored == {"/w/a": True, "/w/b": False}


@pytest.mark.services
def test_a_dropped_table_keeps_its_location_as_history(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": {"columns": ["id"], "location": "hdfs://ns/w/a"}, "sales.items": ["id"]})
    estate.pull()
    estate.tables({"sales.items": ["id"]})
    estate.pull()
    stored = [d["deleted"] for d in estate.documents(RELATIONS) if d["type"] == "LOGICAL_PHYSICAL"]
    assert stored == [False]


# -- nothing is deleted on doubt ---------------------------------------------------------------------------------------


def test_a_failed_split_deletes_nothing_and_the_others_are_written(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": ["id"], "sales.items": ["id"]})
    estate.pull()
    estate.tables({"sales.items": ["id", "price"], "sales.new": ["id"]}, broken=["sales.new"])
    run = estate.pull()
    assert run.failures == ("sales.new: sales.new cannot be read",)
    assert estate.deleted("TABLE", "FIELD") == set()
    assert "/SALES/ITEMS/PRICE" in estate.live("FIELD")


@pytest.mark.services
def test_the_run_after_a_failure_is_complete_again(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": ["id"], "sales.items": ["id"]})
    estate.pull()
    estate.tables({"sales.items": ["id"], "sales.new": ["id"]}, broken=["sales.new"])
    estate.pull()
    estate.tables({"sales.items": ["id"], "sales.new": ["id"]})
    estate.pull()
    assert estate.deleted("TABLE") == {"/SALES/ORDERS"}
    assert "/SALES/NEW" in estate.live("TABLE")


@pytest.mark.services
def test_a_reject_with_a_path_protects_only_that_path_from_deletion(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": ["id"], "sales.items": ["id"], "sales.old": ["id"]})
    estate.pull()
    estate.tables({"sales.orders": ["id"], "sales.items": ["id"]}, rejected=["sales.orders"])
    run = estate.pull()
    assert run.counts.rejects == 1
    assert estate.deleted("TABLE") == {"/SALES/OLD"}
    assert {"/SALES/ORDERS", "/SALES/ORDERS/ID"} <= estate.live("TABLE", "FIELD")


def test_a_failed_plan_fails_the_run_and_deletes_nothing(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": ["id"]})
    estate.pull()
    estate.tables({}, down="no route to the metastore")
    run = estate.pull()
    assert (run.status, run.error) == (Status.FAILED, "no route to the metastore")
    assert estate.live("TABLE") == {"/SALES/ORDERS"}


def test_an_implausible_loss_is_blocked_and_new_entities_are_written(
    solr: Solr, spark: Callable[[], SparkSession], tmp_path: pytest.TempPathFactory
) -> None:
    estate = SmallEstate(solr, spark, tmp_path, guard=Guard(ratio=0.5, floor=3))  # type: ignore[arg-type]
    estate.tables({f"sales.t{number}": ["id"] for number in range(10)})
    estate.pull()
    estate.tables({"sales.t0": ["id"], "sales.new": ["id"]})
    held = estate.pull()
    assert held.status is Status.HELD
    assert held.note == "18 of 24 entities would be flagged deleted, more than 50%"
    assert estate.deleted("TABLE", "FIELD") == set()
    assert "/SALES/NEW" in estate.live("TABLE")
    refused = estate.pull(accept_loss="another##1")
    assert refused.status is Status.FAILED
    assert estate.deleted("TABLE") == set()
    assert estate.pull(accept_loss=held.run_id).status is Status.FINISHED
    assert len(estate.deleted("TABLE")) == 9


@pytest.mark.services
def test_losing_a_database_of_one_table_is_plausible_if_anything_was_read(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": ["id"], "tmp.one": ["id"]})
    estate.pull()
    estate.tables({"sales.orders": ["id"]})
    assert estate.pull().status is Status.FINISHED
    assert estate.deleted("TABLE") == {"/TMP/ONE"}


def test_an_empty_listing_is_blocked(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": ["id"]})
    estate.pull()
    estate.tables({})
    run = estate.pull()
    assert (run.status, estate.deleted("TABLE")) == (Status.HELD, set())


# -- owners ------------------------------------------------------------------------------------------------------------


def test_user_metadata_survives_a_change_a_deletion_and_a_return(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": {"columns": ["id"], "owner": "ann"}, "sales.items": ["id"]})
    estate.pull()
    words = {"description": {"set": "all orders"}, "tags": {"set": ["gold"]}, "up_steward": {"set": "eve"}}
    estate.solr.add(ELEMENTS, [{"identity": estate.key("sales.orders").identity, **words}])
    for tables in (
        {"sales.items": ["id"]},
        {"sales.orders": {"columns": ["id"], "owner": "bob"}, "sales.items": ["id"]},
    ):
        estate.tables(tables)
        estate.pull()
        orders = estate.element("sales.orders")
        assert (orders["description"], orders["tags"], orders["up_steward"]) == (
            "all orders",
            ["gold"],
            "eve",
        )
    assert estate.element("sales.orders")["owner"] == "bob"


@pytest.mark.services
def test_user_metadata_follows_a_rename(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": ["id"]})
    estate.pull()
    estate.solr.add(
        ELEMENTS, [{"identity": estate.key("sales.orders").identity, "description": {"set": "all orders"}}]
    )
    estate.tables({"sales.purchases": {"columns": ["id"], "was": "sales.orders"}})
    estate.pull()
    assert estate.element("sales.purchases")["description"] == "all orders"


def test_an_edit_during_a_run_is_kept(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": {"columns": ["id"], "owner": "ann"}})
    estate.pull()
    estate.tables({"sales.orders": {"columns": ["id"], "owner": "bob"}})
    orders = {"identity": estate.key("sales.orders").identity}
    stop = threading.Event()

    def type_on() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            estate.solr.add(ELEMENTS, [{**orders, "description": {"set": f"word {number}"}}])
        words.append(f"word {number}")

    words: list[str] = []
    person = threading.Thread(target=type_on)
    person.start()
    try:
        run = estate.pull()
    finally:
        stop.set()
        person.join()
    estate.solr.commit(ELEMENTS, soft=True)
    assert run.status is Status.FINISHED
    assert (estate.element("sales.orders")["owner"], estate.element("sales.orders")["description"]) == (
        "bob",
        words[0],
    )


# -- claims ------------------------------------------------------------------------------------------------------------


def test_a_flow_to_a_missing_table_is_linked_once_it_exists(estate: SmallEstate) -> None:
    estate.happen("insert", ["sales.orders"], ["sales.report"], at_ms=T1)
    estate.follow()
    assert {d["unlinked"] for d in estate.documents(RELATIONS) if d["type"] == "DATA_FLOW"} == {True}
    estate.tables({"sales.orders": ["id"], "sales.report": ["id"]})
    estate.pull()
    assert {d["unlinked"] for d in estate.documents(RELATIONS) if d["type"] == "DATA_FLOW"} == {False}


@pytest.mark.services
def test_failed_runs_use_no_iteration_and_their_relations_are_linked_later(
    estate: SmallEstate, monkeypatch: pytest.MonkeyPatch
) -> None:
    estate.happen("insert", ["sales.orders"], ["sales.report"], at_ms=T1)

    def fail(_: object) -> None:
        raise ConnectionError("Solr went away")

    with monkeypatch.context() as broken:
        broken.setattr("navlin.pipeline.run.link", fail)
        failed = [estate.follow() for _ in range(3)]
        estate.tables({"sales.orders": ["id"], "sales.report": ["id"]})
        failed.append(estate.pull())
    assert {(run.status, run.iteration) for run in failed} == {(Status.FAILED, 1)}
    assert {d["unlinked"] for d in estate.documents(RELATIONS) if d["type"] == "DATA_FLOW"} == {True}

    run = estate.follow()
    assert (run.status, run.iteration) == (Status.FINISHED, 1)
    assert {d["unlinked"] for d in estate.documents(RELATIONS) if d["type"] == "DATA_FLOW"} == {False}
    assert estate.pull().iteration == 1


@pytest.mark.parametrize("there", [pytest.param(True, marks=pytest.mark.services), False])
def test_a_new_relation_is_written_once_with_its_claims_resolved(
    estate: SmallEstate, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    if there:
        estate.tables({"sales.orders": ["id"], "sales.report": ["id"]})
        estate.pull()
    estate.happen("insert", ["sales.orders"], ["sales.report"], at_ms=T1)
    changed_by_linking: list[str] = []
    change = GraphChanges.change_relations

    def counted(changes: GraphChanges, ids: Collection[str], *more: Any) -> int:
        changed_by_linking.extend(ids)
        return change(changes, ids, *more)

    monkeypatch.setattr(GraphChanges, "change_relations", counted)
    run = estate.follow()
    flows = [d for d in estate.documents(RELATIONS) if d["type"] == "DATA_FLOW"]
    assert {(d["unlinked"], d.get("unlinkedReason")) for d in flows} == {
        (False, None) if there else (True, "its source has not been read yet")
    }
    assert not changed_by_linking
    assert run.counts.linked == (len(flows) if there else 0)


@pytest.mark.parametrize("few", [0, pytest.param(1_000, marks=pytest.mark.services)])
@pytest.mark.parametrize("purge_began_before_ms", [0, pytest.param(3_600_000, marks=pytest.mark.services)])
@pytest.mark.parametrize(
    "ended_before_ms",
    [None, pytest.param(300_000, marks=pytest.mark.services)],
    ids=["it goes on", "by a clock that is behind"],
)
def test_an_entity_removed_between_writing_and_linking_a_relation_is_noticed(
    estate: SmallEstate,
    monkeypatch: pytest.MonkeyPatch,
    few: int,
    purge_began_before_ms: int,
    ended_before_ms: int | None,
) -> None:
    # import_module is used because the package has a function of the same name as the module.
    monkeypatch.setattr(import_module("linker.resolve_endpoints"), "FEW_REMOVALS", few)
    estate.tables({"sales.orders": ["id"], "sales.report": ["id"]})
    estate.pull()
    estate.happen("before", ["sales.orders"], [], at_ms=T1)
    assert estate.follow().status is Status.FINISHED
    estate.happen("insert", ["sales.orders"], ["sales.report"], at_ms=T2)

    def link_late(linking: Linking) -> dict[str, int]:
        graph, identity = Graph(estate.solr), estate.key("sales.report").identity
        changes, version = GraphChanges(graph.solr), graph.entities_now([identity])[identity].version
        purge = RunRecord("purge", "purge", 1, Status.RUNNING, estate.now_ms - purge_began_before_ms)
        if ended_before_ms is not None:
            purge = replace(purge, status=Status.FINISHED, ended_ms=estate.now_ms - ended_before_ms)
        save_run(estate.solr, purge)
        assert not changes.remove_entities({identity: version}, Stamp(purge.run_id, purge.started_ms))
        changes.commit(relations=False)
        return link(linking)

    monkeypatch.setattr("navlin.pipeline.run.link", link_late)
    estate.follow()
    reasons = {
        d["endpoint2Name"]: d.get("unlinkedReason")
        for d in estate.documents(RELATIONS)
        if d["type"] == "DATA_FLOW"
    }
    assert reasons.pop("sales.report") == "not in hive yet"
    assert set(reasons.values()) == {None}


def test_a_claim_on_an_unserved_place_is_granted_and_never_overwrites_its_owner(
    estate: SmallEstate,
) -> None:
    estate.happen("export", ["sales.orders"], ["hdfs://ns1/out/orders"], at_ms=T1)
    estate.follow()
    out = location_key(estate.estate, "hdfs://ns1/out/orders")
    granted = estate.of_id(out.identity)
    assert (granted["granted"], granted["fileSystemPath"], granted["sourceType"]) == (
        True,
        "/out/orders",
        HDFS,
    )
    (source,) = estate.solr.get(ELEMENTS, [out.source.id])
    assert (source["type"], source["originalName"], source["granted"]) == ("SOURCE", "hdfs://ns1", True)
    estate.solr.add(
        ELEMENTS, [{"identity": out.identity, "granted": {"set": None}, "owner": {"set": "hdfs"}}]
    )
    estate.happen("export again", ["sales.orders"], ["hdfs://ns1/out/orders"], at_ms=T2)
    estate.follow()
    assert estate.of_id(out.identity)["owner"] == "hdfs"


def test_duplicate_flows_are_one_relation_and_a_self_loop_keeps_both_sides(
    estate: SmallEstate,
) -> None:
    estate.happen("insert into t select * from t", ["sales.t"], ["sales.t"], at_ms=T1)
    estate.follow()
    assert estate.flows() == {
        ("sales.t", "insert into t select * from t"),
        ("insert into t select * from t", "sales.t"),
    }


# -- newest wins -----------------------------------------------------------------------------------------------------


@pytest.mark.services
def test_a_statement_read_again_loses_its_removed_parts(estate: SmallEstate) -> None:
    estate.happen("ctas", ["s.a"], ["s.b"], at_ms=T1, parts=[["s.a.x", "s.b.x"], ["s.a.y", "s.b.y"]])
    estate.follow()
    estate.happen("ctas", ["s.a"], ["s.b"], at_ms=T2, parts=[["s.a.x", "s.b.x"]])
    estate.follow()
    assert ("s.a.y", '["s.a.y", "s.b.y"]') not in estate.flows()
    assert ("s.a.x", '["s.a.x", "s.b.x"]') in estate.flows()
    assert len(estate.live("OPERATION_EXECUTION")) == 2


@pytest.mark.parametrize(
    "order",
    [
        (3, 1, 2),
        *(pytest.param(each, marks=pytest.mark.services) for each in [(1, 2, 3), (2, 3, 1), (3, 2, 1)]),
    ],
)
def test_the_order_of_records_does_not_matter(
    solr: Solr, spark: Callable[[], SparkSession], tmp_path: pytest.TempPathFactory, order: tuple[int, ...]
) -> None:
    """The live index is the same whether the records are read in one run or one per run."""

    def happen(estate: SmallEstate, number: int) -> None:
        part = [f"s.a.c{number}", f"s.b.c{number}"]
        estate.happen("ctas", ["s.a"], ["s.b"], at_ms=FIRST_MS + number, parts=[part], id=f"run {number}")

    at_once = SmallEstate(solr, spark, tmp_path)  # type: ignore[arg-type]
    for number in (1, 2, 3):
        happen(at_once, number)
    at_once.follow()
    one_by_one = SmallEstate(solr, spark, tmp_path)  # type: ignore[arg-type]
    for number in order:
        happen(one_by_one, number)
        one_by_one.follow()
    assert one_by_one.flows() == at_once.flows()
    assert len(one_by_one.documents(ELEMENTS)) == len(at_once.documents(ELEMENTS))
    assert len(one_by_one.documents(RELATIONS)) == len(at_once.documents(RELATIONS))
    assert len(one_by_one.deleted("SUB_OPERATION")) == len(at_once.deleted("SUB_OPERATION")) == 2


def test_an_old_record_does_not_revive_a_newer_deletion(estate: SmallEstate) -> None:
    estate.happen("ctas", ["s.a"], ["s.b"], at_ms=T1, parts=[["s.a.x", "s.b.x"]])
    estate.follow()
    estate.happen("ctas", ["s.a"], ["s.b"], at_ms=T3)
    estate.follow()
    estate.happen("ctas", ["s.a"], ["s.b"], at_ms=T2, parts=[["s.a.x", "s.b.x"]])
    estate.follow()
    assert len(estate.deleted("SUB_OPERATION")) == 1
    assert ("s.a.x", '["s.a.x", "s.b.x"]') not in estate.flows()


# -- rejects, positions, records -------------------------------------------------------------------------------------


def test_a_bad_line_is_rejected_with_its_offset_and_the_rest_is_read(estate: SmallEstate) -> None:
    estate.line("{half a record")
    estate.happen("insert", ["s.a"], ["s.b"], at_ms=T1)
    run = estate.follow()
    assert run.counts.rejects == 1
    estate.follow(complete=True)
    rejects = list(estate.solr.cursor(RUNS, "kind:reject", "*", filters=[f"sourceId:{estate.impala.id}"]))
    assert [(each["place"], each["offset"]) for each in rejects] == [(str(estate.lines_file), 0)]
    assert ("s.a", "insert") in estate.flows()


def test_rejects_beyond_the_limit_are_only_counted(estate: SmallEstate) -> None:
    for _ in range(250):
        estate.line("no record")
    run = estate.follow()
    assert run.counts.rejects == 101
    rejects = estate.solr.cursor(RUNS, "kind:reject", "*", filters=[f"sourceId:{estate.impala.id}"])
    assert [each["count"] for each in rejects if each["offset"] == -1] == [150]


@pytest.mark.services
def test_rejects_beyond_the_limit_still_protect_their_paths(estate: SmallEstate) -> None:
    tables = {f"sales.t{number}": ["id"] for number in range(120)}
    estate.tables(tables)
    estate.pull()
    estate.tables(tables, rejected=list(tables))
    estate.pull()
    assert estate.deleted("TABLE", "FIELD") == set()


def test_a_document_refused_by_solr_is_rejected_and_the_others_are_written(
    estate: SmallEstate,
) -> None:
    too_large_for_a_long = {"columns": ["id"], "attributes": {"size": 2**64 - 1}}
    estate.tables({"sales.orders": too_large_for_a_long, "sales.items": ["id"]})
    run = estate.pull()
    assert run.counts.refused == run.counts.rejects == 1
    (reject,) = estate.solr.cursor(RUNS, "kind:reject", "*", filters=[f"sourceId:{estate.hive.id}"])
    assert reject["reason"].startswith("/SALES/ORDERS: ")
    assert estate.live("TABLE", "FIELD") == {"/SALES/ITEMS", "/SALES/ITEMS/ID", "/SALES/ORDERS/ID"}


def test_records_are_read_once_and_a_quiet_poll_leaves_no_record(estate: SmallEstate) -> None:
    estate.happen("insert", ["s.a"], ["s.b"], at_ms=T1)
    assert estate.follow().counts.records > 0
    assert estate.follow().status is Status.IDLE


def test_an_idle_source_updates_its_read_time_once_an_hour(
    estate: SmallEstate,
) -> None:
    def read_ms() -> int:
        [source] = [each for each in known_sources(estate.solr) if each.id == estate.impala.id]
        return freshness_of(estate.solr, source).read_ms

    estate.happen("insert", ["s.a"], ["s.b"], at_ms=T1)
    estate.follow()
    was_read_ms = read_ms()

    estate.now_ms += 7 * 86_400_000
    estate.follow(dry_run=True)
    assert read_ms() == was_read_ms
    assert estate.follow().status is Status.IDLE
    asked_ms = read_ms()
    assert asked_ms - was_read_ms >= 7 * 86_400_000
    estate.now_ms += 1_800_000
    estate.follow()
    assert read_ms() == asked_ms
    estate.now_ms += 1_800_000
    estate.follow()
    assert read_ms() > asked_ms


def test_changed_settings_cause_a_complete_plan(estate: SmallEstate) -> None:
    estate.happen("insert", ["s.a"], ["s.b"], at_ms=T1)
    first = estate.follow()
    estate.follower = {"lines_in_split": 7}
    assert estate.follow().counts.records == first.counts.records


def test_a_split_may_yield_further_splits(estate: SmallEstate) -> None:
    estate.follower = {"lines_in_split": 2}
    for number in range(7):
        estate.happen(f"insert {number}", ["s.a"], [f"s.b{number}"], at_ms=T1 + number)
    estate.follow()
    assert len(estate.live("OPERATION")) == 7
    assert estate.follow().status is Status.IDLE


@pytest.mark.services
def test_a_single_failed_split_does_not_fail_the_run_and_is_retried(
    estate: SmallEstate,
) -> None:
    estate.follower = {"lines_in_split": 2}
    broken = estate.lines_file.with_name(f"{estate.lines_file.name}.broken")
    broken.write_text("lines, part 2")
    for number in range(7):
        estate.happen(f"insert {number}", ["s.a"], [f"s.b{number}"], at_ms=T1 + number)
    run = estate.follow()
    assert (run.status, run.counts.failed_splits) == (Status.FINISHED, 1)
    assert held_back(estate) == ["held back: lines, part 2"]

    broken.unlink()
    estate.now_ms += 60_000
    assert estate.follow().status is Status.FINISHED
    assert len(estate.live("OPERATION")) == 7
    assert held_back(estate) == []


def held_back(estate: SmallEstate) -> list[str]:
    filters = [f"sourceId:{estate.impala.id}"]
    positions = estate.solr.cursor(RUNS, "kind:position", "identity,key", filters=filters)
    return [each["key"] for each in positions if each["key"].startswith("held back")]


def test_a_source_running_elsewhere_is_leased_with_a_message(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": ["id"]})
    with held_by(estate.solr, estate.hive.id):
        run = estate.pull()
    assert run.status is Status.LEASED
    assert "process 4711 on another-host" in run.error
    assert estate.pull().status is Status.FINISHED


def test_the_lease_of_a_dead_process_on_this_host_is_taken_over_at_once(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": ["id"]})
    dead = replace(this_process(), started="long ago")
    leave(estate.solr, estate.hive.id, dead)
    assert estate.pull().status is Status.FINISHED


@pytest.mark.services
def test_a_run_begins_with_a_commit_only_if_another_process_may_have_left_writes(
    estate: SmallEstate, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = Solr.commit

    def commits_before_reading(number: int) -> list[str]:
        cores, steps = list[str](), list[str]()

        def noted(solr: Solr, core: str, *, soft: bool) -> None:
            if steps == ["plan"]:
                cores.append(core)
            commit(solr, core, soft=soft)

        estate.happen(f"insert {number}", ["s.a"], ["s.b"], at_ms=T1 + number)
        with monkeypatch.context() as patch:
            patch.setattr(Solr, "commit", noted)
            assert estate.follow(step=steps.append).status is Status.FINISHED
        return sorted(cores)

    assert commits_before_reading(1) == sorted([ELEMENTS, RELATIONS, RUNS])
    assert commits_before_reading(2) == []
    held = held_lease(estate.solr, estate.impala.id)
    assert held is not None
    leave(estate.solr, estate.impala.id, replace(this_process(), started="long ago"), epoch=held.epoch + 1)
    assert commits_before_reading(3) == sorted([ELEMENTS, RELATIONS, RUNS])
    assert commits_before_reading(4) == []


@pytest.mark.services
def test_a_dry_run_counts_and_writes_nothing(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": ["id"]})
    run = estate.pull(dry_run=True)
    assert run.counts.new == 3
    assert estate.documents(ELEMENTS) == []
    estate.pull()
    estate.tables({"sales.items": ["id"]})
    run = estate.pull(dry_run=True)
    assert run.counts.gone_entities == 2
    assert estate.deleted("TABLE") == set()


# -- The lease ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("minutes", [-3, 3])
def test_a_wrong_clock_takes_no_renewed_lease(estate: SmallEstate, minutes: int) -> None:
    estate.tables({"sales.orders": ["id"]})
    with held_by(estate.solr, estate.hive.id, replace(ANOTHER, host=this_process().host)) as held:
        estate.now_ms += minutes * 60_000
        assert estate.pull().status is Status.LEASED
        held.renew()
    assert estate.documents(ELEMENTS) == []


def test_an_execution_moves_to_its_newly_known_operation(
    estate: SmallEstate,
) -> None:
    def instances() -> list[tuple[str, str]]:
        rows = [each for each in estate.documents(RELATIONS) if each["type"] == "INSTANCE_OF"]
        operations = [estate.of_id(each["endpoint1Ids"][0])["queryText"] for each in rows]
        return sorted(zip(operations, (each["endpoint2Ids"][0] for each in rows), strict=True))

    estate.happen("a job that runs", [], [], at_ms=T1, id="run")
    estate.happen("another", [], [], at_ms=T1, id="other run")
    estate.follow()
    [(text, run), (_, other)] = instances()
    assert text == "a job that runs"
    estate.happen("insert", ["sales.orders"], ["sales.report"], at_ms=T2, id="run")
    estate.follow()
    assert instances() == [("another", other), ("insert", run)]


def test_a_run_that_loses_its_lease_stops_before_the_next_step_and_saves_nothing(
    estate: SmallEstate,
) -> None:
    estate.pipeline = replace(estate.pipeline, lease_s=12)
    estate.tables({"sales.orders": ["id"]})
    steps = []

    def step(name: str) -> None:
        steps.append(name)
        if name == "link":
            leave(estate.solr, estate.hive.id, ANOTHER, epoch=7)
            until_its_thread_has_ended(f"lease of {estate.hive.id}")

    run = estate.pull(step=step)
    assert run.status is Status.FAILED
    assert "was taken by process 4711 on another-host" in run.error
    assert steps[-1] == "link"
    last = last_run(estate.solr, estate.hive.id)
    assert last is not None
    assert (last.status, last.error) == (Status.FAILED, run.error)
    assert estate.solr.count(RUNS, f"kind:position AND sourceId:{estate.hive.id}") == 0
    held = held_lease(estate.solr, estate.hive.id)
    assert held is not None
    assert (held.holder, held.epoch) == (ANOTHER, 7)
    estate.pipeline = replace(estate.pipeline, lease_s=1.5)
    again = estate.pull()
    assert (again.status, again.epoch) == (Status.FINISHED, 8)


def until_its_thread_has_ended(name: str) -> None:
    """Wait for the thread that renews a lease. It ends as soon as it notices that the lease is lost."""
    for each in threading.enumerate():
        if each.name == name:
            each.join(60)
            assert not each.is_alive()


def test_a_lost_lease_cancels_the_spark_job(estate: SmallEstate, tmp_path: Path) -> None:
    estate.pipeline = replace(estate.pipeline, lease_s=12)
    never = tmp_path / "never"
    estate.tables({"sales.orders": ["id"], "sales.slow": ["id"]}, waiting={"sales.slow": str(never)})
    losing = threading.Timer(5, lambda: leave(estate.solr, estate.hive.id, ANOTHER))

    def step(name: str) -> None:
        if name == "read":
            losing.start()

    run = estate.pull(step=step)
    losing.join()
    assert run.status is Status.FAILED
    assert "was taken by process 4711 on another-host" in run.error
    assert run.ended_ms


@pytest.mark.services
def test_a_stalled_run_that_lost_its_lease_saves_nothing(estate: SmallEstate) -> None:
    """The run stalls just before saving, and its own thread does not renew the lease. Meanwhile another process
    runs the source."""
    estate.tables({"sales.orders": ["id"]})
    winner: list[RunRecord] = []

    def step(name: str) -> None:
        if name == "save":
            estate.tables({"sales.orders": ["id"], "sales.items": ["id"]})
            # The same process takes its own lease, as another process would after the lease has expired.
            winner.append(estate.pull())

    loser = estate.pull(step=step)
    assert loser.status is Status.FAILED
    assert "lease" in loser.error
    assert winner[0].status is Status.FINISHED
    newest = last_run(estate.solr, estate.hive.id)
    assert newest is not None
    assert (newest.run_id, newest.status) == (winner[0].run_id, Status.FINISHED)
    saved = list(estate.solr.cursor(RUNS, f"sourceId:{estate.hive.id}", "*", filters=["kind:position"]))
    assert {document["epoch_l"] for document in saved} == {winner[0].epoch}
    assert estate.live("TABLE") == {"/SALES/ORDERS", "/SALES/ITEMS"}
