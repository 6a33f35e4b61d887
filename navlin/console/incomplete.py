"""``/incomplete``: operations with unknown inputs, outputs or columns, and the reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from navlin.api.endpoint import Asked
from navlin.console.page import Page
from navlin.console.pages import OfReason, listed
from navlin.index.incomplete import incomplete_counts
from navlin.query.incomplete import incomplete


def _values(asked: Asked) -> Mapping[str, Any]:
    given: OfReason = asked.parameters
    return {
        **listed(
            given,
            lambda limit, offset: incomplete(
                asked.solr, source=given.source, reason=given.reason, limit=limit, offset=offset
            ),
        ),
        "counts": incomplete_counts(asked.solr),
    }


PAGE = Page("/incomplete", "Incomplete operations", OfReason, _values, menu="Incomplete")
