"""An extractor that tests a dying Spark: each file of a folder is a split, and reading a file with the text "deadly"
kills the JVM, as running out of memory does.

`main` runs in a separate process: it runs the source several times and prints the run records.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from navlin.model.extractor import EXTRACTORS, PUSH, Extractor, extractor
from navlin.model.keys import operation_key
from navlin.model.plan import Plan, Positions
from navlin.model.records import Entity, Position, Record, Split
from navlin.model.source import Estate, Source, source_id


@dataclass(frozen=True, slots=True)
class File(Split):
    path: str

    @property
    def name(self) -> str:
        return self.path


@extractor("deadly_files", source_type="ACME", mode=PUSH, version=1)
@dataclass(frozen=True, slots=True)
class DeadlyFiles(Extractor):
    source: Source
    estate: Estate
    folder: str

    def plan(self, positions: Positions) -> Plan:
        files = sorted(map(str, Path(self.folder).iterdir()))
        return Plan(tuple(File(each) for each in files if each not in positions.values))

    def read(self, split: Split) -> Iterator[Record]:
        if Path(split.name).read_text() == "deadly":
            os.kill(_parent_of(os.getppid()), signal.SIGKILL)
            time.sleep(600)
        yield Entity(operation_key(self.source, split.name, ()), 1_700_000_000_000)
        yield Position(split.name, 1)


def _parent_of(process: int) -> int:
    """Return the parent process id. The parent of Spark's worker daemon is the JVM."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def main(url: str, user: str, password: str, folder: str, state: str, cluster: str, runs: int) -> None:
    from navlin.index.solr.solr import SolrAddress
    from navlin.pipeline.run import Pipeline
    from navlin.service.settings.configuration import SparkSettings
    from navlin.service.spark_session import LazySparkSession

    source = Source(source_id(cluster, "D"), "ACME", "D", cluster)
    with LazySparkSession(SparkSettings(), Path(state)) as spark:
        pipeline = Pipeline(
            SolrAddress(url, user, password), spark, lambda: time.time_ns() // 1_000_000, lease_s=60
        )
        for _ in range(runs):
            run = pipeline.run(
                EXTRACTORS["deadly_files"], DeadlyFiles(source, Estate(cluster, (source,)), folder)
            )
            told = {"status": run.status.value, "error": run.error, "records": run.counts.records}
            sys.stdout.write(json.dumps(told) + "\n")
