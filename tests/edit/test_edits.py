"""User edits of entities: they override extracted values, and are recorded with author, time and previous value."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from navlin.edit.annotation_changes import (
    AnnotationChanges,
    Properties,
    Tags,
    edit_annotations,
    properties,
    tags,
    texts,
)
from navlin.edit.models import properties_of, register
from navlin.edit.plugin import write_objects
from navlin.edit.values import BadValue, checked
from navlin.index.journal.edits import Edit, edits_of
from navlin.index.people.editing import Author
from navlin.index.schema.fields import EDITS, ELEMENTS, SOURCE_ANNOTATIONS
from navlin.index.solr.solr import Solr, SolrError
from navlin.model.identity import run_id
from navlin.model.keys import Key
from navlin.model.redaction import MASK
from navlin.pipeline.guard import Guard
from navlin.pipeline.run import Pipeline
from tests.support.indexed_estate import World
from tests.support.solr_proxy import Call, SolrProxy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.pipeline_estate import SmallEstate

ANN = Author("ann", 1_790_000_000_000)


@pytest.fixture
def world(solr: Solr) -> World:
    world = World(solr, f"edits-{uuid4().hex[:6]}")
    world.put(world.hive, *(world.entity(world.table(f"shop.{name}")) for name in ("orders", "raw")))
    return world


def edited(solr: Solr, key: Key, words: AnnotationChanges, author: Author = ANN) -> list[Edit]:
    """Edit one entity and return the changes reported, after checking that the history contains them."""
    done = [edit for each in edit_annotations(solr, {key.identity: words}, author) for edit in each.edits]
    for edit in done:
        newest, _ = edits_of(solr, key.identity, 1)
        assert newest == [edit]
    return done


def fields(world: World, key: Key) -> dict[str, Any]:
    found = world.entity_of(key)
    assert found is not None
    return found


# -- Effects of an edit ------------------------------------------------------------------------------------------------

CHANGES: dict[str, tuple[dict[str, Any], AnnotationChanges, dict[str, Any]]] = {
    "a name and a description": (
        {},
        AnnotationChanges(texts({"name": "Orders", "description": "all"})),
        {"name": "Orders", "description": "all"},
    ),
    "a name erased": ({"name": "Orders"}, AnnotationChanges(texts({"name": None})), {"name": None}),
    "an empty name erases": ({"name": "Orders"}, AnnotationChanges(texts({"name": ""})), {"name": None}),
    "what is so already": ({"name": "Orders"}, AnnotationChanges(texts({"name": "Orders"})), {}),
    "nothing erased": ({}, AnnotationChanges(texts({"name": None})), {}),
    "tags added": ({"tags": ["a"]}, AnnotationChanges(tags=Tags(add=("b", "a"))), {"tags": ["a", "b"]}),
    "a tag removed": ({"tags": ["a", "b"]}, AnnotationChanges(tags=Tags(remove=("a", "x"))), {"tags": ["b"]}),
    "the last tag removed": ({"tags": ["a"]}, AnnotationChanges(tags=Tags(remove=("a",))), {"tags": None}),
    "tags replaced": ({"tags": ["a"]}, AnnotationChanges(tags=Tags(only=("b",))), {"tags": ["b"]}),
    "tags replaced by none": ({"tags": ["a"]}, AnnotationChanges(tags=Tags(only=())), {"tags": None}),
    "the same tags in another order": (
        {"tags": ["a", "b"]},
        AnnotationChanges(tags=Tags(only=("b", "a"))),
        {},
    ),
    "tags set, added and removed": (
        {"tags": ["z"]},
        AnnotationChanges(tags=Tags(("a", "b"), ("c",), ("a",))),
        {"tags": ["b", "c"]},
    ),
    "a property added": (
        {"up_k": "v"},
        AnnotationChanges(properties=Properties(add={"l": "w"})),
        {"up_l": "w"},
    ),
    "a property removed": (
        {"up_k": "v"},
        AnnotationChanges(properties=Properties(remove=("k",))),
        {"up_k": None},
    ),
    "properties replaced": (
        {"up_k": "v", "up_l": "w"},
        AnnotationChanges(properties=Properties(only={"l": "x"})),
        {"up_k": None, "up_l": "x"},
    ),
    "a managed property": ({}, AnnotationChanges(managed={"cpl_ns.n": [7]}), {"cpl_ns.n": [7]}),
    "a managed property erased": (
        {"cp_ns.k": ["a"]},
        AnnotationChanges(managed={"cp_ns.k": None}),
        {"cp_ns.k": None},
    ),
}
"""name → (edited fields before, requested words, fields that change)"""


@pytest.mark.parametrize("what", CHANGES)
def test_an_edit_changes_only_the_named_fields_and_records_them(world: World, what: str) -> None:
    before, words, expected = CHANGES[what]
    key = world.table("shop.orders")
    world.solr.add(ELEMENTS, [{**fields(world, key), **before}])
    there = fields(world, key)

    done = edited(world.solr, key, words)

    changes = [(each.field, each.old, each.new) for edit in done for each in edit.changes]
    assert changes == [(name, before.get(name), value) for name, value in expected.items()]
    assert [(edit.who, edit.when_ms, edit.name) for edit in done] == (
        [("ann", ANN.now_ms, "shop.orders")] if expected else []
    )
    after = {name: value for name, value in {**there, **expected}.items() if value is not None}
    assert {**fields(world, key), "_version_": 0} == {**after, "_version_": 0}, "and nothing else"


@pytest.mark.parametrize(
    "make",
    [
        lambda: texts({"name": "x" * 501}),
        lambda: texts({"description": "x" * 1_048_577}),
        lambda: texts({"name": ["x"]}),
        lambda: texts({"name": 7}),
        lambda: texts({"name": "\ud800"}),
        lambda: tags("pii"),
        lambda: tags(["pii", 7]),
        lambda: tags([""]),
        lambda: properties(["a"]),
        lambda: properties({"a": ["b"]}),
        lambda: properties({"": "b"}),
        lambda: properties({"a": "x" * 8_001}),
        lambda: properties({"a" * 300: "x"}),
    ],
)
def test_an_invalid_value_is_refused_with_a_message(make: Callable[[], Any]) -> None:
    with pytest.raises(BadValue) as refused:
        make()
    assert str(refused.value)


def test_texts_up_to_navigators_limits_are_kept(world: World) -> None:
    key = world.table("shop.orders")
    long = {"name": "n" * 500, "description": "word " * 20_000}
    edited(world.solr, key, AnnotationChanges(texts(long)))
    assert {name: fields(world, key)[name] for name in long} == long


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Lima"])
def test_a_date_without_a_zone_is_utc_whatever_the_machines_zone(
    zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert checked("cpt_ns_reviewed", "2026-01-31") == ["2026-01-31T00:00:00Z"]
        assert checked("cpt_ns_reviewed", "2026-01-31T01:00:00+01:00") == ["2026-01-31T00:00:00Z"]
    finally:
        monkeypatch.undo()
        time.tzset()


def test_property_values_become_texts_and_secrets_are_masked() -> None:
    assert properties({"a": 7, "b": True, "c": None, "d": ""}) == {"a": "7", "b": "true"}
    assert MASK in str(texts({"description": "jdbc:x;password=Hunter2x"}))


def test_metadata_from_a_source_stays_its_own_until_a_user_changes_it(world: World) -> None:
    key = world.table("shop.orders")
    source = {"description": "sidecar", "tags": ["raw"], SOURCE_ANNOTATIONS: ["description", "tags"]}
    world.solr.add(ELEMENTS, [{**fields(world, key), **source}])

    # A client sends all fields back, although it changed none.
    assert (
        edited(world.solr, key, AnnotationChanges(texts({"description": "sidecar"}), Tags(only=("raw",))))
        == []
    )
    assert fields(world, key)[SOURCE_ANNOTATIONS] == ["description", "tags"]

    edited(world.solr, key, AnnotationChanges(texts({"description": "by a person"})))
    assert fields(world, key)[SOURCE_ANNOTATIONS] == ["tags"]


def test_an_edit_is_searchable_at_once_and_the_history_is_newest_first(world: World) -> None:
    key, word = world.table("shop.orders"), f"w{uuid4().hex}"
    for number, who in enumerate(("ann", "bob", "carl")):
        edited(
            world.solr,
            key,
            AnnotationChanges(texts({"description": f"{word} {who}"})),
            Author(who, number + 1),
        )
        assert world.solr.count(ELEMENTS, f"description:{word}") == 1
    found, count = edits_of(world.solr, key.identity, 2)
    assert ([edit.who for edit in found], count) == (["carl", "bob"], 3)
    assert found[0].changes[0].old == f"{word} bob"
    assert [edit.who for edit in edits_of(world.solr, key.identity, 2, 2)[0]] == ["ann"]


def test_unknown_entities_are_reported_and_a_dry_run_writes_nothing(world: World) -> None:
    key, words = world.table("shop.orders"), AnnotationChanges(texts({"name": "x"}))
    versions, noted = world.versions(), world.solr.count(EDITS)

    (tried,) = edit_annotations(world.solr, {key.identity: words, "nobody": words}, ANN, dry_run=True)

    assert [edit.entity for edit in tried.edits] == [key.identity]
    assert tried.unknown == ("nobody",)
    world.solr.commit(EDITS, soft=True)
    assert (world.versions(), world.solr.count(EDITS)) == (versions, noted)


def test_many_entities_are_edited_at_once(world: World) -> None:
    tables = [world.table(f"many.t{number}") for number in range(1_200)]
    world.put(world.hive, *map(world.entity, tables))
    asked = {key.identity: AnnotationChanges(tags=Tags(add=("bulk",))) for key in tables}
    steps = [len(each.edits) for each in edit_annotations(world.solr, asked, ANN)]
    assert steps == [1_000, 200]
    assert world.solr.count(ELEMENTS, "tags:bulk", f"sourceId:{world.hive.id}") == 1_200


# -- Following a source ------------------------------------------------------------------------------------------------


def iteration(world: World, number: int) -> None:
    """Save an extraction iteration of the source, as a run does at its end."""
    update = {"identity": world.hive.id, "sourceExtractIteration": {"set": number}, "_version_": 1}
    world.solr.add(ELEMENTS, [update])


@pytest.mark.parametrize(
    ("there", "come_to", "expected"),
    [(1, 7, 7), (7, 7, 7), (8, 7, 8), (1, 0, 1)],
    ids=["an old entity", "of the last run", "of a run that goes on", "before the first run ended"],
)
def test_an_edit_carries_the_iteration_queried_by_clients(
    world: World, there: int, come_to: int, expected: int
) -> None:
    key = world.table("shop.orders")
    iteration(world, come_to)
    world.solr.add(ELEMENTS, [{**fields(world, key), "extractorRunId": run_id(world.hive.id, there)}])
    edited(world.solr, key, AnnotationChanges(texts({"name": "x"})))
    assert fields(world, key)["extractorRunId"] == run_id(world.hive.id, expected)


def test_an_edit_of_an_entity_stamped_by_a_purge_gets_its_sources_iteration(world: World) -> None:
    key = world.table("shop.orders")
    iteration(world, 3)
    for stamp in ("purge##99", "no stamp"):
        world.solr.add(ELEMENTS, [{**fields(world, key), "extractorRunId": stamp}])
        edited(world.solr, key, AnnotationChanges(texts({"name": stamp})))
        assert fields(world, key)["extractorRunId"] == run_id(world.hive.id, 3)


def test_an_edit_follows_a_run_that_ends_while_it_is_written(world: World) -> None:
    key = world.table("shop.orders")
    iteration(world, 3)

    def passes(call: Call) -> bool:
        if call.core == ELEMENTS and call.documents and not call.answered:
            iteration(world, 4)
        return True

    with SolrProxy(world.solr.address, passes) as proxy, Solr(proxy.address) as between:
        list(edit_annotations(between, {key.identity: AnnotationChanges(texts({"name": "x"}))}, ANN))
    assert fields(world, key)["extractorRunId"] == run_id(world.hive.id, 4)


# -- Concurrency -------------------------------------------------------------------------------------------------------


def test_two_concurrent_edits_lose_nothing(world: World) -> None:
    key, bob = world.table("shop.orders"), Author("bob", ANN.now_ms + 1)
    done: list[Any] = []

    def passes(call: Call) -> bool:
        if call.core == ELEMENTS and call.documents and not call.answered and not done:
            done.append(
                edited(
                    world.solr,
                    key,
                    AnnotationChanges(tags=Tags(add=("b",)), texts=texts({"name": "Bob's"})),
                    bob,
                )
            )
        return True

    with SolrProxy(world.solr.address, passes) as proxy, Solr(proxy.address) as between:
        words = AnnotationChanges(tags=Tags(add=("a",)), texts=texts({"description": "Ann's"}))
        list(edit_annotations(between, {key.identity: words}, ANN))

    there = fields(world, key)
    assert (there["tags"], there["name"], there["description"]) == (["b", "a"], "Bob's", "Ann's")
    found, count = edits_of(world.solr, key.identity, 10)
    assert count == 2, "what was tried in vain is noted nowhere"
    assert {(edit.who, each.field, str(each.old)) for edit in found for each in edit.changes} == {
        ("bob", "name", "None"),
        ("bob", "tags", "None"),
        ("ann", "tags", "['b']"),
        ("ann", "description", "None"),
    }


def test_an_interrupted_edit_changes_nothing_and_may_be_repeated(world: World) -> None:
    key = world.table("shop.orders")
    before = fields(world, key)

    def passes(call: Call) -> bool:
        return not (call.core == ELEMENTS and call.documents)

    words = AnnotationChanges(texts({"name": "x"}))
    with (
        SolrProxy(world.solr.address, passes) as proxy,
        Solr(proxy.address) as between,
        pytest.raises(SolrError),
    ):
        list(edit_annotations(between, {key.identity: words}, ANN))
    assert fields(world, key) == before
    assert len(edited(world.solr, key, words, Author("ann", ANN.now_ms + 1))) == 1
    assert fields(world, key)["name"] == "x"


def test_an_edit_next_to_a_refused_entity_is_searchable(world: World) -> None:
    good, bad = world.table("shop.orders").identity, world.table("shop.raw").identity
    asked = {
        bad: AnnotationChanges(managed={"cpl_n.k": [2**64 - 1]}),
        good: AnnotationChanges(tags=Tags(add=(f"seen-{good}",))),
    }
    with pytest.raises(ValueError, match=bad):
        for edited in edit_annotations(world.solr, asked, ANN):
            for refused in edited.refused:
                raise ValueError(refused.identity)
    assert world.solr.count(ELEMENTS, f'tags:"seen-{good}"') == 1


def owner_and_words(estate: SmallEstate) -> tuple[str, str, list[str]]:
    found = estate.element("sales.orders")
    return found["owner"], found["description"], found["tags"]


WORDS = AnnotationChanges(texts({"description": "all orders"}), Tags(add=("gold",)))


@pytest.mark.services
def test_an_edit_between_an_extractions_read_and_write_is_kept(
    estate: SmallEstate, spark: Callable[[], SparkSession]
) -> None:
    estate.tables({"sales.orders": ["id"]})
    estate.pull()
    key = estate.key("sales.orders")
    asked: list[str] = []

    def passes(call: Call) -> bool:
        written = {str(each.get("identity")) for each in call.documents}
        if call.core == ELEMENTS and key.identity in written and not call.answered and not asked:
            asked.append(key.identity)
            assert len(edited(estate.solr, key, WORDS)) == 1
        return True

    estate.tables({"sales.orders": {"columns": ["id"], "owner": "somebody else"}})
    with SolrProxy(estate.solr.address, passes) as proxy:
        clock = estate.pipeline.clock
        estate.pipeline = Pipeline(proxy.address, spark, clock, Guard())
        record = estate.pull()
    assert asked, "it was in between"
    assert record.counts.changed == 1
    assert owner_and_words(estate) == ("somebody else", "all orders", ["gold"])


def test_an_extraction_between_an_edits_read_and_write_is_kept(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": ["id"]})
    first = estate.pull()
    key = estate.key("sales.orders")
    pulled: list[Any] = []

    def passes(call: Call) -> bool:
        if call.core == ELEMENTS and call.documents and not call.answered and not pulled:
            estate.tables({"sales.orders": {"columns": ["id"], "owner": "somebody else"}})
            pulled.append(estate.pull())
        return True

    with SolrProxy(estate.solr.address, passes) as proxy, Solr(proxy.address) as between:
        list(edit_annotations(between, {key.identity: WORDS}, ANN))
    assert owner_and_words(estate) == ("somebody else", "all orders", ["gold"])
    assert estate.element("sales.orders")["extractorRunId"] == pulled[0].run_id
    assert pulled[0].iteration == first.iteration + 1
    again = estate.pull()
    assert (again.iteration, again.counts.linked) == (pulled[0].iteration + 1, 0), "an edit is no run"
    assert again.counts.changed == 0


@pytest.mark.services
def test_edits_models_and_plugin_writes_work_on_solrcloud(cloud: Solr) -> None:
    world = World(cloud, f"cloud-edits-{uuid4().hex[:6]}")
    world.put(world.hive, *(world.entity(world.table(f"shop.t{number}")) for number in range(20)))
    keys = [world.table(f"shop.t{number}") for number in range(20)]
    asked = {key.identity: AnnotationChanges(texts({"name": key.name}), Tags(add=("a",))) for key in keys}
    (done,) = edit_annotations(cloud, asked, ANN)
    assert len(done.edits) == 20
    assert {fields(world, key)["name"] for key in keys} == {key.name for key in keys}
    assert [edits_of(cloud, key.identity, 5)[1] for key in keys] == [1] * 20
    register(cloud, {"properties": [{"namespace": world.cluster, "name": "n", "type": "LONG"}]}, ANN)
    assert properties_of(cloud)[world.cluster, "n"].type == "LONG"
    own = {"sourceType": "SDK", "namespace": world.cluster, "type": "DATASET", "originalName": "x"}
    early = {"sourceId": world.hive.id, "type": "TABLE", "databaseName": "shop", "tableName": "early"}
    for _ in range(2):
        entities, _ = write_objects(cloud, [own, {**early, "name": "Early"}], [], ANN)
        assert (entities.count, entities.errors) == (2, {})
    world.put(world.hive, world.entity(world.table("shop.early"), {"owner": "etl"}))
    early_table = fields(world, world.table("shop.early"))
    assert (early_table["owner"], early_table["name"], early_table.get("granted")) == ("etl", "Early", None)
