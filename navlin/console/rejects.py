"""``/rejects``: records that could not be parsed, with place and reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from navlin.api.endpoint import Asked
from navlin.console.page import Page
from navlin.console.pages import listed
from navlin.query.rejects import rejects


@dataclass(frozen=True, slots=True)
class Parameters:
    source: Annotated[str, "Only of the source of this name."] = ""
    page: Annotated[int, "Which page.", range(1, 1_000)] = 1


def _values(asked: Asked) -> Mapping[str, Any]:
    given: Parameters = asked.parameters
    return listed(
        given, lambda limit, offset: rejects(asked.solr, source=given.source, limit=limit, offset=offset)
    )


PAGE = Page("/rejects", "Rejects", Parameters, _values, menu="Rejects")
