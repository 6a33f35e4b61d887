"""Convert the jobs of a Pig script to one operation with one execution.

    directory, Hive table ── DATA_FLOW ──▶ operation ── DATA_FLOW ──▶ directory, Hive table
    operation, execution ── LOGICAL_PHYSICAL ──▶ execution of each job in YARN

Temporary files between the jobs of a script are left out, so the flows lead from the inputs of the first jobs to the
stores of the last ones. A failed script has only the flows of its finished stores.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Final

import orjson

from extractors.lineage.operations import Execution, Flow, Operation
from extractors.yarn.engines import Engine, EngineJob, YarnReading
from extractors.yarn.pig_jobs import ALONE, PigJob, is_read, run_of, told
from navlin.model.keys import Key, RelationType, location_key, pig_execution_key, table_key
from navlin.model.records import Attributes, Record, Relation
from navlin.model.source import HIVE, PIG
from navlin.model.tree import below

MAX_READABLE: Final = 1_000
SUCCEEDED, FAILED, KILLED, UNKNOWN = "SUCCEEDED", "FAILED", "KILLED", "UNKNOWN"


class PigGap(StrEnum):
    """A further reason why the operation of a script is incomplete."""

    JOBS = "some jobs of its script have not ended, or left no history"


def records(reading: YarnReading, jobs: Sequence[EngineJob]) -> Iterator[Record]:
    """Yield the records of the runs to which some jobs belong."""
    runs: dict[tuple[str, str], list[EngineJob]] = defaultdict(list)
    for job in jobs:
        runs[job.user, job.application if job.run == ALONE else job.run].append(job)
    for (_, run), of_run in runs.items():
        yield from _Script(reading, run, tuple((each, PigJob(**each.told)) for each in of_run)).records()


READER: Final = Engine(PIG, is_read, run_of, told, records)


def script_key(reading: YarnReading, run: str, jobs: Iterable[PigJob]) -> Key:
    """Return the key of one run of a script, with the script's operation as its parent.

    Navigator identifies the operation by the job's name and the hash of the plan. A job's name may contain a date,
    which would make a new operation each day, so the script's path is used instead. The path alone does not suffice,
    because a relative path may name several scripts. The signature alone does not suffice either, because scripts of
    the same structure share it, whatever they read. Path and signature depend neither on the day nor on parameters or
    Pig's release. A script without a path, from a shell or a program, is identified by its text or, if there is none,
    by the job's name. Inputs and outputs are not part of the identity, because a failed run has fewer of them.
    """
    known = list(jobs)
    path, digest, name, signature = (
        next((found for each in known if (found := getattr(each, attribute))), "")
        for attribute in ("script", "digest", "job_name", "signature")
    )
    steady = path or digest or name
    key = pig_execution_key(reading.source_of(PIG), run, steady, signature)
    assert key.parent is not None
    return replace(key, parent=replace(key.parent, name=path or name or "Pig"))


@dataclass(frozen=True)
class _Script:
    """One run of a script, with all its known jobs."""

    reading: YarnReading
    run: str
    jobs: tuple[tuple[EngineJob, PigJob], ...]

    def records(self) -> Iterator[Record]:
        key = script_key(self.reading, self.run, (parsed for _, parsed in self.jobs))
        operation = key.parent
        assert operation is not None
        status, reasons = self._status, self._reasons
        inputs, outputs = list(self._inputs()), list(self._outputs())
        incomplete: Attributes = {"incomplete": True} if reasons else {}
        as_of_ms = max(job.as_of_ms for job, _ in self.jobs)
        attributes = self._of_run(inputs, outputs, status)
        yield from Operation(
            operation,
            as_of_ms,
            {
                "internalType": "pig_operation",
                "engineType": PIG,
                "queryText": self._first("text"),
                # Navigator's clients identify the operation by these two attributes.
                "jobName": self._first("script") or self._first("job_name"),
                "logicalPlanHash": self._first("signature"),
                "stores": self._stores(),
                **({"incomplete": True, "incompleteReasons": reasons} if reasons else {}),
            },
            Execution(key, as_of_ms, attributes, run_as=[self.reading.ran_as(job) for job, _ in self.jobs]),
            ages=not outputs,
            inputs=tuple(Flow(end, about) for end, _, about in inputs),
            outputs=tuple(Flow(end, {**about, **incomplete}) for end, _, about in outputs),
            # The flows of a failed or incompletely known run do not replace those of other runs.
            covers=status == SUCCEEDED and not reasons,
        ).records()
        for job, _ in self.jobs:
            physical = self.reading.ran_as(job)
            path = below(key.tree_path, operation.identity, physical.identity)
            kind = RelationType.LOGICAL_PHYSICAL
            yield Relation(kind, operation, physical, path, as_of_ms, ages=True)

    # -- Status ----------------------------------------------------------------------------------------------------------

    @cached_property
    def _unseen(self) -> frozenset[str]:
        """The nodes of the script without a known job."""
        seen = {parsed.node for _, parsed in self.jobs}
        nodes = {
            node
            for _, parsed in self.jobs
            for before, after in parsed.next.items()
            for node in (before, *after)
        }
        return frozenset(nodes - seen)

    @cached_property
    def _status(self) -> str:
        """The status of the script: KILLED if its unsuccessful jobs were all killed, FAILED if there are other
        unsuccessful jobs, UNKNOWN if all known jobs succeeded but some are missing.
        """
        statuses = {job.status for job, _ in self.jobs if not job.succeeded}
        if not statuses:
            return UNKNOWN if self._unseen else SUCCEEDED
        return KILLED if statuses == {KILLED} else FAILED

    @cached_property
    def _reasons(self) -> list[str]:
        reasons = {reason for job, parsed in self.jobs if job.succeeded for reason in parsed.missing}
        if self._status == UNKNOWN:
            reasons.add(str(PigGap.JOBS))
        return sorted(reasons)

    # -- Inputs and outputs ------------------------------------------------------------------------------------------------

    @cached_property
    def _flowing(self) -> list[tuple[EngineJob, PigJob]]:
        """The successful jobs whose data is in a finished store. For a failed or killed script, these are the jobs with
        a store, and the jobs that wrote the temporary files that lead to it.
        """
        done = [(job, parsed) for job, parsed in self.jobs if job.succeeded]
        if self._status not in (FAILED, KILLED):
            return done
        writers: dict[str, list[PigJob]] = defaultdict(list)
        for _, parsed in done:
            for path in parsed.written_temporary:
                writers[path].append(parsed)
        pending = [parsed for _, parsed in done if parsed.written or parsed.written_tables]
        found: dict[int, PigJob] = {}
        while pending:
            at = pending.pop()
            if id(at) not in found:
                found[id(at)] = at
                pending += [each for path in at.read_temporary for each in writers[path]]
        return [(job, parsed) for job, parsed in done if id(parsed) in found]

    def _inputs(self) -> Iterator[tuple[Key, str, Attributes]]:
        """Yield (key, name, attributes of the flow) for each input of the script, except data that a job of the script
        had written before.
        """
        written = {
            key.identity: max(job.ended_ms, 1)
            for job, parsed in self._flowing
            for key, _, _ in self._ends(parsed, parsed.written, parsed.written_tables)
        }
        found = (
            (key, name, about)
            for job, parsed in self._flowing
            for key, name, about in self._ends(parsed, parsed.read, parsed.read_tables)
            if not 0 < written.get(key.identity, 0) <= job.started_ms
        )
        yield from _each_once(found)

    def _outputs(self) -> Iterator[tuple[Key, str, Attributes]]:
        found = (
            end
            for _, parsed in self._flowing
            for end in self._ends(parsed, parsed.written, parsed.written_tables)
        )
        yield from _each_once(found)

    def _ends(
        self, parsed: PigJob, paths: list[list[Any]], tables: list[list[str]]
    ) -> Iterator[tuple[Key, str, Attributes]]:
        estate, default_fs = self.reading.estate, parsed.default_fs or self.reading.default_fs
        for text, uri, inferred in paths:
            about = {"inferred": True, "glob": text} if inferred else {}
            yield location_key(estate, uri, default_fs), text, about
        if tables:
            hive = estate.serving(HIVE, estate.metastore_meant(parsed.metastores, self.reading.metastore))
            for database, table in tables:
                yield table_key(hive, database, table), f"{database}.{table}", {}

    # -- Attributes --------------------------------------------------------------------------------------------------------

    def _of_run(
        self,
        inputs: Sequence[tuple[Key, str, Attributes]],
        outputs: Sequence[tuple[Key, str, Attributes]],
        status: str,
    ) -> dict[str, Any]:
        oozie = self._first("oozie_job")
        started_ms = [job.started_ms for job, _ in self.jobs if job.started_ms]
        return {
            "internalType": "pig_op_exec",
            "engineType": PIG,
            "operation": self._first("script") or self._first("job_name"),
            "scriptId": self.run,
            "jobName": self._first("job_name"),
            "principal": self.jobs[0][0].user,
            "started": self._first("submitted_ms") or (min(started_ms) if started_ms else None),
            "ended": None if status == UNKNOWN else max(job.ended_ms for job, _ in self.jobs) or None,
            "status": status,
            "queryText": self._first("text"),
            "pigVersion": self._first("version"),
            "inputs": [name for _, name, _ in inputs][:MAX_READABLE],
            "outputs": [name for _, name, _ in outputs][:MAX_READABLE],
            "jobs": [_of_job(job, parsed) for job, parsed in self.jobs][:MAX_READABLE],
            "wfIds": [oozie] if oozie else None,
            "oozieAction": self._first("oozie_action"),
        }

    def _stores(self) -> list[str]:
        """Return a JSON text for each finished store, with its name, function and alias, and its columns with their
        types.
        """
        found = (orjson.dumps(each).decode() for _, parsed in self._flowing for each in parsed.stores)
        return list(dict.fromkeys(found))[:MAX_READABLE]

    def _first(self, attribute: str) -> Any:
        """Return an attribute of the first job that has it."""
        return next((found for _, parsed in self.jobs if (found := getattr(parsed, attribute))), "")


def _each_once(
    ends: Iterable[tuple[Key, str, Attributes]],
) -> Iterator[tuple[Key, str, Attributes]]:
    """Yield each end once. A certain end takes precedence over an inferred one."""
    found: dict[str, tuple[Key, str, Attributes]] = {}
    for key, name, about in ends:
        if key.identity not in found or not about:
            found[key.identity] = (key, name, about)
    yield from found.values()


def _of_job(job: EngineJob, parsed: PigJob) -> str:
    """Return a description of one job, such as ``job_1_0012 SUCCEEDED big,orders (MULTI_QUERY,MAP_ONLY)``."""
    said = [job.application.replace("application_", "job_", 1), job.status, parsed.aliases]
    return " ".join(filter(None, (*said, f"({parsed.feature})" if parsed.feature else "")))
