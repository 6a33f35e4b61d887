"""Records of one run: an operation, its execution, and what flows through it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from extractors.lineage.redaction import bounded, clean, redact
from extractors.lineage.relations import relation
from extractors.spark.application import Application, Run
from extractors.spark.effect import Effect, effect_of
from extractors.spark.parts import MAX_NAMES, only_control, parts_of
from extractors.spark.plan.reads import End, EndKind
from extractors.spark.times import EARLIEST_MS
from navlin.model.identity import identify
from navlin.model.keys import (
    EntityType,
    Key,
    RelationType,
    application_id,
    application_key,
    execution_key,
    location_key,
    operation_key,
    table_key,
)
from navlin.model.records import Attributes, Covered, Depth, Entity, Record, Relation
from navlin.model.source import HIVE, YARN, Estate, Source, normal_authority
from navlin.model.tree import tree_path

JDBC: Final = "JDBC"
KAFKA: Final = "KAFKA"
SUCCEEDED, FAILED, UNKNOWN, RUNNING = "SUCCEEDED", "FAILED", "UNKNOWN", "RUNNING"
MAX_MESSAGE_BYTES: Final = 4 << 10
_CALL_SITE: Final = re.compile(r"\S+ at \S.*:\d+\s*$", re.DOTALL)
_SAYS_NOTHING: Final = re.compile(r"\S+ at \S+$|\s*$|\s*id = [0-9a-f-]{36}\s", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Names:
    """Whose keys an application's tables and paths bear, and its own where YARN runs it."""

    source: Source
    estate: Estate
    application: Application
    metastore: str = ""
    yarn: str = ""

    def key(self, end: End) -> Key:
        match end.kind:
            case EndKind.TABLE | EndKind.VIEW:
                metastore = self.estate.serving(HIVE, self._authority())
                kind = EntityType.VIEW if end.kind is EndKind.VIEW else EntityType.TABLE
                catalog, _, database = end.database.partition(".")
                if catalog not in self.application.metastore_catalogs or not database:
                    database = end.database
                return table_key(metastore, database, end.name, kind)
            case EndKind.PATH:
                return location_key(self.estate, end.name, self.application.default_fs)
            case EndKind.JDBC:
                owner = self.estate.serving(JDBC, jdbc_authority(end.url))
                return _flat_key(EntityType.TABLE, owner, redact(end.name))
            case EndKind.TOPIC:
                return _flat_key(EntityType.DATASET, self.estate.serving(KAFKA, "kafka"), end.name)

    def application_key(self) -> Key | None:
        """The application as YARN knows it; None where something else runs it."""
        if application_id(self.application.id) is None:
            return None
        return application_key(self.estate.serving(YARN, self.yarn), self.application.id)

    def _authority(self) -> str:
        """The metastore that the application was set up with: of several for one service, the one that is configured."""
        uris = self.application.metastores
        served = {
            authority for source in self.estate.sources if source.type == HIVE for authority in source.serves
        }
        for uri in uris:
            if normal_authority(uri) in served:
                return uri
        return uris[0] if uris else self.metastore


def jdbc_authority(url: str) -> str:
    """The address of a database, without user, password and parameters: ``jdbc:postgresql://host:5432/db``."""
    if not url:
        return "jdbc"
    address = re.split(r"[?;]", redact(url), maxsplit=1)[0]
    return re.sub(r"//[^/@]*@", "//", address)


def _flat_key(kind: EntityType, source: Source, name: str) -> Key:
    # Names of other systems: nobody knows here whether they fold case.
    return Key(kind, identify(source.id, name), source, bounded(name, 1000), tree_path(name))


# -- Records ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One execution to be told: what distinguishes its operation, and how it went.

    ``operation_text`` and, where ``by_ends``, the ends make the operation's identity. ``flows``: whether it has succeeded
    so far that data has flowed. ``covers``: whether its plan has been seen; where not, whatever else is known counts more.
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


def records_of(run: Run, names: Names, *, reads: bool) -> Iterator[Record]:
    """An operation and its execution; for one that succeeded, what it covers and its relations.

    Without ``reads``, a run that writes nothing gives nothing.
    """
    root, app = run.root, run.application
    started = next((each.started for each in run.members if each.started), None)
    if started is None:
        return
    status = _status(run)
    effect = effect_of(run, failed=status != SUCCEEDED)
    if not reads and not effect.outputs and not effect.subjects:
        return
    occurrence = Occurrence(
        operation_text=f"{app.name}##{effect.shape}",
        name=operation_name(app, started.description),
        run=f"{app.run}-exec.{root.id}",
        original_name=f"{app.id or app.log}-exec.{started.started_ms or root.id}",
        started_ms=started.started_ms,
        ended_ms=root.ended_ms,
        # What never ended stands behind any end that may be found after all.
        as_of_ms=(0 if run.over else root.ended_ms) or started.started_ms or app.known_ms,
        status=status,
        flows=status == SUCCEEDED,
        principal=(run.statement.user if run.statement else "") or app.user,
        error=root.error,
        query_text=run.statement.text if run.statement else effect.query_text,
    )
    yield from tell(occurrence, effect, names)


def tell(occurrence: Occurrence, effect: Effect, names: Names) -> Iterator[Record]:
    """The records of one execution and its operation."""
    app = names.application
    # By identity: two spellings of one table are one end.
    inputs = {key.identity: (key, end.readable) for end in effect.inputs for key in (names.key(end),)}
    outputs = {key.identity: (key, end.readable) for end in effect.outputs for key in (names.key(end),)}
    ends = (*inputs, *outputs) if occurrence.by_ends else ()
    operation = operation_key(names.source, occurrence.operation_text, ends, name=occurrence.name)
    readable_inputs = _readable(name for _, name in inputs.values())
    readable_outputs = _readable(name for _, name in outputs.values()) or _readable(effect.subjects)
    # Without a plan: before all that bears a time, and in order.
    as_of_ms = occurrence.as_of_ms if occurrence.covers else EARLIEST_MS + occurrence.as_of_ms // 1000
    yield Entity(
        operation,
        as_of_ms,
        {
            "internalType": "spark_operation",
            "originalName": occurrence.name,
            "operationType": effect.operation,
            "queryText": clean(occurrence.query_text),
            "inputs": readable_inputs,
            "outputs": readable_outputs,
            "incomplete": True if effect.reasons else None,
            "incompleteReasons": [reason.value for reason in effect.reasons],
            "unknownInputs": [clean(what) for what in effect.unknown[:20]],
        },
        volatile={"sparkVersion": app.version},
        ages=not outputs and occurrence.covers,
    )
    execution = execution_key(operation, occurrence.run)
    yield Entity(
        execution,
        occurrence.as_of_ms,
        {
            "internalType": "spark_operation_execution",
            "originalName": occurrence.original_name,
            "started": occurrence.started_ms or None,
            "ended": occurrence.ended_ms or None,
            "principal": occurrence.principal,
            "jobId": app.id,
            "attempt": app.attempt,
            "status": occurrence.status,
            "errorMessage": bounded(redact(occurrence.error), MAX_MESSAGE_BYTES),
            "operation": occurrence.name,
            "inputs": readable_inputs,
            "outputs": readable_outputs,
            "sparkVersion": app.version,
        },
        ages=True,
    )
    if (run_as := names.application_key()) is not None:
        kind = RelationType.LOGICAL_PHYSICAL
        yield relation(kind, execution, run_as, execution, occurrence.as_of_ms, {}, ages=True)
    if occurrence.flows:
        if occurrence.covers:
            yield Covered(operation.tree_path, as_of_ms, Depth.ALL, reported=True)
        sides = tuple(key for key, _ in inputs.values()), tuple(key for key, _ in outputs.values())
        yield from _relations(operation, *sides, effect, names, as_of_ms)
        yield from parts_of(operation, effect, names.key, as_of_ms)


def _relations(
    operation: Key,
    inputs: tuple[Key, ...],
    outputs: tuple[Key, ...],
    effect: Effect,
    names: Names,
    as_of_ms: int,
) -> Iterator[Relation]:
    incomplete: Attributes = {} if effect.complete else {"incomplete": True}
    ages = not outputs
    deciding = {names.key(end).identity for end in only_control(effect)}
    for key in inputs:
        kind = RelationType.CONTROL_FLOW if key.identity in deciding else RelationType.DATA_FLOW
        yield relation(kind, key, operation, operation, as_of_ms, incomplete, ages=ages)
    # Where nothing at all is known of the inputs, or not all of the columns, it is said where the flow is seen.
    known = effect.columns_complete and (effect.complete or bool(inputs))
    written: Attributes = {} if known else {"incomplete": True}
    for key in outputs:
        yield relation(RelationType.DATA_FLOW, operation, key, operation, as_of_ms, written, ages=ages)
    for table, path in effect.stored:
        where = location_key(names.estate, path, names.application.default_fs)
        yield relation(
            RelationType.LOGICAL_PHYSICAL, names.key(table), where, operation, as_of_ms, {"hint": True}
        )


def _status(run: Run) -> str:
    if run.over:
        return FAILED if run.root.failed else UNKNOWN
    return FAILED if run.root.failed else SUCCEEDED


def operation_name(app: Application, description: str) -> str:
    """The application's name, and what the job said of itself; the place in the program is no such thing."""
    name = clean(app.name) or app.id or app.log
    if _SAYS_NOTHING.match(description) or _CALL_SITE.match(description):
        return bounded(name, 1000)
    return bounded(f"{name}: {' '.join(clean(description).split())}", 1000)


def _readable(names: Iterable[Any]) -> list[str]:
    return [clean(name) for name in dict.fromkeys(names)][:MAX_NAMES]
