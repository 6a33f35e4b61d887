"""An endpoint of the API: its path, role, parameters and response."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from rich.console import RenderableType

from navlin.access.roles import Role
from navlin.access.store import User
from navlin.api.bodies import SMALL_BYTES
from navlin.api.json_bounds import MOST_VALUES
from navlin.api.service import Service
from navlin.index.people.editing import Author
from navlin.index.solr.solr import Solr
from navlin.questions.declare import question as questions


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One request, parsed and authorised."""

    service: Service
    solr: Solr
    user: User
    parameters: Any
    """An instance of the endpoint's ``parameters``."""
    csrf: str = ""
    """Token that a page must send with writes (`navlin.access.authentication.Caller.csrf`)."""
    body: Any = None
    """The parsed JSON of the body (`Endpoint.takes_body`), or the (name, value) pairs of the query string and the form
    (`Endpoint.takes_pairs`); None for other endpoints."""
    text: bool = False
    """Whether the response is requested as text for people."""

    def author(self) -> Author:
        return Author(self.user.name, self.service.now_ms())

    def question(self, parameters: Any) -> questions.QuestionRequest:
        """Return a question with these parameters, asked by the user of this request."""
        administrator = self.user.role is Role.ADMINISTRATOR
        status = partial(self.service.status, self.solr)
        return questions.QuestionRequest(
            self.solr,
            parameters,
            self.author(),
            administrator,
            self.text,
            deleted_files=self.service.purges_deleted_files,
            status=status,
        )


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint of the API. ``path`` is relative to the API root. ``parameters`` is a dataclass
    (`navlin.questions.declare.parameters`): its fields come from the path if the path names them, otherwise from the
    query string (GET, DELETE) or the JSON body (POST). ``answer`` returns either a value, which ``form`` converts to
    plain JSON and ``view`` to human-readable text, or pieces of JSON text or `Lines` of CSV, which are streamed."""

    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    role: Role
    summary: str
    parameters: type[Any]
    answer: Callable[[ApiRequest], Any]
    status: int = 200
    """Status of a successful response."""
    returns: str = ""
    """Contents of the response, for the OpenAPI document."""
    form: Callable[[Any], Any] = lambda answer: answer
    view: Callable[[Any], RenderableType] | None = None
    """Converts the result to text for people; None if the endpoint has no text form."""
    lenient: bool = False
    """Whether parameters are parsed leniently, as in Navigator (`navlin.questions.declare.parameters.from_both`)."""
    logged: str = ""
    """Log event of a request; "" for the default event of its role."""
    takes_body: bool = False
    """Whether the endpoint takes the JSON of the body without parsing parameters from it. Parameters are in the path
    and the query string."""
    takes_pairs: bool = False
    """Whether the endpoint takes the names and values of the query string and of a form, unparsed, as a list.
    Parameters are in the path."""
    takes_form: bool = False
    """Whether the parameters come from a form, as a page sends them."""
    most_bytes: int = SMALL_BYTES
    """Maximum size of a body. The body is not read if the caller lacks the role."""
    most_values: int = MOST_VALUES
    """Maximum number of values in the JSON of the body."""
    walks: bool = False
    """Whether the endpoint walks the graph, or reads all of it. Such a response keeps a processor busy, so few run at
    the same time."""
    writes: bool = False
    """Whether the endpoint writes although its role is one for reading. Such requests are logged."""
