"""``saved``: list, add and remove saved searches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from navlin.questions.declare.parameters import Typed
from navlin.questions.declare.question import Question, QuestionGroup, QuestionRequest
from navlin.questions.declare.shared import Nothing, Query

if TYPE_CHECKING:
    from navlin.edit.saved_searches import Asker
    from navlin.index.people.saved_searches import SavedSearch
    from navlin.query.saved import SavedSearches

GROUP: Final = QuestionGroup(
    "Saved searches.",
    """
    Searches with a name, for yourself or for all users. `navlin search --saved NAME` and `navlin count --saved NAME` run
    them.

    Only its owner or an administrator may change or remove a search. On the machine of the index, you are an
    administrator.
    """,
)
Name = Annotated[str, "The name, unique among your searches.", Typed(first=True)]
Owner = Annotated[str, "Owner of the search, if not you; for administrators."]


@dataclass(frozen=True, slots=True)
class AddParameters:
    """Parameters of ``saved add``."""

    name: Name
    query: Query
    shared: Annotated[bool, "Share with all users."] = False
    replace: Annotated[bool, "Replace an existing search with that name."] = False
    owner: Owner = ""


@dataclass(frozen=True, slots=True)
class RemoveParameters:
    """Parameters of ``saved remove``."""

    name: Name
    owner: Owner = ""


def _list(request: QuestionRequest) -> SavedSearches:
    from navlin.query.saved import searches_of

    return searches_of(request.solr, request.author.name, administrator=request.administrator)


def _add(request: QuestionRequest) -> SavedSearch:
    from navlin.edit.saved_searches import save_search
    from navlin.query.saved import check_query

    given: AddParameters = request.parameters
    check_query(request.solr, given.query)
    return save_search(
        request.solr,
        _asker(request),
        given.name,
        given.query,
        owner=given.owner,
        shared=given.shared,
        replace=given.replace,
    )


def _remove(request: QuestionRequest) -> SavedSearch:
    from navlin.edit.saved_searches import remove_search

    given: RemoveParameters = request.parameters
    return remove_search(request.solr, _asker(request), given.name, owner=given.owner)


def _asker(request: QuestionRequest) -> Asker:
    from navlin.edit.saved_searches import Asker

    return Asker(request.author, request.administrator)


LIST = Question(
    name="saved list",
    group=GROUP,
    summary="Your saved searches, and those that others share.",
    about="Your own, and those that others share. On the machine of the index, all are listed.",
    examples=("navlin saved list", "navlin saved list --json"),
    parameters=Nothing,
    ask=_list,
    answers="navlin.query.saved:SavedSearches",
    view="navlin.render.saved:saved_view",
    page="/search",
)
ADD = Question(
    name="saved add",
    group=GROUP,
    summary="Save a search under a name.",
    about="Save QUERY under NAME. An invalid query is refused.",
    examples=(
        "navlin saved add 'personal data' 'type:FIELD AND tags:pii'",
        "navlin saved add big 'type:FILE AND size:[1000000000 TO *]' --shared --replace",
    ),
    parameters=AddParameters,
    ask=_add,
    answers="navlin.index.people.saved_searches:SavedSearch",
    view="navlin.render.saved:saved_one_view",
    method="POST",
    page="/saved",
)
REMOVE = Question(
    name="saved remove",
    group=GROUP,
    summary="Remove a saved search.",
    about="Remove the saved search NAME.",
    examples=("navlin saved remove big", "navlin saved remove big --owner ann"),
    parameters=RemoveParameters,
    ask=_remove,
    answers="navlin.index.people.saved_searches:SavedSearch",
    view="navlin.render.saved:removed_view",
    method="DELETE",
    page="/saved",
)
