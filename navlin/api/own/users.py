"""``/users/{name}/logout``: ends all sessions of a user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from navlin.access.roles import Role
from navlin.api.endpoint import ApiRequest, Endpoint


@dataclass(frozen=True, slots=True)
class Parameters:
    name: Annotated[str, "The user's name."]


def _answer(request: ApiRequest) -> dict[str, Any]:
    name = request.parameters.name
    return {"user": name, "ended": request.service.authentication.sessions.end_all(name)}


LOG_OUT = Endpoint(
    "POST",
    "/users/{name}/logout",
    Role.ADMINISTRATOR,
    "End all sessions of a user.",
    Parameters,
    _answer,
    takes_body=True,
    logged="log-out requested",
)
