"""``/request``: how far something is that was asked for, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from navlin.api.answers import Problem
from navlin.api.endpoint import Asked
from navlin.console.page import Page
from navlin.index.requests import read_request


@dataclass(frozen=True, slots=True)
class Parameters:
    """Which one."""

    id: Annotated[str, "As it was answered."]


def _values(asked: Asked) -> Mapping[str, Any]:
    found = read_request(asked.solr, asked.parameters.id)
    if found is None:
        raise Problem(404, "there is no such request: those that were answered are kept for a day")
    return {"request": found, "waits": found.state.value in ("waiting", "running")}


PAGE = Page("/request", "Request", Parameters, _values)
