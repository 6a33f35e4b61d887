"""Settings that may change while positions stay valid: nothing is read again if the result would be the same."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from extractors.hms.idl import Database
from extractors.lineage import planned_files
from extractors.lineage.kept_open_files import KeptOpenFiles
from extractors.lineage.line_logs import LineLogs
from navlin.cli import main
from navlin.index.graph.sources import known_sources
from navlin.index.journal.runs import RunRecord, Status
from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import GIVEN
from navlin.model.source import Estate, Source, source_id
from navlin.pipeline.fingerprint import fingerprint, settings_hash, why_read_again
from navlin.pipeline.run import Pipeline
from navlin.service.daemon.requests import Stopped
from navlin.service.loader import load, load_extractors
from navlin.service.settings.configuration import read_configuration
from navlin.service.settings.typed import settings_of
from tests.services.metastore import CREATE_DATABASE, CREATE_TABLE, DROP_DATABASE, Metastore, table
from tests.support.pipeline_estate import SmallEstate
from tests.support.served_daemon import record
from tests.support.shipped_extractors import SHIPPED, required_settings

KERBEROS: Final = "principal keytab krb5_conf ca_file"
KEPT: Final[Mapping[str, str]] = {
    "hms": f"batch_size partition_batch_size complete_every_s framed metastore_principal {KERBEROS} tls connect_timeout_s"
    " call_timeout_s",
    # A superuser sees everything. For other users everything is read each time, without positions.
    "hdfs": "user principal keytab java_options timeout_s complete_every_s image_memory_bytes inodes_in_split",
    "yarn": f"page_size {KERBEROS} connect_timeout_s read_timeout_s",
    "oozie": f"page_size {KERBEROS} connect_timeout_s read_timeout_s",
    "s3": "ca_file list_every_s objects_in_split timeout_s",
    # Each log has its own position; a log that could not be read has none. Each plan compares `stale_after_s` with the
    # log's time.
    "spark_events": "directory hadoop_configuration_directory namenodes hadoop_user principal keytab java_options"
    " stale_after_s",
}
"""extractor → settings whose change leaves the positions valid, because records already read would be read in the same
way. After a change of any other setting, everything is read again."""
OF_FILES: Final = "directory pattern"
"""These settings of an extractor that follows files of lines: each file has its own position, by its content."""


def other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return value + "x"
    return (*value, "x")


@pytest.mark.parametrize("name", SHIPPED)
def test_only_settings_that_affect_reading_change_the_fingerprint(name: str) -> None:
    registration = SHIPPED[name]
    source = Source(source_id("cluster", "S"), registration.source_type, "S", "cluster")
    before = registration.make(source, Estate("cluster", (source,)), **required_settings(name))
    kept = KEPT.get(name, OF_FILES if issubclass(registration.make, LineLogs) else "").split()
    settings = settings_of(registration.make, GIVEN)

    assert set(kept) <= settings.keys()
    for setting in settings:
        after = replace(before, **{setting: other(getattr(before, setting))})
        assert (fingerprint(registration, after) == fingerprint(registration, before)) == (setting in kept), (
            setting
        )
        assert settings_hash(after) != settings_hash(before), setting


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

    def extract(self, stopped_before: str = "") -> RunRecord:
        """Run the source once, as `navlin extract` does after reading the configuration. Raises `Stopped` before the
        given step, as a daemon's run does at SIGTERM."""

        def next_step(name: str) -> None:
            if name == stopped_before:
                raise Stopped(name)

        self.now_ms += 60_000
        configuration = read_configuration(self.file, load_extractors(), {})
        (loaded,) = load(configuration, known_sources(self.solr)).sources
        pipeline = Pipeline(self.solr.address, self.spark, lambda: self.now_ms)
        return pipeline.run(loaded.settings.registration, loaded.extractor, step=next_step)

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


def test_a_new_log_is_read_to_its_end_although_its_first_run_was_stopped_and_it_was_compressed(
    configured: Configured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    log = folder / "impala_lineage_log_1.0-1"
    log.write_text(record(1, "positions.stopped_first"))
    configured.configure(name="IMPALA-1", extractor="impala_events", directory=str(folder))
    with pytest.raises(Stopped):
        configured.extract(stopped_before="save")

    with log.open("a") as file:
        file.write(record(2, "positions.stopped_second"))
    log.with_name("impala_lineage_log_1.0-1.gz").write_bytes(gzip.compress(log.read_bytes()))
    log.unlink()
    # The next process keeps no descriptor open.
    monkeypatch.setattr(planned_files.plan_files, "__kwdefaults__", {"kept_open": KeptOpenFiles()})
    configured.extract()

    query = {"q": "originalName:stopped_* AND type:TABLE", "fl": "originalName"}
    found = configured.solr.select(ELEMENTS, query)["response"]["docs"]
    assert sorted(each["originalName"] for each in found) == ["stopped_first", "stopped_second"]
    assert configured.extract().counts.records == 0


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
