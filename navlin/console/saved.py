"""``/saved``: saves a search under a name, or removes a saved search, for the forms next to a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from navlin.api.answers import HttpError, Redirect
from navlin.api.endpoint import ApiRequest
from navlin.console.page import ConsolePage
from navlin.questions.saved import ADD, REMOVE, AddParameters, RemoveParameters


@dataclass(frozen=True, slots=True)
class Parameters:
    name: Annotated[str, "The name."] = ""
    query: Annotated[str, "The query to save."] = ""
    shared: Annotated[bool, "Share with all users."] = False
    remove: Annotated[str, "OWNER/NAME of the search to remove."] = ""


def _answer(request: ApiRequest) -> Redirect:
    given: Parameters = request.parameters
    if given.remove:
        owner, _, name = given.remove.partition("/")
        REMOVE.ask(request.question(RemoveParameters(name, owner)))
    elif not given.name.strip() or not given.query.strip():
        raise HttpError(400, "give a name and a query to save a search")
    else:
        ADD.ask(request.question(AddParameters(given.name.strip(), given.query, given.shared)))
    return Redirect("/search?" + urlencode({"query": given.query}))


PAGE = ConsolePage("/saved", "Saved searches", Parameters, _answer, method="POST")
