"""The saved searches visible to a user: their own, and shared ones."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

from navlin.index.people.saved_searches import SavedSearch, saved_searches
from navlin.index.solr.solr import Solr
from navlin.model.refusal import Refusal
from navlin.query.scanner import QueryError
from navlin.query.search import search


class UnknownSearch(Refusal):
    """No saved search visible to this user has this name, or several searches have this name."""

    status = 404


@dataclass(frozen=True, slots=True)
class SavedSearches:
    """Saved searches, sorted by owner and name."""

    searches: tuple[SavedSearch, ...]

    def to_json(self) -> dict[str, Any]:
        """total, results (owner, name, query, shared, changedBy, changed)."""
        return {"total": len(self.searches), "results": [each.to_json() for each in self.searches]}


def searches_of(solr: Solr, user: str, *, administrator: bool) -> SavedSearches:
    """Return the searches visible to a user; an administrator sees all."""
    every = saved_searches(solr)
    return SavedSearches(tuple(each for each in every if administrator or each.shared or each.owner == user))


def query_named(solr: Solr, name: str, user: str, *, administrator: bool) -> str:
    """Return the query that a user means by ``NAME`` (the user's own search, else the only search of that name) or by
    ``OWNER/NAME``. Raises `UnknownSearch`."""
    seen = searches_of(solr, user, administrator=administrator).searches
    found = [each for each in seen if name in (each.name, each.full_name)]
    own = [each for each in found if each.owner == user]
    if len(own or found) == 1:
        return (own or found)[0].query
    if found:
        names = ", ".join(each.full_name for each in found)
        raise UnknownSearch(f"{name!r:.100} may be any of {names}")
    near = difflib.get_close_matches(name, [each.name for each in seen], n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise UnknownSearch(f"there is no saved search {name!r:.100}{hint}")


def query_or_saved(solr: Solr, query: str, saved: str, user: str, *, administrator: bool) -> str:
    """Return ``query``, or the query saved under the name ``saved``. Raises `Refusal` unless exactly one of the two is
    given, and `UnknownSearch`."""
    if bool(query) == bool(saved):
        raise Refusal("give either query or saved")
    return query or query_named(solr, saved, user, administrator=administrator)


def check_query(solr: Solr, query: str) -> None:
    """Raise `QueryError` if a query fails, because it is empty, does not parse, names an unknown field, or takes too
    long."""
    if not query.strip():
        raise QueryError("the query is empty")
    search(solr, query, limit=0)
