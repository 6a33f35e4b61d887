"""The interface to engines, such as Pig and Sqoop, that submit MapReduce jobs.

An engine writes properties of its own into the configuration of a job. From these, the engine's reader makes an
operation of the engine. A reader first gets each job alone, and keeps the part of the configuration that it needs
(`Engine.told`). It then gets all known jobs of the runs together (`Engine.records`), because one run may submit several
jobs. YARN's own operation of such a job has no inputs and outputs, because the engine's operation has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from navlin.model.keys import Key, application_key
from navlin.model.records import Record
from navlin.model.source import Estate, Source

Told = Mapping[str, Any]
"""JSON of the part of a job's configuration that an engine's reader keeps. It may be stored in a position, so it is
bounded and without secrets."""


@dataclass(frozen=True, slots=True)
class EngineJob:
    """One ended job that an engine submitted. ``application`` is the id of its application, ``run`` the id of the run
    to which it belongs (`Engine.run_of`). Times are in epoch ms; 0 if unknown.
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
    """The YARN whose jobs are read. ``metastore`` and ``default_fs`` are used for jobs whose configurations do not name
    them.
    """

    source: Source
    estate: Estate
    metastore: str = ""
    default_fs: str = ""

    def source_of(self, engine: str) -> Source:
        """Return the source of an engine's operations and executions. They belong to YARN's source, because only YARN
        reports them, but have the engine's source type.
        """
        return replace(self.source, type=engine)

    def ran_as(self, job: EngineJob) -> Key:
        """Return the key of the execution that YARN reports for the job."""
        return application_key(self.source, job.application)


@dataclass(frozen=True, slots=True)
class Engine:
    """The reader of one engine's jobs. ``type`` is the engine's source type.

    ``reads`` returns whether the reader needs the property with a name. The other functions get the properties for
    which it is true. Their values may be any text, and no value raises an error. ``run_of`` returns an id of the run to
    which a job belongs, unique among the engine's runs of one user; "" if the engine did not submit the job. ``told``
    returns the part of a job's configuration that ``records`` needs. ``records`` yields the records of all runs to which
    some jobs belong: all jobs of these runs that are known so far, ordered by id.
    """

    type: str
    reads: Callable[[str], bool]
    run_of: Callable[[Mapping[str, str]], str]
    told: Callable[[Mapping[str, str]], Told]
    records: Callable[[YarnReading, Sequence[EngineJob]], Iterator[Record]]
