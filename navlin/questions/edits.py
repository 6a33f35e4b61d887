"""``edits``: the history of the user-written fields of one entity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from navlin.query.bounds import LIMIT
from navlin.questions.declare.question import Asked, Question
from navlin.questions.declare.shared import Entity, Limit, Offset

if TYPE_CHECKING:
    from navlin.query.edits import History


@dataclass(frozen=True, slots=True)
class Parameters:
    entity: Entity
    limit: Limit = LIMIT
    offset: Offset = 0


def _ask(asked: Asked) -> History:
    from navlin.query.edits import history

    given: Parameters = asked.parameters
    return history(asked.solr, asked.entity_id(), limit=given.limit, offset=given.offset)


QUESTION = Question(
    name="edits",
    summary="Edits of one entity: who changed what, and when.",
    about="""
    What people changed of ENTITY (db.table, db.table.column, a path, or an id), the newest first: who, when, and the
    value before.
    """,
    examples=("navlin edits sales.orders", "navlin edits sales.orders --limit 1 --json"),
    parameters=Parameters,
    ask=_ask,
    answers="navlin.query.edits:History",
    view="navlin.render.edits:history_view",
    without={"page": "the page of the entity, /details, lists them"},
)
