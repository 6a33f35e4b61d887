"""``/incomplete``: of which operations something is not known, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from navlin.api.endpoint import Asked
from navlin.console.page import Page
from navlin.console.pages import listed
from navlin.index.incomplete import incomplete_counts
from navlin.query.incomplete import incomplete


@dataclass(frozen=True, slots=True)
class Parameters:
    """Which of them."""

    source: Annotated[str, "Only of the source of this name."] = ""
    reason: Annotated[str, "Only for this reason."] = ""
    page: Annotated[int, "Which page.", range(1, 1_000)] = 1


def _values(asked: Asked) -> Mapping[str, Any]:
    given: Parameters = asked.parameters
    return {
        **listed(
            given,
            lambda limit, offset: incomplete(
                asked.solr, source=given.source, reason=given.reason, limit=limit, offset=offset
            ),
        ),
        "counts": incomplete_counts(asked.solr),
    }


PAGE = Page("/incomplete", "Incomplete operations", Parameters, _values, menu="Incomplete")
