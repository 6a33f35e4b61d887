"""Saving and removing of named searches. Users manage their own searches, administrators those of all users.

Every user may save; ``owner`` is the requesting user, unless an administrator names another. A write that replaces a
search carries the `_version_` that was read. If the same new name is saved twice at the same time, one request fails
with `NameTaken`, unless it replaces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from navlin.edit.values import BadValue
from navlin.index.people.editing import Author
from navlin.index.people.saved_searches import (
    SavedSearch,
    remove_saved_search,
    saved_search,
    saved_searches,
    write_saved_search,
)
from navlin.index.solr.solr import Solr
from navlin.index.write.rewriting import ATTEMPTS, TooManyConflicts
from navlin.model.refusal import Refusal

MOST: Final = 500
"""Maximum number of saved searches of one owner."""
QUERY_CHARS: Final = 100_000
_NAME: Final = re.compile(r"\w(?:[\w .,+()-]{0,98}[\w.)+])?")


class NotYours(Refusal):
    """Only the owner or an administrator may change this search."""

    status = 403


class NotSaved(Refusal):
    """The owner has no saved search of this name, or none that this user may see."""

    status = 404


class NameTaken(Refusal):
    """The owner already has a search of this name."""

    status = 409


@dataclass(frozen=True, slots=True)
class Asker:
    """The requesting user and time, and whether the user is an administrator."""

    author: Author
    administrator: bool

    def owner(self, named: str) -> str:
        """Return ``named``, or this user if that is empty. Raises `NotYours` if another user is named without
        permission."""
        if named and named != self.author.name and not self.administrator:
            raise NotYours(f"only {named} or an administrator may do that")
        return named or self.author.name


def save_search(
    solr: Solr, asker: Asker, name: str, query: str, *, owner: str = "", shared: bool, replace: bool
) -> SavedSearch:
    """Save a query that was checked before. Raises `BadValue` for an invalid name, for a query that is too long, or if
    the owner has too many searches; `NameTaken` if the name exists and ``replace`` is false; and `NotYours`."""
    owner = asker.owner(owner)
    if not _NAME.fullmatch(name):
        raise BadValue(
            f"{name!r:.60} cannot be the name of a search: use up to 100 letters, digits, blanks and . , + - ( ) _"
        )
    if len(query) > QUERY_CHARS:
        raise BadValue(f"a saved query may have at most {QUERY_CHARS:,} characters")
    for _ in range(ATTEMPTS):
        there = saved_search(solr, owner, name)
        if there is not None and not replace:
            raise NameTaken(f"{owner} already has a search {name}: replace it, or choose another name")
        if there is None and sum(each.owner == owner for each in saved_searches(solr)) >= MOST:
            raise BadValue(f"{owner} has {MOST} saved searches: remove one first")
        version = -1 if there is None else there.version
        saved = SavedSearch(
            owner, name, query, shared, asker.author.name, asker.author.now_ms, version=version
        )
        if write_saved_search(solr, saved):
            return saved
    raise TooManyConflicts(f"{owner}/{name} kept changing during {ATTEMPTS} attempts to save it")


def remove_search(solr: Solr, asker: Asker, name: str, *, owner: str = "") -> SavedSearch:
    """Remove a saved search, and return it. Raises `NotSaved`, and `NotYours`."""
    owner = asker.owner(owner)
    for _ in range(ATTEMPTS):
        there = saved_search(solr, owner, name)
        if there is None:
            raise NotSaved(f"{owner} has no saved search {name}")
        if remove_saved_search(solr, there):
            return there
    raise TooManyConflicts(f"{owner}/{name} kept changing during {ATTEMPTS} attempts to remove it")
