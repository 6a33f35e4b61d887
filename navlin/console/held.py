"""``/held``: the entities that a held run would flag deleted, and the button for users who may confirm it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from navlin.access.roles import Role
from navlin.api.answers import Problem
from navlin.api.endpoint import Asked
from navlin.console.page import Page
from navlin.console.pages import ROWS_A_PAGE, paged
from navlin.query.held import held_loss
from navlin.query.page import UnknownSource


@dataclass(frozen=True, slots=True)
class Parameters:
    source: Annotated[str, "The source's name."]
    page: Annotated[int, "Which page.", range(1, 10_000)] = 1


def _values(asked: Asked) -> Mapping[str, Any]:
    given: Parameters = asked.parameters
    try:
        found = held_loss(asked.solr, given.source, limit=ROWS_A_PAGE, offset=(given.page - 1) * ROWS_A_PAGE)
    except UnknownSource as error:
        raise Problem(404, str(error)) from error
    values = {"given": given, "loss": found, "may_run": asked.user.role >= Role.ADMINISTRATOR}
    return values if found is None else {**values, **paged(given, found.places)}


PAGE = Page("/held", "Held run", Parameters, _values)
