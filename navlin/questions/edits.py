"""``edits``: the history of the user-written fields of one entity."""

from __future__ import annotations

from dataclasses import dataclass

from navlin.query.bounds import LIMIT
from navlin.questions.declare.question import Question, asks
from navlin.questions.declare.shared import Entity, Limit, Offset


@dataclass(frozen=True, slots=True)
class Parameters:
    entity: Entity
    limit: Limit = LIMIT
    offset: Offset = 0


QUESTION = Question(
    name="edits",
    summary="Edit history of an entity.",
    about="""
    Changes that people made to ENTITY (db.table, db.table.column, a path, or an id), newest first: user, time, and
    the value before.
    """,
    examples=("navlin edits sales.orders", "navlin edits sales.orders --limit 1 --json"),
    parameters=Parameters,
    ask=asks("navlin.query.edits:history"),
    answers="navlin.query.edits:History",
    view="navlin.render.edits:history_view",
    without={"page": "the page of the entity, /details, lists them"},
)
