"""``/inherited``: entities that inherit a tag or a property, with the path of each inheritance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Annotated, Any, Final

from navlin.api.endpoint import ApiRequest
from navlin.console.page import ConsolePage
from navlin.query.inherited import TagOrProperty, inherited

LISTED: Final = 500


@dataclass(frozen=True, slots=True)
class Parameters:
    word: Annotated[str, "A tag, or NAMESPACE.KEY:VALUE, a property."] = ""
    control_flow: Annotated[bool, "Control flow too: filter and join conditions."] = False


def _values(request: ApiRequest) -> Mapping[str, Any]:
    given: Parameters = request.parameters
    if not given.word.strip():
        return {"given": given, "found": None, "more": False}
    origins = inherited(request.solr, TagOrProperty(given.word.strip()), control_flow=given.control_flow)
    found = list(islice(chain.from_iterable(each.inherited for each in origins), LISTED + 1))
    return {"given": given, "found": found[:LISTED], "more": len(found) > LISTED}


PAGE = ConsolePage("/inherited", "Inherited tags", Parameters, _values, menu="Inherited tags", walks=True)
