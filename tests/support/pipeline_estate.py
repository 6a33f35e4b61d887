"""A small estate for tests of the pipeline: two sources used by one test only, run one after the other against the
session's Solr.
"""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from navlin.index.graph.presentation import presented
from navlin.index.journal.runs import RunRecord
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS, STAMPS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS
from navlin.model.keys import Key, column_key, database_key, table_key
from navlin.model.source import Estate, Source, source_id
from navlin.pipeline.guard import Guard
from navlin.pipeline.run import Pipeline
from tests.support.scripted_extractors import Happenings, Listing

FIRST_MS = 1_800_000_000_000
Documents = list[dict[str, Any]]


class SmallEstate:
    """A metastore and a query engine, each represented by a file. ``tables`` and ``happen`` set their contents;
    ``pull`` and ``follow`` run the sources through the pipeline; the other methods query the index.
    """

    def __init__(
        self,
        solr: Solr,
        spark: Callable[[], SparkSession],
        folder: Path,
        *,
        guard: Guard | None = None,
        cluster: str = "",
    ) -> None:
        self.solr = solr
        self.cluster = cluster or f"cluster-{uuid.uuid4().hex[:8]}"
        self.hive = self._source("HIVE", "hive")
        self.impala = self._source("IMPALA", "impala")
        self.estate = Estate(self.cluster, (self.hive, self.impala))
        self.tables_file = folder / f"{self.cluster}-tables.json"
        self.lines_file = folder / f"{self.cluster}-lines.jsonl"
        self.lines_file.touch()
        self.now_ms = FIRST_MS
        ticking = itertools.count(1)
        self.pipeline = Pipeline(solr.address, spark, lambda: self.now_ms + next(ticking), guard or Guard())
        self.follower: dict[str, Any] = {}
        self.follower_version = 1
        self.timeout_s = 60.0

    def _source(self, source_type: str, name: str) -> Source:
        return Source(source_id(self.cluster, name), source_type, name, self.cluster)

    # -- Contents of the sources ----------------------------------------------------------------------------------------

    def tables(self, tables: Mapping[str, Any], **more: Any) -> None:
        """Replace the tables of the metastore."""
        self.tables_file.write_text(json.dumps({"tables": tables, **more}))

    def happen(self, text: str, reads: list[str], writes: list[str], *, at_ms: int, **more: Any) -> None:
        """Append one record to the engine's log."""
        self.line(json.dumps({"text": text, "reads": reads, "writes": writes, "at_ms": at_ms, **more}))

    def line(self, line: str) -> None:
        with self.lines_file.open("a") as lines:
            lines.write(line + "\n")

    # -- Running -------------------------------------------------------------------------------------------------------

    @property
    def listing(self) -> Listing:
        return Listing(self.hive, self.estate, str(self.tables_file), self.timeout_s)

    @property
    def happenings(self) -> Happenings:
        return Happenings(self.impala, self.estate, str(self.lines_file), **self.follower)

    def pull(self, **options: Any) -> RunRecord:
        """Run the metastore's source once, a minute after the previous run."""
        self.now_ms += 60_000
        return self.pipeline.run(EXTRACTORS["listing"], self.listing, **options)

    def follow(self, **options: Any) -> RunRecord:
        """Run the engine's source once, five seconds after the previous run."""
        self.now_ms += 5_000
        registration = replace(EXTRACTORS["happenings"], version=self.follower_version)
        return self.pipeline.run(registration, self.happenings, **options)

    def mend(self) -> None:
        """Let a newer reader version read the engine's source in later runs."""
        self.follower_version, self.follower = 2, {"mended": True}

    def empty(self) -> None:
        """Remove all documents of the estate from the index, including positions."""
        for core in (ELEMENTS, RELATIONS):
            self.solr.delete_ids(core, [each["identity"] for each in self.documents(core)])
        of_sources = f"sourceId:({self.hive.id} OR {self.impala.id})"
        self.solr.delete_ids(
            RUNS, [each["identity"] for each in self.solr.cursor(RUNS, of_sources, "identity")]
        )
        for core in (ELEMENTS, RELATIONS, RUNS):
            self.solr.commit(core, soft=True)

    # -- Querying ------------------------------------------------------------------------------------------------------

    def key(self, name: str) -> Key:
        if "." not in name:
            return database_key(self.hive, name)
        database, table, *column = name.split(".")
        key = table_key(self.hive, database, table)
        return column_key(key, column[0]) if column else key

    def element(self, name: str) -> dict[str, Any]:
        """The document of a database, table or column."""
        return self.of_id(self.key(name).identity)

    def of_id(self, identity: str) -> dict[str, Any]:
        (document,) = presented(self.solr, ELEMENTS, self.solr.get(ELEMENTS, [identity]))
        return document

    def live(self, *types: str) -> set[str]:
        """Tree paths of all live entities of these types, including those of granted sources."""
        return {
            document["treePath"]
            for document in self.documents(ELEMENTS)
            if document["type"] in types and not document["deleted"]
        }

    def deleted(self, *types: str) -> set[str]:
        """Tree paths of all entities of these types that are flagged deleted."""
        return {d["treePath"] for d in self.documents(ELEMENTS) if d["type"] in types and d["deleted"]}

    def flows(self) -> set[tuple[str, str]]:
        """Live DATA_FLOW relations, as (name of the source end, name of the target end)."""
        return {
            (d["endpoint1Name"], d["endpoint2Name"])
            for d in self.documents(RELATIONS)
            if d["type"] == "DATA_FLOW" and not d["deleted"]
        }

    def documents(self, core: str) -> Documents:
        """All documents of the estate's sources, including granted sources."""
        writers = " OR ".join(source.id for source in (self.hive, self.impala, *self._granted()))
        field = "sourceId" if core == ELEMENTS else "writer"
        return presented(self.solr, core, self.solr.cursor(core, f"{field}:({writers})", "*"))

    def index(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Map (core, id) to each document, without navlin's own stamps. Two runs over the same inputs must give equal
        results.
        """
        return {
            (core, document["identity"]): unstamped(document)
            for core in (ELEMENTS, RELATIONS)
            for document in self.documents(core)
        }

    def _granted(self) -> list[Source]:
        names = self.solr.cursor(
            ELEMENTS,
            "type:SOURCE",
            "identity,originalName,sourceType",
            filters=[f'clusterName:"{self.cluster}"'],
        )
        return [Source(d["identity"], d["sourceType"], d["originalName"], self.cluster) for d in names]


def unstamped(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document without navlin's stamps. For a deleted entity, ``asOf`` counts as a stamp, because it is the
    time when the loss was noticed.
    """
    stamps = STAMPS | {"asOf"} if document.get("deleted") else STAMPS
    return {name: value for name, value in document.items() if name not in stamps}
