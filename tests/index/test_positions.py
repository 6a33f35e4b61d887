"""Settings that may change while positions stay valid: nothing is read again if the result would be the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from extractors.hms.idl import Database
from navlin.cli import main
from navlin.index.graph.sources import known_sources
from navlin.index.journal.runs import RunRecord, Status
from navlin.index.solr.solr import Solr
from navlin.model.extractor import GIVEN, Registration
from navlin.model.source import Estate, Source, source_id
from navlin.pipeline.fingerprint import fingerprint, settings_hash, why_read_again
from navlin.pipeline.run import Pipeline
from navlin.service.loader import load, load_extractors
from navlin.service.settings.configuration import read_configuration
from tests.services.metastore import CREATE_DATABASE, CREATE_TABLE, DROP_DATABASE, Metastore, table
from tests.support.pipeline_estate import SmallEstate
from tests.support.served_daemon import record

ANEW, KEPT = "everything is read again", "positions count"
SETTINGS = {
    "hms": {
        # Another URI may mean another metastore, and event ids do not reveal that.
        "uris": ANEW,
        "catalog": ANEW,
        "databases": ANEW,
        "exclude_databases": ANEW,
        "tables": ANEW,
        "exclude_tables": ANEW,
        "partitions": ANEW,
        # The default file system is part of the identity of every location.
        "default_fs": ANEW,
        # SASL decides whether the metastore knows the user, and therefore what it returns.
        "sasl": ANEW,
        "batch_size": KEPT,
        "partition_batch_size": KEPT,
        # Each plan compares this setting with the time of the last complete read.
        "complete_every_s": KEPT,
        "framed": KEPT,
        "metastore_principal": KEPT,
        "principal": KEPT,
        "keytab": KEPT,
        "krb5_conf": KEPT,
        "tls": KEPT,
        "ca_file": KEPT,
        "connect_timeout_s": KEPT,
        "call_timeout_s": KEPT,
    },
    "hdfs": {
        # Another URL may mean another HDFS, and transaction ids do not reveal that.
        "url": ANEW,
        "namenodes": ANEW,
        "hadoop_configuration_directory": ANEW,
        "http": ANEW,
        "image": ANEW,
        # Positions do not cover transactions that were not followed.
        "events": ANEW,
        "roots": ANEW,
        "include": ANEW,
        "exclude": ANEW,
        "entries": ANEW,
        "sidecars": ANEW,
        # A superuser sees everything. For other users everything is read each time, without positions.
        "user": KEPT,
        "principal": KEPT,
        "keytab": KEPT,
        "java_options": KEPT,
        "timeout_s": KEPT,
        "complete_every_s": KEPT,
        "image_memory_bytes": KEPT,
        "inodes_in_split": KEPT,
    },
    "yarn": {
        "urls": ANEW,
        "history_urls": ANEW,
        # A longer window finds applications that a shorter one missed, or reported without their history.
        "overlap_s": ANEW,
        "history_wait_s": ANEW,
        "metastore": ANEW,
        "default_fs": ANEW,
        # The visible details of an application depend on the user.
        "auth": ANEW,
        "user": ANEW,
        "page_size": KEPT,
        "principal": KEPT,
        "keytab": KEPT,
        "krb5_conf": KEPT,
        "ca_file": KEPT,
        "connect_timeout_s": KEPT,
        "read_timeout_s": KEPT,
    },
    "oozie": {
        "urls": ANEW,
        # A longer window finds changes by a late clock that a shorter one missed.
        "overlap_s": ANEW,
        "yarn": ANEW,
        "default_fs": ANEW,
        # The visible jobs depend on the user.
        "auth": ANEW,
        "user": ANEW,
        "page_size": KEPT,
        "principal": KEPT,
        "keytab": KEPT,
        "krb5_conf": KEPT,
        "ca_file": KEPT,
        "connect_timeout_s": KEPT,
        "read_timeout_s": KEPT,
    },
    "sqoop_publications": {
        "directory": KEPT,
        "pattern": KEPT,
        "metastore": ANEW,
        "max_line_bytes": ANEW,
    },
    "impala_events": {
        # Each file has its own position, which depends on its content.
        "directory": KEPT,
        "pattern": KEPT,
        # The tables' metastore and the paths' file system are part of identities.
        "metastore": ANEW,
        "default_fs": ANEW,
        # Lines that were skipped before may now be read.
        "max_line_bytes": ANEW,
    },
    "hive_events": {
        "directory": KEPT,
        "pattern": KEPT,
        "metastore": ANEW,
        "yarn": ANEW,
        "max_line_bytes": ANEW,
    },
    "spark_lineage_events": {
        "directory": KEPT,
        "pattern": KEPT,
        "metastore": ANEW,
        "yarn": ANEW,
        "default_fs": ANEW,
        "max_line_bytes": ANEW,
    },
    "openlineage_events": {
        "directory": KEPT,
        "pattern": KEPT,
        "metastore": ANEW,
        "metastore_namespaces": ANEW,
        "yarn": ANEW,
        "max_line_bytes": ANEW,
    },
    "spark_events": {
        # Each log has its own position; a log that could not be read has none.
        "directory": KEPT,
        "hadoop_configuration_directory": KEPT,
        "namenodes": KEPT,
        "hadoop_user": KEPT,
        "principal": KEPT,
        "keytab": KEPT,
        "java_options": KEPT,
        # Each plan compares this setting with the log's time.
        "stale_after_s": KEPT,
        "metastore": ANEW,
        "yarn": ANEW,
        "reads": ANEW,
        "max_line_bytes": ANEW,
    },
}
"""extractor → setting → whether positions survive a change of the setting. Comments give the reason if it is not
obvious."""

REQUIRED: dict[str, dict[str, Any]] = {
    "hms": {"uris": ("thrift://a:9083",)},
    "hdfs": {"url": "hdfs://a:8020"},
    "yarn": {"urls": ("http://a:8088",)},
    "oozie": {"urls": ("http://a:11000/oozie",)},
    "spark_events": {"directory": "/logs"},
}


def registrations() -> dict[str, Registration]:
    return {
        name: each
        for name, each in load_extractors().items()
        if each.make.__module__.startswith("extractors.")
    }


def other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value + "x"
    return (*value, "x")


def test_the_table_covers_every_setting_of_every_extractor() -> None:
    declared = {
        name: {item.name for item in fields(each.make)} - set(GIVEN) for name, each in registrations().items()
    }

    assert {name: set(settings) for name, settings in SETTINGS.items()} == declared


@pytest.mark.parametrize(
    ("name", "setting", "becomes"),
    [(name, setting, becomes) for name, of in SETTINGS.items() for setting, becomes in of.items()],
)
def test_only_settings_that_affect_reading_change_the_fingerprint(
    name: str, setting: str, becomes: str
) -> None:
    registration = registrations()[name]
    source = Source(source_id("cluster", "S"), registration.source_type, "S", "cluster")
    before = registration.make(source, Estate("cluster", (source,)), **REQUIRED.get(name, {}))
    after = replace(before, **{setting: other(getattr(before, setting))})

    changed = fingerprint(registration, after) != fingerprint(registration, before)
    assert (ANEW if changed else KEPT) == becomes
    assert settings_hash(after) != settings_hash(before)


@pytest.mark.parametrize(
    ("saved_under", "why"),
    [
        ("hms 1 ffff", "settings that decide what is read have changed: everything is read again"),
        ("hms 0 0000", "the extractor differs from that of the last run, or is newer"),
        ("yarn 1 0000", "the extractor differs from that of the last run, or is newer"),
        # Old fingerprints did not contain the extractor's name.
        ("0123456789abcdef", "the extractor differs from that of the last run, or is newer"),
    ],
)
def test_the_reason_for_reading_everything_again_is_reported(saved_under: str, why: str) -> None:
    assert why_read_again([saved_under], "hms 1 0000").startswith(why)


# -- From the configuration to the index -------------------------------------------------------------------------------


@dataclass
class Configured:
    """A navlin with one source, whose configuration the test edits."""

    solr: Solr
    spark: Callable[[], SparkSession]
    file: Path
    now_ms: int = 1_800_000_000_000

    def configure(self, **settings: Any) -> None:
        """Write a configuration in which the source has exactly these settings."""
        password = self.file.with_name("password")
        password.write_text(str(self.solr.address.password))
        of_source = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
        self.file.write_text(
            f'[navlin]\ncluster = "positions"\nstate_directory = "state"\n[solr]\nurl = "{self.solr.address.url}"\n'
            f'user = "{self.solr.address.user}"\npassword_file = "password"\n[[source]]\n{of_source}'
        )

    def extract(self) -> RunRecord:
        """Run the source once, as `navlin extract` does after reading the configuration."""
        self.now_ms += 60_000
        configuration = read_configuration(self.file, load_extractors(), {})
        (loaded,) = load(configuration, known_sources(self.solr)).sources
        pipeline = Pipeline(self.solr.address, self.spark, lambda: self.now_ms)
        return pipeline.run(loaded.settings.registration, loaded.extractor)

    def status(self) -> str:
        return CliRunner().invoke(main, ["--config", str(self.file), "status"]).stdout


@pytest.fixture
def configured(solr: Solr, spark: Callable[[], SparkSession], tmp_path: Path) -> Configured:
    return Configured(solr, spark, tmp_path / "navlin.toml")


@pytest.fixture
def tables(metastore: Metastore) -> Iterator[tuple[str, str]]:
    client, names = metastore.client(), ("orders", "items")
    client.call(CREATE_DATABASE, Database("positions", None, None, {}))
    for name in names:
        client.call(CREATE_TABLE, table("positions", name))
    yield names
    client.call(DROP_DATABASE, "positions", True, True)


@pytest.mark.services
def test_a_new_timeout_reads_nothing_again_and_a_new_filter_reads_everything(
    configured: Configured, metastore: Metastore, tables: tuple[str, str]
) -> None:
    settings = {"name": "HIVE-1", "extractor": "hms", "uris": [metastore.uri], "databases": ["positions"]}
    configured.configure(**settings)
    first = configured.extract()
    assert (first.status, first.counts.complete_listings) == (Status.FINISHED, 1)
    assert first.note == "full listing: it is the first run with these settings"

    patient = {"call_timeout_s": 300, "connect_timeout_s": 20, "batch_size": 50, "interval_s": 60}
    configured.configure(**settings, **patient)
    assert configured.extract().status is Status.IDLE

    filtered = {**settings, "tables": [tables[0]]}
    configured.configure(**filtered)
    second = configured.extract()
    why = "settings that decide what is read have changed: everything is read again"
    assert (second.status, second.counts.complete_listings) == (Status.FINISHED, 1)
    assert second.note.startswith(why)
    assert f"note: {why}" in configured.status()
    assert configured.extract().status is Status.IDLE


@pytest.mark.services
def test_a_new_directory_is_read_without_reading_the_first_again(
    configured: Configured, tmp_path: Path
) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for number, folder in enumerate(folders):
        folder.mkdir()
        name = f"impala_lineage_log_1.0-{number}"
        (folder / name).write_text(record(number, f"positions.target_{number}"))
    settings = {"name": "IMPALA-1", "extractor": "impala_events"}
    configured.configure(**settings, directory=str(folders[0]))
    first = configured.extract()

    configured.configure(**settings, directory=[str(folder) for folder in folders])
    second = configured.extract()
    assert (second.counts.records, second.note) == (first.counts.records, "")
    assert second.counts.new > 0

    configured.configure(**settings, directory=str(folders[0]), max_line_bytes=1_000_000)
    third = configured.extract()
    assert (third.counts.records, third.counts.new) == (first.counts.records, 0)
    assert "settings that decide what is read have changed" in third.note

    # The positions in the second directory were removed when the limit on lines changed.
    configured.configure(**settings, directory=[str(folder) for folder in folders])
    fourth = configured.extract()
    assert fourth.counts.records == first.counts.records + second.counts.records


def test_the_reason_for_a_complete_reading_is_reported_until_it_succeeds(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": ["id"]})
    estate.pull()
    moved = estate.tables_file.with_name("moved.json")
    estate.tables_file.rename(moved)
    estate.tables_file = moved
    estate.tables({"sales.orders": ["id"], "sales.items": ["id"]}, broken=["sales.items"])
    failed = estate.pull()
    assert failed.failures and "everything is read again" in failed.note

    estate.tables({"sales.orders": ["id"], "sales.items": ["id"]})
    estate.now_ms += 600_000
    again = estate.pull()
    assert not again.failures and "everything is read again" in again.note
    assert "everything is read again" not in estate.pull().note


def test_a_failed_split_is_retried_at_once_if_settings_change(estate: SmallEstate) -> None:
    estate.tables({"sales.orders": ["id"], "sales.items": ["id"]}, broken=["sales.items"])
    assert estate.pull().failures
    estate.tables({"sales.orders": ["id"], "sales.items": ["id"]})
    estate.now_ms -= 59_000

    estate.pull()
    assert estate.live("TABLE") == {"/SALES/ORDERS"}

    estate.now_ms -= 59_000
    estate.timeout_s = 120.0
    estate.pull()
    assert estate.live("TABLE") == {"/SALES/ORDERS", "/SALES/ITEMS"}
