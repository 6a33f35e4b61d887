"""OpenLineage (spec 2-0-2): run events, job events for lineage without a run, and dataset events, one per line.

Sources of names, facets and their meaning to consumers: the specification and `website/docs/spec/naming.md` of
OpenLineage, and Marquez, which takes the run sent last as the truth about its job.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final

import orjson
import requests

from navlin.export.answers import not_confirmed, words_of
from navlin.export.connection import Connection
from navlin.export.openlineage import datasets, jobs
from navlin.export.openlineage.becomes import BECOMES
from navlin.export.openlineage.names import Naming
from navlin.export.parts import in_parts
from navlin.export.target import Refused, Target, register
from navlin.export.values import Dataset, Item, Operation, Renamed, Run

_NO_SUCH_ADDRESS: Final = (404, 405)
_REFUSED: Final = frozenset({"error", "failed", "failure"})
"""JSON statuses by which servers that always answer 200 refuse an event."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of an export as OpenLineage."""

    namespace: Annotated[str, "The namespace of jobs; the cluster's name without it."] = ""
    parent: Annotated[
        bool, "Name the run that each is a part of: OpenMetadata wants it, Marquez renames jobs by it."
    ] = False
    endpoint: Annotated[str, "Where a server takes events, below its address."] = "/api/v1/lineage"


def records(items: Iterable[Item], options: Options) -> Iterator[bytes]:
    """Yields lines of events. Those of an operation are in the order of time, and a dataset comes before events that
    refer to it."""
    naming = Naming(options.namespace)
    for item in items:
        for event in _events(item, naming, parent=options.parent):
            yield orjson.dumps(event) + b"\n"


def _events(item: Item, naming: Naming, *, parent: bool) -> Iterator[dict[str, Any]]:
    match item:
        case Renamed():
            yield datasets.rename(item, naming)
        case Dataset():
            yield from datasets.events(item, naming)
        case Operation():
            yield from jobs.job_events(item, naming)
        case Run():
            yield from jobs.run_events(item, naming, parent=parent)


def send(connection: Connection, records: Iterable[bytes], options: Any) -> Iterator[int | Refused]:
    """Sends events, one per request. An event that the server can never accept is refused; anything else is retried."""

    def one(line: bytes) -> Iterator[int | Refused]:
        answer = connection.send("POST", options.endpoint, line.strip())
        reason = _refusal(answer)
        yield Refused(_shown(line), reason) if reason else 1

    yield from in_parts(records, one, _shown)


def ask(connection: Connection, options: Options) -> str:
    """Requests the events' address without an event: servers have no other check, so any answer but 404 will do."""
    answer = connection.send("GET", options.endpoint)
    if answer.status_code in _NO_SUCH_ADDRESS[:1]:
        not_confirmed(answer, f"an address that takes events ({options.endpoint})")
    return f"answers at {options.endpoint}"


def _refusal(answer: requests.Response) -> str:
    """The reason why a server refuses an event; "" if it accepts it. The standard requires no body; servers that send
    one send JSON. Raises `NotConfirmed`."""
    wanted = "OpenLineage's confirmation"
    if answer.status_code in _NO_SUCH_ADDRESS:
        not_confirmed(answer, wanted)
    if not answer.ok:
        return words_of(answer)
    text = answer.content.strip()
    try:
        found = orjson.loads(text) if text and text.upper() != b"OK" else None
    except orjson.JSONDecodeError:
        not_confirmed(answer, wanted)
    status = str(found.get("status", "")) if isinstance(found, dict) else ""
    return words_of(answer) if status.lower() in _REFUSED else ""


def _shown(line: bytes) -> str:
    event = orjson.loads(line)
    named = event.get("job") or event["dataset"]
    run = f" run {event['run']['runId']}" if "run" in event else ""
    return f"{named['namespace']} {named['name']}{run}"


register(
    Target(
        "openlineage",
        "OpenLineage",
        "application/x-ndjson",
        "jsonl",
        Options,
        records,
        send,
        ask,
        becomes=BECOMES,
    )
)
