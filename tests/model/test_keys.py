"""Identities as published for Navigator, and keys that are the same whether the owning source or another source makes
them.
"""

from __future__ import annotations

import pytest

from navlin.index.schema.fields import date_ms, solr_date
from navlin.model.identity import identify, relation_id
from navlin.model.keys import (
    column_key,
    location_key,
    operation_key,
    partition_key,
    split_location,
    table_key,
)
from navlin.model.source import HDFS, HIVE, IMPALA, LOCAL, S3, Estate, Source, adoption_key, source_id
from navlin.model.tree import contains, parent_of, tree_path

HDFS_1 = "a09b0233cc58ff7d601eaa68673a20c6"
SAMPLES = "858e5548b4cd3457432eb491ee74729d"


@pytest.mark.parametrize(
    ("components", "published"),
    [
        (("Cluster 1", "HDFS-1"), HDFS_1),
        ((HDFS_1, "/tmp/mapred/system/jobtracker.info"), "5c2c5fc0494f07a2d1e2219799aab5b6"),
        ((HDFS_1, "/hbase/hbase.version"), "76a8a355a475396efa110434c80e92db"),
        ((SAMPLES, "/"), "83f4cdcc37c379144fef22e3dbdf7c8c"),
        ((SAMPLES, "/hbase"), "6144fabee63641275c5577697f16266a"),
        (("cluster", "hive1"), "845beb21b95783c4f55276a4ae38a332"),
    ],
)
def test_an_identity_equals_navigators(components: tuple[str, ...], published: str) -> None:
    assert identify(*components) == published


def test_a_missing_component_keeps_its_separators() -> None:
    assert identify("a", None, "b") == identify("a", "", "b") != identify("a", "b")


def test_a_name_that_is_not_utf_8_has_its_own_identity() -> None:
    assert len({identify("dir", name) for name in ("a", "a\udcff", "a\udcfe")}) == 3


HERE = Source(source_id("c", "HIVE-1"), HIVE, "HIVE-1", "c", ("thrift://hms:9083",))


def test_hive_names_are_folded_in_keys_and_shown_as_seen() -> None:
    one, other = table_key(HERE, "Sales", "Orders"), table_key(HERE, "sales", "ORDERS")
    assert one.identity == other.identity == identify(HERE.id, "SALES", "ORDERS")
    assert (one.name, one.parent_path, one.tree_path) == ("Orders", "/Sales", "/SALES/ORDERS")
    assert column_key(one, "Id").identity == identify(HERE.id, "SALES", "ORDERS", "ID")


def test_partition_values_keep_their_case() -> None:
    orders = table_key(HERE, "sales", "orders")
    assert partition_key(orders, "region=EU").identity != partition_key(orders, "region=eu").identity


def test_paths_are_never_folded() -> None:
    estate = Estate("c")
    assert location_key(estate, "hdfs://ns/A").identity != location_key(estate, "hdfs://ns/a").identity


@pytest.mark.parametrize(
    ("uri", "default_fs", "expected"),
    [
        ("file:/x/y", "", (LOCAL, "file://", "/x/y")),
        ("file:///x//y/", "hdfs://ns", (LOCAL, "file://", "/x/y")),
        ("/x", "hdfs://NS1", (HDFS, "hdfs://NS1", "/x")),
        ("hdfs:///x", "hdfs://ns1", (HDFS, "hdfs://ns1", "/x")),
        ("viewfs:///x", "", (HDFS, "viewfs://", "/x")),
        ("viewfs:///x", "hdfs://ns1", (HDFS, "viewfs://", "/x")),
        ("viewfs:///x", "viewfs://c", (HDFS, "viewfs://c", "/x")),
        ("hdfs://nn:8020/a?b#c %20d", "", (HDFS, "hdfs://nn:8020", "/a?b#c %20d")),
        ("s3a://bucket/k", "", (S3, "s3://bucket", "/k")),
        ("s3n://key:secret@bucket/k", "", (S3, "s3://bucket", "/k")),
        ("abfs://data@account.dfs/x", "", ("ABFS", "abfs://data@account.dfs", "/x")),
        ("/x", "", (HDFS, "", "/x")),
        ("/x", "hdfs://[::1", (HDFS, "", "/x")),
        ("hdfs://nn:8020", "", (HDFS, "hdfs://nn:8020", "/")),
    ],
)
def test_every_spelling_of_a_location_is_split_alike(
    uri: str, default_fs: str, expected: tuple[str, str, str]
) -> None:
    assert split_location(uri, default_fs) == expected


def test_the_same_text_over_other_tables_is_another_operation() -> None:
    impala = Source(source_id("c", "IMPALA-1"), IMPALA, "IMPALA-1", "c")
    assert (
        operation_key(impala, "select", ("a", "b")).identity
        == operation_key(impala, "select", ("b", "a")).identity
    )
    assert (
        operation_key(impala, "select", ("a",)).identity != operation_key(impala, "select", ("b",)).identity
    )


def test_a_relation_id_depends_on_type_ordered_ends_and_writer() -> None:
    stated = relation_id("DATA_FLOW", "a", "b", "s")
    others = [("DATA_FLOW", "b", "a", "s"), ("CONTROL_FLOW", "a", "b", "s"), ("DATA_FLOW", "a", "b", "t")]
    assert stated not in {relation_id(*each) for each in others}


# -- The source of a key -------------------------------------------------------------------------------------------


def test_a_claim_resolves_to_the_source_serving_its_authority() -> None:
    other = Source(source_id("c", "HIVE-2"), HIVE, "HIVE-2", "c", ("thrift://other:9083",))
    estate = Estate("c", (HERE, other))
    assert estate.serving(HIVE, "thrift://OTHER:9083/") is other
    assert not estate.serving(HIVE, "thrift://nobody:9083").configured


def test_a_claim_without_address_resolves_only_to_a_single_metastore() -> None:
    other = Source(source_id("c", "HIVE-2"), HIVE, "HIVE-2", "c", ("thrift://other:9083",))
    assert Estate("c", (HERE,)).serving(HIVE) is HERE
    assert not Estate("c", (HERE, other)).serving(HIVE).configured


def test_a_granted_id_is_kept_when_a_source_takes_it_over() -> None:
    estate = Estate("c", (), {adoption_key(HIVE, "thrift://old:9083"): "taken over"})
    assert estate.serving(HIVE, "thrift://old:9083").id == "taken over"


# -- Paths in a source's tree ------------------------------------------------------------------------------------------


def test_tree_paths_are_compared_by_component() -> None:
    assert contains("/sales/orders", "/sales/orders/id")
    assert not contains("/sales/orders", "/sales/orders_old")
    assert contains("/", "/sales")


def test_a_slash_in_a_name_is_not_a_tree_separator() -> None:
    assert parent_of(tree_path("db", "a/b")) == "/db"
    assert tree_path("a/b") != tree_path("a", "b")
    assert tree_path("a%2Fb") != tree_path("a/b")


def test_a_date_round_trips_through_solr() -> None:
    assert solr_date(1_408_993_637_652) == "2014-08-25T19:07:17.652Z"
    assert date_ms(solr_date(1_408_993_637_652)) == 1_408_993_637_652
    assert date_ms(solr_date(-1)) == -1
