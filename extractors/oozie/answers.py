"""Parse the jobs in Oozie's answers. Fields missing in a release are tolerated, and additional ones ignored.

Times are asked for in GMT, and read to the second; 0 if unknown. "-" means null. The configuration of a job stays a
text here, and only named properties are ever taken from it, because users keep passwords in configurations.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

from navlin.model.keys import application_id
from navlin.model.redaction import bounded, redact

LATEST_MS: Final = 4_102_444_800_000
"""The year 2100. Later times count as unknown."""
MAX_NAME_BYTES: Final = 2_000
MAX_MESSAGE_BYTES: Final = 4 << 10
MAX_WORD_CHARS: Final = 1_000
"""Maximum length of a user, a status or a type."""
MAX_ACTIONS: Final = 10_000
"""Maximum number of actions of one workflow that are read."""
MAX_CHILDREN: Final = 1_000
"""Maximum number of YARN applications of one action that are read."""

ENDED: Final = frozenset({"SUCCEEDED", "KILLED", "FAILED", "DONEWITHERROR", "TIMEDOUT", "SKIPPED", "IGNORED"})
"""Statuses of jobs, and of coordinators' actions, that do not change any more unless somebody runs them again."""
_CONTROL: Final = frozenset({"switch", "decision", "fork", "join", "start", "end", "kill"})
_MONTHS: Final = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_TIME: Final = re.compile(
    rf"\w{{3}}, (\d\d?) ({'|'.join(_MONTHS)}) (\d{{4}}) (\d\d):(\d\d):(\d\d) (?:GMT|UTC)\Z", re.ASCII
)
_ID: Final = re.compile(r"[\w.-]{1,200}-([WCB])\Z", re.ASCII)
_COORDINATOR_ACTION: Final = re.compile(r"([\w.-]{1,200}-C)@(\d{1,9})\Z", re.ASCII)
_OF_ACTION: Final = re.compile(r"([\w.-]{1,200}-W)@(.+)@\d+\Z", re.ASCII | re.DOTALL)
_APPLICATION: Final = re.compile(r"/(application_\d{1,19}_\d{1,19})(?:/|\Z)", re.ASCII)


class JobKind(StrEnum):
    """The three kinds of jobs. The value is the parameter that selects a kind."""

    WORKFLOW = "wf"
    COORDINATOR = "coordinator"
    BUNDLE = "bundle"

    @property
    def listed_as(self) -> str:
        return {"wf": "workflows", "coordinator": "coordinatorjobs", "bundle": "bundlejobs"}[self.value]

    @property
    def id_field(self) -> str:
        return {"wf": "id", "coordinator": "coordJobId", "bundle": "bundleJobId"}[self.value]

    @property
    def letter(self) -> str:
        return {"wf": "W", "coordinator": "C", "bundle": "B"}[self.value]


@dataclass(frozen=True, slots=True)
class Listed:
    """One job as a list shows it. ``fingerprint`` differs if the job has changed; ``modified_ms`` is 0 in the lists of
    coordinators and bundles, which do not show it.
    """

    id: str
    name: str
    status: str
    user: str
    parent: str
    created_ms: int
    modified_ms: int
    fingerprint: str

    @property
    def ended(self) -> bool:
        return self.status in ENDED


@dataclass(frozen=True, slots=True)
class Action:
    """One action of a workflow. ``launcher`` and ``children`` are ids of YARN applications. ``where`` is the address of
    the ResourceManager, if the answer shows it. ``conf`` is the action's XML, with all expressions resolved.
    """

    name: str
    type: str
    status: str
    conf: str
    launcher: str
    children: tuple[str, ...]
    where: str
    started_ms: int
    ended_ms: int
    error: str

    @property
    def is_control(self) -> bool:
        return self.type.startswith(":") or self.type.lower() in _CONTROL

    @property
    def succeeded(self) -> bool:
        return self.status == "OK"


@dataclass(frozen=True, slots=True)
class Workflow:
    """One run of a workflow. ``run`` counts how often the job was run again. ``parent`` is the id of a workflow, or of a
    coordinator's action. ``by_action`` is the action of the parent workflow that started a sub-workflow.
    """

    id: str
    name: str
    path: str
    status: str
    user: str
    run: int
    parent: str
    by_action: str
    created_ms: int
    started_ms: int
    ended_ms: int
    modified_ms: int
    conf: str
    actions: tuple[Action, ...]
    actions_cut: bool = False

    @property
    def as_of_ms(self) -> int:
        """The newest time in the answer. ``modified_ms`` alone does not move with each action."""
        times = (self.created_ms, self.started_ms, self.ended_ms, self.modified_ms)
        return max(*times, *(max(each.started_ms, each.ended_ms) for each in self.actions), 0)

    @property
    def error(self) -> str:
        """The errors of the actions that failed; those of control nodes, such as kill, only if there are no others."""
        of_actions = [each.error for each in self.actions if each.error and not each.is_control]
        found = of_actions or [each.error for each in self.actions if each.error]
        return bounded("; ".join(dict.fromkeys(found)), MAX_MESSAGE_BYTES)

    @property
    def without_conf(self) -> Workflow:
        """A copy without the configurations, to be remembered."""
        return replace(self, conf="", actions=tuple(replace(each, conf="") for each in self.actions))

    def is_of_this_run(self, action: Action) -> bool:
        """Whether an action ran in this run. The actions that a repeated run skipped keep their times, from before it."""
        return self.run == 0 or not action.started_ms or action.started_ms >= self.started_ms


@dataclass(frozen=True, slots=True)
class CoordinatorAction:
    """One action of a coordinator, which starts a workflow for a nominal time."""

    id: str
    number: int
    status: str
    nominal_ms: int
    created_ms: int
    modified_ms: int
    error: str

    @property
    def ended(self) -> bool:
        return self.status in ENDED


@dataclass(frozen=True, slots=True)
class JobSchedule:
    """A coordinator or a bundle: a job that starts other jobs. ``frequency`` may be a number or a cron expression."""

    id: str
    name: str
    path: str
    status: str
    user: str
    bundle: str
    frequency: str
    time_unit: str
    time_zone: str
    created_ms: int
    started_ms: int
    ended_ms: int
    conf: str

    @property
    def ended(self) -> bool:
        return self.status in ENDED


def to_listed(payload: Mapping[str, Any], kind: JobKind) -> Listed | None:
    """Return a job in a list; None if it has no id of this kind."""
    identity = job_id(payload.get(kind.id_field), kind)
    if identity is None:
        return None
    status = _word(payload, "status").upper()
    created_ms, modified_ms = time_ms(payload.get("createdTime")), time_ms(payload.get("lastModTime"))
    changing = (
        *(status, _number(payload.get("run")), created_ms, modified_ms),
        *(
            _text(payload.get(each))
            for each in ("lastAction", "nextMaterializedTime", "endTime", "pauseTime")
        ),
    )
    fingerprint = hashlib.blake2b(repr(changing).encode("utf-8", "replace"), digest_size=6).hexdigest()
    return Listed(
        identity,
        bounded(_text(payload.get("appName")), MAX_NAME_BYTES),
        status,
        _word(payload, "user"),
        parent_id(payload.get("parentId")),
        created_ms,
        modified_ms or created_ms,
        fingerprint,
    )


def to_workflow(payload: Mapping[str, Any]) -> Workflow | None:
    """Return the workflow in the answer of ``show=info``; None if it has no id."""
    identity = job_id(payload.get("id"), JobKind.WORKFLOW)
    if identity is None:
        return None
    listed = payload.get("actions")
    shown = [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []
    started_by = _OF_ACTION.match(_text(payload.get("externalId")))
    return Workflow(
        identity,
        bounded(_text(payload.get("appName")), MAX_NAME_BYTES),
        bounded(_text(payload.get("appPath")), MAX_NAME_BYTES),
        _word(payload, "status").upper(),
        _word(payload, "user"),
        _number(payload.get("run")),
        parent_id(payload.get("parentId")),
        bounded(started_by[2], MAX_NAME_BYTES) if started_by else "",
        time_ms(payload.get("createdTime")),
        time_ms(payload.get("startTime")),
        time_ms(payload.get("endTime")),
        time_ms(payload.get("lastModTime")),
        _text(payload.get("conf")),
        tuple(_action(each) for each in shown[:MAX_ACTIONS]),
        len(shown) > MAX_ACTIONS,
    )


def _action(payload: Mapping[str, Any]) -> Action:
    console = _text(payload.get("consoleUrl"))
    found = _APPLICATION.search(console)
    launcher = application_id(_text(payload.get("externalId"))) or (found[1] if found else "")
    return Action(
        bounded(_text(payload.get("name")), MAX_NAME_BYTES),
        _word(payload, "type"),
        _word(payload, "status").upper(),
        _text(payload.get("conf")),
        launcher,
        tuple(dict.fromkeys(_children(payload)))[:MAX_CHILDREN],
        console.partition("/proxy/")[0] if found and "/proxy/" in console else "",
        time_ms(payload.get("startTime")),
        time_ms(payload.get("endTime")),
        _error(payload),
    )


def _children(payload: Mapping[str, Any]) -> Iterator[str]:
    for each in _text(payload.get("externalChildIDs")).split(",")[: 2 * MAX_CHILDREN]:
        if found := application_id(each.strip()):
            yield found


def to_coordinator_action(payload: Mapping[str, Any]) -> CoordinatorAction | None:
    """Return a coordinator's action; None if it has no id."""
    found = _COORDINATOR_ACTION.match(_text(payload.get("id")))
    if found is None:
        return None
    return CoordinatorAction(
        found[0],
        int(found[2]),
        _word(payload, "status").upper(),
        time_ms(payload.get("nominalTime")),
        time_ms(payload.get("createdTime")),
        time_ms(payload.get("lastModifiedTime")),
        _error(payload),
    )


def to_schedule(payload: Mapping[str, Any], kind: JobKind) -> JobSchedule | None:
    """Return the coordinator or bundle in the answer of ``show=info``; None if it has no id."""
    identity = job_id(payload.get(kind.id_field), kind)
    if identity is None:
        return None
    prefix = "coordJob" if kind is JobKind.COORDINATOR else "bundleJob"
    return JobSchedule(
        identity,
        bounded(_text(payload.get(f"{prefix}Name")), MAX_NAME_BYTES),
        bounded(_text(payload.get(f"{prefix}Path")), MAX_NAME_BYTES),
        _word(payload, "status").upper(),
        _word(payload, "user"),
        job_id(payload.get("bundleId"), JobKind.BUNDLE) or "",
        _word(payload, "frequency"),
        _word(payload, "timeUnit"),
        _word(payload, "timeZone"),
        time_ms(payload.get("createdTime")),
        time_ms(payload.get("kickoffTime")) or time_ms(payload.get("startTime")),
        time_ms(payload.get("endTime")),
        _text(payload.get("conf")),
    )


def coordinator_of(action: str) -> tuple[str, int] | None:
    """Return the coordinator and the number in the id of a coordinator's action; None for other ids."""
    found = _COORDINATOR_ACTION.match(action)
    return (found[1], int(found[2])) if found else None


def job_id(value: Any, kind: JobKind) -> str | None:
    """Return the id of a job of this kind; None for anything else. An id becomes part of a URL."""
    text = _text(value)
    found = _ID.match(text)
    return text if found and found[1] == kind.letter else None


def parent_id(value: Any) -> str:
    """Return the id of a parent: of a workflow, or of a coordinator's action; "" for anything else."""
    text = _text(value)
    return text if _COORDINATOR_ACTION.match(text) or job_id(text, JobKind.WORKFLOW) else ""


def time_ms(value: Any) -> int:
    """Return a time in epoch ms; 0 if it is unknown, in another zone than GMT, or impossible."""
    return _time_ms(value) if isinstance(value, str) else 0


@lru_cache(maxsize=4_096)
def _time_ms(text: str) -> int:
    found = _TIME.match(text)
    if found is None:
        return 0
    day, month, year, hour, minute, second = found.groups()
    try:
        date = datetime(int(year), _MONTHS.index(month) + 1, int(day), tzinfo=UTC)
        at = date.replace(hour=int(hour), minute=int(minute), second=int(second))
    except ValueError:
        return 0
    at_ms = 1_000 * int(at.timestamp())
    return at_ms if 0 < at_ms < LATEST_MS else 0


def _error(payload: Mapping[str, Any]) -> str:
    """Return ``errorCode: errorMessage``, as far as they are there."""
    both = (_text(payload.get("errorCode")), _text(payload.get("errorMessage")))
    return bounded(redact(": ".join(filter(None, both))), MAX_MESSAGE_BYTES)


def _text(value: Any) -> str:
    """Return a value as text. Oozie writes null also as "-"."""
    text = value.strip() if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""
    return "" if text == "-" else text


def _word(payload: Mapping[str, Any], name: str) -> str:
    return _text(payload.get(name))[:MAX_WORD_CHARS]


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31 else 0
