"""Lineage across temporary tables, end to end: the example from "Generating Lineage Diagrams" in Navigator's
documentation.

Impala fills ``temp_sample_07`` and ``temp_sample_08`` and merges both into ``sample_merge``. The metastore is
listed while ``temp_sample_07`` exists and ``temp_sample_08`` is already gone. Then ``temp_sample_07`` is dropped,
and the metastore is listed again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from extractors.hms import HiveMetastore, idl
from extractors.hms.client import connected
from extractors.impala_events import ImpalaEvents
from navlin.index.journal.runs import Status
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS
from navlin.model.keys import table_key
from navlin.model.source import HIVE, IMPALA, Estate, Source, source_id
from navlin.pipeline.run import Pipeline
from navlin.query.answer import Direction, Lineage
from navlin.query.lineage import lineage
from navlin.query.options import WalkOptions
from navlin.query.search import search
from tests.services.metastore import CREATE_DATABASE, CREATE_TABLE, DROP_TABLE, Metastore, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = {"code": "string", "description": "string", "total_emp": "int", "salary": "int"}
WHEN_S = 1_700_000_000


@dataclass
class Sample:
    """The estate of the example, in a separate database."""

    solr: Solr
    metastore: Metastore
    database: str
    pipeline: Pipeline
    hive: HiveMetastore
    impala: ImpalaEvents
    log: Path

    def create(self, name: str) -> None:
        with connected(self.metastore.address) as client:
            client.call(CREATE_TABLE, table(self.database, name, COLUMNS))

    def drop(self, name: str) -> None:
        with connected(self.metastore.address) as client:
            client.call(DROP_TABLE, self.database, name, False)

    def run(self, text: str, source: str, target: str, at_s: int) -> None:
        """Write Impala's record of a statement that copies every column."""
        qualified = {name: f"{self.database}.{name}" for name in (source, target)}
        vertices, edges = [], []
        for number, column in enumerate(COLUMNS):
            for position, (vertex, of_table) in enumerate(
                ((f"{qualified[source]}.{column}", source), (column, target))
            ):
                metadata = {"tableName": qualified[of_table], "tableCreateTime": WHEN_S}
                vertices.append(
                    {
                        "id": 2 * number + position,
                        "vertexType": "COLUMN",
                        "vertexId": vertex,
                        "metadata": metadata,
                    }
                )
            edges.append({"sources": [2 * number], "targets": [2 * number + 1], "edgeType": "PROJECTION"})
        record = {
            "queryText": text,
            "queryId": f"{at_s:x}:{self.database}",
            "hash": "0" * 32,
            "user": "hue",
            "timestamp": at_s,
            "endTime": at_s + 1,
            "edges": edges,
            "vertices": vertices,
        }
        with self.log.open("a") as log:
            log.write(json.dumps(record) + "\n")

    def extract(self, name: str) -> None:
        record = self.pipeline.run(EXTRACTORS[name], self.hive if name == "hms" else self.impala)
        assert record.status in (Status.FINISHED, Status.IDLE), record

    def upstream(self, **options: Any) -> set[tuple[str, str]]:
        answer = self.answer(**options)
        names = {node.id: node.name for node in answer.nodes}
        return {(self.bare(names[edge.source]), self.bare(names[edge.target])) for edge in answer.edges}

    def answer(self, **options: Any) -> Lineage:
        start = table_key(self.hive.source, self.database, "sample_merge").identity
        return lineage(self.solr, start, WalkOptions(direction=Direction.UPSTREAM, **options))

    def bare(self, name: str) -> str:
        return name.removeprefix(self.database + ".").replace(self.database + ".", "")


@pytest.fixture
def sample(
    solr: Solr,
    spark: Callable[[], SparkSession],
    metastore: Metastore,
    tmp_path: Path,
) -> Iterator[Sample]:
    database = f"sample_{time.time_ns()}"
    cluster = f"example {database}"
    hive = Source(source_id(cluster, "HIVE-1"), HIVE, "HIVE-1", cluster, (metastore.uri,))
    impala = Source(source_id(cluster, "IMPALA-1"), IMPALA, "IMPALA-1", cluster)
    estate = Estate(cluster, (hive, impala))
    ticking = count(time.time_ns() // 1_000_000)
    with connected(metastore.address) as client:
        client.call(CREATE_DATABASE, idl.Database(name=database))
    yield Sample(
        solr,
        metastore,
        database,
        Pipeline(solr.address, spark, lambda: next(ticking)),
        HiveMetastore(hive, estate, (metastore.uri,), databases=(database,)),
        ImpalaEvents(impala, estate, str(tmp_path)),
        tmp_path / "impala_lineage_log_1.0-1700000000000",
    )


INSERT_07 = "INSERT INTO sample_merge SELECT * FROM temp_sample_07"
INSERT_08 = "INSERT INTO sample_merge SELECT * FROM temp_sample_08"
CREATE_07 = "CREATE TABLE temp_sample_07 AS SELECT * FROM sample_07"
CREATE_08 = "CREATE TABLE temp_sample_08 AS SELECT * FROM sample_08"


@pytest.mark.parametrize(
    "first_extractions",
    [("hms", "impala_events"), pytest.param(("impala_events", "hms"), marks=pytest.mark.services)],
    ids=lambda order: f"{order[0]} first",
)
def test_the_lineage_of_sample_merge_passes_through_temporary_tables(
    sample: Sample, first_extractions: tuple[str, ...]
) -> None:
    for name in ("sample_07", "sample_08", "sample_merge", "temp_sample_07", "temp_sample_08"):
        sample.create(name)
    sample.run(CREATE_07, "sample_07", "temp_sample_07", WHEN_S)
    sample.run(CREATE_08, "sample_08", "temp_sample_08", WHEN_S + 10)
    sample.run(INSERT_07, "temp_sample_07", "sample_merge", WHEN_S + 20)
    sample.run(INSERT_08, "temp_sample_08", "sample_merge", WHEN_S + 30)
    sample.drop("temp_sample_08")
    for name in first_extractions:
        sample.extract(name)
    sample.drop("temp_sample_07")
    sample.extract("hms")

    # By default only existing entities are shown: sample_07 flows into sample_merge through a table that no longer
    # exists.
    assert sample.upstream() == {("sample_07", "sample_merge")}
    (edge,) = sample.answer().edges
    assert [sample.bare(hop.name) for hop in edge.via if hop.deleted] == ["temp_sample_07"]

    # If deleted entities are included, the temporary table that was listed appears.
    assert sample.upstream(deleted=True) == {
        ("sample_07", "temp_sample_07"),
        ("temp_sample_07", "sample_merge"),
    }
    flagged = {sample.bare(node.name) for node in sample.answer(deleted=True).nodes if node.deleted}
    assert flagged == {"temp_sample_07"}

    # If operations are included, both insertions appear. The second has no input, because temp_sample_08 was never
    # listed.
    assert sample.upstream(operations=True, deleted=True) == {
        ("sample_07", CREATE_07),
        (CREATE_07, "temp_sample_07"),
        ("temp_sample_07", INSERT_07),
        (INSERT_07, "sample_merge"),
        (INSERT_08, "sample_merge"),
    }

    # If unlinked entities are included, a table appears that statements only referenced.
    assert ("sample_08", "temp_sample_08") in sample.upstream(deleted=True, unlinked=True)

    # A search in the query text finds the table that was never listed.
    found = search(sample.solr, f"queryText:*temp_sample_08* AND sourceId:{sample.impala.source.id}")
    assert {document["originalName"] for document in found.documents} == {CREATE_08, INSERT_08}
    listed = search(
        sample.solr, f"type:TABLE AND originalName:temp_sample_08 AND sourceId:{sample.hive.source.id}"
    )
    assert listed.documents == ()


@pytest.mark.services
def test_column_lineage_passes_through_the_dropped_table(sample: Sample) -> None:
    for name in ("sample_07", "sample_merge", "temp_sample_07"):
        sample.create(name)
    sample.run(CREATE_07, "sample_07", "temp_sample_07", WHEN_S)
    sample.run(INSERT_07, "temp_sample_07", "sample_merge", WHEN_S + 20)
    sample.extract("impala_events")
    sample.extract("hms")
    sample.drop("temp_sample_07")
    sample.extract("hms")
    columns = {edge for edge in sample.upstream(columns=True) if edge[0].count(".") == 1}
    assert columns == {(f"sample_07.{column}", f"sample_merge.{column}") for column in COLUMNS}
