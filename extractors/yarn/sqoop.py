"""The reader of Sqoop's jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

from extractors.yarn.engines import EngineJob, Told, YarnReading
from extractors.yarn.sqoop_columns import Queries
from extractors.yarn.sqoop_job import is_read, run_of, to_job
from extractors.yarn.sqoop_records import records_of, runs_of
from navlin.model.records import Record
from navlin.model.source import SQOOP


class Sqoop:
    """Makes operations of the jobs that Sqoop 1.4 submitted, from their configurations alone."""

    type = SQOOP

    def reads(self, name: str) -> bool:
        return is_read(name)

    def run_of(self, properties: Mapping[str, str]) -> str:
        return run_of(properties)

    def told(self, properties: Mapping[str, str]) -> Told:
        return to_job(properties).to_json()

    def records(self, reading: YarnReading, jobs: Sequence[EngineJob]) -> Iterator[Record]:
        with closing(Queries()) as queries:
            for run in runs_of(jobs):
                yield from records_of(reading, run, queries)
