"""``/inherited``: entities that inherit a tag or a property, with the path of each inheritance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Annotated, Any, Final

from navlin.api.endpoint import Asked
from navlin.console.page import Page
from navlin.query.inherited import Word, inherited

LISTED: Final = 500


@dataclass(frozen=True, slots=True)
class Parameters:
    word: Annotated[str, "A tag, or NAMESPACE.KEY:VALUE, a property."] = ""
    control_flow: Annotated[bool, "Control flow too: filter and join conditions."] = False


def _values(asked: Asked) -> Mapping[str, Any]:
    given: Parameters = asked.parameters
    if not given.word.strip():
        return {"given": given, "found": None, "more": False}
    origins = inherited(asked.solr, Word(given.word.strip()), control_flow=given.control_flow)
    found = list(islice(chain.from_iterable(each.inherited for each in origins), LISTED + 1))
    return {"given": given, "found": found[:LISTED], "more": len(found) > LISTED}


PAGE = Page("/inherited", "Inherited tags", Parameters, _values, menu="Inherited", walks=True)
