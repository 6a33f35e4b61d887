"""``/saved``: saves a search under a name, or removes a saved search, for the forms next to a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from navlin.api.answers import Onward, Problem
from navlin.api.endpoint import Asked
from navlin.console.page import Page
from navlin.questions.saved import ADD, REMOVE, Added, Removed


@dataclass(frozen=True, slots=True)
class Parameters:
    name: Annotated[str, "The name."] = ""
    query: Annotated[str, "What is saved."] = ""
    shared: Annotated[bool, "Everybody sees it."] = False
    remove: Annotated[str, "OWNER/NAME of one that goes."] = ""


def _answer(asked: Asked) -> Onward:
    given: Parameters = asked.parameters
    if given.remove:
        owner, _, name = given.remove.partition("/")
        REMOVE.ask(asked.question(Removed(name, owner)))
    elif not given.name.strip() or not given.query.strip():
        raise Problem(400, "give a name and a query to save a search")
    else:
        ADD.ask(asked.question(Added(given.name.strip(), given.query, given.shared)))
    return Onward("/search?" + urlencode({"query": given.query}))


PAGE = Page("/saved", "Saved searches", Parameters, _answer, method="POST")
