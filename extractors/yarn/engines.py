"""The seam between jobs of MapReduce and the engines that submit them, such as Pig.

An engine's job has a configuration of the engine's own, from which the engine's reader makes an operation of the
engine. A reader gets one job at a time, and keeps from it what it needs (`Engine.told`). It then gets all known jobs
together (`Engine.records`), because several jobs may be one run. YARN's own operation of such a job has no ends,
because the engine's operation has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from navlin.model.keys import Key, application_key
from navlin.model.records import Record
from navlin.model.source import Estate, Source

Told = Mapping[str, Any]
"""JSON of what an engine's reader keeps of a job's configuration. It may be stored in a position, so it is bounded and
without secrets."""


@dataclass(frozen=True, slots=True)
class EngineJob:
    """One ended job that an engine submitted. ``application`` is the id of its application, ``run`` the engine's name
    of the run to which the job belongs (`Engine.run_of`). Times are in epoch ms; 0 if unknown.
    """

    application: str
    run: str
    user: str
    name: str
    status: str
    succeeded: bool
    started_ms: int
    ended_ms: int
    as_of_ms: int
    told: Told


@dataclass(frozen=True, slots=True)
class YarnReading:
    """The YARN that is read. ``metastore`` and ``default_fs`` are for jobs whose configurations do not name them."""

    source: Source
    estate: Estate
    metastore: str = ""
    default_fs: str = ""

    def source_of(self, engine: str) -> Source:
        """Return the source of an engine's operations and executions. They belong to YARN's source, which alone
        reports them, but have the engine's source type.
        """
        return replace(self.source, type=engine)

    def ran_as(self, job: EngineJob) -> Key:
        """Return the key of the execution as which YARN reports the job."""
        return application_key(self.source, job.application)


class Engine(Protocol):
    """The reader of one engine's jobs. ``type`` is the engine's source type."""

    type: str

    def reads(self, name: str) -> bool:
        """Whether the reader needs the property with this name."""
        ...

    def run_of(self, properties: Mapping[str, str]) -> str:
        """Return the engine's name of the run to which a job belongs; "" if the engine did not submit the job."""
        ...

    def told(self, properties: Mapping[str, str]) -> Told:
        """Return the part of a job's configuration that `records` needs. ``properties`` are those for which `reads` is
        true. They hold any text, and no error of theirs is raised.
        """
        ...

    def records(self, reading: YarnReading, jobs: Sequence[EngineJob]) -> Iterator[Record]:
        """Yield the records of all runs to which these jobs belong. For a run, these are all jobs that are known so
        far, in the order of their ids.
        """
        ...
