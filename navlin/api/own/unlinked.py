"""``/unlinked``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from navlin.api.endpoint import Asked
from navlin.api.own.paging import paged
from navlin.query.page import LIMIT, MOST, MOST_OFFSET, Page
from navlin.query.unlinked import UnlinkedRelation, unlinked
from navlin.render.pages import unlinked_view


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters like the options of ``navlin unlinked``."""

    source: Annotated[str, "Only of the source of this name."] = ""
    reason: Annotated[str, "Only for this reason, as /status has it."] = ""
    limit: Annotated[int, "How many results at most.", range(1, MOST + 1)] = LIMIT
    offset: Annotated[int, "How many of the first to pass over.", range(MOST_OFFSET + 1)] = 0


def _ask(asked: Asked) -> Page[UnlinkedRelation]:
    given: Parameters = asked.parameters
    return unlinked(
        asked.solr, source=given.source, reason=given.reason, limit=given.limit, offset=given.offset
    )


ENDPOINT = paged(
    "/unlinked",
    "Which relations wait for an end, and why.",
    Parameters,
    _ask,
    UnlinkedRelation.to_json,
    unlinked_view,
)
