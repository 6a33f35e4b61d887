"""``/purge``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from navlin.access.roles import Role
from navlin.api.answers import Problem
from navlin.api.endpoint import Asked, Endpoint
from navlin.api.own.requests import ACCEPTED, request
from navlin.index.requests import Job


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters like the options of ``navlin purge``."""

    before: Annotated[
        str, "What was deleted or executed earlier goes: 2026-01-01, or with a time and a zone. UTC."
    ]
    dry_run: Annotated[bool, "Say what each rule would remove and keep, and remove nothing."] = False
    accept: Annotated[int, "Let a held purge of so many candidates through.", range(1 << 53)] = 0


def purge(asked: Asked) -> dict[str, Any]:
    """Leaves a request for a purge, and answers in the form of ``/requests/{id}``. Raises `Problem`."""
    given: Parameters = asked.parameters
    try:
        before = datetime.fromisoformat(given.before)
    except ValueError:
        raise Problem(400, "before must be a date, as in 2026-01-01") from None
    before_ms = round((before if before.tzinfo else before.replace(tzinfo=UTC)).timestamp() * 1000)
    if before_ms > asked.service.now_ms():
        raise Problem(400, f"{given.before} is in the future: everything executed so far would go")
    arguments = {"before_ms": before_ms, "dry_run": given.dry_run, "accepted": given.accept}
    return request(asked, Job.PURGE, {**arguments, "deleted_files": asked.service.purges_deleted_files})


ENDPOINT = Endpoint("POST", "/purge", Role.ADMINISTRATOR, "Remove what is old.", Parameters, purge, ACCEPTED)
