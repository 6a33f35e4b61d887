"""``/saved``: listing, saving and removing searches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

from navlin.access.roles import Role
from navlin.api.answers import Problem
from navlin.api.endpoint import Asked, Endpoint, Nothing
from navlin.edit.saved_searches import Asker, NameTaken, NotSaved, NotYours, remove_search, save_search
from navlin.edit.values import BadValue
from navlin.index.saved_searches import SavedSearch
from navlin.query.saved import SavedSearches, check_query, searches_of
from navlin.query.scanner import QueryError
from navlin.render.saved import removed_view, saved_one_view, saved_view


@dataclass(frozen=True, slots=True)
class AddParameters:
    """Parameters like the options of ``navlin saved add``."""

    name: Annotated[str, "The name, unique among one's own."]
    query: Annotated[str, "Solr's syntax, as users of Navigator typed it."]
    shared: Annotated[bool, "Everybody sees it."] = False
    replace: Annotated[bool, "Over one of that name, if there is one."] = False
    owner: Annotated[str, "Another owner, for administrators."] = ""


@dataclass(frozen=True, slots=True)
class RemoveParameters:
    """Parameters like the options of ``navlin saved remove``."""

    name: Annotated[str, "The name."]
    owner: Annotated[str, "Another owner, for administrators."] = ""


def _list(asked: Asked) -> SavedSearches:
    return searches_of(asked.solr, asked.user.name, administrator=asked.user.role is Role.ADMINISTRATOR)


def add(
    asked: Asked, name: str, query: str, *, shared: bool, owner: str = "", replace: bool = False
) -> SavedSearch:
    """Saves a search for the caller, or for another owner. Raises `Problem`."""
    with _problems():
        check_query(asked.solr, query)
        return save_search(
            asked.solr, _asker(asked), name, query, owner=owner, shared=shared, replace=replace
        )


def remove(asked: Asked, name: str, owner: str = "") -> SavedSearch:
    """Removes a saved search. Raises `Problem`."""
    with _problems():
        return remove_search(asked.solr, _asker(asked), name, owner=owner)


def _add(asked: Asked) -> SavedSearch:
    given: AddParameters = asked.parameters
    return add(asked, given.name, given.query, shared=given.shared, owner=given.owner, replace=given.replace)


def _remove(asked: Asked) -> SavedSearch:
    given: RemoveParameters = asked.parameters
    return remove(asked, given.name, given.owner)


def _asker(asked: Asked) -> Asker:
    return Asker(asked.author(), asked.user.role is Role.ADMINISTRATOR)


@contextmanager
def _problems() -> Iterator[None]:
    try:
        yield
    except (BadValue, QueryError) as error:
        raise Problem(400, str(error)) from error
    except NotYours as error:
        raise Problem(403, str(error)) from error
    except NotSaved as error:
        raise Problem(404, str(error)) from error
    except NameTaken as error:
        raise Problem(409, str(error)) from error


LIST = Endpoint(
    "GET",
    "/saved",
    Role.LINEAGE_VIEWER,
    "One's own saved searches, and those that others share.",
    Nothing,
    _list,
    returns=SavedSearches.to_json.__doc__ or "",
    form=SavedSearches.to_json,
    view=saved_view,
)
ADD = Endpoint(
    "POST",
    "/saved",
    Role.LINEAGE_VIEWER,
    "Save a search under a name.",
    AddParameters,
    _add,
    returns=SavedSearch.to_json.__doc__ or "",
    form=SavedSearch.to_json,
    view=saved_one_view,
    writes=True,
)
REMOVE = Endpoint(
    "DELETE",
    "/saved",
    Role.LINEAGE_VIEWER,
    "Remove a saved search.",
    RemoveParameters,
    _remove,
    returns=SavedSearch.to_json.__doc__ or "",
    form=SavedSearch.to_json,
    view=removed_view,
    writes=True,
)
