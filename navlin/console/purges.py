"""``/purges``: current and past purges, and the form for the preview of a new purge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from navlin.access.roles import Role
from navlin.api.endpoint import ApiRequest
from navlin.console.page import ConsolePage
from navlin.console.pages import ROWS_A_PAGE, paged
from navlin.query.purges import purges
from navlin.query.usage_status import DAY_MS


@dataclass(frozen=True, slots=True)
class Parameters:
    page: Annotated[int, "Which page.", range(1, 400)] = 1


def _values(request: ApiRequest) -> Mapping[str, Any]:
    given: Parameters = request.parameters
    found = purges(request.solr, limit=ROWS_A_PAGE, offset=(given.page - 1) * ROWS_A_PAGE)
    oldest = datetime.fromtimestamp(
        (request.service.now_ms() - request.service.purges_after_days * DAY_MS) / 1_000, UTC
    )
    return {
        "runs": request.service.daemon_runs(),
        "open": found.open,
        **paged(given, found.listed),
        "days": request.service.purges_after_days,
        "oldest": f"{oldest:%Y-%m-%d}",
        "today": f"{datetime.fromtimestamp(request.service.now_ms() / 1_000, UTC):%Y-%m-%d}",
    }


PAGE = ConsolePage("/purges", "Purge", Parameters, _values, Role.ADMINISTRATOR, menu="Purge")
