"""Items that every export target receives: datasets, whole operations and runs, in order and each once, for a query or
for the changes since a run.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import orjson
import pytest

from navlin.export import batches
from navlin.export.batches import Batch, read
from navlin.export.choosing import NotExportable, Selection
from navlin.export.target import targets
from navlin.export.values import (
    DatasetEnd,
    ExportedDataset,
    ExportedOperation,
    ExportedRun,
    FlowRole,
    Item,
    Renamed,
)
from navlin.index.journal.edits import Edit, FieldChange, note_edits
from navlin.index.journal.removals import newest_run
from navlin.index.journal.runs import RunRecord, Status, save_run
from navlin.index.schema.fields import EDITS, RUNS
from navlin.index.solr.solr import Solr
from navlin.model.identity import run_id
from navlin.model.keys import EntityType, Key, RelationType, application_key, partition_key, path_column_key
from navlin.model.source import SPARK, YARN
from tests.support.query_estate import AS_OF_MS, HIVE, IMPALA, World

NUMBERS = itertools.count(1)


@pytest.fixture
def world(solr: Solr) -> World:
    return World(solr, f"export-{next(NUMBERS)}")


def of(world: World) -> str:
    """A query for the entities of this test."""
    return f"sourceId:({' '.join(source.id for source in world.sources.values())})"


def batches_of(world: World, query: str = "", **options: bool | int | str) -> list[Batch]:
    world.index()
    selection = Selection(query or of(world), **options)  # type: ignore[arg-type]
    return list(read(world.solr, selection))


def items(world: World, query: str = "", **options: bool | int | str) -> list[Item]:
    return [item for batch in batches_of(world, query, **options) for item in batch.items]


def datasets(found: list[Item]) -> dict[str, ExportedDataset]:
    every = [each for each in found if isinstance(each, ExportedDataset)]
    named = {each.name.full_name: each for each in every}
    assert len(named) == len(every), "a dataset came twice"
    return named


def operation(found: list[Item]) -> ExportedOperation:
    (one,) = (each for each in found if isinstance(each, ExportedOperation))
    return one


def names(ends: tuple[DatasetEnd, ...]) -> list[str]:
    return [end.dataset.full_name for end in ends]


def test_a_table_is_exported_with_its_columns_in_order_partition_keys_last(world: World) -> None:
    table = world.table(
        "orders",
        owner="etl",
        created=AS_OF_MS,
        tableType="EXTERNAL_TABLE",
        originalDescription="all orders",
        fileSystemPath="hdfs://ns1/orders",
        inputFormat="I",
        serDeLibName="L",
        serdeProps={"a": "b"},
        params={"k": "v"},
        partitionColNames=["day"],
        description="Bestellungen",
        tags=["pii"],
        up_team="sales",
    )
    for index, name in enumerate(("zeta", "amount", "day")):
        column = world.column(f"orders.{name}")
        world.entity(column, dataType="int", columnIndex=index, originalDescription=f"the {name}")
    world.located(table, world.path("/orders"))
    world.entity(partition_key(table, "day=1"))

    found = datasets(items(world, f"{of(world)} AND type:TABLE"))

    assert list(found) == ["db", "db.orders"]
    orders = found["db.orders"]
    assert [(column.name.name, column.partition_key) for column in orders.columns] == [
        ("zeta", False),
        ("amount", False),
        ("day", True),
    ]
    assert {column.details.comment for column in orders.columns} == {"the zeta", "the amount", "the day"}
    about = orders.details
    assert (about.owner, about.created_ms, about.kind, about.comment) == (
        "etl",
        AS_OF_MS,
        "EXTERNAL_TABLE",
        "all orders",
    )
    assert (about.storage.location, about.storage.input_format) == ("hdfs://ns1/orders", "I")
    assert (about.storage.serde_library, about.storage.serde_parameters) == ("L", {"a": "b"})
    assert (about.parameters, about.partition_columns) == ({"k": "v"}, ("day",))
    assert (orders.annotations.description, orders.annotations.tags) == ("Bestellungen", ("pii",))
    assert orders.annotations.properties == {"team": ("sales",)}
    assert [place.name for place in orders.locations] == ["/orders"]
    assert (orders.locations[0].authority, orders.name.source.cluster) == (f"hdfs://{world.name}", "estate")


def test_an_operation_follows_its_datasets_and_precedes_its_last_run(world: World) -> None:
    orders, rates = world.table("orders", "amount"), world.table("rates", "rate")
    daily = world.table("daily", "total")
    query = world.operation(
        "insert into daily",
        [orders],
        [daily],
        steered_by=[rates],
        parts={"daily.total": ["orders.amount"]},
        steering_columns=["rates.rate"],
        operationType="QUERY",
    )
    world.execution(query, "first", started=AS_OF_MS, principal="bob")
    last = world.execution(
        query, "last", started=AS_OF_MS + 9, ended=AS_OF_MS + 99, principal="etl", queryId="7:8"
    )
    for relation in world.relations.values():
        # Only the last run is newer than its operation.
        relation["asOf"] += relation["type"] == "INSTANCE_OF" and last.identity in relation["endpoint2Ids"]
    yarn = application_key(world.source(YARN), "application_1_0002")
    world.granted(yarn)
    world.relate(RelationType.LOGICAL_PHYSICAL, last, yarn, writer=IMPALA)

    found = items(world, f"{of(world)} AND type:OPERATION")

    kinds = [type(each).__name__ for each in found]
    assert kinds == ["ExportedDataset"] * 4 + ["ExportedOperation", "ExportedRun"]
    one = operation(found)
    assert (names(one.inputs), names(one.outputs)) == (["db.orders", "db.rates"], ["db.daily"])
    assert [end.flow for end in one.inputs] == [FlowRole.DATA, FlowRole.CONTROL]
    assert (one.statement.type, one.statement.text, one.unlinked) == ("QUERY", "insert into daily", ())
    (part,) = one.columns
    assert [(end.column.dataset.full_name, end.column.name, end.flow) for end in part.inputs] == [
        ("db.orders", "amount", FlowRole.DATA),
        ("db.rates", "rate", FlowRole.CONTROL),
    ]
    assert [(each.dataset.full_name, each.name) for each in part.outputs] == [("db.daily", "total")]
    assert one.latest is not None
    run = one.latest.details
    assert (run.started_ms, run.ended_ms, run.principal, run.query_id) == (
        AS_OF_MS + 9,
        AS_OF_MS + 99,
        "etl",
        "7:8",
    )
    assert [each.name for each in one.latest.run_as] == ["application_1_0002"]


def test_all_executions_are_exported_on_request_and_else_the_last(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(batches.BATCH, "operations", 2)
    for number in range(3):
        query = world.operation(f"insert {number}", [world.table("orders")], [world.table("daily")])
        for run in range(5):
            world.execution(query, f"{number}-{run}", started=AS_OF_MS + run)

    found = batches_of(world, all_executions=True)

    runs = [item for batch in found for item in batch.items if isinstance(item, ExportedRun)]
    assert len({run.execution.id for run in runs}) == len(runs) == 15
    assert max(len(batch.items) for batch in found) <= 6
    assert len([each for each in items(world) if isinstance(each, ExportedRun)]) == 3


def test_unlinked_datasets_are_listed_separately_unless_placeholders_are_requested(world: World) -> None:
    world.source(HIVE)
    orders, never_seen = world.table("orders", "id"), world.named("never_seen")
    gone = world.table("gone", "id", deleted=True)
    world.operation(
        "insert",
        [orders, never_seen, gone],
        [world.table("daily", "id")],
        parts={"daily.id": ["never_seen.id", "gone.id"]},
    )

    one = operation(found := items(world))
    assert (names(one.inputs), [end.deleted for end in one.inputs]) == (
        ["db.gone", "db.orders"],
        [True, False],
    )
    assert [(each.name, each.type, each.reason, each.output) for each in one.unlinked] == [
        ("db.never_seen", "TABLE", "no match", False)
    ]
    assert [[each.column.name for each in part.inputs] for part in one.columns] == [[]]
    assert "db.gone" not in datasets(found) and "db.never_seen" not in datasets(found)

    one = operation(found := items(world, placeholders=True))
    assert names(one.inputs) == ["db.gone", "db.never_seen", "db.orders"]
    assert [each.column.dataset.full_name for each in one.columns[0].inputs] == ["db.gone", "db.never_seen"]
    placeholders = {name for name, each in datasets(found).items() if each.placeholder}
    assert placeholders == {"db.gone", "db.never_seen"}


def test_an_unseen_database_is_exported_by_its_name(world: World) -> None:
    world.source(HIVE)
    world.operation("insert", [world.named("t", database="unseen")], [world.table("daily")])

    found = datasets(items(world, placeholders=True))
    assert (found["unseen"].name.type, found["unseen"].placeholder) == ("DATABASE", True)
    assert list(found).index("unseen") < list(found).index("unseen.t")


def test_a_dataset_appears_once_per_side_and_may_be_on_both(world: World) -> None:
    table = world.table("t", "a")
    part = world.entity(partition_key(table, "day=1"))
    world.operation("insert overwrite t", [table, part], [part, table], steered_by=[table])

    one = operation(items(world))
    assert (names(one.inputs), names(one.outputs)) == (["db.t"], ["db.t"])
    assert one.inputs[0].flow is FlowRole.DATA


def test_an_output_path_names_the_table_at_that_location(world: World) -> None:
    table, path = world.table("orders"), world.path("/orders")
    world.located(table, path)
    column = world.granted(path_column_key(path, "amount"))
    query = world.operation("save", [], [path], engine=SPARK)
    world.relate(RelationType.DATA_FLOW, query, column, writer=SPARK)

    one = operation(found := items(world, f"{of(world)} AND type:OPERATION"))
    assert names(one.outputs) == ["/orders"]
    assert names(one.outputs[0].tables) == ["db.orders"]
    assert set(datasets(found)) == {"/orders", "db", "db.orders"}
    assert [each.name.name for each in datasets(found)["/orders"].columns] == ["amount"]


def test_a_parsed_view_is_an_operation(world: World) -> None:
    orders = world.table("orders", "amount", created=AS_OF_MS)
    view = world.table("v", "total", kind=EntityType.VIEW, queryText="select amount total from orders")
    world.relate(RelationType.DATA_FLOW, orders, view, writer=HIVE, parsed=True)
    world.relate(RelationType.DATA_FLOW, world.column("orders.amount"), world.column("v.total"), writer=HIVE)

    one = operation(items(world))
    assert (one.derived, one.id, one.statement.type) == (True, view.identity, "CREATEVIEW")
    assert one.statement.text == "select amount total from orders"
    assert (names(one.inputs), names(one.outputs)) == (["db.orders"], ["db.v"])
    assert one.inputs[0].created_ms == AS_OF_MS
    (part,) = one.columns
    assert ([each.column.name for each in part.inputs], [each.name for each in part.outputs]) == (
        ["amount"],
        ["total"],
    )
    assert operation(items(world, tables_only=True)).columns == ()


def test_without_texts_no_query_text_is_exported(world: World) -> None:
    view = world.table("v", "b", kind=EntityType.VIEW, queryText="select hush")
    world.relate(RelationType.DATA_FLOW, world.table("t", "a"), view, writer=HIVE)
    query = world.operation("insert hush", [view], [world.table("w", "c")], parts={"w.c": ["v.b"]})
    world.execution(query, "run")

    assert "hush" in repr(items(world))
    assert "hush" not in repr(items(world, texts=False))


@pytest.mark.parametrize(
    ("query", "exported"),
    [
        ("type:FIELD AND originalName:amount", {"db", "db.orders"}),
        ("type:TABLE AND originalName:daily", {"db", "db.daily"}),
        ("type:DATABASE", {"db"}),
        ("type:SUB_OPERATION", {"db", "db.orders", "db.daily", "insert"}),
        ("type:OPERATION_EXECUTION", {"db", "db.orders", "db.daily", "insert"}),
        ("type:DIRECTORY", {"/elsewhere"}),
    ],
)
def test_entities_related_to_a_match_are_exported_whole(world: World, query: str, exported: set[str]) -> None:
    world.path("/elsewhere")
    orders, daily = world.table("orders", "amount"), world.table("daily", "total")
    one = world.operation("insert", [orders], [daily], parts={"daily.total": ["orders.amount"]})
    world.execution(one, "run", started=AS_OF_MS)

    found = items(world, f"{of(world)} AND {query}")
    assert {
        *datasets(found),
        *(each.name for each in found if isinstance(each, ExportedOperation)),
    } == exported


def test_relations_alone_are_not_exportable(world: World) -> None:
    with pytest.raises(NotExportable, match="finds relations"):
        items(world, "type:DATA_FLOW")


def test_an_export_can_be_resumed_after_any_batch(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BATCH", dict.fromkeys(batches.STAGES, 1))
    tables = [world.table(f"t{number}", "a") for number in range(3)]
    for one, other in itertools.pairwise(tables):
        world.execution(world.operation(f"insert {one.name}", [one], [other]), f"{one.name}")
    every = batches_of(world, all_executions=True)
    whole = {repr(item) for batch in every for item in batch.items}

    assert len(every) > 5
    for number, batch in list(enumerate(every))[::2]:
        selection = Selection(of(world), all_executions=True)
        rest = [item for each in read(world.solr, selection, batch.place) for item in each.items]
        before = [item for each in every[: number + 1] for item in each.items]
        assert {repr(item) for item in (*before, *rest)} == whole


def touched(world: World, by: str, *keys: Key) -> None:
    for key in keys:
        world.elements[key.identity]["extractorRunId"] = by


def followed(world: World) -> Iterator[tuple[str, str]]:
    """Yield items changed since the first run as (name, "gone" or "there")."""
    for item in items(world, since_run=run_id(world.source(HIVE).id, 1)):
        if isinstance(item, ExportedDataset):
            yield item.name.full_name, "gone" if item.deleted else "there"
            yield from ((f"{item.name.full_name}.{each.name}", "gone") for each in item.deleted_columns)
        elif isinstance(item, ExportedOperation):
            yield item.name, "gone" if item.deleted else "there"


def test_an_incremental_export_has_only_the_changes(world: World) -> None:
    orders, daily = world.table("orders", "amount"), world.table("daily", "total", "old")
    dropped, long_gone = world.table("dropped", "a"), world.table("long_gone", "a", deleted=True)
    changed = world.operation("changed", [orders], [daily], parts={"daily.total": ["orders.amount"]})
    run = world.execution(changed, "run", started=AS_OF_MS)
    world.operation("unchanged", [daily], [orders])
    ended = world.operation("ended", [dropped], [orders])
    world.finished(HIVE, 1)
    second = world.finished(HIVE, 2)
    for each in (dropped, world.column("daily.old"), ended):
        world.elements[each.identity]["deleted"] = True
    touched(world, second, run, dropped, world.column("daily.old"), ended)

    assert sorted(followed(world)) == [
        ("changed", "there"),
        ("db", "there"),
        ("db.daily", "there"),
        ("db.daily.old", "gone"),
        ("db.dropped", "gone"),
        ("db.orders", "there"),
        ("ended", "gone"),
    ]
    assert long_gone.identity not in repr(items(world))


def test_an_edit_counts_as_a_change(world: World) -> None:
    orders = world.table("orders", "amount")
    world.table("daily")
    world.finished(HIVE, 1)
    assert list(followed(world)) == []
    edit = Edit(
        orders.identity,
        "db.orders",
        "ann",
        int(time.time() * 1000) + 1,
        (FieldChange("tags", None, ["pii"]),),
    )
    note_edits(world.solr, [edit])
    world.solr.commit(EDITS, soft=True)

    assert list(followed(world)) == [("db", "there"), ("db.orders", "there")]


def test_removed_user_metadata_is_cleared_and_absent_metadata_left_alone(world: World) -> None:
    orders = world.table("orders", "amount")
    world.finished(HIVE, 1)
    taken = (FieldChange("tags", ["pii"], None), FieldChange("description", "wrong", None))
    note_edits(world.solr, [Edit(orders.identity, "db.orders", "ann", int(time.time() * 1000) + 1, taken)])
    world.solr.commit(EDITS, soft=True)
    everything, changed = items(world), items(world, since_run=run_id(world.source(HIVE).id, 1))

    def sent(target: str, found: Iterable[Item]) -> list[dict[str, Any]]:
        made = targets()[target]
        return [orjson.loads(each) for each in made.records(found, made.options())]

    tables = [
        next(
            each
            for line in sent("atlas", found)
            for each in line["entities"]
            if each["typeName"] == "hive_table"
        )
        for found in (changed, everything)
    ]
    assert tables[0]["labels"] == []
    assert tables[0]["attributes"]["userDescription"] is None
    assert "labels" not in tables[1]
    assert "userDescription" not in tables[1]["attributes"]
    tags = [
        [each["aspect"]["json"] for each in sent("datahub", found) if each["aspectName"] == "globalTags"]
        for found in (changed, everything)
    ]
    assert tags == [[{"tags": []}], []]


def test_an_unfinished_run_is_not_a_starting_point(world: World) -> None:
    before = world.finished(HIVE, 1)
    goes_on = RunRecord("x", world.source(IMPALA).id, 1, Status.RUNNING, int(time.time() * 1000))
    save_run(world.solr, goes_on)
    world.solr.commit(RUNS, soft=True)

    newest = newest_run(world.solr)
    assert newest != goes_on.run_id
    ended = world.finished(HIVE, 2)
    assert newest_run(world.solr) == ended != before
    save_run(world.solr, replace(goes_on, status=Status.FAILED, ended_ms=goes_on.started_ms))


def test_a_failed_run_is_not_a_starting_point_until_it_is_repeated(
    world: World,
) -> None:
    ended = world.finished(HIVE, 1)
    now_ms = int(time.time() * 1000)
    failed = RunRecord("x", world.source(HIVE).id, 2, Status.FAILED, now_ms, now_ms + 1)
    save_run(world.solr, failed)
    world.solr.commit(RUNS, soft=True)
    assert newest_run(world.solr) == ended

    made_again = world.finished(HIVE, 2)
    assert newest_run(world.solr) == made_again == failed.run_id


def test_a_run_by_a_clock_ahead_is_not_a_starting_point(world: World) -> None:
    ahead_ms = int((time.time() + 30 * 86_400) * 1000)
    ahead = RunRecord("x", world.source(IMPALA).id, 1, Status.FINISHED, ahead_ms, ahead_ms + 1)
    ended = world.finished(HIVE, 1)
    save_run(world.solr, ahead)
    world.solr.commit(RUNS, soft=True)

    assert newest_run(world.solr) == ended


def test_a_rename_is_followed_to_its_last_name_and_is_not_a_deletion(world: World) -> None:
    names = [world.table(name, "a", deleted=name != "third") for name in ("first", "second", "third")]
    world.source(HIVE)
    first = world.finished(HIVE, 1)
    second = world.finished(HIVE, 2)
    for number, (before, after) in enumerate(itertools.pairwise(names)):
        rename = world.operation(
            f"ALTER {before.name}", [before], [after], engine=HIVE, operationType="ALTERTABLE_RENAME"
        )
        run = world.execution(rename, f"event {number}", started=AS_OF_MS + number)
        touched(world, second, rename, run, before, after)
    for source in world.sources.values():
        world.elements[source.id]["sourceTemplate"] = source.type == HIVE

    found = items(world, since_run=first)
    (rename_found,) = (each for each in found if isinstance(each, Renamed))
    assert (rename_found.before.name, rename_found.after.name) == ("first", "third")
    assert (rename_found.columns, rename_found.time_ms) == (("a",), AS_OF_MS + 1)
    assert isinstance(found[0], Renamed)
    states = {name: each.deleted for name, each in datasets(found).items() if each.name.database}
    # The rename accounts for db.first, so only db.second is reported as deleted.
    assert states == {"db.second": True, "db.third": False}


def test_a_new_location_exports_its_writers_again(world: World) -> None:
    table, path = world.table("orders"), world.path("/orders")
    world.operation("save", [], [path], engine=SPARK)
    world.located(table, path)
    world.finished(HIVE, 1)
    second = world.finished(HIVE, 2)
    assert list(followed(world)) == []
    for relation in world.relations.values():
        if relation["type"] == "LOGICAL_PHYSICAL":
            relation["extractorRunId"] = second

    assert sorted(followed(world)) == [
        ("/orders", "there"),
        ("db", "there"),
        ("db.orders", "there"),
        ("save", "there"),
    ]
