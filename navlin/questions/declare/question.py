"""The declaration of a question, from which every door is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Final, Literal

from navlin.access.roles import Role

if TYPE_CHECKING:
    from rich.console import RenderableType

    from navlin.index.editing import Author
    from navlin.index.entity import StoredEntity
    from navlin.index.solr import Solr

JSON: Final = "application/json"
CSV: Final = "text/csv; charset=utf-8"
JSON_LINES: Final = "application/x-ndjson"
HTML: Final = "text/html; charset=utf-8"
Door = Literal["command", "http", "page"]


@dataclass(frozen=True, slots=True)
class Asked:
    """One question with its ``parameters``, an instance of the question's dataclass, its author, and its time.

    ``text`` says that people read the answer, and not a program. ``status`` is the state of the service around the index, as
    JSON. ``progress`` is told how much is done, of how much (0: unknown), in which unit. ``here`` is true on the machine of
    the index itself, where no service has to be protected; ``deleted_files``, whether purges remove deleted files.
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
        """The time of the question, in epoch ms."""
        return self.author.now_ms

    def entity(self) -> StoredEntity:
        """The entity that the parameter ``entity`` names. Raises `Refusal` if none or several have that name."""
        from navlin.query.names import entity_named

        return entity_named(self.solr, self.parameters.entity)

    def entity_id(self) -> str:
        """The id of that entity."""
        return self.entity().id

    def query(self) -> str:
        """The given query, or the one saved under the given name. Raises `Refusal`."""
        from navlin.query.saved import query_or_saved

        given = self.parameters
        return query_or_saved(
            self.solr, given.query, given.saved, self.author.name, administrator=self.administrator
        )


@dataclass(frozen=True, slots=True)
class Lines:
    """An answer as lines, of CSV or another form, sent as they come. ``exit_code`` is asked after the last line: the command
    ends with it. ``headers`` go with the answer over HTTP."""

    lines: Iterator[bytes]
    media_type: str = CSV
    exit_code: Callable[[], int] = lambda: 0
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Views:
    """An answer for people that comes in parts, shown one after the other; ``exit_code`` as of `Lines`."""

    views: Iterator[RenderableType]
    exit_code: Callable[[], int]


@dataclass(frozen=True, slots=True)
class ListPage:
    """The page of a question that answers with a `navlin.query.page.Page`, or holds one as ``listed``: a form of its
    parameters, and the template of the question's name. ``beside`` makes further values for the template."""

    title: str
    menu: str = ""
    path: str = ""
    beside: Callable[[Asked], Mapping[str, Any]] = lambda asked: {}


@dataclass(frozen=True, slots=True)
class Group:
    """Several questions that share the first word of their commands, and an address."""

    summary: str
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """``ask`` returns a mapping, an object with ``to_json``, or `Lines` or `Views`; it raises `Refusal`.

    ``answers`` names the class of the answer, whose ``to_json`` describes the JSON; ``view`` the function that makes text of
    it for people, "" for an answer that is only streamed. Both are ``module:name``, loaded when they are needed. ``without``
    gives the reason for each door that is missing.
    """

    name: str
    """The words of its command. The first word is its address below the API's root."""
    summary: str
    parameters: type[Any]
    ask: Callable[[Asked], Any]
    about: str
    """The text of ``--help``."""
    examples: tuple[str, ...]
    answers: str = ""
    view: str = ""
    group: Group | None = None
    role: Role = Role.LINEAGE_VIEWER
    method: Literal["GET", "POST", "DELETE"] = "GET"
    walks: bool = False
    """Walks the graph, or reads all of it: one answer keeps a processor busy."""
    most_bytes: int = 0
    """Largest body in bytes; 0 for the usual bound."""
    of_service: bool = False
    """Needs the state of the service, and so the whole configuration."""
    job: bool = False
    """A job of the daemon: ``ask`` returns the arguments of the request."""
    page: ListPage | str | None = None
    """A page of its own, or the path of the page that shows the answer (`navlin.console`)."""
    without: Mapping[Door, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """Its address below the root of the API."""
        return "/" + self.name.partition(" ")[0]

    @property
    def returns(self) -> str:
        """A description of the answer's JSON."""
        if not self.answers:
            return ""
        made = resolve_name(self.answers)
        of_page = "total, offset, limit, truncated, results: " if isinstance(self.page, ListPage) else ""
        return of_page + (getattr(made, "to_json", made).__doc__ or "")

    def load_view(self) -> Callable[[Any], RenderableType] | None:
        """The function that makes text of an answer; None if there is none."""
        return resolve_name(self.view) if self.view else None


def asks(function: str) -> Callable[[Asked], Any]:
    """Return an ``ask`` that calls ``module:function``, loaded on demand, with the index and the parameters by name."""

    def ask(asked: Asked) -> Any:
        given = {each.name: getattr(asked.parameters, each.name) for each in fields(asked.parameters)}
        return resolve_name(function)(asked.solr, **given)

    return ask


def to_json(answer: Any) -> Any:
    """An answer as plain JSON."""
    return answer if isinstance(answer, Mapping) else answer.to_json()


def exit_code(answer: Mapping[str, Any]) -> int:
    """The exit code of the command that prints this JSON: 1 if a person should look, 3 if nothing was found."""
    if answer.get("failing") or answer.get("refused") or answer.get("space", {}).get("short"):
        return 1
    return 3 if answer.get("total", answer.get("entities", 1)) == 0 else 0
