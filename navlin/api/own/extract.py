"""``/extract``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from navlin.access.roles import Role
from navlin.api.endpoint import Asked, Endpoint
from navlin.api.own.requests import ACCEPTED, request
from navlin.index.requests import Job


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters like the options of ``navlin extract``."""

    source: Annotated[str, "The name of a configured source."]
    full: Annotated[bool, "Read everything, whatever was read before."] = False
    dry_run: Annotated[bool, "Read and compare, write nothing."] = False
    accept_loss: Annotated[str, "Let through what this held run would have flagged deleted."] = ""


def _answer(asked: Asked) -> dict[str, Any]:
    given: Parameters = asked.parameters
    arguments = {"source": given.source, "complete": given.full, "dry_run": given.dry_run}
    return request(asked, Job.EXTRACT, {**arguments, "accept_loss": given.accept_loss})


ENDPOINT = Endpoint(
    "POST", "/extract", Role.ADMINISTRATOR, "Run a source once.", Parameters, _answer, ACCEPTED
)
