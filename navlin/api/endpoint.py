"""One address of the API: who may use it, what it takes, what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from rich.console import RenderableType

from navlin.access.roles import Role
from navlin.access.store import User
from navlin.api.bodies import SMALL_BYTES
from navlin.api.json_bounds import MOST_VALUES
from navlin.api.service import Service
from navlin.index.editing import Author
from navlin.index.solr import Solr


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, read and allowed."""

    service: Service
    solr: Solr
    user: User
    parameters: Any
    """An instance of the endpoint's ``parameters``."""
    csrf: str = ""
    """What a page sends along when it writes (`navlin.access.gate.Caller.csrf`)."""
    body: Any = None
    """The JSON that was sent, for an endpoint that takes it as it is; or the pairs of a form."""

    def author(self) -> Author:
        """Who edits by this request."""
        return Author(self.user.name, self.service.now_ms())


@dataclass(frozen=True, slots=True)
class Endpoint:
    """``path`` is below the root of the API; ``parameters`` is a dataclass (`navlin.api.parameters`), in the query string of
    a GET or DELETE, in the path where that names it, in the JSON body of a POST. ``answer`` returns what ``form`` makes
    plain JSON of and ``view`` what people read, or pieces of JSON text or a `Table` of CSV, which are sent as they come."""

    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    role: Role
    summary: str
    parameters: type[Any]
    answer: Callable[[Asked], Any]
    status: int = 200
    """Of an answer that is given."""
    returns: str = ""
    """What the answer has, for the OpenAPI document."""
    form: Callable[[Any], Any] = lambda answer: answer
    view: Callable[[Any], RenderableType] | None = None
    """None if it has no form for people."""
    lenient: bool = False
    """Takes parameters as Navigator did (`navlin.api.parameters.from_both`)."""
    logged: str = ""
    """What the log calls a request; "" for what it calls all that want this role."""
    takes_body: bool = False
    """Takes the JSON of the body as it is, beside parameters in the path and the query string."""
    takes_pairs: bool = False
    """Takes the names and values of the query string and of a form as they are, as a list, beside parameters in the path."""
    takes_form: bool = False
    """Takes its parameters from a form, as a page sends them."""
    most_bytes: int = SMALL_BYTES
    """Of a body; nothing is read of whoever lacks the role."""
    most_values: int = MOST_VALUES
    """Of its JSON."""
    walks: bool = False
    """Walks the graph, or goes over all of it: one answer keeps a processor busy, and few are given at the same time."""
    writes: bool = False
    """Writes, though whoever may ask may do it: the log says who did."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """No parameters."""
