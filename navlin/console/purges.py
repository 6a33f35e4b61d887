"""``/purges``: current and past purges; and the form for the preview of a purge, which comes first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from navlin.access.roles import Role
from navlin.api.endpoint import Asked
from navlin.console.page import Page
from navlin.console.pages import ROWS_A_PAGE
from navlin.query.judged import DAY_MS
from navlin.query.purges import open_purges, past_purges


@dataclass(frozen=True, slots=True)
class Parameters:
    page: Annotated[int, "Which page.", range(1, 400)] = 1


def _values(asked: Asked) -> Mapping[str, Any]:
    given: Parameters = asked.parameters
    first = (given.page - 1) * ROWS_A_PAGE
    past = past_purges(asked.solr, ROWS_A_PAGE + 1, first)
    before = datetime.fromtimestamp(
        (asked.service.now_ms() - asked.service.purges_after_days * DAY_MS) / 1_000, UTC
    )
    return {
        "runs": asked.service.daemon_runs(),
        "open": open_purges(asked.solr),
        "past": past[:ROWS_A_PAGE],
        "newer": given.page - 1,
        "older": given.page + 1 if len(past) > ROWS_A_PAGE else 0,
        "days": asked.service.purges_after_days,
        "before": f"{before:%Y-%m-%d}",
        "today": f"{datetime.fromtimestamp(asked.service.now_ms() / 1_000, UTC):%Y-%m-%d}",
    }


PAGE = Page("/purges", "Purge", Parameters, _values, Role.ADMINISTRATOR, menu="Purge")
