"""``/runs``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from navlin.api.endpoint import Asked
from navlin.api.own.paging import paged
from navlin.index.runs import RunRecord, Status
from navlin.query.page import LIMIT, MOST, MOST_OFFSET, Page
from navlin.query.runs import run_json, runs
from navlin.render.pages import runs_view


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters like the options of ``navlin runs``."""

    source: Annotated[str, "Only of the source of this name."] = ""
    status: Annotated[tuple[Status, ...], "Only those. Repeatable."] = ()
    limit: Annotated[int, "How many results at most.", range(1, MOST + 1)] = LIMIT
    offset: Annotated[int, "How many of the first to pass over.", range(MOST_OFFSET + 1)] = 0


def _ask(asked: Asked) -> Page[RunRecord]:
    given: Parameters = asked.parameters
    return runs(asked.solr, source=given.source, status=given.status, limit=given.limit, offset=given.offset)


ENDPOINT = paged("/runs", "What ran, when, and what became of it.", Parameters, _ask, run_json, runs_view)
