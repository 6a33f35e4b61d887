"""Operations with unknown inputs, outputs or columns, and the reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from navlin.index.graph.entity import StoredEntity
from navlin.index.graph.graph import Graph
from navlin.index.graph.incomplete import NO_REASON, incomplete_operations
from navlin.index.solr.solr import Solr
from navlin.query.bounds import LIMIT
from navlin.query.page import Page, source_ids_of, sources_by_id
from navlin.query.statement_names import statement_names


@dataclass(frozen=True, slots=True)
class IncompleteOperation:
    """An operation with unknown inputs, outputs or columns. ``source`` is the name of the operation's source."""

    operation: StoredEntity
    title: str
    """Display name."""
    source: str

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reasons why the operation is incomplete; at least one."""
        return self.operation.incomplete_reasons or (NO_REASON,)

    def to_json(self) -> dict[str, Any]:
        """id, name, label (the name for people), source, queryText (null if it has none), reasons."""
        return {
            "id": self.operation.id,
            "name": self.operation.name,
            "label": self.title,
            "source": self.source,
            "queryText": self.operation.query_text or None,
            "reasons": list(self.reasons),
        }


def incomplete(
    solr: Solr, *, source: str = "", reason: str = "", limit: int = LIMIT, offset: int = 0
) -> Page[IncompleteOperation]:
    """Return live operations with unknown inputs, outputs or columns; with ``source``, only those of the source with
    this name; with ``reason``, only those with this reason (as ``navlin status`` shows it). Raises `UnknownSource`."""
    names = sources_by_id(solr)
    found, total = incomplete_operations(solr, source_ids_of(names, source), reason, limit, offset)
    titles = statement_names(Graph(solr), {each.id: each.name for each in found})
    results = tuple(
        IncompleteOperation(each, titles[each.id], names.get(each.source_id, each.source_id))
        for each in found
    )
    return Page(results, total, offset, limit)
