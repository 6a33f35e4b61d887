"""Parse an OpenLineage event (spec 2-0-2): its type, run and job, and the facets of its datasets.

    {"eventTime", "eventType", "producer", "schemaURL",
     "run": {"runId", "facets"}, "job": {"namespace", "name", "facets"},
     "inputs": [{"namespace", "name", "facets", "inputFacets"}], "outputs": [{…, "outputFacets"}]}    a run event
    {"eventTime", "job", "inputs", "outputs"}                                                         a job event
    {"eventTime", "dataset": {"namespace", "name", "facets"}}                                         a dataset event

Only a time and names are required. Everything else may be missing or null, or have another version. A broken part of a
dataset or a facet is a problem of the event, and the rest is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from extractors.lineage.record_times import AHEAD_MS, EARLIEST_MS
from navlin.model.redaction import bounded, redact, sample

KEYS: Final = re.compile(rb'"(?:eventTime|schemaURL|eventType)"\s*:')
"""Keys that only these events have. A text without any of these keys is never shown."""
NAME_BYTES: Final = 4 << 10
_FRACTION: Final = re.compile(r"(\.\d{6})\d+")
_ZONE: Final = re.compile(r"(?:([+-]\d\d:\d\d)Z|(Z|[+-]\d\d:\d\d)\[[^\[\]]*\])\Z")
"""A zone given twice: ``+00:00Z``, as Python programs write it; ``Z[UTC]`` and ``+01:00[Europe/Paris]``, as Java's do."""


class NotAnOpenLineageEvent(ValueError):
    """The text is not an OpenLineage event. The message is the reason."""


@dataclass(frozen=True, slots=True)
class EventDataset:
    """A dataset in an event. ``facets`` combines the facets of the dataset itself and those of its role as an input or
    output.
    """

    namespace: str
    name: str
    facets: Mapping[str, Any]

    def facet(self, name: str) -> Mapping[str, Any]:
        """Return a facet; empty if it is missing or deleted."""
        return mapping(self.facets.get(name))


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One event. ``run`` is the id of the run, "" for an event without a run. ``dataset`` is set only for a dataset
    event. ``type`` is START, RUNNING, COMPLETE, ABORT, FAIL or OTHER. ``problems`` describes unreadable parts.
    """

    time_ms: int
    type: str
    run: str
    run_facets: Mapping[str, Any]
    namespace: str
    name: str
    job_facets: Mapping[str, Any]
    inputs: tuple[EventDataset, ...]
    outputs: tuple[EventDataset, ...]
    dataset: EventDataset | None
    producer: str
    problems: tuple[str, ...] = ()


TYPES: Final = ("START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER")


def events_in(value: Any) -> Iterator[Any]:
    """Yield the events in a JSON value, which is one object or an array of objects."""
    if isinstance(value, list):
        yield from value
    else:
        yield value


def to_event(value: Any, *, latest_ms: int) -> RunEvent:
    """Convert a JSON value to an event. Raises `NotAnOpenLineageEvent`, which includes a time more than `AHEAD_MS` after
    ``latest_ms``.
    """
    if not isinstance(value, dict):
        raise NotAnOpenLineageEvent(f"the event is not a JSON object but a {type(value).__name__}")
    time_ms = _time(value.get("eventTime"), latest_ms)
    producer = text(value.get("producer"))
    problems: list[str] = []
    if value.get("dataset") is not None and value.get("job") is None:
        about = _dataset(value["dataset"], "the dataset", problems, ("facets",))
        if about is None:
            raise NotAnOpenLineageEvent(problems[0])
        return RunEvent(time_ms, "OTHER", "", {}, "", "", {}, (), (), about, producer)
    job = mapping(value.get("job"))
    namespace, name = text(job.get("namespace")), job_name(job.get("name"))
    if not namespace or not name:
        raise NotAnOpenLineageEvent("the event's job has no namespace or no name")
    run = mapping(value.get("run"))
    run_id = text(run.get("runId"))
    if value.get("run") is not None and not run_id:
        raise NotAnOpenLineageEvent("the event's run has no runId")
    given = value.get("eventType")
    kind = text(given).upper() if given is not None else "OTHER"
    if kind not in TYPES:
        problems.append(f"unknown eventType {given!r:.40}")
        kind = "OTHER"
    # OTHER is not a state of a run; producers send it with descriptions of a job.
    if not run_id and kind != "OTHER":
        problems.append(
            "it belongs to a run (it has an eventType) but names none: only its statements about its job are used"
        )
    return RunEvent(
        time_ms,
        kind,
        run_id,
        mapping(run.get("facets")),
        namespace,
        name,
        mapping(job.get("facets")),
        tuple(_datasets(value.get("inputs"), "inputs", problems, ("facets", "inputFacets"))),
        tuple(_datasets(value.get("outputs"), "outputs", problems, ("facets", "outputFacets"))),
        None,
        producer,
        tuple(problems),
    )


def _datasets(value: Any, what: str, problems: list[str], kinds: tuple[str, ...]) -> Iterator[EventDataset]:
    if value is None:
        return
    if not isinstance(value, list):
        problems.append(f"{what} are not a list")
        return
    for place, each in enumerate(value):
        found = _dataset(each, f"{what}[{place}]", problems, kinds)
        if found is not None:
            yield found


def _dataset(value: Any, what: str, problems: list[str], kinds: tuple[str, ...]) -> EventDataset | None:
    given = mapping(value)
    namespace, name = text(given.get("namespace")), text(given.get("name"))
    if not namespace or not name:
        problems.append(f"{what} has no namespace or no name")
        return None
    facets: dict[str, Any] = {}
    for kind in kinds:
        of_kind = given.get(kind)
        if of_kind is not None and not isinstance(of_kind, dict):
            problems.append(f"{kind} of {what} are not an object")
        for facet, content in mapping(of_kind).items():
            if isinstance(content, dict):
                facets[facet] = content
            elif content is not None:
                problems.append(f"the facet {facet!r:.80} of {what} is not an object")
    for facet, member in _LISTS:
        listed = mapping(facets.get(facet)).get(member)
        if listed is not None and not _are_objects(listed):
            problems.append(f"{member} in the facet {facet!r} of {what} are not a list of objects")
    return EventDataset(namespace, name, facets)


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


_LISTS: Final = (("symlinks", "identifiers"), ("schema", "fields"))
"""(facet, member) for each member that is a list of objects."""


def _time(value: Any, latest_ms: int) -> int:
    if not isinstance(value, str) or not value:
        raise NotAnOpenLineageEvent("the event has no eventTime")
    at_ms = moment(value)
    if not EARLIEST_MS <= at_ms <= latest_ms + AHEAD_MS:
        raise NotAnOpenLineageEvent(f"invalid eventTime {value!r:.40}")
    return at_ms


def moment(value: Any) -> int:
    """Convert an ISO string to epoch ms; 0 for anything else. A time without a zone is taken as UTC."""
    if not isinstance(value, str):
        return 0
    plain = _ZONE.sub(r"\1\2", _FRACTION.sub(r"\1", value.strip().upper()))
    try:
        at = datetime.fromisoformat(plain)
    except ValueError:
        return 0
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return int(at.timestamp() * 1000 + 0.5)


def mapping(value: Any) -> Mapping[str, Any]:
    """Return the value if it is an object, otherwise an empty object."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a list, skipping other elements."""
    return (each for each in value if isinstance(each, dict)) if isinstance(value, list) else iter(())


def text(value: Any, max_bytes: int = NAME_BYTES) -> str:
    """Return a string, bounded; "" for any other value."""
    return bounded(value, max_bytes) if isinstance(value, str) else ""


def job_name(value: Any) -> str:
    """Return the name of a job, redacted, because it may be a statement, and is part of an identity and of the state
    that is saved between two reads; "" for any value but a string."""
    return redact(text(value))


def sample_of(data: bytes) -> str:
    """Return the beginning of an unreadable text if it is part of an event, otherwise ""."""
    return sample(data) if KEYS.search(data) else ""
