"""``/link``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from navlin.access.roles import Role
from navlin.api.endpoint import Asked, Endpoint
from navlin.api.own.requests import ACCEPTED, request
from navlin.index.requests import Job


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters like the options of ``navlin link``."""

    all: Annotated[bool, "Link everything, not only what is new."] = False


def _answer(asked: Asked) -> dict[str, Any]:
    return request(asked, Job.LINK, {"everything": asked.parameters.all})


ENDPOINT = Endpoint("POST", "/link", Role.ADMINISTRATOR, "Link what is new.", Parameters, _answer, ACCEPTED)
