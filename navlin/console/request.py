"""``/request``: progress and result of a submitted job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from navlin.access.roles import Role
from navlin.api.endpoint import Asked
from navlin.api.own.requests import Parameters, request_of
from navlin.console.page import Page


def _values(asked: Asked) -> Mapping[str, Any]:
    found = request_of(asked)
    return {
        "request": found,
        "waits": found.open,
        "may_run": asked.user.role >= Role.ADMINISTRATOR,
        # Users confirm exactly the numbers that were shown to them.
        "candidates": sum(each["candidates"] for each in found.answer.get("rules", ())),
        "goes": sum(each["removed"] for each in found.answer.get("rules", ())),
        "held": str(found.answer.get("note", "")).startswith("held"),
    }


PAGE = Page("/request", "Request", Parameters, _values)
