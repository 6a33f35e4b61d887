"""Saved searches in ``nav_edits``: queries that users save under a name, private or shared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from navlin.index.schema.fields import EDITS, date_ms, solr_date
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr

SAVED: Final = "saved"
"""The ``kind`` of the documents of saved searches."""


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A named query. The name is unique among the searches of its ``owner``. ``changed_ms`` is epoch ms."""

    owner: str
    name: str
    query: str
    shared: bool
    changed_by: str
    changed_ms: int
    version: int = field(default=-1, compare=False)
    """The ``_version_`` that was read; -1 for a new search."""

    @property
    def full_name(self) -> str:
        """``owner/name``, which is unique among the searches of all owners."""
        return f"{self.owner}/{self.name}"

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object: owner, name, query, shared, changedBy, changed (a date)."""
        return {
            "owner": self.owner,
            "name": self.name,
            "query": self.query,
            "shared": self.shared,
            "changedBy": self.changed_by,
            "changed": solr_date(self.changed_ms),
        }


def saved_searches(solr: Solr) -> list[SavedSearch]:
    """Return the searches of all owners, sorted by owner and name."""
    found = solr.cursor(EDITS, q.EVERYTHING, "*", filters=[q.term("kind", SAVED)])
    return sorted(map(_saved, found), key=lambda each: (each.owner, each.name))


def saved_search(solr: Solr, owner: str, name: str) -> SavedSearch | None:
    """Return the current state of a search; None if it does not exist."""
    for document in solr.get(EDITS, [_identity(owner, name)]):
        return _saved(document)
    return None


def write_saved_search(solr: Solr, search: SavedSearch) -> bool:
    """Write a search in place of the version that was read, with immediate effect. Return False if somebody has changed
    the search since."""
    document = {
        "identity": _identity(search.owner, search.name),
        "kind": SAVED,
        "entity_s": search.name,
        "lastModified": solr_date(search.changed_ms),
        "lastModifiedBy": search.changed_by,
        "body": orjson.dumps(
            {"owner": search.owner, "query": search.query, "shared": search.shared}
        ).decode(),
        "_version_": search.version,
    }
    added = solr.add_all(EDITS, [document])
    solr.commit(EDITS, soft=True)
    return not added.conflicts


def remove_saved_search(solr: Solr, search: SavedSearch) -> bool:
    """Remove a search that was read. Return False if somebody has changed the search since."""
    stayed = solr.delete_versions(EDITS, {_identity(search.owner, search.name): search.version})
    solr.commit(EDITS, soft=True)
    return not stayed


def _identity(owner: str, name: str) -> str:
    return f"{SAVED}:{owner}/{name}"


def _saved(document: Mapping[str, Any]) -> SavedSearch:
    body = orjson.loads(document["body"])
    return SavedSearch(
        body["owner"],
        document["entity_s"],
        body["query"],
        body["shared"],
        document["lastModifiedBy"],
        date_ms(document["lastModified"]),
        int(document["_version_"]),
    )
