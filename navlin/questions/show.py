"""``show``: everything about one entity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from navlin.questions.declare.question import Question, QuestionRequest
from navlin.questions.declare.shared import Entity

if TYPE_CHECKING:
    from navlin.query.show import ShownEntity


@dataclass(frozen=True, slots=True)
class Parameters:
    entity: Entity


def _ask(request: QuestionRequest) -> ShownEntity:
    from navlin.query.show import show
    from navlin.query.statement_names import PART

    shown = show(request.solr, request.entity_id())
    if request.text and shown.entity.type == PART and shown.entity.parent_id:
        # People look for statements, not for sub-operations.
        return show(request.solr, shown.entity.parent_id)
    return shown


QUESTION = Question(
    name="show",
    summary="Everything that is known about an entity.",
    about="Everything that is known of ENTITY: db.table, db.table.column, a path, or an id.",
    examples=("navlin show sales.orders", "navlin show /data/orders --json"),
    parameters=Parameters,
    ask=_ask,
    answers="navlin.query.show:ShownEntity",
    view="navlin.render.entity:show_view",
    page="/details",
)
