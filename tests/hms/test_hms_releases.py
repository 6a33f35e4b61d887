"""The metastore extractor on later Hive releases: repeats the tests of `test_hms`, and tests features that are new in
these releases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from inspect import signature
from pathlib import Path

import pytest

from extractors.hms import HiveMetastore
from extractors.hms.client import CallUnknown, MetastoreConnection
from extractors.hms.idl import Database, Table
from navlin.model.keys import EntityType
from navlin.model.plan import Positions
from tests.hms import test_hms
from tests.hms.test_hms import NOW_MS, client, databases, hms, name_of, run
from tests.services.metastore import (
    ALTER_TABLE,
    APPEND_PARTITION,
    CREATE_CATALOG,
    CREATE_DATABASE,
    CREATE_TABLE,
    CREATE_TABLE_REQ,
    DROP_TABLE,
    RELEASES,
    Catalog,
    CreateCatalogRequest,
    CreateTableRequest,
    LaterMetastore,
    Metastore,
    table,
)

pytestmark = pytest.mark.services

__all__ = ["client", "databases", "hms"]

SHARED: dict[str, Callable[..., None]] = {
    name: test
    for name, test in vars(test_hms).items()
    if name.startswith("test_") and {"hms", "client", "metastore"} & signature(test).parameters.keys()
}
# Hive 4 has removed the older calls.
del SHARED["test_a_server_without_newer_calls_is_still_read"]
globals().update(SHARED)

CAPABILITIES = ["HIVEFULLACIDWRITE", "HIVEMANAGEDINSERTWRITE", "HIVEBUCKET2", "EXTWRITE"]
"""Client capabilities needed to create the tables of these tests. navlin claims none of them and still reads all
tables.
"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "later_metastore" in metafunc.fixturenames:
        metafunc.parametrize("later_metastore", sorted(RELEASES), indirect=True)


@pytest.fixture
def metastore(later_metastore: Metastore) -> Metastore:
    return later_metastore


def create(client: MetastoreConnection, made: Table) -> None:
    try:
        client.call(CREATE_TABLE_REQ, CreateTableRequest(made, CAPABILITIES))
    except CallUnknown:
        client.call(CREATE_TABLE, made)


def test_event_messages_have_the_releases_format(
    client: MetastoreConnection, databases: tuple[str, str], later_metastore: LaterMetastore
) -> None:
    client.call(CREATE_TABLE, table(databases[0], "orders"))

    (newest,) = client.events(client.current_event_id() - 1, 1)
    assert (
        newest.messageFormat == {"3.1": "json-0.2", "4.0": "gzip(json-2.0)"}[later_metastore.release.version]
    )
    assert newest.catName == "hive"


@pytest.mark.parametrize("properties", ["default", "insert_only"])
def test_a_transactional_table_and_its_neighbours_are_read(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str], properties: str
) -> None:
    a, _ = databases
    parameters = {"transactional": "true", "transactional_properties": properties}
    made = table(a, "acid", kind="MANAGED_TABLE", parameters=parameters)
    assert made.sd is not None
    made.sd.inputFormat = "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"
    made.sd.outputFormat = "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat"
    create(client, made)
    create(client, table(a, "orders"))

    done = run(hms)

    assert done.of(EntityType.TABLE) == ["acid", "orders"]
    acid = done.entities[name_of(a, "acid")].attributes
    assert (acid["tableType"], acid["params"]) == ("MANAGED_TABLE", parameters)
    assert not done.rejects


def test_a_bucketed_table_is_read_with_its_buckets(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    made = table(databases[0], "orders")
    assert made.sd is not None
    made.sd.bucketCols, made.sd.numBuckets = ["id"], 4
    create(client, made)

    assert run(hms).entities[name_of(databases[0], "orders")].attributes["clusteredByColNames"] == ["id"]


def test_a_materialized_view_is_a_view_with_a_location(
    hms: HiveMetastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    a, _ = databases
    text = "select id from orders"
    client.call(CREATE_TABLE, table(a, "daily", {"id": "int"}, kind="MATERIALIZED_VIEW", view_text=text))

    done = run(hms)

    assert done.of(EntityType.VIEW) == ["daily"]
    daily = done.entities[name_of(a, "daily")].attributes
    assert (daily["tableType"], daily["queryText"]) == ("MATERIALIZED_VIEW", text)
    assert daily["fileSystemPath"].endswith(f"{a}.db/daily")


def test_another_catalog_is_a_separate_source(
    hms: HiveMetastore, metastore: Metastore, client: MetastoreConnection, databases: tuple[str, str]
) -> None:
    a, _ = databases
    catalog = f"c_{a}"
    there = replace(hms, catalog=catalog)
    where = f"file:{metastore.directory}/{catalog}"
    client.call(CREATE_CATALOG, CreateCatalogRequest(Catalog(catalog, None, where)))
    client.call(CREATE_DATABASE, Database(a, None, f"{where}/{a}", {}, catalogName=catalog))
    only_there = f"{a[:-2]}_there"
    client.call(CREATE_DATABASE, Database(only_there, None, f"{where}/x", {}, catalogName=catalog))
    orders, made = table(a, "orders"), table(a, "sold", partitioned_by={"ds": "string"})
    client.call(CREATE_TABLE, orders)
    made.catName = catalog
    client.call(CREATE_TABLE, made)
    client.call(APPEND_PARTITION, f"@{catalog}#{a}", "sold", ["1"])

    here, first = run(hms), run(there)
    assert (here.of(EntityType.TABLE), first.of(EntityType.TABLE)) == (["orders"], ["sold"])
    assert here.of(EntityType.DATABASE) == list(databases)
    assert first.of(EntityType.DATABASE) == [a, only_there]
    assert len(first.of(EntityType.PARTITION)) == 1
    assert not first.rejects
    assert any(catalog in line for line in hms.check())
    assert there.serves({"uris": [metastore.uri], "catalog": catalog}) == ()

    client.call(DROP_TABLE, f"@{catalog}#{a}", "sold", True)
    client.call(ALTER_TABLE, a, "orders", replace_column(client, a, "orders"))
    second, theirs = run(hms, here.saved()), run(there, first.saved())
    assert second.tables_read == [f"{a}.orders"]
    assert theirs.is_gone(name_of(a, "sold"))
    assert theirs.tables_read == []
    assert not second.is_gone(name_of(a, "sold"))
    assert set(there.still_there([name_of(a, "sold"), name_of(a)])) == {name_of(a)}


def replace_column(client: MetastoreConnection, database: str, name: str) -> Table:
    """An existing table with its second column renamed, not yet saved."""
    (as_it_is,) = client.tables(database, [name])
    assert as_it_is.sd is not None
    assert as_it_is.sd.cols is not None
    as_it_is.sd.cols[1].name = "renamed"
    return as_it_is


@pytest.fixture(params=sorted(RELEASES))
def silent_metastore(
    tmp_path: Path, metastore_jars: Path, request: pytest.FixtureRequest
) -> Iterator[LaterMetastore]:
    """A metastore that denies everyone access to its notification log, as Hive does by default."""
    release = RELEASES[request.param]
    jars = metastore_jars.with_name(release.jars)
    if not jars.is_dir():
        pytest.skip(f"the jars of Hive {release.version} are missing: `make test-services` fetches them")
    with LaterMetastore(tmp_path, jars, release, shows_log=False) as running:
        yield running


def test_a_metastore_that_hides_its_log_is_read_completely_and_the_setting_is_named(
    silent_metastore: LaterMetastore,
) -> None:
    hidden = HiveMetastore(test_hms.SOURCE, test_hms.ESTATE, (silent_metastore.uri,))

    plan = hidden.plan(Positions(now_ms=NOW_MS))

    assert plan.covers
    assert any("hive.metastore.event.db.notification.api.auth = false" in line for line in hidden.check())
