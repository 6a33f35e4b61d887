"""Declaration of a question. The command, the HTTP endpoint and the page are generated from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, Literal

from navlin.access.roles import Role

if TYPE_CHECKING:
    from rich.console import RenderableType

    from navlin.index.graph.entity import StoredEntity
    from navlin.index.people.editing import Author
    from navlin.index.solr.solr import Solr

JSON: Final = "application/json"
CSV: Final = "text/csv; charset=utf-8"
JSON_LINES: Final = "application/x-ndjson"
HTML: Final = "text/html; charset=utf-8"
Interface = Literal["command", "http", "page"]


@dataclass(frozen=True, slots=True)
class QuestionRequest:
    """One request to answer a question. ``parameters`` is an instance of the question's dataclass; ``author`` has the
    user and the time.

    ``text`` is True if the answer is read by people, not by a program. ``here`` is True on the machine of the index,
    where no service has to be protected. ``deleted_files`` is True if purges remove deleted files. ``status`` returns
    the state of the service as JSON. ``progress`` is called with the number done, the total (0: unknown), and the unit.
    """

    solr: Solr
    parameters: Any
    author: Author
    administrator: bool
    text: bool = False
    here: bool = False
    deleted_files: bool = True
    status: Callable[[], Mapping[str, Any]] = dict
    progress: Callable[[int, int, str], None] = lambda done, every, unit: None

    @property
    def now_ms(self) -> int:
        """Time of the request, in epoch ms."""
        return self.author.now_ms

    def entity(self) -> StoredEntity:
        """Return the entity that the parameter ``entity`` names. Raises `Refusal` if no entity, or more than one, has
        this name."""
        from navlin.query.names import entity_named

        return entity_named(self.solr, self.parameters.entity)

    def entity_id(self) -> str:
        """Return the id of the entity that the parameter ``entity`` names. Raises `Refusal`."""
        return self.entity().id

    def query(self) -> str:
        """Return the given query, or the query saved under the given name. Raises `Refusal`."""
        from navlin.query.saved import query_or_saved

        given = self.parameters
        return query_or_saved(
            self.solr, given.query, given.saved, self.author.name, administrator=self.administrator
        )


@dataclass(frozen=True, slots=True)
class Lines:
    """An answer that is streamed as lines, of CSV or another format. ``exit_code`` is called after the last line, and
    returns the exit code of the command. ``headers`` are additional HTTP headers."""

    lines: Iterator[bytes]
    media_type: str = CSV
    exit_code: Callable[[], int] = lambda: 0
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Views:
    """An answer for people in several parts, shown one after the other. ``exit_code`` is called after the last part,
    and returns the exit code of the command."""

    views: Iterator[RenderableType]
    exit_code: Callable[[], int]


@dataclass(frozen=True, slots=True)
class ListPage:
    """Page of a question whose answer is a `navlin.query.page.Page`, or has one as ``listed``. The page has a form for
    the parameters, and uses the template with the question's name. ``beside`` returns further values for the
    template."""

    title: str
    menu: str = ""
    path: str = ""
    beside: Callable[[QuestionRequest], Mapping[str, Any]] = lambda request: {}


@dataclass(frozen=True, slots=True)
class QuestionGroup:
    """Several questions that share the first word of their commands, and a URL path."""

    summary: str
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Declaration of one question. ``ask`` returns a mapping, an object with ``to_json``, `Lines` or `Views`; it may
    raise `Refusal`.

    ``answers`` names the class of the answer, or the function that streams the answer. Users see the docstring of the
    class's ``to_json``, or of the function, as the description of the JSON. ``view`` names the function that renders
    the answer for people, "" for an answer that is only streamed. Both are ``module:name``, loaded when needed.
    ``without`` maps each interface that the question lacks (command, HTTP, page) to the reason.
    """

    name: str
    """Words of the command. The first word is also the URL path below the API's root."""
    summary: str
    parameters: type[Any]
    ask: Callable[[QuestionRequest], Any]
    about: str
    """Text of ``--help``."""
    examples: tuple[str, ...]
    answers: str = ""
    view: str = ""
    group: QuestionGroup | None = None
    role: Role = Role.LINEAGE_VIEWER
    method: Literal["GET", "POST", "DELETE"] = "GET"
    walks: bool = False
    """Whether the question walks or reads the whole graph, which keeps a processor busy."""
    most_bytes: int = 0
    """Maximum size of a request body in bytes; 0 for the default maximum."""
    of_service: bool = False
    """Whether the question needs the state of the service, and so the whole configuration."""
    job: bool = False
    """Whether the daemon runs the question as a job. If so, ``ask`` returns the arguments of the job."""
    page: ListPage | str | None = None
    """The question's own page, or the path of the page that shows the answer (`navlin.console`)."""
    without: Mapping[Interface, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """URL path below the root of the API."""
        return "/" + self.name.partition(" ")[0]

    @property
    def returns(self) -> str:
        """Description of the answer's JSON for users; "" if there is none."""
        if not self.answers:
            return ""
        made = resolve_name(self.answers)
        of_page = "total, offset, limit, truncated, results: " if isinstance(self.page, ListPage) else ""
        return of_page + (getattr(made, "to_json", made).__doc__ or "")

    def load_view(self) -> Callable[[Any], RenderableType] | None:
        """Return the function that renders an answer for people; None if there is none."""
        return resolve_name(self.view) if self.view else None


def asks(function: str) -> Callable[[QuestionRequest], Any]:
    """Return an ``ask`` that calls ``module:function``, loaded on demand, with the Solr client, and the parameters as
    keyword arguments. A parameter ``entity`` is passed as the id of the entity that it names."""

    def ask(request: QuestionRequest) -> Any:
        given = {each.name: getattr(request.parameters, each.name) for each in fields(request.parameters)}
        if "entity" in given:
            given["entity"] = request.entity_id()
        return resolve_name(function)(request.solr, **given)

    return ask


def to_json(answer: Any) -> Any:
    """Return an answer as plain JSON."""
    return answer if isinstance(answer, Mapping) else answer.to_json()


def exit_code(answer: Mapping[str, Any]) -> int:
    """Return the exit code of the command that prints this JSON: 1 if a person should look, 3 if nothing was found,
    else 0."""
    if answer.get("failing") or answer.get("refused") or answer.get("space", {}).get("short"):
        return 1
    return 3 if answer.get("total", answer.get("entities", 1)) == 0 else 0
