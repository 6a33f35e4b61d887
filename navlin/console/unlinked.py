"""``/unlinked``: relations that lack an end, and the reasons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from navlin.api.endpoint import Asked
from navlin.console.page import Page
from navlin.console.pages import OfReason, listed
from navlin.index.unlinked import unlinked_counts
from navlin.query.unlinked import unlinked


def _values(asked: Asked) -> Mapping[str, Any]:
    given: OfReason = asked.parameters
    return {
        **listed(
            given,
            lambda limit, offset: unlinked(
                asked.solr, source=given.source, reason=given.reason, limit=limit, offset=offset
            ),
        ),
        "counts": unlinked_counts(asked.solr, asked.service.now_ms()),
    }


PAGE = Page("/unlinked", "Unlinked relations", OfReason, _values, menu="Unlinked")
