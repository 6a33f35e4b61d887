"""``show``: everything about one entity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from navlin.questions.declare.question import Asked, Question
from navlin.questions.declare.shared import Entity

if TYPE_CHECKING:
    from navlin.query.show import Shown


@dataclass(frozen=True, slots=True)
class Parameters:
    entity: Entity


def _ask(asked: Asked) -> Shown:
    from navlin.query.show import show
    from navlin.query.statement_names import PART

    shown = show(asked.solr, asked.entity_id())
    if asked.text and shown.entity.type == PART and shown.entity.parent_id:
        # People look for statements, not for sub-operations.
        return show(asked.solr, shown.entity.parent_id)
    return shown


QUESTION = Question(
    name="show",
    summary="Everything that is known of one entity.",
    about="Everything that is known of ENTITY: db.table, db.table.column, a path, or an id.",
    examples=("navlin show sales.orders", "navlin show /data/orders --json"),
    parameters=Parameters,
    ask=_ask,
    answers="navlin.query.show:Shown",
    view="navlin.render.entity:show_view",
    page="/details",
)
