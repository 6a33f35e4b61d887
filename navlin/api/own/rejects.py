"""``/rejects``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from navlin.api.endpoint import Asked
from navlin.api.own.paging import paged
from navlin.index.rejects import Rejected
from navlin.query.page import LIMIT, MOST, MOST_OFFSET, Page
from navlin.query.rejects import reject_json, rejects
from navlin.render.pages import rejects_view


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters like the options of ``navlin rejects``."""

    source: Annotated[str, "Only of the source of this name."] = ""
    limit: Annotated[int, "How many results at most.", range(1, MOST + 1)] = LIMIT
    offset: Annotated[int, "How many of the first to pass over.", range(MOST_OFFSET + 1)] = 0


def _ask(asked: Asked) -> Page[Rejected]:
    given: Parameters = asked.parameters
    return rejects(asked.solr, source=given.source, limit=given.limit, offset=given.offset)


ENDPOINT = paged(
    "/rejects", "What did not read, where, and why.", Parameters, _ask, reject_json, rejects_view
)
