"""Export as OpenLineage (spec 2-0-2): run events, job events for lineage without a run, and dataset events, one per
line.

Names, facets and their meaning to consumers follow the specification and `website/docs/spec/naming.md` of OpenLineage,
and Marquez, which describes a job by the run received last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final

import orjson
import requests

from navlin.export.answers import message_of, not_confirmed
from navlin.export.connection import ServerConnection
from navlin.export.openlineage import datasets, jobs
from navlin.export.openlineage.names import Naming
from navlin.export.parts import in_parts
from navlin.export.target import RefusedRecord, Target, register
from navlin.export.values import ExportedDataset, ExportedOperation, ExportedRun, Item, Renamed

_NO_SUCH_ADDRESS: Final = (404, 405)
_REFUSED: Final = frozenset({"error", "failed", "failure"})
"""JSON statuses that mean a refusal, from servers whose HTTP status is always 200."""


@dataclass(frozen=True, slots=True)
class Options:
    namespace: Annotated[str, "Namespace of jobs (default: the cluster's name)."] = ""
    parent: Annotated[
        bool, "Name the parent of each run. OpenMetadata requires it; Marquez renames jobs by it."
    ] = False
    endpoint: Annotated[str, "Path below the server's address that accepts events."] = "/api/v1/lineage"


def records(items: Iterable[Item], options: Options) -> Iterator[bytes]:
    """Yield the lines of events. The events of an operation are in chronological order, and a dataset comes before
    events that refer to it."""
    naming = Naming(options.namespace)
    for item in items:
        for event in _events(item, naming, parent=options.parent):
            yield orjson.dumps(event) + b"\n"


def _events(item: Item, naming: Naming, *, parent: bool) -> Iterator[dict[str, Any]]:
    match item:
        case Renamed():
            yield datasets.rename(item, naming)
        case ExportedDataset():
            yield from datasets.events(item, naming)
        case ExportedOperation():
            yield from jobs.job_events(item, naming)
        case ExportedRun():
            yield from jobs.run_events(item, naming, parent=parent)


def send(
    connection: ServerConnection, records: Iterable[bytes], options: Any
) -> Iterator[int | RefusedRecord]:
    """Send events, one per request. Yield 1 for an accepted event, or the refusal if the server can never accept the
    event; after any other failure the event is sent again."""

    def one(line: bytes) -> Iterator[int | RefusedRecord]:
        answer = connection.send("POST", options.endpoint, line.strip())
        reason = _refusal(answer)
        yield RefusedRecord(_shown(line), reason) if reason else 1

    yield from in_parts(records, one, _shown)


def ask(connection: ServerConnection, options: Options) -> str:
    """Check the server by a GET request to the endpoint for events. Servers have no other check, so any response but
    404 is good enough. Return a description of the server. Raises `NotConfirmed`."""
    answer = connection.send("GET", options.endpoint)
    if answer.status_code in _NO_SUCH_ADDRESS[:1]:
        not_confirmed(answer, f"an address that takes events ({options.endpoint})")
    return f"answers at {options.endpoint}"


def _refusal(answer: requests.Response) -> str:
    """Return why a server refuses an event; "" if it accepts the event. The standard requires no response body; a body
    must be JSON or ``OK``. Raises `NotConfirmed`."""
    wanted = "OpenLineage's confirmation"
    if answer.status_code in _NO_SUCH_ADDRESS:
        not_confirmed(answer, wanted)
    if not answer.ok:
        return message_of(answer)
    text = answer.content.strip()
    try:
        found = orjson.loads(text) if text and text.upper() != b"OK" else None
    except orjson.JSONDecodeError:
        not_confirmed(answer, wanted)
    status = str(found.get("status", "")) if isinstance(found, dict) else ""
    return message_of(answer) if status.lower() in _REFUSED else ""


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
    )
)
