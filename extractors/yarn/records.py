"""Convert an application, and the configuration of a MapReduce job, to an operation with its execution and flows.

    directory ── DATA_FLOW ──▶ operation ── DATA_FLOW ──▶ directory          a MapReduce job that succeeded
    execution of Hive, Oozie (claimed) ── LOGICAL_PHYSICAL ──▶ execution

As in Navigator, all applications with the same type and name are one operation. For MapReduce, the jobs must also have
the same mapper, reducer, inputs and outputs. If inputs and outputs were ignored, all runs of `distcp` would be one
operation, and everything would seem to come from everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from extractors.lineage.operations import Execution, Flow, Operation
from extractors.yarn.applications import MAPREDUCE, Seen, YarnApplication
from extractors.yarn.configuration import JobConfiguration, JobPath
from extractors.yarn.engines import EngineJob, Told, YarnReading
from extractors.yarn.names import OozieAction, hive_session, oozie_action, pig_elsewhere, without_run
from navlin.model.identity import SEPARATOR
from navlin.model.keys import (
    Key,
    application_key,
    location_key,
    operation_key,
    placeholder_execution_key,
)
from navlin.model.records import Attributes, Covered, Depth, Record
from navlin.model.redaction import bounded, redact
from navlin.model.redaction.literals import name_in_state
from navlin.model.source import HIVE, OOZIE, Estate, Source

LATEST_MS: Final = 4_102_444_800_000
"""The year 2100. Later times in YARN are impossible."""
MAX_READABLE: Final = 1_000
NAME_BYTES: Final = 2_000


@dataclass(frozen=True, slots=True)
class ApplicationRecords:
    """Convert applications of one YARN to records. ``metastore`` and ``default_fs`` are used if a job's configuration
    does not name them.
    """

    source: Source
    estate: Estate
    metastore: str = ""
    default_fs: str = ""

    @property
    def reading(self) -> YarnReading:
        return YarnReading(self.source, self.estate, self.metastore, self.default_fs)

    def of(
        self, seen: Seen, configuration: JobConfiguration | None = None, missing: str = ""
    ) -> Iterator[Record]:
        """Yield all records of one application. ``configuration`` is None if there is none. In that case, ``missing``
        is the reason if the application should have a configuration.
        """
        known = _KnownJob.of(seen, configuration)
        inputs = self._ends(known.conf.inputs, known)
        outputs = self._ends(known.conf.outputs, known)
        text = SEPARATOR.join(known.distinguished_by)
        ends = tuple(key.identity for key, _ in (*inputs, *outputs))
        name = bounded(known.name, NAME_BYTES) or known.type
        key = operation_key(self.source, text, ends, name=name)
        readable: Attributes = {
            "inputs": [place.text for _, place in inputs][:MAX_READABLE],
            "outputs": [place.text for _, place in outputs][:MAX_READABLE],
        }
        flowed = configuration is not None and known.succeeded
        incomplete: Attributes = {"incomplete": True} if known.conf.incomplete else {}
        # Nothing flowed in a failed application.
        unsaid = [missing, pig_elsewhere(known.name, known.type)] if known.succeeded else []
        reasons = [*known.conf.missing, *filter(None, unsaid)]
        yield from Operation(
            key,
            known.as_of_ms,
            {**known.of_operation(reasons), **readable},
            Execution(
                application_key(self.source, seen.id, key),
                known.as_of_ms,
                {**known.of_execution(name), **readable},
                run_for=self._run_for(known),
            ),
            ages=not outputs,
            inputs=tuple(Flow(end, _inferred(place)) for end, place in inputs) if flowed else (),
            outputs=tuple(Flow(end, {**_inferred(place), **incomplete}) for end, place in outputs)
            if flowed
            else (),
            covers=flowed and bool(ends),
        ).records()
        if moved := tuple(end.identity for end, _ in self._ends(known.conf.moved, known)):
            # Earlier versions of navlin included directories that differ at each run in the operation's identity.
            former = operation_key(self.source, text, (*ends, *moved), name=name)
            yield Covered(former.tree_path, known.as_of_ms, Depth.ALL, reported=True)

    def _ends(self, places: Iterable[JobPath], known: _KnownJob) -> list[tuple[Key, JobPath]]:
        """Return (key, place) of each directory once. A certain place takes precedence over an inferred one."""
        default_fs = known.conf.default_fs or self.default_fs
        ends: dict[str, tuple[Key, JobPath]] = {}
        for place in places:
            key = location_key(self.estate, place.uri, default_fs)
            if key.identity not in ends or not place.inferred:
                ends[key.identity] = (key, place)
        return list(ends.values())

    def _run_for(self, known: _KnownJob) -> Iterator[tuple[Key, Attributes]]:
        """Yield (execution, attributes) for the runs in other systems for which the application ran."""
        conf = known.conf
        if conf.hive_query_id:
            meant = self.estate.metastore_meant(conf.metastores, self.metastore)
            hive = self.estate.serving(HIVE, meant)
            yield placeholder_execution_key(hive, conf.hive_query_id), {}
        if known.workflow_id:
            oozie = self.estate.serving(OOZIE)
            action = known.oozie.action if known.oozie else conf.oozie_action_id.partition("@")[2]
            yield placeholder_execution_key(oozie, known.workflow_id), {"oozieAction": action}


@dataclass(frozen=True, slots=True)
class _KnownJob:
    seen: Seen
    application: YarnApplication
    """The application as listed by the ResourceManager or, if it is not listed, derived from the job in the
    JobHistoryServer.
    """
    conf: JobConfiguration
    oozie: OozieAction | None
    as_of_ms: int

    @classmethod
    def of(cls, seen: Seen, configuration: JobConfiguration | None) -> _KnownJob:
        application, job = seen.application, seen.job
        if application is None:
            assert job is not None
            application = YarnApplication(
                seen.id,
                job.name,
                MAPREDUCE,
                job.user,
                job.queue,
                job.state,
                "",
                job.started_ms,
                job.finished_ms,
            )
            # This time is earlier than that of any state of the application that the ResourceManager shows, so that
            # the ResourceManager's state takes precedence.
            as_of_ms = _first_time(job.submitted_ms, job.started_ms, job.finished_ms)
        else:
            as_of_ms = _first_time(application.finished_ms, application.started_ms, _cluster_ms(seen.id))
        return cls(
            seen, application, configuration or JobConfiguration(), oozie_action(application.name), as_of_ms
        )

    @property
    def name(self) -> str:
        # The ResourceManager may show a modified name, so the job's own name is used. The list of the JobHistoryServer
        # has only its beginning if it is long.
        listed = (self.seen.job.name if self.seen.job else "") or self.application.name
        whole = (each for each in (self.conf.name, self.application.name) if each.startswith(listed))
        return without_run(next(whole, listed))

    @property
    def type(self) -> str:
        return self.application.type

    @property
    def distinguished_by(self) -> tuple[str, ...]:
        """Parts of the operation's identity other than inputs and outputs."""
        if self.application.mapreduce:
            return (self.name, self.conf.mapper, self.conf.reducer)
        return (self.type, self.name)

    @property
    def succeeded(self) -> bool:
        job = self.seen.job
        return job.succeeded if job else self.application.status == "SUCCEEDED"

    @property
    def workflow_id(self) -> str:
        named = self.oozie.workflow_id if self.oozie else ""
        return named or self.conf.oozie_job_id

    def of_operation(self, reasons: Sequence[str]) -> dict[str, Any]:
        conf = self.conf
        return {
            "internalType": "yarn_operation",
            "engineType": self.type,
            "mapper": conf.mapper,
            "reducer": conf.reducer,
            "combiner": conf.combiner,
            "outputKey": conf.output_key,
            "outputValue": conf.output_value,
            "inputRecursive": conf.recursive or None,
            **({"incomplete": True, "incompleteReasons": list(map(str, reasons))} if reasons else {}),
            **self._by_name(),
        }

    def of_execution(self, operation: str) -> dict[str, Any]:
        app = self.application
        mapreduce = app.mapreduce
        return {
            "internalType": "yarn_operation_execution",
            "engineType": self.type,
            "operation": operation,
            "principal": self.seen.user,
            "started": app.started_ms or None,
            "ended": app.finished_ms or None,
            "status": app.status,
            "jobId": self.seen.id.replace("application_", "job_", 1) if mapreduce else self.seen.id,
            "queue": app.queue,
            "applicationTags": list(app.tags),
            "attempts": app.attempts or None,
            "diagnostics": app.diagnostics,
            "memoryMbSeconds": app.memory_mb_s or None,
            "vcoreSeconds": app.vcore_s or None,
            "queryText": self.conf.hive_query_text,
            **self._by_name(),
            **self._by_configuration(),
        }

    def _by_configuration(self) -> dict[str, Any]:
        """Return the attributes from the configuration that differ at each run, and therefore do not belong to the
        operation.
        """
        conf = self.conf
        ids = {"hiveQueryId": conf.hive_query_id, "hiveSessionId": conf.hive_session_id}
        attributes: dict[str, Any] = {name: value for name, value in ids.items() if value}
        return {**attributes, "wfIds": [self.workflow_id]} if self.workflow_id else attributes

    def _by_name(self) -> dict[str, Any]:
        session = hive_session(self.name, self.type)
        oozie = self.oozie
        return {
            # A session runs many queries, and YARN does not show which ones.
            "session": True if session else None,
            "hiveSessionId": session,
            "wfIds": [oozie.workflow_id] if oozie and oozie.workflow_id else None,
            "oozieWorkflow": oozie.workflow if oozie else None,
            "oozieAction": oozie.action if oozie else None,
            "oozieActionType": oozie.type if oozie else None,
            "oozieLauncher": (oozie.launcher or None) if oozie else None,
        }


def as_seen(seen: Seen, run: str, told: Told) -> EngineJob:
    """Return the job of an engine as it was listed. ``run`` and ``told`` are of the engine's reader."""
    known = _KnownJob.of(seen, None)
    application, job = known.application, seen.job
    return EngineJob(
        seen.id,
        run,
        seen.user,
        name_in_state(bounded(redact(known.name), NAME_BYTES)),
        application.status,
        known.succeeded,
        (job.started_ms if job else 0) or application.started_ms,
        (job.finished_ms if job else 0) or application.finished_ms,
        known.as_of_ms,
        told,
    )


def _first_time(*times_ms: int) -> int:
    """Return the first known and possible time; 0 if there is none. Otherwise, a time in the year 3000 would be the
    newest forever.
    """
    return next((each for each in times_ms if 0 < each < LATEST_MS), 0)


def _cluster_ms(application: str) -> int:
    """Return the start time (epoch ms) of the ResourceManager that assigned this id. Every application id contains it."""
    return int(application.split("_")[1])


def _inferred(place: JobPath) -> Attributes:
    return {"inferred": True, "glob": place.text} if place.inferred else {}
