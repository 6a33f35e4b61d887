"""Create the records of one run: an operation, its execution, and its data flow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from extractors.lineage.operations import Execution, Flow, Operation
from extractors.spark.application import ExecutionTree, SparkApplication
from extractors.spark.effect import RunEffect, effect_of
from extractors.spark.incomplete import Incomplete, in_words
from extractors.spark.parts import MAX_NAMES, only_control, parts_of
from extractors.spark.plan.conditions import Conditions
from extractors.spark.plan.reads import EndKind, PlanEnd
from extractors.spark.queries import QueryParser
from extractors.spark.times import EARLIEST_MS
from navlin.model.databases import Database, database_of, database_table_key
from navlin.model.identity import identify
from navlin.model.keys import (
    EntityType,
    Key,
    RelationType,
    application_id,
    application_key,
    dataset_key,
    execution_key,
    location_key,
    operation_key,
    table_key,
)
from navlin.model.records import Attributes, Record
from navlin.model.redaction import bounded, redact
from navlin.model.source import HIVE, JDBC, YARN, Estate, Source
from navlin.model.tree import tree_path

KAFKA: Final = "KAFKA"
SUCCEEDED, FAILED, UNKNOWN, RUNNING = "SUCCEEDED", "FAILED", "UNKNOWN", "RUNNING"
MAX_MESSAGE_BYTES: Final = 4 << 10
MAX_CONDITION_BYTES: Final = 2 << 10
_CALL_SITE: Final = re.compile(r"\S+ at \S.*:\d+\s*$", re.DOTALL)
_NO_DESCRIPTION: Final = re.compile(r"\S+ at \S+$|\s*$|\s*id = [0-9a-f-]{36}\s", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ApplicationKeys:
    """Converts the names of an application's tables and paths to keys, and also the application itself if it runs on
    YARN.
    """

    source: Source
    estate: Estate
    application: SparkApplication
    metastore: str = ""
    yarn: str = ""
    queries: QueryParser = field(default_factory=QueryParser)

    def key(self, end: PlanEnd) -> Key:
        match end.kind:
            case EndKind.TABLE | EndKind.VIEW:
                metastore = self.estate.serving(
                    HIVE, self.estate.metastore_meant(self.application.metastores, self.metastore)
                )
                kind = EntityType.VIEW if end.kind is EndKind.VIEW else EntityType.TABLE
                catalog, _, database = end.database.partition(".")
                if catalog not in self.application.metastore_catalogs or not database:
                    database = end.database
                return table_key(metastore, database, end.name, kind)
            case EndKind.PATH:
                return location_key(self.estate, end.name, self.application.default_fs)
            case EndKind.JDBC | EndKind.QUERY:
                return self._in_database(end)
            case EndKind.TOPIC | EndKind.STEP:
                return _flat_key(EntityType.DATASET, self.estate.serving(KAFKA, "kafka"), end.name)

    def _in_database(self, end: PlanEnd) -> Key:
        """Return the key of a table in a database. If the database's address is known, this is the same key as in
        OpenLineage's events.
        """
        known = {each.name: each.database for each in self.application.jdbc_catalogs}
        database = database_of(end.url) if end.url else known.get(end.database, Database())
        if not database.namespace:
            return dataset_key(self.estate.serving(JDBC, "jdbc"), "", end.readable)
        return database_table_key(self.estate, database, database.dataset(end.name))

    def application_key(self) -> Key | None:
        """Return the application's key in YARN; None if something else runs it."""
        if application_id(self.application.id) is None:
            return None
        return application_key(self.estate.serving(YARN, self.yarn), self.application.id)


def _of_plan(conditions: Conditions) -> Attributes:
    texts: dict[str, tuple[str, ...]] = {
        "filters": conditions.filters,
        "joins": conditions.joins,
        "groupedBy": conditions.groups,
        "formatsRead": conditions.reads,
        "formatsWritten": conditions.writes,
    }
    return {
        name: [bounded(each, MAX_CONDITION_BYTES) for each in listed]
        for name, listed in texts.items()
        if listed
    }


def _flat_key(kind: EntityType, source: Source, name: str) -> Key:
    # Other systems may or may not ignore the case of names, so the case is kept.
    return Key(kind, identify(source.id, name), source, bounded(name, 1000), tree_path(name))


# -- Records ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One execution: the identity of its operation, and its outcome.

    ``operation_text`` and, if ``by_ends``, the inputs and outputs identify the operation. ``flows`` is true if the
    execution got far enough for data to flow. ``covers`` is true if its plan has been seen; if not, any other record
    of the operation takes precedence.
    """

    operation_text: str
    name: str
    run: str
    original_name: str
    started_ms: int
    ended_ms: int
    as_of_ms: int
    status: str
    flows: bool
    principal: str
    error: str = ""
    query_text: str = ""
    by_ends: bool = True
    covers: bool = True
    execution_id: int | None = None
    """Spark's number of the execution within its application."""


def records_of(run: ExecutionTree, names: ApplicationKeys, *, reads: bool) -> Iterator[Record]:
    """Yield the records of a run: the operation and its execution and, if the run succeeded, coverage and relations.

    Without ``reads``, nothing is yielded for a run that writes nothing.
    """
    root, app = run.root, run.application
    started = next((each.started for each in run.members if each.started), None)
    if started is None:
        return
    status = _status(run)
    effect = effect_of(run, failed=status != SUCCEEDED)
    if run.given_up:
        effect = replace(effect, reasons=(*effect.reasons, Incomplete.GIVEN_UP))
    if not reads and not effect.outputs and not effect.subjects:
        return
    occurrence = Occurrence(
        operation_text=f"{app.name}##{effect.shape}",
        name=operation_name(app, started.description),
        run=f"{app.run}-exec.{root.id}",
        original_name=f"{app.id or app.log}-exec.{started.started_ms or root.id}",
        started_ms=started.started_ms,
        ended_ms=root.ended_ms,
        # A run that never ended gets the time of its start, so that an end found later takes precedence.
        as_of_ms=(0 if run.over else root.ended_ms) or started.started_ms or app.known_ms,
        status=status,
        flows=status == SUCCEEDED,
        principal=(run.statement.user if run.statement else "") or app.user,
        error=root.error,
        query_text=run.statement.text if run.statement else effect.query_text,
        execution_id=root.id,
    )
    yield from occurrence_records(occurrence, effect, names)


def occurrence_records(occurrence: Occurrence, effect: RunEffect, names: ApplicationKeys) -> Iterator[Record]:
    app = names.application
    effect = names.queries.told(effect)
    # Keyed by identity, because the name of a table may be spelled in two ways.
    inputs = {key.identity: (key, end.readable) for end in effect.inputs for key in (names.key(end),)}
    outputs = {key.identity: (key, end.readable) for end in effect.outputs for key in (names.key(end),)}
    ends = (*inputs, *outputs) if occurrence.by_ends else ()
    key = operation_key(names.source, occurrence.operation_text, ends, name=occurrence.name)
    readable: Attributes = {
        "inputs": _readable(name for _, name in inputs.values()),
        "outputs": _readable(name for _, name in outputs.values()) or _readable(effect.subjects),
    }
    run_as = names.application_key()
    operation = Operation(
        key,
        # Without a plan, the record gets a time before every real time. These times keep their order.
        occurrence.as_of_ms if occurrence.covers else EARLIEST_MS + occurrence.as_of_ms // 1000,
        {
            "internalType": "spark_operation",
            "originalName": occurrence.name,
            "operationType": effect.operation,
            "queryText": bounded(occurrence.query_text),
            **readable,
            "incomplete": True if effect.reasons else None,
            "incompleteReasons": [*in_words(effect.reasons, effect.unread)],
            "unknownInputs": [bounded(what) for what in effect.unknown[:20]],
            **_of_plan(effect.conditions),
        },
        Execution(
            execution_key(key, occurrence.run),
            occurrence.as_of_ms,
            {
                "internalType": "spark_operation_execution",
                "originalName": occurrence.original_name,
                "started": occurrence.started_ms or None,
                "ended": occurrence.ended_ms or None,
                "principal": occurrence.principal,
                "jobId": app.id,
                "executionId": occurrence.execution_id,
                "attempt": app.attempt,
                "status": occurrence.status,
                "errorMessage": bounded(occurrence.error, MAX_MESSAGE_BYTES),
                "operation": occurrence.name,
                **readable,
                "sparkVersion": app.version,
            },
            run_as=() if run_as is None else (run_as,),
        ),
        ages=not outputs and occurrence.covers,
        volatile={"sparkVersion": app.version},
    )
    if occurrence.flows:
        operation = replace(
            operation,
            inputs=_read(tuple(end for end, _ in inputs.values()), effect, names),
            outputs=_written(tuple(end for end, _ in outputs.values()), effect, read=bool(inputs)),
            parts=parts_of(key, effect, names.key),
            locations=_locations(effect, names),
            covers=occurrence.covers and _whole(occurrence, effect),
        )
    yield from operation.records()


def _whole(occurrence: Occurrence, effect: RunEffect) -> bool:
    """Whether all written columns are known. If runs of the operation may differ in their inputs and outputs, all of
    these must be known as well.

    The text of a plan may be complete in one run and cut in the next, and a stream may have shown a source only to an
    earlier run. In these cases, items that a later run does not show still exist.
    """
    return effect.columns_complete and (occurrence.by_ends or effect.complete)


def _read(inputs: tuple[Key, ...], effect: RunEffect, names: ApplicationKeys) -> tuple[Flow, ...]:
    incomplete: Attributes = {} if effect.complete else {"incomplete": True}
    deciding = {names.key(end).identity for end in only_control(effect)}
    kinds = {True: RelationType.CONTROL_FLOW, False: RelationType.DATA_FLOW}
    return tuple(Flow(key, incomplete, kinds[key.identity in deciding]) for key in inputs)


def _written(outputs: tuple[Key, ...], effect: RunEffect, *, read: bool) -> tuple[Flow, ...]:
    # Mark the flow to the output itself as incomplete if not all columns are known, or if inputs are missing and none
    # are known.
    known = effect.columns_complete and (effect.complete or read)
    incomplete: Attributes = {} if known else {"incomplete": True}
    return tuple(Flow(key, incomplete) for key in outputs)


def _locations(effect: RunEffect, names: ApplicationKeys) -> Iterator[tuple[Key, Key]]:
    for table, path in effect.stored:
        yield names.key(table), location_key(names.estate, path, names.application.default_fs)


def _status(run: ExecutionTree) -> str:
    if run.over:
        return FAILED if run.root.failed else UNKNOWN
    return FAILED if run.root.failed else SUCCEEDED


def operation_name(app: SparkApplication, description: str) -> str:
    """Return the application's name, followed by the job's description unless that is only a call site."""
    name = app.name or app.id or app.log
    if _NO_DESCRIPTION.match(description) or _CALL_SITE.match(description):
        return bounded(name, 1000)
    # Redacted before the lines are joined, because a comment of SQL ends with its line.
    return bounded(f"{name}: {' '.join(redact(description).split())}", 1000)


def _readable(names: Iterable[Any]) -> list[str]:
    return [bounded(name) for name in dict.fromkeys(names)][:MAX_NAMES]
