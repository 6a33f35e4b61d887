"""Real files from other projects, processed by the whole pipeline into the index."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from extractors.hive_events import HiveEvents
from extractors.impala_events import ImpalaEvents
from extractors.spark import SparkEvents
from navlin.export.atlas import Options, records
from navlin.export.batches import read
from navlin.export.choosing import Selection
from navlin.index.journal.runs import Status
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS
from navlin.model.identity import identify
from navlin.model.source import HIVE, IMPALA, SPARK, Estate, Source, source_id
from navlin.pipeline.run import Pipeline
from tests.support.atlas_types import AtlasTypes, dangling

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.services

Part = tuple[str, frozenset[str], frozenset[str]]
"""(edge type, ids of the source columns, ids of the target columns or labels of result columns)"""


class Indexed:
    """A Hive, an Impala and a Spark source in a separate cluster, each run once."""

    def __init__(self, solr: Solr, spark: Callable[[], SparkSession]) -> None:
        cluster = f"corpora-{uuid.uuid4().hex[:8]}"
        self.solr = solr
        self.hive, self.impala, self.spark = (
            Source(source_id(cluster, kind), kind, kind, cluster) for kind in (HIVE, IMPALA, SPARK)
        )
        self.estate = Estate(cluster, (self.hive, self.impala, self.spark))
        ticking = count(1_800_000_000_000)
        self.pipeline = Pipeline(solr.address, spark, lambda: next(ticking))

    def documents(self, core: str, writer: Source, query: str) -> Iterator[dict[str, Any]]:
        owner = "sourceId" if core == ELEMENTS else "writer"
        return self.solr.cursor(core, query, "*", filters=[f"{owner}:{writer.id}", "deleted:false"])

    def column(self, table: str, column: str) -> str:
        database, name = table.split(".")
        return identify(self.hive.id, database.upper(), name.upper(), column.upper())


@pytest.fixture
def indexed(solr: Solr, spark: Callable[[], SparkSession]) -> Indexed:
    return Indexed(solr, spark)


def test_every_edge_of_impalas_records_and_no_other_is_indexed(indexed: Indexed, corpora: Path) -> None:
    directory = corpora / "impala"
    extractor = ImpalaEvents(indexed.impala, indexed.estate, str(directory))
    record = indexed.pipeline.run(EXTRACTORS["impala_events"], extractor)
    assert (record.status, record.failures, record.counts.rejects) == (Status.FINISHED, (), 0)
    (log,) = directory.glob("impala_lineage_log_1.0-*")
    expected: dict[str, set[Part]] = {}
    for line in log.read_text().splitlines():
        payload = json.loads(line)
        expected.setdefault(payload["queryText"], set()).update(_said_parts(indexed, payload))
    found = _indexed_parts(indexed)
    assert len(expected) == 48
    assert found == expected


def _said_parts(indexed: Indexed, payload: dict[str, Any]) -> Iterator[Part]:
    vertices = {vertex["id"]: vertex for vertex in payload["vertices"]}
    for edge in payload["edges"]:
        sources = frozenset(_end(indexed, vertices[number]) for number in edge["sources"])
        yield (
            edge["edgeType"],
            sources,
            frozenset(_end(indexed, vertices[number]) for number in edge["targets"]),
        )


def _end(indexed: Indexed, vertex: dict[str, Any]) -> str:
    """The id of the column that a vertex names: the first component after its table. A vertex for the label of a result
    column gives the label.
    """
    if "metadata" not in vertex:
        return str(vertex["vertexId"])
    table = vertex["metadata"]["tableName"]
    column = vertex["vertexId"].removeprefix(table + ".").split(".")[0]
    return indexed.column(table, column)


def _indexed_parts(indexed: Indexed) -> dict[str, set[Part]]:
    texts = {
        document["identity"]: document["queryText"]
        for document in indexed.documents(ELEMENTS, indexed.impala, "type:OPERATION")
    }
    into: dict[str, set[tuple[str, str]]] = {}
    out_of: dict[str, set[str]] = {}
    for flow in indexed.documents(RELATIONS, indexed.impala, "type:(DATA_FLOW OR CONTROL_FLOW)"):
        (ep1,), (ep2,) = flow["endpoint1Ids"], flow["endpoint2Ids"]
        into.setdefault(ep2, set()).add((flow["type"], ep1))
        out_of.setdefault(ep1, set()).add(ep2)
    parts: dict[str, set[Part]] = {text: set() for text in texts.values()}
    for sub in indexed.documents(ELEMENTS, indexed.impala, "type:SUB_OPERATION"):
        flows = into.get(sub["identity"], set())
        kinds = {{"DATA_FLOW": "PROJECTION", "CONTROL_FLOW": "PREDICATE"}[kind] for kind, _ in flows}
        (kind,) = kinds or {sub["tp_edgeType"][0]}
        targets = frozenset(out_of.get(sub["identity"], ())) or frozenset(sub["outputs"])
        parts[texts[sub["firstClassParentId"]]].add((kind, frozenset(end for _, end in flows), targets))
    return parts


def test_all_spark_event_logs_are_indexed_and_each_execution_has_its_operation(
    indexed: Indexed, corpora: Path
) -> None:
    directory = str(corpora / "spark-event-logs")
    extractor = SparkEvents(indexed.spark, indexed.estate, directory)
    record = indexed.pipeline.run(EXTRACTORS["spark_events"], extractor)
    assert (record.status, record.failures) == (Status.FINISHED, ())
    executions = {
        document["identity"]
        for document in indexed.documents(ELEMENTS, indexed.spark, "type:OPERATION_EXECUTION")
    }
    instances = {
        identity
        for document in indexed.documents(RELATIONS, indexed.spark, "type:INSTANCE_OF")
        for identity in document["endpoint2Ids"]
    }
    assert len(executions) >= 60
    assert executions == instances
    again = indexed.pipeline.run(EXTRACTORS["spark_events"], extractor)
    assert again.status is Status.IDLE


def test_all_corpora_satisfy_atlas_type_definitions(indexed: Indexed, corpora: Path) -> None:
    cluster = indexed.estate.cluster
    hive = Source(source_id(cluster, "events"), HIVE, "events", cluster, claimable=False)
    for name, extractor in (
        ("impala_events", ImpalaEvents(indexed.impala, indexed.estate, str(corpora / "impala"))),
        ("spark_events", SparkEvents(indexed.spark, indexed.estate, str(corpora / "spark-event-logs"))),
        ("hive_events", HiveEvents(hive, indexed.estate, str(corpora / "hive"), "*.log")),
    ):
        assert indexed.pipeline.run(EXTRACTORS[name], extractor).status is Status.FINISHED
    types = AtlasTypes(corpora / "atlas-models")
    query = f"sourceId:({indexed.impala.id} {indexed.spark.id} {hive.id})"
    counts = []
    for placeholders in (False, True):
        selection = Selection(query, all_executions=True, placeholders=placeholders)
        requests = [
            json.loads(line)["entities"]
            for batch in read(indexed.solr, selection)
            for line in records(batch.items, Options())
        ]
        entities = [each for request in requests for each in request]
        assert [problem for each in entities for problem in types.problems(each)] == []
        assert dangling(requests) == []
        counts.append(Counter(each["typeName"] for each in entities))
    without, every = counts
    assert min(without["spark_process"], every["spark_process"]) >= 20
    # The index has nothing from a metastore, so Impala's tables are known only by name.
    assert without["impala_column_lineage"] == 0
    assert every["impala_column_lineage"] > 100
    assert every["hive_table"] > without["hive_table"]


def test_column_lineage_aggregates_to_table_lineage(indexed: Indexed, corpora: Path) -> None:
    hive = Source(
        source_id(indexed.estate.cluster, "events"), HIVE, "events", indexed.estate.cluster, claimable=False
    )
    impala = ImpalaEvents(indexed.impala, indexed.estate, str(corpora / "impala"))
    spark = SparkEvents(indexed.spark, indexed.estate, str(corpora / "spark-event-logs"))
    events = HiveEvents(hive, indexed.estate, str(corpora / "hive"), "*.log")
    compared = 0
    for name, extractor in (("impala_events", impala), ("spark_events", spark), ("hive_events", events)):
        assert indexed.pipeline.run(EXTRACTORS[name], extractor).status is Status.FINISHED
        compared += _compare_levels(indexed, extractor.source)
    assert compared > 100


Flows = set[tuple[str, str]]
"""Set of (flow type, name of a table or path)."""


def _compare_levels(indexed: Indexed, source: Source) -> int:
    """Assert that column and table lineage agree for every operation with known columns, and return the number of these
    operations.
    """
    operations = {
        part["identity"]: part["firstClassParentId"]
        for part in indexed.documents(ELEMENTS, source, "type:SUB_OPERATION")
    }
    tables_in: dict[str, Flows] = {}
    tables_out: dict[str, Flows] = {}
    columns_in: dict[str, Flows] = {}
    columns_out: dict[str, Flows] = {}
    incomplete: set[str] = set()
    for flow in indexed.documents(RELATIONS, source, "type:(DATA_FLOW OR CONTROL_FLOW)"):
        (ep1,), (ep2,) = flow["endpoint1Ids"], flow["endpoint2Ids"]
        if ep2 in operations:
            columns_in.setdefault(operations[ep2], set()).add((flow["type"], _contains(flow, 1)))
        elif ep1 in operations:
            columns_out.setdefault(operations[ep1], set()).add((flow["type"], _contains(flow, 2)))
        elif flow["endpoint2Type"] == "OPERATION":
            tables_in.setdefault(ep2, set()).add((flow["type"], flow["endpoint1Name"]))
        else:
            tables_out.setdefault(ep1, set()).add((flow["type"], flow["endpoint2Name"]))
            if flow.get("incomplete"):
                incomplete.add(ep1)
    for operation in set(operations.values()):
        folded, reported = _strongest(columns_in.get(operation, set())), tables_in.get(operation, set())
        # A flow of a whole table, such as counted rows or unknown columns, has no column edge.
        assert {name for _, name in folded} <= {name for _, name in reported}, operation
        assert {name for kind, name in folded if kind == "DATA_FLOW"} <= _of("DATA_FLOW", reported), operation
        if operation not in incomplete:
            assert _of("CONTROL_FLOW", reported) <= _of("CONTROL_FLOW", folded), operation
            assert columns_out.get(operation, set()) == tables_out.get(operation, set()), operation
    return len(set(operations.values()))


def _contains(flow: dict[str, Any], side: int) -> str:
    """The table or path that contains the given end of a flow; a table or path is its own container."""
    name = str(flow[f"endpoint{side}Name"])
    return name.rpartition(".")[0] if flow[f"endpoint{side}Type"] == "FIELD" else name


def _strongest(flows: Flows) -> Flows:
    data = {name for kind, name in flows if kind == "DATA_FLOW"}
    return {(kind, name) for kind, name in flows if kind == "DATA_FLOW" or name not in data}


def _of(kind: str, flows: Flows) -> set[str]:
    return {name for each, name in flows if each == kind}
