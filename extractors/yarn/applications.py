"""Parses applications as the ResourceManager lists them, and jobs as the JobHistoryServer does. Fields that a release does
not have are tolerated, additional ones ignored; only the fields of `Application` and `Job` go into splits and positions.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, fields
from typing import Any, Final

import orjson

from navlin.model.keys import application_id
from navlin.model.redaction import bounded, redact

MAPREDUCE: Final = "MAPREDUCE"
UNFINISHED: Final = ("NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING")
ENDED: Final = ("FINISHED", "FAILED", "KILLED")
FORGOTTEN: Final = "FORGOTTEN"
"""A state that only navlin uses: the application had not ended when last seen, and the ResourceManager has forgotten it."""
UNKNOWN: Final = "UNKNOWN"

MAX_NAME_BYTES: Final = 8_000
MAX_DIAGNOSTICS_BYTES: Final = 4 << 10
MAX_WORD_CHARS: Final = 1_000
"""Limit for a user, a queue, a type."""
MAX_TAGS: Final = 100
_PLACEHOLDERS: Final = frozenset({"", "null", "n/a", "none"})
_ATTEMPT: Final = re.compile(r"appattempt_\d+_\d+_(\d+)\Z")
_CONTAINER: Final = re.compile(r"container_(?:e\d+_)?\d+_\d+_(\d+)_\d+")


@dataclass(frozen=True, slots=True)
class Application:
    """One application as the ResourceManager lists it. Times are by the ResourceManager's clock, in epoch ms; 0 if unknown.

    Values that grow while the application runs (memory and core seconds, in resource times seconds) are kept only when it
    has ended.
    """

    id: str
    name: str = ""
    type: str = ""
    user: str = ""
    queue: str = ""
    state: str = ""
    final_status: str = ""
    started_ms: int = 0
    finished_ms: int = 0
    tags: tuple[str, ...] = ()
    attempts: int = 0
    diagnostics: str = ""
    memory_mb_s: int = 0
    vcore_s: int = 0

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def mapreduce(self) -> bool:
        return self.type.upper() == MAPREDUCE

    @property
    def status(self) -> str:
        """Result of the application, as far as known; before its end, the state."""
        if self.state == "FINISHED":
            return self.final_status if self.final_status not in ("", "UNDEFINED") else self.state
        return UNKNOWN if self.state == FORGOTTEN else self.state


@dataclass(frozen=True, slots=True)
class Job:
    """One MapReduce job as the JobHistoryServer lists it, by the clock of its application master's host."""

    id: str
    name: str = ""
    user: str = ""
    queue: str = ""
    state: str = ""
    submitted_ms: int = 0
    started_ms: int = 0
    finished_ms: int = 0

    @property
    def succeeded(self) -> bool:
        return self.state == "SUCCEEDED"


@dataclass(frozen=True, slots=True)
class Seen:
    """One application and its job, as listed by the two services; at least one of them is set."""

    id: str
    application: Application | None = None
    job: Job | None = None

    def fingerprint(self) -> str:
        known = [each and astuple(each) for each in (self.application, self.job)]
        return hashlib.blake2b(orjson.dumps(known), digest_size=6).hexdigest()


def to_application(payload: Mapping[str, Any]) -> Application | None:
    """Parse an application; None if it has no id."""
    identity = application_id(_text(payload.get("id")))
    if identity is None:
        return None
    state = _word(payload, "state").upper()
    ended = state in ENDED
    diagnostics = _text(payload.get("diagnostics")).strip() if ended else ""
    return Application(
        identity,
        bounded(_text(payload.get("name")), MAX_NAME_BYTES),
        _word(payload, "applicationType") or _first_type(payload),
        _word(payload, "user"),
        _word(payload, "queue"),
        state,
        _word(payload, "finalStatus").upper() if ended else "",
        _number(payload.get("startedTime")),
        _number(payload.get("finishedTime")) if ended else 0,
        _tags(payload.get("applicationTags")),
        _attempts(payload),
        "" if diagnostics.lower() in _PLACEHOLDERS else bounded(redact(diagnostics), MAX_DIAGNOSTICS_BYTES),
        _number(payload.get("memorySeconds")) if ended else 0,
        _number(payload.get("vcoreSeconds")) if ended else 0,
    )


def to_job(payload: Mapping[str, Any]) -> Job | None:
    """Parse a job; None if it has no id."""
    identity = application_id(_text(payload.get("id")))
    if identity is None:
        return None
    return Job(
        identity.replace("application_", "job_", 1),
        bounded(_text(payload.get("name")), MAX_NAME_BYTES),
        _word(payload, "user"),
        _word(payload, "queue"),
        _word(payload, "state").upper(),
        _number(payload.get("submitTime")),
        _number(payload.get("startTime")),
        _number(payload.get("finishTime")),
    )


def saved(application: Application) -> dict[str, Any]:
    """Return an application as JSON, for a position: the values that differ from the defaults."""
    plain = asdict(application)
    differing = {
        name.name: plain[name.name] for name in fields(Application) if plain[name.name] != name.default
    }
    return {name: list(value) if isinstance(value, tuple) else value for name, value in differing.items()}


def restored(value: Mapping[str, Any]) -> Application:
    """Restore an application from the result of `saved`."""
    return Application(**{**value, "tags": tuple(value.get("tags", ()))})


def _first_type(payload: Mapping[str, Any]) -> str:
    """Return the type by the tracking URL, for the first releases of YARN, which give no type."""
    return MAPREDUCE if "/jobhistory/job/" in _text(payload.get("trackingUrl")) else "YARN"


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _word(payload: Mapping[str, Any], name: str) -> str:
    return _text(payload.get(name))[:MAX_WORD_CHARS]


def _number(value: Any) -> int:
    """Parse a number. Some releases write numbers as strings, and -1 or 0 if unknown. Numbers beyond Java's range are
    unknown as well.
    """
    if isinstance(value, bool):
        return 0
    try:
        number = value if isinstance(value, int) else int(float(value))
    except (TypeError, ValueError, OverflowError):
        return 0
    return number if 0 <= number < 1 << 63 else 0


def _tags(value: Any) -> tuple[str, ...]:
    words = value if isinstance(value, list) else _text(value).split(",")
    tags = (bounded(redact(_text(word).strip()), 1_000) for word in words)
    return tuple(tag for tag in tags if tag.lower() not in _PLACEHOLDERS)[:MAX_TAGS]


def _attempts(payload: Mapping[str, Any]) -> int:
    """Return the number of attempts, from the id of the newest attempt or of its container; 0 if unknown."""
    if found := _ATTEMPT.match(_text(payload.get("currentAppAttemptId"))):
        return int(found[1])
    found = _CONTAINER.search(_text(payload.get("amContainerLogs")))
    return int(found[1]) if found else 0
