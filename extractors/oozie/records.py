"""Convert Oozie's jobs to operations, executions and their relations.

    bundle ── PARENT_CHILD ──▶ coordinator ── PARENT_CHILD ──▶ workflow ── PARENT_CHILD ──▶ sub-workflow      operations
    coordinator's action ── PARENT_CHILD ──▶ workflow's run ── PARENT_CHILD ──▶ sub-workflow's run            executions
    workflow's run ── LOGICAL_PHYSICAL ──▶ launcher and jobs of its actions on YARN
    directory ── DATA_FLOW ──▶ action ── DATA_FLOW ──▶ directory             what an fs, map-reduce or distcp action did
    directory or table ── DATA_FLOW ──▶ coordinator ── DATA_FLOW ──▶ directory or table      inferred: Oozie only waited

The flows of actions are those of the parts of a workflow, because what one action moved does not come from what
another one read. Everything that a run states about itself is below that run, so that reading the run again corrects
it. What nobody lists any more is not deleted, because Oozie purges its jobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from extractors.oozie.answers import Action, CoordinatorAction, JobKind, JobSchedule, Workflow
from extractors.oozie.definitions import CoordinatorDefinition, Definition, WorkflowDefinition
from extractors.oozie.ends import Found, OozieGap, Place, missing_by_definition, table_at
from extractors.oozie.names import PARTS, application_key_of, operation_type, part_key, run_key
from navlin.model.identity import relation_id
from navlin.model.keys import Key, RelationType, application_key, location_key, table_key
from navlin.model.records import Attributes, Covered, Depth, Entity, Record, Relation
from navlin.model.redaction.literals import length_of
from navlin.model.source import HIVE, YARN, Estate, Source, normal_authority
from navlin.model.tree import below

_PART_CLASS: Final = "oozie_sub_operation"
_DATA, _CHILD = RelationType.DATA_FLOW, RelationType.PARENT_CHILD


@dataclass(frozen=True, slots=True)
class Above:
    """What started a run: its application and its run, each None if unknown, and the action of a parent workflow."""

    application: Key | None = None
    run: Key | None = None
    action: str = ""


@dataclass(frozen=True, slots=True)
class JobRecords:
    """Convert jobs of one Oozie. ``yarn`` is the address of the ResourceManager if a job does not show it.
    ``default_fs`` completes paths without a host.
    """

    source: Source
    estate: Estate
    yarn: str = ""
    default_fs: str = ""

    # -- Workflows -----------------------------------------------------------------------------------------------------

    def application(
        self,
        newest: Workflow,
        definition: WorkflowDefinition | None,
        missing: Sequence[OozieGap],
        *,
        writes: bool,
    ) -> Iterator[Record]:
        """Yield a workflow as an operation with its actions. ``newest`` is its newest run, ``definition`` that run's.
        ``missing`` are the reasons why its lineage is incomplete, ``writes`` is whether it is known to write anything.
        """
        key = self.workflow_key(newest)
        attributes = {**self._of_application(JobKind.WORKFLOW, newest.path, definition), **_reasons(missing)}
        yield Entity(key, newest.created_ms, attributes, ages=not writes)
        shown = {each.name: each.type for each in newest.actions if not each.is_control}
        for name, kind in (definition.actions if definition else shown).items():
            about = {"internalType": _PART_CLASS, "operationType": kind}
            yield Entity(part_key(key, name), newest.created_ms, about, ages=not writes)
        if definition is not None:
            yield Covered(below(key.tree_path, PARTS), newest.created_ms, Depth.ALL, reported=True)

    def run(self, workflow: Workflow, steps: Sequence[Found], above: Above) -> Iterator[Record]:
        """Yield one run of a workflow, with its relations. ``steps`` is what each of its actions read and wrote."""
        application = self.workflow_key(workflow)
        key = self.workflow_run_key(workflow)
        as_of_ms = workflow.as_of_ms
        yield Entity(key, as_of_ms, self._of_run(workflow), ages=True)
        yield Covered(key.tree_path, as_of_ms, Depth.ALL, reported=True)
        if above.application is not None:
            yield self._relation(_CHILD, above.application, application, key, workflow.created_ms, ages=True)
        if above.run is not None:
            about = {"oozieAction": above.action} if above.action else {}
            yield self._relation(_CHILD, above.run, key, key, as_of_ms, about, ages=True)
        for action, found in zip(workflow.actions, steps, strict=True):
            if workflow.is_of_this_run(action):
                yield from self._physical(key, action, as_of_ms)
            yield from self._flows(part_key(application, action.name), key, as_of_ms, found, {})

    def workflow_key(self, workflow: Workflow) -> Key:
        return application_key_of(self.source, JobKind.WORKFLOW, workflow.path, workflow.name)

    def workflow_run_key(self, workflow: Workflow) -> Key:
        return run_key(self.source, workflow.id, workflow.run, self.workflow_key(workflow))

    def _of_run(self, workflow: Workflow) -> dict[str, Any]:
        return {
            "operationType": operation_type(JobKind.WORKFLOW),
            "operation": workflow.name,
            "principal": workflow.user,
            "status": workflow.status,
            "started": workflow.started_ms or None,
            "ended": workflow.ended_ms or None,
            "wfInstId": workflow.id,
            "wfIds": [workflow.id],
            "oozieRun": workflow.run or None,
            "oozieParent": workflow.parent,
            "errorMessage": workflow.error,
        }

    def _physical(self, key: Key, action: Action, as_of_ms: int) -> Iterator[Relation]:
        yarn = self._yarn_meant(action.where)
        for application in dict.fromkeys(filter(None, (action.launcher, *action.children))):
            physical = application_key(yarn, application)
            about = {"oozieAction": action.name}
            yield self._relation(
                RelationType.LOGICAL_PHYSICAL, key, physical, key, as_of_ms, about, ages=True
            )

    def _yarn_meant(self, where: str) -> Source:
        """Return the YARN whose ResourceManager the answer shows, if it is configured; else that of the setting."""
        wanted = normal_authority(where)
        known = any(each.type == YARN and wanted in each.serves for each in self.estate.sources)
        return self.estate.serving(YARN, where if where and known else self.yarn)

    # -- Coordinators and bundles --------------------------------------------------------------------------------------

    def coordinator(
        self,
        schedule: JobSchedule,
        definition: CoordinatorDefinition | None,
        actions: Sequence[CoordinatorAction],
        bundle: Key | None,
    ) -> Iterator[Record]:
        """Yield a coordinator as an operation, with its actions as executions. ``bundle`` is the application of the
        bundle to which it belongs.
        """
        key = self.coordinator_key(schedule.path, schedule.name, definition)
        attributes = {
            **self._of_application(JobKind.COORDINATOR, schedule.path, definition),
            **self._of_schedule(schedule),
            "bundleId": schedule.bundle,
            **_reasons(missing_by_definition(definition) if definition else ()),
        }
        # A coordinator may have been created years ago, and run still.
        yield Entity(key, schedule.created_ms, attributes)
        if bundle is not None:
            yield self._relation(_CHILD, bundle, key, key, schedule.created_ms, ages=False)
        for action in actions:
            yield self._of_coordinator_action(action, schedule, key)

    def coordinator_flows(
        self, application: Key, workflow: Workflow, found: Found, *, writes: bool
    ) -> Iterator[Record]:
        """Yield the inputs and outputs of one run of a coordinator's workflow, as flows of the coordinator."""
        run = self.workflow_run_key(workflow)
        reasons = {"incomplete": True} if found.missing else {}
        attributes = {"inferred": True, **reasons}
        yield from self._flows(application, run, workflow.as_of_ms, found, attributes, ages=not writes)

    def coordinator_key(self, location: str, name: str, definition: Definition | None) -> Key:
        shown = definition.name if definition and definition.name else name
        return application_key_of(self.source, JobKind.COORDINATOR, location, shown)

    def bundle(self, schedule: JobSchedule, definition: Definition | None) -> Iterator[Record]:
        """Yield a bundle as an operation, and its job as an execution."""
        key = self.bundle_key(schedule.path, schedule.name)
        attributes = {
            **self._of_application(JobKind.BUNDLE, schedule.path, definition),
            "status": schedule.status,
        }
        yield Entity(key, schedule.created_ms, attributes)
        about = {
            "operationType": operation_type(JobKind.BUNDLE),
            "operation": key.name,
            "principal": schedule.user,
            "status": schedule.status,
            "started": schedule.started_ms or schedule.created_ms or None,
            "ended": schedule.ended_ms or None,
        }
        run = run_key(self.source, schedule.id, application=key)
        yield Entity(run, schedule.created_ms, about, ages=schedule.ended)

    def bundle_key(self, location: str, name: str) -> Key:
        return application_key_of(self.source, JobKind.BUNDLE, location, name)

    def _of_schedule(self, schedule: JobSchedule) -> dict[str, Any]:
        return {
            "status": schedule.status,
            "frequency": schedule.frequency,
            "timeUnit": schedule.time_unit,
            "timeZone": schedule.time_zone,
        }

    def _of_coordinator_action(self, action: CoordinatorAction, schedule: JobSchedule, key: Key) -> Entity:
        about = {
            "operationType": operation_type(JobKind.COORDINATOR),
            "operation": key.name,
            "principal": schedule.user,
            "status": action.status,
            "started": action.created_ms or None,
            "ended": (action.modified_ms or None) if action.ended else None,
            "nominalTime": _minute(action.nominal_ms) if action.nominal_ms else None,
            "errorMessage": action.error,
        }
        as_of_ms = max(action.created_ms, action.modified_ms)
        return Entity(run_key(self.source, action.id, application=key), as_of_ms, about, ages=True)

    # -- Parts of all --------------------------------------------------------------------------------------------------

    def _of_application(self, kind: JobKind, location: str, definition: Definition | None) -> dict[str, Any]:
        return {
            "operationType": operation_type(kind),
            "applicationPath": location,
            "queryText": self._shown(definition) if definition else None,
            "definitionHash": definition.hash if definition else None,
        }

    def _shown(self, definition: Definition) -> str:
        # A definition is not a statement, so its literals cannot be told from its other words.
        return length_of(definition.text) if self.estate.masks_literals else definition.text

    def _flows(
        self,
        through: Key,
        run: Key,
        as_of_ms: int,
        found: Found,
        attributes: Mapping[str, Any],
        *,
        ages: bool = False,
    ) -> Iterator[Relation]:
        for step in found.steps:
            sides = ((False, step.inputs), (True, step.outputs))
            for output, place in ((output, place) for output, places in sides for place in places):
                if (end := self._key_of(place)) is not None:
                    pair = (through, end) if output else (end, through)
                    about = {**attributes, "inferred": True} if place.inferred else attributes
                    yield self._relation(_DATA, *pair, run, as_of_ms, about, ages=ages)

    def _key_of(self, place: Place) -> Key | None:
        if table := table_at(place.uri):
            address, database, name = table
            return table_key(self.estate.serving(HIVE, address), database, name)
        if place.uri.lower().startswith("hcat:"):
            return None
        return location_key(self.estate, place.uri, place.default_fs or self.default_fs)

    def _relation(
        self,
        kind: RelationType,
        ep1: Key,
        ep2: Key,
        owner: Key,
        as_of_ms: int,
        attributes: Attributes | None = None,
        *,
        ages: bool,
    ) -> Relation:
        path = below(owner.tree_path, relation_id(kind, ep1.identity, ep2.identity, self.source.id))
        return Relation(kind, ep1, ep2, path, as_of_ms, attributes or {}, ages)


def _minute(at_ms: int) -> str:
    """Return a time as definitions of coordinators have it: ``2026-11-20T00:00Z``."""
    return f"{datetime.fromtimestamp(at_ms // 1_000, UTC):%Y-%m-%dT%H:%MZ}"


def _reasons(missing: Sequence[OozieGap]) -> dict[str, Any]:
    return {"incomplete": True, "incompleteReasons": list(map(str, missing))} if missing else {}
