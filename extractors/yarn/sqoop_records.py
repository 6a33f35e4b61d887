"""Convert the jobs of a Sqoop run to an operation with its execution and flows.

    table of a database ── DATA_FLOW ──▶ operation ── DATA_FLOW ──▶ directory or Hive table      an import
    directory           ── DATA_FLOW ──▶ operation ── DATA_FLOW ──▶ table of a database          an export

An operation is the same in each run: it is identified by the database, by the table or the query without its literals,
and by its inputs and outputs. An import of modified rows has a second job, which merges the rows and names the
directory, so both jobs are one execution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Final

from extractors.lineage.operations import Execution, Flow, Operation, SubOperation
from extractors.yarn.configuration import ConfigurationGap, JobPath
from extractors.yarn.engines import Engine, EngineJob, YarnReading
from extractors.yarn.sqoop_columns import ColumnOrigin, Moved, MovedColumn, Queries
from extractors.yarn.sqoop_job import Gap, SqoopJob, TransferKind, is_read, run_of, told
from extractors.yarn.sqoop_texts import steady
from navlin.model.databases import database_table_key
from navlin.model.identity import SEPARATOR
from navlin.model.keys import (
    EntityType,
    Key,
    RelationType,
    column_key,
    dataset_column_key,
    execution_key,
    location_key,
    operation_key,
    path_column_key,
    sub_operation_key,
    table_key,
)
from navlin.model.records import Attributes, Record
from navlin.model.redaction import bounded
from navlin.model.source import HIVE, SQOOP

NAME_BYTES: Final = 1_000
MAX_NAMES: Final = 1_000
INFERRED: Final[Attributes] = {"inferred": True}


@dataclass(frozen=True, slots=True)
class Run:
    """One run. ``of`` is the job that moved the data, ``job`` its parsed configuration. ``merge`` is the job that
    merged the data of an import into its directory, if there was one.
    """

    of: EngineJob
    job: SqoopJob
    merge: EngineJob | None = None

    @property
    def last(self) -> EngineJob:
        return self.merge or self.of

    @property
    def name(self) -> str:
        """The run's name, which differs from the name of any execution of YARN."""
        return f"sqoop {_job(self.of) or self.of.run}"

    @property
    def on_yarn(self) -> tuple[EngineJob, ...]:
        """The jobs with an application of YARN. The job of a publisher's record has none."""
        return tuple(each for each in (self.of, self.merge) if each and each.application)


def _job(job: EngineJob) -> str:
    return job.application.replace("application_", "job_", 1)


def runs_of(jobs: Sequence[EngineJob]) -> Iterator[Run]:
    """Yield the runs of jobs. Each job is in one run. The target of an import with a merge is the directory of the
    merge, if that succeeded.
    """
    read = [(each, SqoopJob.of_json(each.told)) for each in jobs]
    merges = {
        (each.user, each.run): (each, job)
        for each, job in read
        if job.kind is TransferKind.MERGE and job.staged
    }
    taken: set[str] = set()
    for each, job in read:
        found = merges.get((each.user, each.run))
        if job.kind is not TransferKind.IMPORT or not job.staged or found is None:
            continue
        merge, merged = found
        taken |= {each.application, merge.application}
        target = merged.target if merge.succeeded else None
        missing = tuple(
            reason for reason in job.missing if reason != ConfigurationGap.MOVED or target is None
        )
        yield Run(
            each, replace(job, target=target, reads=merged.reads, keys=merged.keys, missing=missing), merge
        )
    for each, job in read:
        if each.application not in taken:
            yield Run(each, job)


def records(reading: YarnReading, jobs: Sequence[EngineJob]) -> Iterator[Record]:
    """Yield the records of the runs to which some jobs belong."""
    with closing(Queries()) as queries:
        for run in runs_of(jobs):
            yield from records_of(reading, run, queries)


READER: Final = Engine(SQOOP, is_read, run_of, told, records)


def records_of(reading: YarnReading, run: Run, queries: Queries) -> Iterator[Record]:
    """Yield the records of a run: its operation, its execution and, if it succeeded, its flows."""
    yield from _Writing(reading, run, queries).records()


class _Writing:
    def __init__(self, reading: YarnReading, run: Run, queries: Queries) -> None:
        self._reading = reading
        self._run = run
        self._job = job = run.job
        self._source = reading.source_of(SQOOP)
        moved = queries.moved(job) if job.kind is TransferKind.IMPORT else _exported(job)
        self._moved = moved if job.namespace else _without_sources(moved)
        self._tables = {name: self._table(name) for name in self._moved.tables}
        self._directories = {place.uri: self._directory(place) for place in job.reads}
        self._hive = self._hive_table(job.hive) if job.hive else None
        self._target = self._directory(job.target) if job.target else None

    # -- Keys ------------------------------------------------------------------------------------------------------------

    def _table(self, name: str) -> Key:
        return database_table_key(self._reading.estate, self._job.in_database, name)

    def _directory(self, place: JobPath) -> Key:
        default_fs = self._job.default_fs or self._reading.default_fs
        return location_key(self._reading.estate, place.uri, default_fs)

    def _hive_table(self, named: tuple[str, str]) -> Key:
        estate = self._reading.estate
        meant = estate.metastore_meant(self._job.metastores, self._reading.metastore)
        return table_key(estate.serving(HIVE, meant), *named)

    # -- The operation ---------------------------------------------------------------------------------------------------

    def records(self) -> Iterator[Record]:
        job, run = self._job, self._run
        inputs, outputs = self._inputs(), self._outputs()
        ends = [flow.end for flow in (*inputs, *outputs)]
        said = job.table or job.procedure or steady(job.query, job.namespace)
        text = SEPARATOR.join((job.kind, job.namespace, job.database, said))
        key = operation_key(
            self._source, text, tuple(sorted({end.identity for end in ends})), name=self._name(outputs)
        )
        reasons = self._reasons(inputs)
        if reasons:
            outputs = tuple(
                replace(flow, attributes={**flow.attributes, "incomplete": True}) for flow in outputs
            )
        named = {"inputs": _readable(inputs), "outputs": _readable(outputs)}
        succeeded = run.of.succeeded
        operation = Operation(
            key,
            run.last.as_of_ms,
            {
                "internalType": "sqoop_operation",
                "engineType": SQOOP,
                "operationType": str(job.kind),
                "queryText": job.query,
                **self._of_database(),
                **named,
                **({"incomplete": True, "incompleteReasons": reasons} if reasons and succeeded else {}),
            },
            Execution(
                execution_key(key, run.name),
                run.last.as_of_ms,
                self._of_execution(key, named),
                run_as=tuple(self._reading.ran_as(each) for each in run.on_yarn),
            ),
            ages=not outputs,
        )
        if succeeded:
            operation = replace(
                operation,
                inputs=inputs,
                outputs=outputs,
                parts=list(self._parts(key)),
                covers=bool(ends),
            )
        yield from operation.records()

    def _name(self, outputs: Sequence[Flow]) -> str:
        job = self._job
        if job.kind is TransferKind.MERGE:
            return bounded(f"merge into {_shown(outputs[0].end)}" if outputs else "merge", NAME_BYTES)
        what = job.table or (
            f"procedure {job.procedure}" if job.procedure else "a query" if job.query else "?"
        )
        return bounded(
            f"{'import of' if job.kind is TransferKind.IMPORT else 'export to'} {what}", NAME_BYTES
        )

    def _of_database(self) -> dict[str, Any]:
        job = self._job
        return {
            "dbURL": job.url,
            "dbTable": job.table,
            "dbUser": job.user,
            "dbColumnExpression": ",".join(job.columns),
            "procedure": job.procedure,
        }

    def _of_execution(self, key: Key, named: Attributes) -> dict[str, Any]:
        of, last = self._run.of, self._run.last
        return {
            "internalType": "sqoop_operation_execution",
            "engineType": SQOOP,
            "operation": key.name,
            "operationType": str(self._job.kind),
            "principal": of.user,
            "started": of.started_ms or None,
            "ended": last.ended_ms or None,
            "status": last.status,
            "jobId": _job(of),
            **self._of_database(),
            # The conditions of an incremental import differ from run to run.
            "dbWhere": self._job.conditions,
            **named,
        }

    def _reasons(self, inputs: Sequence[Flow]) -> list[str]:
        job = self._job
        reasons = dict.fromkeys(job.missing)
        if not self._moved.complete:
            reasons[Gap.QUERY] = None
        if job.kind is TransferKind.MERGE and job.staged:
            reasons[ConfigurationGap.MOVED] = None  # the import of the merged data is unknown
        return [str(each) for each in reasons]

    # -- Ends ------------------------------------------------------------------------------------------------------------

    def _inputs(self) -> tuple[Flow, ...]:
        kinds = {True: RelationType.CONTROL_FLOW, False: RelationType.DATA_FLOW}
        flows: list[Flow] = []
        if self._job.kind is TransferKind.IMPORT:
            only_deciding = all(self._moved.tables.values())
            flows += (
                Flow(key, type=kinds[self._moved.tables[name] and not only_deciding])
                for name, key in self._tables.items()
            )
        elif self._hive is not None:
            flows.append(Flow(self._hive, INFERRED))
        for place in self._job.reads:
            flows.append(Flow(self._directories[place.uri], _of_place(place)))
        return tuple({flow.end.identity: flow for flow in flows}.values())

    def _outputs(self) -> tuple[Flow, ...]:
        if self._job.kind is TransferKind.EXPORT:
            return tuple(Flow(key) for key in self._tables.values())
        flows = [Flow(self._hive, INFERRED)] if self._hive is not None else []
        if self._target is not None:
            flows.append(Flow(self._target))
        return tuple(flows)

    # -- Columns ---------------------------------------------------------------------------------------------------------

    def _parts(self, operation: Key) -> Iterator[SubOperation]:
        written = [flow.end for flow in self._outputs()]
        if self._job.kind is TransferKind.EXPORT:
            yield from self._exported_parts(operation)
            return
        for column in self._moved.columns:
            yield self._part(operation, column, written)
        rows = [self._column(each) for each in self._moved.rows]
        if rows and written and self._moved.columns:
            outputs = [_column_at(end, each.name) for end in written for each in self._moved.columns]
            yield self._deciding(operation, rows, outputs)

    def _part(self, operation: Key, column: MovedColumn, written: Sequence[Key]) -> SubOperation:
        flags: dict[str, Any] = {"parsed": True} if self._moved.parsed else {}
        if self._hive is not None:
            flags["inferred"] = True
        data = [self._column(each) for each in column.data]
        control = [self._column(each) for each in column.control]
        outputs = [_column_at(end, column.name) for end in written]
        part = outputs[0].identity if outputs else f"column {column.name}"
        return SubOperation(
            sub_operation_key(operation, part, name=bounded(column.name, NAME_BYTES)),
            {
                **_of_part("PROJECTION", [*data, *control], outputs),
                "transformation": None if self._moved.parsed else "IDENTITY",
                "incomplete": None if column.complete else True,
                **flags,
            },
            [
                *_flows(data, RelationType.DATA_FLOW, flags),
                *_flows(control, RelationType.CONTROL_FLOW, flags),
            ],
            [Flow(each, flags) for each in outputs],
        )

    def _exported_parts(self, operation: Key) -> Iterator[SubOperation]:
        """Yield the sub-operations of an export. The configuration does not name the columns of the files, so the
        sources of each column are unknown.
        """
        if not self._tables:
            return
        [table] = self._tables.values()
        columns = [dataset_column_key(table, name) for name in self._job.columns]
        for column in columns:
            key = sub_operation_key(operation, column.identity, name=bounded(column.name, NAME_BYTES))
            attributes = {**_of_part("PROJECTION", [], [column]), "incomplete": True}
            yield SubOperation(key, attributes, outputs=[Flow(column)])
        if columns and self._job.keys:
            keys = [dataset_column_key(table, name) for name in self._job.keys]
            yield self._deciding(operation, keys, columns)

    def _deciding(self, operation: Key, rows: Sequence[Key], outputs: Sequence[Key]) -> SubOperation:
        return SubOperation(
            sub_operation_key(operation, "predicate", name="predicate"),
            _of_part("PREDICATE", rows, outputs),
            _flows(rows, RelationType.CONTROL_FLOW, {}),
            [Flow(each) for each in {each.identity: each for each in outputs}.values()],
        )

    def _column(self, source: ColumnOrigin) -> Key:
        table = self._tables.get(source.table) or self._table(source.table)
        return dataset_column_key(table, source.column)


def _exported(job: SqoopJob) -> Moved:
    return Moved({job.table: False}) if job.table else Moved()


def _without_sources(moved: Moved) -> Moved:
    """Return only the written columns, because the database is unknown."""
    columns = tuple(MovedColumn(each.name, complete=False) for each in moved.columns)
    return replace(moved, tables={}, columns=columns, rows=())


def _column_at(end: Key, name: str) -> Key:
    return column_key(end, name) if end.type is EntityType.TABLE else path_column_key(end, name)


def _flows(columns: Iterable[Key], kind: RelationType, flags: Attributes) -> list[Flow]:
    return [Flow(each, flags, kind) for each in {each.identity: each for each in columns}.values()]


def _of_part(edge_type: str, inputs: Sequence[Key], outputs: Sequence[Key]) -> dict[str, Any]:
    return {
        "internalType": "sqoop_sub_operation",
        "engineType": SQOOP,
        "edgeType": edge_type,
        "inputs": list(dict.fromkeys(map(_shown, inputs)))[:MAX_NAMES],
        "outputs": list(dict.fromkeys(map(_shown, outputs)))[:MAX_NAMES],
    }


def _of_place(place: JobPath) -> Attributes:
    return {"inferred": True, "glob": place.text} if place.inferred else {}


def _readable(flows: Iterable[Flow]) -> list[str]:
    return [_shown(flow.end) for flow in flows][:MAX_NAMES]


def _shown(key: Key) -> str:
    if key.file_system_path and key.type is not EntityType.FIELD:
        return bounded(key.file_system_path)
    above = (
        (key.parent_path or "").removeprefix("/").replace("/", ".")
        if not key.file_system_path
        else key.parent_path
    )
    return bounded(f"{above}.{key.name}" if above else key.name)
