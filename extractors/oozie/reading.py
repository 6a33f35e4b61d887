"""Read jobs by their ids: the answer about each job, the definition of each application, and what started the job.

A job that Oozie no longer has was purged since it was listed, and is passed over. An answer that cannot be read affects
only its own job, which is asked for again later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from extractors.oozie.answers import CoordinatorAction, JobKind, JobSchedule, Workflow, coordinator_of
from extractors.oozie.definitions import (
    CoordinatorDefinition,
    Definition,
    to_bundle_definition,
    to_coordinator_definition,
    to_workflow_definition,
)
from extractors.oozie.ends import Found, OozieGap, ends_of, ends_of_coordinator
from extractors.oozie.names import run_key
from extractors.oozie.records import Above, JobRecords
from extractors.oozie.server import OozieServer
from extractors.oozie.wanted import JobsSplit, JobToRead, Remembered, UnreadJob
from extractors.oozie.xml_texts import parsed, properties
from extractors.rest import RestError, RestUnavailable
from navlin.model.keys import Key
from navlin.model.records import Position, Record, Reject

SLOW_ONES: Final = 3
"""Number of consecutive jobs without an answer after which the rest of a split is put off."""
MAX_TRIES: Final = 8
"""Number of attempts to read one job, spread over most of a day."""
_COORDINATOR_PATH, _BUNDLE_PATH = "oozie.coord.application.path", "oozie.bundle.application.path"

_D = TypeVar("_D", bound=Definition)


@dataclass(slots=True)
class SplitReader:
    """Reads one split. What several jobs of the split share is asked for once."""

    oozie: OozieServer
    records: JobRecords
    split: JobsSplit
    _parents: dict[str, Workflow | None] = field(default_factory=dict)
    _coordinators: dict[str, CoordinatorDefinition | None] = field(default_factory=dict)
    _bundles: dict[str, JobSchedule | None] = field(default_factory=dict)
    _newest: dict[str, tuple[Workflow, Sequence[Found]]] = field(default_factory=dict)
    """Identity of a workflow's application → its newest run in this split, with what its actions read and wrote."""
    _writing: set[str] = field(default_factory=set)
    """Identities of the applications with an action that is known to have written something."""
    _rejects: list[Reject] = field(default_factory=list)

    def read(self) -> Iterator[Record]:
        """Yield the records of the split. Raises `RestUnavailable` if Oozie does not answer at all, so that the whole
        split is read again later.
        """
        readers = {
            JobKind.WORKFLOW: self._workflow,
            JobKind.COORDINATOR: self._coordinator,
            JobKind.BUNDLE: self._bundle,
        }
        slow = 0
        for wanted in self.split.wanted:
            if slow >= SLOW_ONES:
                yield from self._failed(wanted, f"{SLOW_ONES} jobs before it did not arrive")
                continue
            try:
                found = readers[self.split.kind](wanted)
            except RestUnavailable as error:
                if not self.oozie.answers():
                    raise
                slow += 1
                yield from self._failed(wanted, str(error))
            except RestError as error:
                yield from self._failed(wanted, str(error))
            else:
                slow = 0
                yield from found
                if wanted.tries:
                    yield Position(UnreadJob.key(wanted.id), None)
        yield from self._applications()
        yield from self._rejects

    # -- Workflows -----------------------------------------------------------------------------------------------------

    def _workflow(self, wanted: JobToRead) -> Sequence[Record]:
        workflow = self.oozie.workflow(wanted.id)
        if workflow is None:
            return ()
        steps = [ends_of(each) for each in workflow.actions]
        if coordinator := coordinator_of(workflow.parent):
            found = tuple(self._of_coordinator(workflow, steps, coordinator[0]))
        else:
            found = tuple(self.records.run(workflow, steps, self._above(workflow)))
        application = self.records.workflow_key(workflow).identity
        known = self._parents[workflow.id] = workflow.without_conf
        newest, _ = self._newest.setdefault(application, (known, steps))
        if (known.created_ms, known.id) > (newest.created_ms, newest.id):
            self._newest[application] = (known, steps)
        if any(step.outputs for each in steps for step in each.steps):
            self._writing.add(application)
        return found

    def _applications(self) -> Iterator[Record]:
        """Yield the application of each workflow of this split once, by its newest run."""
        for application, (newest, steps) in self._newest.items():
            definition = self._definition(newest.id, to_workflow_definition)
            missing = {reason for each in steps for reason in each.missing}
            missing |= {OozieGap.MANY_ACTIONS} if newest.actions_cut else set()
            writes = application in self._writing
            yield from self.records.application(newest, definition, sorted(missing), writes=writes)

    def _above(self, workflow: Workflow) -> Above:
        """Return what started a sub-workflow."""
        if not workflow.parent:
            return Above()
        if workflow.parent not in self._parents:
            found = self.oozie.workflow(workflow.parent)
            self._parents[workflow.parent] = found.without_conf if found is not None else None
        parent, action = self._parents[workflow.parent], workflow.by_action
        if parent is None:
            # The parent was purged. If navlin read it earlier, its run is in the index.
            return Above(run=run_key(self.records.source, workflow.parent), action=action)
        application = self.records.workflow_key(parent)
        run = parent.run
        if run and workflow.created_ms < parent.started_ms:
            if run > 1:
                return Above(application)
            run = 0
        return Above(application, run_key(self.records.source, parent.id, run, application), action)

    def _of_coordinator(
        self, workflow: Workflow, steps: Sequence[Found], coordinator: str
    ) -> Iterator[Record]:
        """Yield a workflow that a coordinator started, and the flows of the coordinator in this run."""
        if coordinator not in self._coordinators:
            self._coordinators[coordinator] = self._definition(coordinator, to_coordinator_definition)
        definition = self._coordinators[coordinator]
        path = properties(parsed(workflow.conf)).get(_COORDINATOR_PATH, "")
        application = self.records.coordinator_key(path, "", definition) if path else None
        action = run_key(self.records.source, workflow.parent, application=application)
        yield from self.records.run(workflow, steps, Above(application, action))
        if definition is not None and application is not None and workflow.status == "SUCCEEDED":
            found = ends_of_coordinator(definition, workflow.conf)
            writes = definition.has_outputs
            yield from self.records.coordinator_flows(application, workflow, found, writes=writes)

    # -- Coordinators and bundles --------------------------------------------------------------------------------------

    def _coordinator(self, wanted: JobToRead) -> Sequence[Record]:
        schedule = self.oozie.coordinator(wanted.id)
        if schedule is None:
            return (Position(Remembered.key(wanted.id), None),)
        actions, done = self._actions(wanted)
        definition = self._definition(schedule.id, to_coordinator_definition)
        found = self.records.coordinator(schedule, definition, actions, self._bundle_of(schedule))
        still_open = any(not each.ended for each in actions)
        return (*found, *self._remembered(wanted, Remembered(wanted.fingerprint, done, still_open)))

    def _actions(self, wanted: JobToRead) -> tuple[Sequence[CoordinatorAction], int]:
        """Return the actions of a coordinator that may have changed since it was read, and the number up to which all
        have ended now.
        """
        found: dict[int, CoordinatorAction] = {}
        for page in self.oozie.actions(wanted.id, self.split.page):
            found.update((each.number, each) for each in page)
            downward = page[0].number >= page[-1].number
            if downward and page[-1].number <= wanted.done + 1:
                break
        changed = {number: each for number, each in found.items() if number > wanted.done}
        open_ones = [number for number, each in changed.items() if not each.ended]
        done = min(open_ones) - 1 if open_ones else max(changed, default=wanted.done)
        for number in wanted.numbers:
            if number not in changed and (action := self._action(wanted.id, number, found)) is not None:
                changed[number] = action
                if not action.ended:
                    done = min(done, number - 1)
        return tuple(changed[number] for number in sorted(changed)), done

    def _action(
        self, coordinator: str, number: int, found: dict[int, CoordinatorAction]
    ) -> CoordinatorAction | None:
        return found.get(number) or self.oozie.coordinator_action(f"{coordinator}@{number}")

    def _bundle(self, wanted: JobToRead) -> Sequence[Record]:
        schedule = self.oozie.bundle(wanted.id)
        if schedule is None:
            return (Position(Remembered.key(wanted.id), None),)
        definition = self._definition(schedule.id, to_bundle_definition)
        found = self.records.bundle(schedule, definition)
        return (*found, *self._remembered(wanted, Remembered(wanted.fingerprint)))

    def _bundle_of(self, schedule: JobSchedule) -> Key | None:
        """Return the application of the bundle to which a coordinator belongs; None if it belongs to none."""
        if not schedule.bundle:
            return None
        if schedule.bundle not in self._bundles:
            self._bundles[schedule.bundle] = self.oozie.bundle(schedule.bundle)
        bundle = self._bundles[schedule.bundle]
        if bundle is not None:
            return self.records.bundle_key(bundle.path, bundle.name)
        # The bundle was purged, but the coordinator's configuration has its path.
        path = properties(parsed(schedule.conf)).get(_BUNDLE_PATH, "")
        return self.records.bundle_key(path, "") if path else None

    def _remembered(self, wanted: JobToRead, remembered: Remembered) -> Iterator[Position]:
        if wanted.is_remembered:
            yield remembered.position(wanted.id)

    # -- What cannot be read -------------------------------------------------------------------------------------------

    def _definition(self, identity: str, to_definition: Callable[[str], _D | None]) -> _D | None:
        """Return the definition of a job; None if Oozie does not have it any more, or if it is rejected."""
        place = self.oozie.place(identity)
        try:
            text = self.oozie.definition(identity)
        except RestUnavailable:
            raise
        except RestError as error:
            self._rejects.append(Reject(place, f"a definition could not be read: {error}", sample=identity))
            return None
        definition = to_definition(text) if text else None
        if text and definition is None:
            reason = "a definition is not XML of the kind that its job has, or is too large"
            self._rejects.append(Reject(place, reason, sample=identity))
        return definition

    def _failed(self, wanted: JobToRead, error: str) -> Iterator[Record]:
        """Yield a reject for a job that could not be read. The job is asked for again until it was tried enough."""
        again = wanted.tries + 1 < MAX_TRIES and wanted.may_wait
        more = "; it will be requested again" if again else ""
        place = self.oozie.place(wanted.id)
        yield Reject(place, f"a job could not be read: {error}{more}", sample=wanted.id)
        if again:
            yield UnreadJob(wanted.id, wanted.tries + 1, self.split.now_ms).position()
        elif wanted.tries:
            yield Position(UnreadJob.key(wanted.id), None)
