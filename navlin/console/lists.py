"""Pages of questions whose result is a list: a form with the question's parameters, and one page of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields, make_dataclass
from functools import partial
from typing import Annotated, Any, Final, get_type_hints

from navlin.api.endpoint import ApiRequest
from navlin.console.page import ConsolePage
from navlin.console.pages import ROWS_A_PAGE, paged
from navlin.query.bounds import MOST_OFFSET
from navlin.questions.declare.parameters import FORMS, parameters_of
from navlin.questions.declare.question import ListPage, Question

_OF_DOORS: Final = frozenset({"limit", "offset", *FORMS})
"""Parameters of a question that its page lacks: a page number replaces limit and offset, and the format is HTML."""
PAGES: Final = MOST_OFFSET // ROWS_A_PAGE + 1


def list_page(question: Question) -> ConsolePage:
    """Return the page that a question declares."""
    assert isinstance(question.page, ListPage)
    path = question.page.path or question.path
    return ConsolePage(
        path,
        question.page.title,
        _parameters(question.parameters),
        partial(_values, question),
        question.role,
        question.page.menu,
        walks=question.walks,
    )


def _parameters(cls: type[Any]) -> type[Any]:
    """Return the page's parameter class, made from the question's parameter class."""
    hints = get_type_hints(cls, include_extras=True)
    own = [
        (each.name, hints[each.name], field(default=each.default))
        for each in fields(cls)
        if each.name not in _OF_DOORS
    ]
    number = ("page", Annotated[int, "The number of the page.", range(1, PAGES + 1)], field(default=1))
    return make_dataclass(cls.__name__, [*own, number], frozen=True)


def _values(question: Question, request: ApiRequest) -> Mapping[str, Any]:
    given, page = request.parameters, question.page
    assert isinstance(page, ListPage)
    form = [each for each in parameters_of(question.parameters) if each.name not in _OF_DOORS]
    chosen = {each.name: getattr(given, each.name) for each in form}
    rows = {"limit": ROWS_A_PAGE, "offset": (given.page - 1) * ROWS_A_PAGE}
    put = request.question(question.parameters(**chosen, **rows))
    answer = question.ask(put)
    return {
        **paged(given, getattr(answer, "listed", answer)),
        "answer": answer,
        "form": form,
        "path": page.path or question.path,
        **page.beside(put),
    }
