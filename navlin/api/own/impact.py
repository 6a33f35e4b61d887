"""``/impact``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from navlin.access.roles import Role
from navlin.api.endpoint import Asked, Endpoint
from navlin.api.own.naming import entity_id
from navlin.model.spreadsheet import csv_lines
from navlin.query.impact import COLUMNS, FOLLOWED, Impact, impact
from navlin.query.options import MAX_WALKED
from navlin.questions.declare.question import Lines
from navlin.render.impact import impact_view


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters like the options of ``navlin impact``."""

    entity: Annotated[str, "db.table, db.table.column, a path, or an id."]
    max_nodes: Annotated[int, "How many tables and paths are followed.", range(1, MAX_WALKED + 1)] = FOLLOWED
    csv: Annotated[bool, "The answer as CSV."] = False


def _answer(asked: Asked) -> Impact | Lines:
    given: Parameters = asked.parameters
    answer = impact(asked.solr, entity_id(asked.solr, given.entity), max_nodes=given.max_nodes)
    return Lines(csv_lines(COLUMNS, answer.rows())) if given.csv else answer


ENDPOINT = Endpoint(
    "GET",
    "/impact",
    Role.LINEAGE_VIEWER,
    "What breaks if an entity is dropped or changed, by owner.",
    Parameters,
    _answer,
    returns=Impact.to_json.__doc__ or "",
    form=Impact.to_json,
    view=impact_view,
    walks=True,
)
