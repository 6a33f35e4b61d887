"""``/unlinked``: which relations wait for an end, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from navlin.api.endpoint import Asked
from navlin.console.page import Page
from navlin.console.pages import listed
from navlin.index.unlinked import unlinked_counts
from navlin.query.unlinked import unlinked


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
            lambda limit, offset: unlinked(
                asked.solr, source=given.source, reason=given.reason, limit=limit, offset=offset
            ),
        ),
        "counts": unlinked_counts(asked.solr, asked.service.now_ms()),
    }


PAGE = Page("/unlinked", "Unlinked relations", Parameters, _values, menu="Unlinked")
