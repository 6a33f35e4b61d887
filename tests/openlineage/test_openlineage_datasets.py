"""The datasets of OpenLineage events: keys, columns, and entities for datasets that have no other owner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from extractors.openlineage.names import DatasetKeys
from navlin.model.databases import database_of, database_table_key
from navlin.model.keys import EntityType, RelationType, location_key, table_key
from navlin.model.records import Entity, Relation
from navlin.model.source import source_id
from tests.support.openlineage import (
    ESTATE,
    FILTER,
    HDFS_1,
    HIVE_1,
    IDENTITY,
    JOIN,
    SDK_1,
    SUM,
    Follower,
    Json,
    columns,
    dataset,
    event,
    flows,
    of_fields,
    path,
    shown,
    source,
    symlinks,
    table,
    wrote,
)
from tests.support.record_edges import Read


@pytest.fixture
def follower(tmp_path: Path) -> Follower:
    return Follower(tmp_path)


# -- Names ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "namespace", "name"),
    [
        ("jdbc:sqlserver://db;databaseName=shop", "sqlserver://db", "shop.dbo.orders"),
        ("jdbc:mariadb://db/shop", "mariadb://db", "dbo.orders"),
        ("jdbc:redshift://db/shop", "redshift://db", "shop.dbo.orders"),
        ("jdbc:postgresql://db/shop", "postgres://db:5432", "shop.dbo.orders"),
    ],
)
def test_a_table_in_an_event_is_the_one_that_a_jdbc_url_names(url: str, namespace: str, name: str) -> None:
    told = DatasetKeys(SDK_1, ESTATE).key(namespace, name)
    database = database_of(url)
    assert (
        told.identity == database_table_key(ESTATE, database, database.dataset_of(("dbo", "orders"))).identity
    )


@pytest.mark.parametrize(
    ("given", "means", "kind", "system"),
    [
        (table("sales.orders"), "sales.orders", "TABLE", HIVE_1.id),
        (dataset("hive://hms:9083/", "sales.orders"), "sales.orders", "TABLE", HIVE_1.id),
        (dataset("hive://other:9083", "sales.orders"), "sales.orders", "TABLE", source_id("c", "thrift://other:9083")),
        (dataset("hive://hms:9083", "hive.sales.orders"), "sales.orders", "TABLE", HIVE_1.id),
        (dataset("hive://hms:9083", "`sales`.`orders`"), "sales.orders", "TABLE", HIVE_1.id),
        (dataset("hive://hms:9083", "sales.`orders"), "sales.`orders", "DATASET", SDK_1.id),
        (dataset("arn:aws:glue:eu:1", "table/sales/orders"), "sales.orders", "TABLE", source_id("c", "arn:aws:glue:eu:1")),
        (dataset("arn:aws:glue:eu:1/", "table/sales/orders"), "sales.orders", "TABLE", source_id("c", "arn:aws:glue:eu:1")),
        (path("/a/b"), "/a/b", "DIRECTORY", HDFS_1.id),
        (path("/a/day=1/hour=2"), "/a", "DIRECTORY", HDFS_1.id),
        (dataset("hdfs://ns1/", "a/b"), "/a/b", "DIRECTORY", HDFS_1.id),
        (dataset("file", "/a/b"), "/a/b", "DIRECTORY", source_id("c", "file://")),
        (dataset("file:///", "/a/b"), "/a/b", "DIRECTORY", source_id("c", "file://")),
        (dataset("file://localhost", "/a/b"), "/a/b", "DIRECTORY", source_id("c", "file://")),
        # Paths on two machines are distinct, even if they look the same.
        (dataset("file://one", "/a/b"), "/a/b", "DATASET", SDK_1.id),
        (dataset("s3a://bucket", "a/b"), "/a/b", "DIRECTORY", source_id("c", "s3://bucket")),
        (dataset("s3://bucket", "/a/b"), "/a/b", "DIRECTORY", source_id("c", "s3://bucket")),
        (dataset("abfss://c@acct.dfs.core.windows.net", "/a"), "/a", "DIRECTORY", source_id("c", "abfss://c@acct.dfs.core.windows.net")),
        (dataset("postgres://db:5432", "shop.public.orders"), "shop.public.orders", "DATASET", SDK_1.id),
        (dataset("kafka://broker:9092", "orders"), "orders", "DATASET", SDK_1.id),
        (dataset("food_delivery", "public.orders"), "public.orders", "DATASET", SDK_1.id),
        (dataset("hive://hms:9083", "no table"), "no table", "DATASET", SDK_1.id),
        (dataset("trino://trino:8080", "hive.sales.orders"), "sales.orders", "TABLE", HIVE_1.id),
        # Spark gives the path with the table as a symlink; Hive's hook gives the table with the path as a symlink.
        (path("/wh/o", **symlinks(("hive://hms:9083", "sales.orders", "TABLE"))), "sales.orders", "TABLE", HIVE_1.id),
        (table("sales.orders", **symlinks(("hdfs://ns1", "/wh/o", "LOCATION"))), "sales.orders", "TABLE", HIVE_1.id),
        (dataset("file", "/wh/o", **symlinks(("file:/wh", "sales.orders", "TABLE"))), "sales.orders", "TABLE", HIVE_1.id),
        (
            path(
                "/wh/o",
                catalog={"framework": "iceberg", "type": "hadoop"},
                **symlinks(("hdfs://ns1/wh", "sales.orders", "TABLE")),
            ),
            "/wh/o",
            "DIRECTORY",
            HDFS_1.id,
        ),
    ],
)  # fmt: skip
def test_a_dataset_resolves_to_the_entity_of_its_system(
    tmp_path: Path, given: Json, means: str, kind: str, system: str
) -> None:
    follower = Follower(tmp_path, metastore_namespaces=("trino://trino:8080",))
    got = follower.read(event("COMPLETE", 1, inputs=[given], outputs=[table("b.b")]))
    (read,) = [r.ep1 for r in got.relations if r.ep2 == got.operation.key]
    assert (shown(read), read.type, read.source.id) == (means, kind, system)
    if kind == "TABLE":
        assert read.identity == table_key(read.source, "sales", "orders").identity


def test_struct_fields_map_to_the_table_column(follower: Follower) -> None:
    facet = of_fields(
        {
            "out.f1": [source("a.a", "st.f1", SUM)],
            "out.f2": [source("a.a", "st.f2", SUM)],
            "my.name": [source("a.a", "x", SUM)],
        }
    )
    schema = {"schema": {"fields": [{"name": "out", "type": "struct"}, {"name": "my.name", "type": "int"}]}}
    got = follower.read(
        event("COMPLETE", 1, inputs=[table("a.a")], outputs=[table("b.b", **schema, **facet)])
    )
    assert columns(got) == {"b.b.out": {"a.a.st"}, "b.b.my.name": {"a.a.x"}}
    identities = [each.key.identity for each in got.of(EntityType.SUB_OPERATION)]
    assert len(identities) == len(set(identities)) == 2


def test_files_on_two_hosts_are_two_datasets(follower: Follower) -> None:
    read = [dataset(f"file://{host}", "/a/b") for host in ("one", "two")]
    got = follower.read(event("COMPLETE", 1, inputs=read, outputs=[table("b.b")]))
    assert len({r.ep1.identity for r in got.relations if r.ep2 == got.operation.key}) == 2


def test_a_symlink_gives_the_location_of_a_table(follower: Follower) -> None:
    linked = path("/wh/o", **symlinks(("hive://hms:9083", "sales.orders", "TABLE")))
    got = follower.read(event("COMPLETE", 1, inputs=[linked], outputs=[table("b.b")]))
    (lies,) = [r for r in got.relations if r.type is RelationType.LOGICAL_PHYSICAL]
    assert lies.ep1.identity == table_key(HIVE_1, "sales", "orders").identity
    assert lies.ep2.identity == location_key(ESTATE, "hdfs://ns1/wh/o").identity


@pytest.mark.parametrize("nothing", [{}, {"job": None, "run": None, "eventType": None, "inputs": None}])
def test_a_dataset_event_gives_the_location_of_a_table(follower: Follower, nothing: Json) -> None:
    linked = table("sales.orders", **symlinks(("hdfs://ns1", "/wh/o", "LOCATION")))
    (lies,) = follower.read({"eventTime": "2023-11-14T22:14:00Z", "dataset": linked, **nothing}).records
    assert isinstance(lies, Relation)
    assert (shown(lies.ep1), shown(lies.ep2), lies.attributes) == ("sales.orders", "/wh/o", {"hint": True})


# -- Columns -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facet", "expected", "tables"),
    [
        # A source without a transformation is a data source.
        (of_fields({"x": [source("a.a", "x")]}), {"b.b.x": {"a.a.x"}}, {"a.a", "a.b"}),
        (
            of_fields({"x": [source("a.a", "x", IDENTITY), source("a.b", "k", JOIN)]}),
            {"b.b.x": {"a.a.x", "CONTROL a.b.k"}},
            {"a.a", "CONTROL a.b"},
        ),
        # A column may be both a data and a control source.
        (of_fields({"x": [source("a.a", "x", SUM, FILTER)]}), {"b.b.x": {"a.a.x", "CONTROL a.a.x"}}, {"a.a", "a.b"}),
        (
            of_fields({"x": [source("a.a", "x", SUM)]}, dataset=[source("a.b", "k", FILTER)]),
            {"b.b.x": {"a.a.x", "CONTROL a.b.k"}},
            {"a.a", "CONTROL a.b"},
        ),
        (of_fields({}, dataset=[source("a.b", "k", FILTER)]), {"b.b": {"CONTROL a.b.k"}}, {"a.a", "a.b"}),
        # Trino lists every column read as a dataset source, so the data source of one column does not control the
        # other columns.
        (
            of_fields(
                {name: [source("a.a", name)] for name in "xy"},
                dataset=[source("a.a", "x"), source("a.a", "y"), source("a.b", "k")],
            ),
            {f"b.b.{name}": {f"a.a.{name}", "CONTROL a.b.k"} for name in "xy"},
            {"a.a", "CONTROL a.b"},
        ),
        (
            of_fields({"x": [source("a.a", "x")]}, dataset=[source("a.a", "x", FILTER)]),
            {"b.b.x": {"a.a.x", "CONTROL a.a.x"}},
            {"a.a", "a.b"},
        ),
        (
            {"columnLineage": {"fields": {"x": {"inputFields": [source("a.a", "x")], "transformationType": "MASKED"}}}},
            {"b.b.x": {"a.a.x"}},
            {"a.a", "a.b"},
        ),
        (
            {"columnLineage": {"fields": {"x": {"inputFields": [source("a.a", "x")], "transformationType": "INDIRECT"}}}},
            {"b.b.x": {"CONTROL a.a.x"}},
            {"CONTROL a.a", "a.b"},
        ),
        # A schema column without lineage may come from the control source, which therefore counts as a data input.
        (
            of_fields({"x": [source("a.a", "x")]}, dataset=[source("a.b", "k", FILTER)])
            | {"schema": {"fields": [{"name": "X"}, {"name": "c"}]}},
            {"b.b.x": {"a.a.x", "CONTROL a.b.k"}, "b.b.c": {"CONTROL a.b.k"}},
            {"a.a", "a.b"},
        ),
        # All sources are indirect, because the output may count the rows of an input.
        (
            of_fields({"n": [source("a.a", "x", FILTER), source("a.b", "k", JOIN)]}),
            {"b.b.n": {"CONTROL a.a.x", "CONTROL a.b.k"}},
            {"a.a", "a.b"},
        ),
        # A column without sources, and a source that is not among the inputs.
        (of_fields({"one": [], "y": [source("c.c", "y")]}), {"b.b.y": {"c.c.y"}, "b.b.one": set()}, {"a.a", "a.b", "c.c"}),
        # The newer facet ``lineage``.
        (
            {
                "lineage": {
                    "inputs": [
                        {**source("a.b", "k", FILTER), "type": "DATASET"},
                        {"namespace": "hdfs://ns1", "name": "/raw", "type": "DATASET"},
                    ],
                    "fields": {"x": {"inputs": [{**source("a.a", "x", SUM), "type": "DATASET"}]}},
                }
            },
            {"b.b.x": {"a.a.x", "CONTROL a.b.k"}},
            {"a.a", "a.b", "/raw"},
        ),
    ],
)  # fmt: skip
def test_column_lineage_facets_become_column_flows(
    follower: Follower, facet: Json, expected: dict[str, set[str]], tables: set[str]
) -> None:
    got = follower.read(wrote(facet))
    assert columns(got) == expected
    assert flows(got) == {f"{each} -> operation" for each in tables} | {"operation -> b.b"}


def test_columns_belong_to_the_table_named_by_the_symlink(follower: Follower) -> None:
    read = path("/wh/o", **symlinks(("hive://hms:9083", "sales.orders", "TABLE")))
    of_path = source("/wh/o", "ID", namespace="hdfs://ns1")
    facet = of_fields({"id": [of_path]})
    written = path("/wh/d", **symlinks(("hive://hms:9083", "sales.daily", "TABLE")), **facet)
    got = follower.read(event("COMPLETE", 1, inputs=[read], outputs=[written]))
    assert columns(got) == {"sales.daily.id": {"sales.orders.ID"}}


@pytest.mark.parametrize(
    ("given", "spelled", "means"),
    [
        # Spark's agent writes object names with or without the slash, and database tables as spelled in the SQL.
        (("s3a://lake", "wh/orders"), ("s3a://lake", "/wh/orders"), "sales.orders"),
        (("s3://lake", "/wh/orders"), ("s3a://lake", "wh/orders/"), "sales.orders"),
        (("mysql://db:3306", "Shop.Orders"), ("mysql://db:3306", "shop.orders"), "Shop.Orders"),
    ],
)
def test_a_column_source_matches_an_input_spelled_differently(
    follower: Follower, given: tuple[str, str], spelled: tuple[str, str], means: str
) -> None:
    links = symlinks(("hive://hms:9083", "sales.orders", "TABLE")) if means == "sales.orders" else {}
    told = of_fields({"x": [source(spelled[1], "id", IDENTITY, namespace=spelled[0])]})
    got = follower.read(
        event("COMPLETE", 1, inputs=[dataset(*given, **links)], outputs=[table("b.b", **told)])
    )
    assert flows(got) == {f"{means} -> operation", "operation -> b.b"}
    assert columns(got) == {"b.b.x": {f"{means}.id"}}


def test_inputs_differing_only_in_case_are_two(follower: Follower) -> None:
    names = ("Shop.Orders", "SHOP.ORDERS")
    told = of_fields({"x": [source("shop.orders", "id", namespace="mysql://db:3306")]})
    inputs = [dataset("mysql://db:3306", name) for name in names]
    got = follower.read(event("COMPLETE", 1, inputs=inputs, outputs=[table("b.b", **told)]))
    assert columns(got) == {}
    assert flows(got) == {f"{name} -> operation" for name in names} | {"operation -> b.b"}
    assert reasons(got) == [SEVERAL]


PG = "postgres://h:5432"
SEVERAL = "the source of columns is named ambiguously: it may be one input or another"
UNLISTED = "columns come from a dataset that the producer does not name among the inputs"


def reasons(got: Read) -> list[str]:
    return list(got.operation.attributes["incompleteReasons"])


@pytest.mark.parametrize(
    ("inputs", "named", "expected", "why"),
    [
        pytest.param(["data.public.t"], "public.t", {"data.public.t.x"}, [], id="with less before it"),
        pytest.param(["data.public.t"], "t", {"data.public.t.x"}, [], id="the name alone"),
        pytest.param(["public.t"], "data.public.t", {"public.t.x"}, [], id="with more before it"),
        pytest.param(["data.public.t"], "PUBLIC.T", {"data.public.t.x"}, [], id="in another case"),
        pytest.param(
            ["data.public.t", "b.public.o"], "public.o", {"b.public.o.x"}, [], id="an input before the output"
        ),
        pytest.param([], "public.t", {"public.t.x"}, [], id="columns alone name inputs"),
        pytest.param(["data.public.t"], "public.o", {"data.public.o.x"}, [], id="what is written itself"),
        pytest.param(["a.public.t", "b.public.t"], "public.t", None, [SEVERAL], id="one input or another"),
        pytest.param(
            ["data.public.t"], "public.u", {"public.u.x"}, [UNLISTED], id="a dataset that is no input"
        ),
        pytest.param(
            ["data.public.t"], "ublic.t", {"ublic.t.x"}, [UNLISTED], id="the end of a part is no name"
        ),
    ],
)
def test_a_column_source_matches_the_only_input_with_that_suffix(
    follower: Follower, inputs: list[str], named: str, expected: set[str] | None, why: list[str]
) -> None:
    told = of_fields({"y": [source(named, "x", IDENTITY, namespace=PG)]})
    read = [dataset(PG, name) for name in inputs]
    got = follower.read(event("COMPLETE", 1, inputs=read, outputs=[dataset(PG, "data.public.o", **told)]))
    assert columns(got) == ({} if expected is None else {"data.public.o.y": expected})
    of_columns = {each.rpartition(".")[0] for each in expected or ()}
    assert flows(got) == {f"{each} -> operation" for each in {*inputs, *of_columns}} | {
        "operation -> data.public.o"
    }
    assert reasons(got) == why


def test_a_column_source_on_another_host_matches_no_input(follower: Follower) -> None:
    told = of_fields({"y": [source("public.t", "x", IDENTITY, namespace="postgres://other:5432")]})
    read = [dataset(PG, "data.public.t")]
    got = follower.read(event("COMPLETE", 1, inputs=read, outputs=[dataset(PG, "data.public.o", **told)]))
    assert columns(got) == {"data.public.o.y": {"public.t.x"}}
    assert reasons(got) == [UNLISTED]


def test_an_ambiguous_column_source_does_not_drop_the_clear_one(follower: Follower) -> None:
    clear = source("a.public.k", "k", IDENTITY, namespace=PG)
    told = of_fields({"y": [source("public.t", "x", IDENTITY, namespace=PG), clear], "z": [], "k": [clear]})
    read = [dataset(PG, name) for name in ("a.public.t", "b.public.t", "a.public.k")]
    got = follower.read(event("COMPLETE", 1, inputs=read, outputs=[dataset(PG, "o", **told)]))
    assert columns(got) == {"o.y": {"a.public.k.k"}, "o.z": set(), "o.k": {"a.public.k.k"}}
    assert reasons(got) == [SEVERAL]


def test_an_ambiguous_column_source_is_not_taken_as_control_flow(follower: Follower) -> None:
    decides = source("a.public.t", "id", FILTER, namespace=PG)
    told = of_fields({"y": [source("public.t", "x", IDENTITY, namespace=PG), decides]})
    read = [dataset(PG, name) for name in ("a.public.t", "b.public.t")]
    got = follower.read(event("COMPLETE", 1, inputs=read, outputs=[dataset(PG, "o", **told)]))
    assert flows(got) == {"a.public.t -> operation", "b.public.t -> operation", "operation -> o"}
    assert columns(got) == {"o.y": {"CONTROL a.public.t.id"}}


def test_the_transformation_of_a_column_is_kept(follower: Follower) -> None:
    masked = {**SUM, "masking": True}
    got = follower.read(wrote(of_fields({"x": [source("a.a", "x", IDENTITY), source("a.a", "y", masked)]})))
    (part,) = got.of(EntityType.SUB_OPERATION)
    about = {
        name: part.attributes[name]
        for name in ("edgeType", "transformation", "expression", "masking", "inputs")
    }
    assert about == {
        "edgeType": "PROJECTION",
        "transformation": "AGGREGATION",
        "expression": "sum(amount)",
        "masking": True,
        "inputs": ["a.a.x", "a.a.y"],
    }


def test_control_columns_shared_by_many_columns_are_stated_once(follower: Follower) -> None:
    names = [f"c{number}" for number in range(60)]
    deciding = [source("a.b", f"k{number}", FILTER) for number in range(50)]
    got = follower.read(wrote(of_fields({name: [source("a.a", name), *deciding] for name in names})))
    control = [
        r
        for r in got.relations
        if r.type is RelationType.CONTROL_FLOW and r.ep2.type is EntityType.SUB_OPERATION
    ]
    assert len(control) == 50
    assert all(len(read) == 51 for read in columns(got).values())


def test_a_writer_without_column_lineage_is_incomplete(follower: Follower) -> None:
    got = follower.read(wrote({}))
    assert got.operation.attributes["incompleteReasons"] == [
        "the producer does not say where columns come from"
    ]


# -- Datasets that only the source itself owns ---------------------------------------------------------------------------


ORDERS = ("postgres://db:5432", "public.orders")


def own(got: Read) -> dict[str, Entity]:
    return {
        shown(each.key): each
        for each in got.entities
        if each.key.type in (EntityType.DATASET, EntityType.FIELD)
    }


@pytest.mark.parametrize(
    ("facet", "told"),
    [
        ({"y": {"inputFields": [source("a.a", "z"), {"name": "a.a", "field": "x"}]}}, {"a.a.z"}),
        ({"y": {"inputFields": [source("a.a", "z"), source("a.b", "")]}}, {"a.a.z"}),
        ({"y": {"inputFields": [source("a.a", "z"), "a.b.x"]}}, {"a.a.z"}),
        ({"y": {"inputFields": source("a.a", "z")}}, set()),
        ({"y": [source("a.a", "z")]}, set()),
        ({"y": {"inputFields": [source("a.a", "z")]}, "": {"inputFields": [source("a.b", "z")]}}, {"a.a.z"}),
    ],
)
def test_unreadable_column_sources_make_the_operation_incomplete(
    follower: Follower, facet: Json, told: set[str]
) -> None:
    got = follower.read(wrote({"columnLineage": {"fields": facet}}))
    assert (columns(got), got.covers) == ({"b.b.y": told}, [])
    assert got.operation.attributes["incompleteReasons"] == ["the sources of columns could not be read"]
    assert "operation -> b.b" in flows(got)


@pytest.mark.parametrize(
    "facets",
    [
        of_fields({f"c{number}": [source("a.a", "z")] for number in range(5_001)}),
        of_fields({"y": [source("a.a", f"c{number}") for number in range(2_001)]}),
        {
            **of_fields({"y": [source("a.a", "z")]}),
            "schema": {"fields": [{"name": f"c{number}", "type": "int"} for number in range(5_001)]},
        },
    ],
    ids=["columns", "sources of one", "schema"],
)
def test_too_many_columns_make_the_operation_incomplete(follower: Follower, facets: Json) -> None:
    got = follower.read(wrote(facets))
    assert got.operation.attributes["incompleteReasons"] == ["there are more columns than navlin follows"]


def test_an_unclaimed_dataset_has_its_own_columns(follower: Follower) -> None:
    schema: Json = {
        "schema": {"fields": [{"name": "id", "type": "bigint"}, {"name": "amount", "type": "numeric"}]}
    }
    read = dataset(
        *ORDERS,
        **schema,
        documentation={"description": "all orders"},
        ownership={"owners": [{"name": "ana"}]},
    )
    facet = of_fields(
        {"id": [source(ORDERS[1], "ID", namespace=ORDERS[0]), source(ORDERS[1], "x", namespace=ORDERS[0])]}
    )
    got = own(follower.read(event("COMPLETE", 1, inputs=[read], outputs=[table("b.b", **facet)])))
    assert got.keys() == {"public.orders", "public.orders.id", "public.orders.amount", "public.orders.x"}
    about = got["public.orders"].attributes
    assert (about["originalDescription"], about["owner"]) == ("all orders", "ana")
    assert about["datasetNamespace"] == ORDERS[0]
    assert got["public.orders.amount"].attributes == {"dataType": "numeric", "columnIndex": 1}


def change(kind: str, **more: Any) -> Json:
    return {"lifecycleStateChange": {"lifecycleStateChange": kind, **more}}


def test_a_dropped_unclaimed_dataset_is_deleted(follower: Follower) -> None:
    dropped = {"eventTime": "2023-11-14T22:14:00Z", "dataset": dataset(*ORDERS, **change("DROP"))}
    got = follower.read(dropped)
    key = next(iter(own(follower.read({**dropped, "dataset": dataset(*ORDERS)})).values())).key
    assert [(each.path, each.reported) for each in got.covers] == [(key.tree_path, True)]
    assert got.entities == []


def test_a_rename_is_an_operation_and_metadata_moves_along(follower: Follower) -> None:
    before = own(follower.read(event("COMPLETE", 1, "0", outputs=[dataset(*ORDERS)])))["public.orders"].key
    previous = {"previousIdentifier": {"namespace": ORDERS[0], "name": ORDERS[1]}}
    got = follower.read(
        event("COMPLETE", 3, outputs=[dataset(ORDERS[0], "public.o2", **change("RENAME", **previous))])
    )
    assert flows(got) == {"public.orders -> operation", "operation -> public.o2"}
    assert got.operation.attributes["operationType"] == "RENAME"
    assert own(got)["public.o2"].renamed_from == before.identity
    assert before.tree_path in {each.path for each in got.covers}


@pytest.mark.parametrize(
    ("kind", "inputs", "expected"),
    [
        ("DROP", [], set()),
        ("ALTER", [], set()),
        ("TRUNCATE", [], set()),
        ("CREATE", [], set()),
        ("CREATE", [table("a.a")], {"a.a -> operation", "operation -> b.b"}),
        ("OVERWRITE", [table("a.a")], {"a.a -> operation", "operation -> b.b"}),
        ("OVERWRITE", [], {"operation -> b.b"}),
    ],
)
def test_a_state_change_without_data_is_not_a_flow(
    follower: Follower, kind: str, inputs: list[Json], expected: set[str]
) -> None:
    got = follower.read(event("COMPLETE", 1, inputs=inputs, outputs=[table("b.b", **change(kind))]))
    assert flows(got) == expected
    assert got.operation.attributes["outputs"] == ["b.b"]


@pytest.mark.parametrize("kind", ["ALTER", "CREATE", "DROP", "TRUNCATE"])
def test_column_lineage_implies_a_flow_in_any_state_change(follower: Follower, kind: str) -> None:
    output = table("b.b", **change(kind), **of_fields({"x": [source("a.a", "x")]}))
    assert flows(follower.read(event("COMPLETE", 1, outputs=[output]))) == {
        "a.a -> operation",
        "operation -> b.b",
    }


def test_a_table_created_by_a_query_is_written_even_without_inputs(follower: Follower) -> None:
    output = table("b.b", **change("CREATE"))
    job = "nightly.atomic_create_table_as_select.b_b"
    assert flows(follower.read(event("COMPLETE", 1, job=job, outputs=[output]))) == {"operation -> b.b"}


def test_a_dropped_table_without_column_lineage_is_not_written(follower: Follower) -> None:
    output = table("b.b", **change("DROP"), **of_fields({"x": []}))
    assert flows(follower.read(event("COMPLETE", 1, outputs=[output]))) == set()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_later_of_two_state_changes_counts(follower: Follower, order: tuple[int, ...]) -> None:
    events = [
        event("START", 1, outputs=[table("b.b", **change("CREATE"))]),
        event("COMPLETE", 5, outputs=[table("b.b", **change("OVERWRITE"))]),
    ]
    assert flows(follower.read(*(events[place] for place in order))) == {"operation -> b.b"}
