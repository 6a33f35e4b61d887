"""``/runs``: runs, with times and results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from navlin.api.endpoint import Asked
from navlin.console.page import Page
from navlin.console.pages import listed
from navlin.index.runs import RECORDED, RUNS_KEPT, Status
from navlin.query.runs import runs


@dataclass(frozen=True, slots=True)
class Parameters:
    source: Annotated[str, "Only of the source of this name."] = ""
    status: Annotated[tuple[Status, ...], "Only those."] = ()
    page: Annotated[int, "Which page.", range(1, 1_000)] = 1


def _values(asked: Asked) -> Mapping[str, Any]:
    given: Parameters = asked.parameters
    found = listed(
        given,
        lambda limit, offset: runs(
            asked.solr, source=given.source, status=given.status, limit=limit, offset=offset
        ),
    )
    return {**found, "statuses": RECORDED, "kept": RUNS_KEPT}


PAGE = Page("/runs", "Runs", Parameters, _values, menu="Runs")
