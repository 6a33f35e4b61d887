"""A service that navlin depends on fails during a run, or is busy: nothing is lost and nothing blocks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from extractors.hms import HiveMetastore
from extractors.hms.client import connected
from extractors.hms.idl import Database
from navlin.index.journal.runs import RunRecord, Status
from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS
from navlin.model.source import HIVE, Estate, Source, source_id
from navlin.solr_server.embedded import EmbeddedSolr
from tests.services.metastore import CREATE_DATABASE, CREATE_TABLE, DROP_TABLE, Metastore, table
from tests.support.killed_runs import differences, index_of, wipe
from tests.support.pipeline_estate import FIRST_MS, SmallEstate
from tests.support.solr_proxy import Call, SolrProxy

REPOSITORY = Path(__file__).parents[2]
WIDE = {f"wide.t{number:03d}": [f"c{c}" for c in range(12)] for number in range(120)}
"""Enough tables for more than one batch of documents."""


# -- Solr goes away ----------------------------------------------------------------------------------------------------


@pytest.mark.services
def test_a_run_fails_if_solr_is_killed_mid_write_and_the_next_completes_it(
    solr_server: EmbeddedSolr, solr: Solr, spark: Callable[[], SparkSession], tmp_path: Path
) -> None:
    uninterrupted = SmallEstate(solr, spark, tmp_path)
    uninterrupted.tables(WIDE)
    assert uninterrupted.pull().status is Status.FINISHED
    expected = index_of(uninterrupted)
    wipe(uninterrupted)

    def kills(call: Call) -> bool:
        if call.core == ELEMENTS and call.answered and len(call.documents) > 500 and solr_server.alive:
            os.kill(solr_server.pid or 0, signal.SIGKILL)
        return True

    with SolrProxy(solr.address, kills) as proxy, Solr(proxy.address) as through_the_proxy:
        estate = SmallEstate(through_the_proxy, spark, tmp_path, cluster=uninterrupted.cluster)
        failed = estate.pull()
    assert failed.status is Status.FAILED
    assert "Solr at 127.0.0.1" in failed.error
    assert len(failed.error) < 1_000
    assert not solr_server.alive

    solr_server.start()
    uninterrupted.now_ms += 60_000
    assert uninterrupted.pull().status is Status.FINISHED
    assert differences(expected, index_of(uninterrupted)) == []


def test_an_unavailable_solr_during_planning_is_reported(
    solr: Solr, spark: Callable[[], SparkSession], tmp_path: Path
) -> None:
    with SolrProxy(solr.address, lambda call: False) as proxy, Solr(proxy.address) as nowhere:
        estate = SmallEstate(nowhere, spark, tmp_path)
        estate.tables({"sales.orders": ["id"]})
        run = estate.pull()
    assert run.status is Status.FAILED
    assert "Solr at 127.0.0.1" in run.error


# -- The metastore goes away -------------------------------------------------------------------------------------------


@pytest.mark.services
def test_a_metastore_lost_mid_listing_deletes_no_table_and_the_next_run_is_complete(
    estate: SmallEstate, tmp_path: Path, metastore_jars: Path
) -> None:
    with Metastore(tmp_path / "metastore", metastore_jars) as metastore:
        with connected(metastore.address) as client:
            client.call(CREATE_DATABASE, Database("sales", "", None, {}))
            for name in ("orders", "items", "stage"):
                client.call(CREATE_TABLE, table("sales", name, {"id": "bigint"}))
        source = Source(source_id(estate.cluster, "hive"), HIVE, "hive", estate.cluster, (metastore.uri,))
        hms = HiveMetastore(source, Estate(estate.cluster, (source,)), (metastore.uri,), batch_size=1)

        def run(step: Callable[[str], None] = lambda step: None) -> RunRecord:
            estate.now_ms += 3_600_000
            return estate.pipeline.run(EXTRACTORS["hms"], hms, complete=True, step=step)

        assert run().status is Status.FINISHED
        tables = {"/SALES/ORDERS", "/SALES/ITEMS", "/SALES/STAGE"}
        assert tables <= estate.live("TABLE")

        away = run(lambda step: metastore.kill() if step == "read" else None)
        assert away.status is Status.FAILED
        assert any(metastore.uri in failure for failure in away.failures)
        assert (estate.deleted("TABLE", "FIELD", "DATABASE"), tables - estate.live("TABLE")) == (set(), set())
        unreachable = run()
        assert unreachable.status is Status.FAILED
        assert metastore.uri in unreachable.error

        metastore.start()
        with connected(metastore.address) as client:
            client.call(DROP_TABLE, "sales", "stage", False)
            client.call(CREATE_TABLE, table("sales", "report", {"id": "bigint"}))
        assert run().status is Status.FINISHED
        assert {"/SALES/ORDERS", "/SALES/ITEMS", "/SALES/REPORT"} <= estate.live("TABLE")
        assert estate.deleted("TABLE") == {"/SALES/STAGE"}


# -- Another process is active -----------------------------------------------------------------------------------------


def test_a_push_completes_while_a_pull_is_still_reading(estate: SmallEstate, tmp_path: Path) -> None:
    reported = tmp_path / "the push is through"
    estate.tables({"sales.orders": ["id"], "sales.slow": ["id"]}, waiting={"sales.slow": str(reported)})
    estate.happen("insert", ["sales.orders"], ["sales.report"], at_ms=FIRST_MS)
    reading = threading.Event()
    pulled: list[RunRecord] = []

    def pull() -> None:
        pulled.append(estate.pull(step=lambda step: reading.set() if step == "read" else None))

    puller = threading.Thread(target=pull)
    puller.start()
    try:
        assert reading.wait(120)
        assert estate.follow().status is Status.FINISHED
        assert estate.flows() == {("sales.orders", "insert"), ("insert", "sales.report")}
        assert pulled == []
    finally:
        reported.touch()
        puller.join()
    assert pulled[0].status is Status.FINISHED
    assert estate.live("TABLE") == {"/SALES/ORDERS", "/SALES/SLOW"}


HOLDS = """
import sys
from navlin.index.solr.solr import Solr, SolrAddress
from navlin.index.journal.leases import lease
url, user, password, name = sys.stdin.readline().split()
with Solr(SolrAddress(url, user, password)) as solr, lease(solr, name, length_s=1.0):
    print("held", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def another_process(estate: SmallEstate) -> Iterator[subprocess.Popen[str]]:
    """Start a process that holds the lease of the metastore's source."""
    address = estate.solr.address
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        words = (address.url, address.user, address.password, estate.hive.id)
        process.stdin.write(" ".join(map(str, words)) + "\n")
        process.stdin.flush()
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.mark.parametrize("ends_by", ["itself", "SIGKILL"])
def test_a_second_process_is_kept_off_a_source_until_the_first_ends(
    estate: SmallEstate, ends_by: str
) -> None:
    estate.tables({"sales.orders": ["id"]})
    with another_process(estate) as first:
        kept_out = estate.pull()
        assert kept_out.status is Status.LEASED
        assert f"process {first.pid} on" in kept_out.error
        assert estate.documents(ELEMENTS) == []
        if ends_by == "itself":
            assert first.stdin is not None
            first.stdin.close()
        else:
            first.kill()
        # The process has ended, but its parent has not reaped it, so the process table still lists it.
        os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)
        assert estate.pull().status is Status.FINISHED
