"""OpenLineage's own clients send to navlin: the Python client, and the agent in a Spark job that also has an event
log."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from extractors.openlineage import OpenLineageEvents
from extractors.spark import SparkEvents
from navlin.access.store import AccessFile
from navlin.index.journal.runs import Status
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS
from navlin.model.source import HIVE, SPARK, Estate, Source, source_id
from navlin.pipeline.run import Pipeline
from navlin.solr_server.embedded import EmbeddedSolr
from tests.conftest import fetched_for_services
from tests.services.openlineage_job import run_job
from tests.support.openlineage import ESTATE, SDK_1, Follower, columns, flows, statuses
from tests.support.record_edges import Read, read_all
from tests.support.web import Web, running_web

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.services

CLIENT = "openlineage-python==1.54.0"
SENDING = """
import sys
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import column_lineage_dataset, sql_job
from openlineage.client.transport.file import FileConfig, FileTransport
from openlineage.client.transport.http import ApiKeyTokenProvider, HttpCompression, HttpConfig, HttpTransport

kind, where, endpoint, token = sys.argv[1:]
if kind == "http":
    auth = ApiKeyTokenProvider({"apiKey": token})
    transport = HttpTransport(HttpConfig(url=where, endpoint=endpoint, auth=auth, compression=HttpCompression.GZIP))
else:
    transport = FileTransport(FileConfig(log_file_path=where, append=kind == "appended"))
client = OpenLineageClient(transport=transport)
source = column_lineage_dataset.InputField("hive://hms:9083", "sales.orders", "amount")
total = column_lineage_dataset.Fields(inputFields=[source])
lineage = column_lineage_dataset.ColumnLineageDatasetFacet(fields={"total": total})
job = Job("prod", "daily", {"sql": sql_job.SQLJobFacet(query="insert into daily select sum(amount) from orders")})
run = Run("0195f3a1-0000-7000-8000-000000000001")
orders = InputDataset("hive://hms:9083", "sales.orders")
daily = OutputDataset("hive://hms:9083", "sales.daily", {"columnLineage": lineage})
for state, time, inputs, outputs in (
    (RunState.START, "2023-11-14T22:13:20+00:00", [orders], []),
    (RunState.COMPLETE, "2023-11-14T22:13:30+00:00", [], [daily]),
):
    said = {"eventTime": time, "eventType": state, "inputs": inputs, "outputs": outputs}
    client.emit(RunEvent(run=run, job=job, producer="https://example.org/producer", **said))
client.close()
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("client")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", CLIENT], check=True, capture_output=True)
    return python


@contextmanager
def opened(server: EmbeddedSolr, home: Path) -> Iterator[tuple[Web, str]]:
    """Yield a `navlin web` that accepts events, and a token for sending them."""
    settings = ('openlineage_directory = "events"', 'openlineage_users = ["viewer"]')
    with running_web(server.start(), home, *settings) as web:
        yield web, AccessFile(home / "state").add_token("viewer", "jobs", None, 0)


@pytest.fixture(scope="module")
def door(solr_server: EmbeddedSolr, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Web, str]]:
    with opened(solr_server, tmp_path_factory.mktemp("door")) as door:
        yield door


def parts_of(url: str) -> tuple[str, str]:
    """Split a URL into the server and the path for events."""
    server, _, base = url.removeprefix("http://").partition("/")
    return f"http://{server}", f"{base}/api/v1/lineage"


@pytest.mark.parametrize("kind", ["http", "appended", "one file an event"])
def test_events_of_the_python_client_are_read(
    door: tuple[Web, str], client: Path, tmp_path: Path, kind: str
) -> None:
    web, token = door
    events, (server, endpoint) = web.file.parent / "events", parts_of(web.url)
    if kind != "http":
        events, server = tmp_path, str(tmp_path / "events.json")
    done = subprocess.run(
        [client, "-c", SENDING, kind, server, endpoint, token], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    got = Follower(events).read()
    assert got.rejects == []
    assert flows(got) == {"sales.orders -> operation", "operation -> sales.daily"}
    assert columns(got) == {"sales.daily.total": {"sales.orders.amount"}}
    assert list(statuses(got).values()) == ["SUCCEEDED"]
    assert got.operation.attributes["queryText"].startswith("insert into daily")


@pytest.fixture(scope="module")
def job(solr_server: EmbeddedSolr, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The directories of a Spark job's event log, and of the events that the job's agent sent."""
    (jar,) = fetched_for_services("openlineage-spark").glob("*.jar")
    folder, home = tmp_path_factory.mktemp("job"), tmp_path_factory.mktemp("agent")
    with opened(solr_server, home) as (web, token):
        run_job(folder, jar, *parts_of(web.url), token)
    return folder, home / "events"


ONLY_LOG: set[tuple[str, str]] = set()
ONLY_AGENT = {("default.totals.country", "CONTROL default.orders.country")}
"""Column edges reported only by the log, or only by the agent. The agent reports that a grouping column also
controls itself."""


def test_the_agent_and_the_event_log_agree(job: tuple[Path, Path]) -> None:
    folder, events = job
    agent = Read(read_all(OpenLineageEvents(SDK_1, ESTATE, str(events))))
    log = Read(read_all(SparkEvents(SDK_1, ESTATE, str(folder / "log"))))
    assert (agent.rejects, log.rejects) == ([], [])
    out = f"{folder}/out"
    tables = {
        "default.orders -> operation",
        "operation -> default.orders",
        "operation -> default.totals",
        "default.totals -> operation",
        f"operation -> {out}",
    }
    assert flows(log) == tables
    # The agent reports CREATE TABLE AS twice, the second time with the path instead of the table.
    assert flows(agent) == tables | {f"operation -> {folder}/wh/totals"}
    edges = [
        {
            (written, read)
            for written, reads in columns(each).items()
            for read in reads
            if "/wh/" not in written
        }
        for each in (agent, log)
    ]
    assert (edges[0] - edges[1], edges[1] - edges[0]) == (ONLY_AGENT, ONLY_LOG)


class Both:
    """Two sources in a separate cluster: the agent's events and the event logs."""

    def __init__(self, solr: Solr, spark: Callable[[], SparkSession], folder: Path, events: Path) -> None:
        cluster = f"openlineage-{uuid.uuid4().hex[:8]}"
        self.solr = solr
        sdk, spark_1, hive = (
            Source(source_id(cluster, kind), kind, kind, cluster, claimable=kind == HIVE)
            for kind in ("SDK", SPARK, HIVE)
        )
        estate = Estate(cluster, (sdk, spark_1))
        self.sources = {"openlineage_events": sdk, "spark_events": spark_1, "hive": hive}
        self.extractors = {
            "openlineage_events": OpenLineageEvents(sdk, estate, str(events)),
            "spark_events": SparkEvents(spark_1, estate, str(folder / "log")),
        }
        ticking = count(1_800_000_000_000)
        self.pipeline = Pipeline(solr.address, spark, lambda: next(ticking))

    def run(self, name: str, **how: Any) -> None:
        record = self.pipeline.run(EXTRACTORS[name], self.extractors[name], **how)
        assert (record.status, record.failures, record.counts.rejects) == (Status.FINISHED, (), 0)

    def live(self, core: str, name: str, query: str) -> list[dict[str, Any]]:
        owner = "sourceId" if core == ELEMENTS else "writer"
        filters = [f"{owner}:{self.sources[name].id}", "-deleted:true"]
        return list(self.solr.cursor(core, query, "*", filters=filters))


# This test runs before its event log is indexed, because the index is shared and an application has the same
# identity in all clusters.
def test_without_an_event_log_the_agents_events_are_used(
    solr: Solr, spark: Callable[[], SparkSession], job: tuple[Path, Path]
) -> None:
    both = Both(solr, spark, *job)
    both.run("openlineage_events")
    operations = both.live(ELEMENTS, "openlineage_events", "type:OPERATION")
    assert len(operations) >= 5
    assert json.dumps(operations).count("SPARK") >= 5
    read = {
        each["endpoint1Name"]
        for each in both.live(RELATIONS, "openlineage_events", "type:DATA_FLOW AND endpoint2Type:OPERATION")
    }
    assert read == {"default.orders", "default.totals"}


@pytest.mark.parametrize(
    "order", [("openlineage_events", "spark_events"), ("spark_events", "openlineage_events")]
)
def test_a_job_reported_twice_yields_one_graph_without_duplicates(
    solr: Solr, spark: Callable[[], SparkSession], job: tuple[Path, Path], order: tuple[str, str]
) -> None:
    both = Both(solr, spark, *job)
    for each in order:
        both.run(each)
    # Only the application remains from the agent's records, because event logs do not have it.
    left = both.live(ELEMENTS, "openlineage_events", "type:(OPERATION OPERATION_EXECUTION SUB_OPERATION)")
    assert sorted(each["originalName"] for each in left if each["type"] == "OPERATION") == ["daily_totals"]
    assert len([each for each in left if each["type"] == "OPERATION_EXECUTION"]) == 1
    assert both.live(RELATIONS, "openlineage_events", "type:(DATA_FLOW CONTROL_FLOW)") == []
    engine = both.live(ELEMENTS, "spark_events", "type:OPERATION_EXECUTION")
    assert len(engine) == 4
    written = {
        each["endpoint2Name"]
        for each in both.live(RELATIONS, "spark_events", "type:DATA_FLOW AND endpoint1Type:OPERATION")
    }
    assert written == {"default.orders", "default.totals", f"{job[0]}/out"}
    before = len(both.live(RELATIONS, "spark_events", "*:*"))
    both.run("openlineage_events", complete=True)
    assert both.live(RELATIONS, "openlineage_events", "type:(DATA_FLOW CONTROL_FLOW)") == []
    assert len(both.live(RELATIONS, "spark_events", "*:*")) == before
