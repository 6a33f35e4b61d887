"""Parse applications as listed by the ResourceManager, and jobs as listed by the JobHistoryServer. Fields missing in a
release are tolerated and additional ones ignored. Only the fields of `YarnApplication` and `MapReduceJob` are stored in
splits and positions.
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
"""A state that only navlin uses: the application had not ended when last seen, and the ResourceManager no longer knows
it.
"""
UNKNOWN: Final = "UNKNOWN"

MAX_NAME_BYTES: Final = 8_000
MAX_DIAGNOSTICS_BYTES: Final = 4 << 10
MAX_WORD_CHARS: Final = 1_000
"""Maximum length of a user, a queue or a type."""
MAX_TAGS: Final = 100
_PLACEHOLDERS: Final = frozenset({"", "null", "n/a", "none"})
_ATTEMPT: Final = re.compile(r"appattempt_\d+_\d+_(\d+)\Z")
_CONTAINER: Final = re.compile(r"container_(?:e\d+_)?\d+_\d+_(\d+)_\d+")


@dataclass(frozen=True, slots=True)
class YarnApplication:
    """One application as listed by the ResourceManager. Times are by the ResourceManager's clock, in epoch ms; 0 if
    unknown. Values that grow while the application runs are set only after its end: memory in MB-seconds, and
    core-seconds.
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
        """Result of the application, as far as known; its state before its end."""
        if self.state == "FINISHED":
            return self.final_status if self.final_status not in ("", "UNDEFINED") else self.state
        return UNKNOWN if self.state == FORGOTTEN else self.state


@dataclass(frozen=True, slots=True)
class MapReduceJob:
    """One MapReduce job as listed by the JobHistoryServer. Times are by the clock of the application master's host, in
    epoch ms.
    """

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
    """One application and its job, as listed by the two services. At least one of them is set."""

    id: str
    application: YarnApplication | None = None
    job: MapReduceJob | None = None

    @property
    def user(self) -> str:
        """The user who ran it; "" if unknown."""
        named = self.application.user if self.application else ""
        return named or (self.job.user if self.job else "")

    def fingerprint(self) -> str:
        known = [each and astuple(each) for each in (self.application, self.job)]
        return hashlib.blake2b(orjson.dumps(known), digest_size=6).hexdigest()


def to_application(payload: Mapping[str, Any]) -> YarnApplication | None:
    """Return the application in a response; None if it has no id."""
    identity = application_id(_text(payload.get("id")))
    if identity is None:
        return None
    state = _word(payload, "state").upper()
    ended = state in ENDED
    diagnostics = _text(payload.get("diagnostics")).strip() if ended else ""
    return YarnApplication(
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


def to_job(payload: Mapping[str, Any]) -> MapReduceJob | None:
    """Return the job in a response; None if it has no id."""
    identity = application_id(_text(payload.get("id")))
    if identity is None:
        return None
    return MapReduceJob(
        identity.replace("application_", "job_", 1),
        bounded(_text(payload.get("name")), MAX_NAME_BYTES),
        _word(payload, "user"),
        _word(payload, "queue"),
        _word(payload, "state").upper(),
        _number(payload.get("submitTime")),
        _number(payload.get("startTime")),
        _number(payload.get("finishTime")),
    )


def saved(application: YarnApplication) -> dict[str, Any]:
    """Return the values of an application that differ from the defaults, as JSON for a position."""
    plain = asdict(application)
    differing = {
        name.name: plain[name.name] for name in fields(YarnApplication) if plain[name.name] != name.default
    }
    return {name: list(value) if isinstance(value, tuple) else value for name, value in differing.items()}


def restored(value: Mapping[str, Any]) -> YarnApplication:
    """Restore an application from the result of `saved`."""
    return YarnApplication(**{**value, "tags": tuple(value.get("tags", ()))})


def _first_type(payload: Mapping[str, Any]) -> str:
    """Return the application's type, derived from the tracking URL, for the first releases of YARN, which state no
    type.
    """
    return MAPREDUCE if "/jobhistory/job/" in _text(payload.get("trackingUrl")) else "YARN"


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _word(payload: Mapping[str, Any], name: str) -> str:
    return _text(payload.get(name))[:MAX_WORD_CHARS]


def _number(value: Any) -> int:
    """Return a nonnegative number; 0 if unknown. Some releases write numbers as strings, and -1 or 0 if unknown.
    Numbers beyond Java's range count as unknown.
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
    """Return the number of attempts, taken from the id of the newest attempt or its container; 0 if unknown."""
    if found := _ATTEMPT.match(_text(payload.get("currentAppAttemptId"))):
        return int(found[1])
    found = _CONTAINER.search(_text(payload.get("amContainerLogs")))
    return int(found[1]) if found else 0
