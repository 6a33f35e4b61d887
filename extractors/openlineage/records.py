"""Convert a run to its operation, execution and flows, and a dataset event to the dataset.

An operation is identified by the job and its SQL text, or, without a text, by the job and its outputs. The flows of a
run replace those of an earlier run, unless the run names no dataset at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from extractors.lineage.operations import Execution, Operation
from extractors.lineage.record_times import EARLIEST_MS
from extractors.openlineage.ends import RunEnds, readable
from extractors.openlineage.names import DatasetKeys
from extractors.openlineage.runs import DatasetState, JobRun, Name
from extractors.openlineage.unsaid import unsaid
from navlin.model.identity import SEPARATOR
from navlin.model.keys import (
    DATASETS,
    Key,
    RelationType,
    application_id,
    application_key,
    claimed_execution_key,
    execution_key,
    operation_key,
)
from navlin.model.records import Attributes, Covered, Depth, Entity, Record, Relation
from navlin.model.redaction import bounded, without_credentials
from navlin.model.source import YARN
from navlin.model.tree import below, tree_path

STATUS: Final = {"COMPLETE": "SUCCEEDED", "FAIL": "FAILED", "ABORT": "KILLED"}
_NOTHING: Final[Mapping[str, JobRun]] = {}
NO_COLUMNS: Final = "the producer does not say where columns come from"


@dataclass(frozen=True, slots=True)
class Writing:
    """Creates the records of the runs of one source. ``yarn`` is the address of the YARN that ran the applications,
    needed if several are configured. ``anew`` is true if everything is read once more.
    """

    names: DatasetKeys
    yarn: str = ""
    anew: bool = False

    # -- Runs ------------------------------------------------------------------------------------------------------------

    def of_run(
        self, run: JobRun, *, over: bool = False, above: Mapping[str, JobRun] = _NOTHING
    ) -> Iterator[Record]:
        """Yield all records of a run. ``over`` is true if the run will get no more events although its end was never
        reported. ``above`` maps run id → run, for the known parent and root runs.
        """
        ends = RunEnds(self.names, run)
        # Only the existence of a continuing run is recorded, with the datasets named so far. A stream, however, moves
        # data all the time.
        goes_on = bool(run.id) and not (run.ended or over or (run.streaming and run.ran))
        succeeded = not goes_on and (
            run.type == "COMPLETE" or not run.id or (run.streaming and (run.ran or not run.ended))
        )
        named = bool(run.inputs or run.outputs)
        key = self.operation(run, ends)
        unknown = [*run.incomplete, *(unsaid(run) if succeeded else ())]
        inputs, outputs = ends.inputs(), ends.outputs(incomplete=bool(unknown or ends.problems))
        reasons = [*unknown, *(ends.problems if succeeded else ())]
        if succeeded and inputs and outputs and not any(known.columns for known in run.outputs.values()):
            reasons.append(NO_COLUMNS)
        change = ends.change
        named_ends = {"inputs": readable(ends.read), "outputs": readable(ends.written)}
        operation = Operation(
            key,
            # The record of an ended run takes precedence.
            _of_old(run) if goes_on else run.as_of_ms,
            {
                "internalType": "openlineage_operation",
                "engineType": run.engine,
                "queryText": run.sql,
                "jobNamespace": run.namespace,
                **run.of_job,
                **({"operationType": change} if change else {}),
                **named_ends,
                "incomplete": True if reasons else None,
                "incompleteReasons": reasons,
            },
            self._execution(run, key, over=over, goes_on=goes_on, named_ends=named_ends) if run.id else None,
            ages=not outputs,
        )
        if succeeded and named:
            operation = replace(
                operation,
                inputs=inputs,
                outputs=outputs,
                parts=list(ends.parts(key)),
                locations=ends.locations(),
                # A run known to be incomplete removes nothing, nor does a job's description without columns.
                covers=not unknown and bool(run.id or ends.has_columns),
                # A late event of a forgotten run may say less than all events of the run together, so flows of that
                # time stay.
                covers_until_ms=run.as_of_ms - (bool(run.id) and not run.started_ms and not self.anew),
            )
        yield from operation.records()
        if not goes_on:
            yield from self._withdrawn(run, key)
        if run.id:
            yield from self._parents(run, claimed_execution_key(self.names.source, run.id), above)
        if succeeded:
            yield from self._of_datasets(run, ends)

    def operation(self, run: JobRun, ends: RunEnds | None = None) -> Key:
        """Return the operation of a run, identified by the job and its SQL text or, without a text, by the job and its
        outputs.

        The job's name alone does not suffice, because Spark's agent gives the same name to all jobs of an application
        that write with the same command.
        """
        written = {} if run.sql else (ends or RunEnds(self.names, run)).written
        return self._job_key(
            run.namespace, run.name, run.sql_identity, {key.identity for key in written.values()}
        )

    def _job_key(self, namespace: str, name: str, sql: str, written: Iterable[str] = ()) -> Key:
        text = SEPARATOR.join((namespace, name, *([sql] if sql else [])))
        return operation_key(self.names.source, text, tuple(sorted(written)), name=bounded(name, 1_000))

    def _withdrawn(self, run: JobRun, operation: Key) -> Iterator[Covered]:
        """Yield coverage that removes the operation under which a run was recorded when less was known about the run.
        If everything is read once more, also remove operations that earlier versions created: one for all outputs of a
        job, and one for a long text.
        """
        former = {run.operation} if run.id else set()
        if self.anew and not run.sql:
            former.add(self._job_key(run.namespace, run.name, "").tree_path)
        if self.anew and run.sql_digest:
            former.add(self._job_key(run.namespace, run.name, run.sql).tree_path)
        for path in sorted(former - {"", operation.tree_path}):
            yield Covered(path, run.as_of_ms, Depth.ALL, reported=True)
        run.operation = operation.tree_path

    def _execution(
        self, run: JobRun, operation: Key, *, over: bool, goes_on: bool, named_ends: Attributes
    ) -> Execution:
        unended = "UNKNOWN" if over else "RUNNING"
        attributes: dict[str, Any] = {
            "internalType": "openlineage_execution",
            "engineType": run.engine,
            "started": run.started_ms or (run.first_ms if not run.ended else None),
            "ended": run.ended_ms or None,
            "principal": run.principal,
            "jobId": run.application,
            "status": STATUS.get(run.type, unended),
            "errorMessage": run.error,
            "operation": operation.name,
            "operationType": run.of_job.get("operationType"),
            **run.of_run,
            **named_ends,
        }
        run_as = []
        if application_id(run.application) is not None:
            run_as.append(application_key(self.names.estate.serving(YARN, self.yarn), run.application))
        as_of_ms = run.as_of_ms
        if goes_on:
            # The record of the run's end takes precedence, even at the same moment.
            as_of_ms -= 1
        elif over and not run.started_ms and not run.ran:
            # These are late events of a run that was forgotten after its end, so the earlier records take precedence.
            as_of_ms = _of_old(run)
        return Execution(execution_key(operation, run.id), as_of_ms, attributes, run_as=run_as)

    def _parents(self, run: JobRun, execution: Key, known: Mapping[str, JobRun]) -> Iterator[Record]:
        """Yield records of the parent and root runs, as far as the run's events name them. All other records of these
        runs take precedence.
        """
        child = execution
        known_ms = _of_old(run)
        above = {each[0]: each for each in (run.parent, run.root) if each and each[0] != run.id}
        for run_id, namespace, name in above.values():
            parent_run = known.get(run_id)
            job = self.operation(parent_run) if parent_run else self._job_key(namespace, name, "")
            of_job = {"internalType": "openlineage_operation", "jobNamespace": namespace}
            yield Entity(job, known_ms, of_job, ages=True)
            of_run = {"internalType": "openlineage_execution", "status": "UNKNOWN"}
            yield Entity(execution_key(job, run_id), known_ms, of_run, ages=True)
            parent = claimed_execution_key(self.names.source, run_id)
            path = below(child.tree_path, parent.identity)
            yield Relation(RelationType.PARENT_CHILD, parent, child, path, run.as_of_ms, ages=True)
            child = parent

    # -- Datasets --------------------------------------------------------------------------------------------------------

    def of_dataset_event(self, name: Name, known: DatasetState, as_of_ms: int) -> Iterator[Record]:
        """Yield the records of a dataset event. For a dataset of this source they describe the dataset; for a table
        they state the location.
        """
        yield from self.of_dataset(name, known, as_of_ms)
        bound = self.names.bound(*name, known)
        for path in bound.paths if known.change != "DROP" else ():
            place = tree_path(DATASETS, *map(without_credentials, name), path.identity)
            kind = RelationType.LOGICAL_PHYSICAL
            yield Relation(kind, bound.key, path, place, as_of_ms, {"hint": True})

    def of_dataset(self, name: Name, known: DatasetState, as_of_ms: int) -> Iterator[Record]:
        """Yield an event's description of a dataset. Datasets of other systems are left to their own sources."""
        key = self.names.bound(*name, known).key
        if not self.names.owns(key):
            return
        before = (
            self.names.key(known.before[0], known.before[1])
            if known.change == "RENAME" and known.before
            else None
        )
        if known.change == "DROP" or before is not None:
            gone = key if before is None else before
            if self.names.owns(gone):
                yield Covered(gone.tree_path, as_of_ms, Depth.ALL, reported=True)
            if before is None:
                return
        was = before.identity if before is not None and self.names.owns(before) else ""
        yield Entity(
            key,
            as_of_ms,
            {
                "internalType": "openlineage_dataset",
                "datasetNamespace": without_credentials(name[0]),
                **known.about,
            },
            renamed_from=was,
        )
        for place, (column, data_type) in enumerate(known.fields.items()):
            field = self.names.column(key, column)
            renamed = self.names.column(before, column).identity if was and before is not None else ""
            attributes = {"dataType": data_type, "columnIndex": place}
            yield Entity(field, as_of_ms, attributes, renamed_from=renamed)

    def _of_datasets(self, run: JobRun, ends: RunEnds) -> Iterator[Record]:
        for side in (run.inputs, run.outputs):
            for name, known in side.items():
                yield from self.of_dataset(name, known, run.as_of_ms)
        # Also record datasets and columns that only column lineage names.
        known_columns = {
            self.names.column(key, column).identity
            for name, key in ends.keys.items()
            if self.names.owns(key)
            for known in (run.inputs.get(name), run.outputs.get(name))
            if known is not None
            for column in known.fields
        }
        for key in ends.undescribed():
            yield Entity(key, run.as_of_ms, {"internalType": "openlineage_dataset"})
        for column in ends.columns.values():
            if self.names.owns(column) and column.identity not in known_columns:
                yield Entity(column, EARLIEST_MS + run.as_of_ms // 1_000, {})


def _of_old(run: JobRun) -> int:
    """Return a very early time, for incidental knowledge of a run, so that any other record takes precedence."""
    return EARLIEST_MS + run.first_ms // 1_000
