"""Relations that lack an end, with the time and the reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from navlin.index.graph.graph import Graph
from navlin.index.graph.relation import End, StoredRelation
from navlin.index.graph.unlinked import UNKNOWN_REASON, unlinked_relations
from navlin.index.solr.solr import Solr
from navlin.query.bounds import LIMIT
from navlin.query.data_ends import FlowEnds, data_ends
from navlin.query.page import Page, source_ids_of, sources_by_id


@dataclass(frozen=True, slots=True)
class UnlinkedRelation:
    """A relation that waits for an end: the end is not in the index, or the linker has not looked yet. ``stated_by`` is
    the name of the source that states the relation; ``ends`` are the data on both sides, and the statement between, for
    people."""

    relation: StoredRelation
    stated_by: str
    ends: FlowEnds

    @property
    def reason(self) -> str:
        """The reason that the linker states; `UNKNOWN_REASON` if it has not looked yet."""
        return self.relation.unlinked_reason or UNKNOWN_REASON

    def to_json(self) -> dict[str, Any]:
        """id, type, source and target (id, name, type, sourceType), statedBy, reason, since (a date, null if the linker has
        not looked yet)."""
        return {
            "id": self.relation.id,
            "type": self.relation.type,
            "source": _end(self.relation.ep1),
            "target": _end(self.relation.ep2),
            "statedBy": self.stated_by,
            "reason": self.reason,
            "since": self.relation.unlinked_since or None,
        }


def _end(end: End) -> dict[str, str]:
    return {"id": end.id, "name": end.name, "type": end.type, "sourceType": end.source_type}


def unlinked(
    solr: Solr, *, source: str = "", reason: str = "", limit: int = LIMIT, offset: int = 0
) -> Page[UnlinkedRelation]:
    """Return live relations that lack an end. Those that the linker found unlinked most recently come first, those at
    which it has not looked last. With ``source``, only those stated by the source with this name; with ``reason``, only
    those unlinked for this reason (as ``navlin status`` shows it). Raises `UnknownSource`."""
    names = sources_by_id(solr)
    found, total = unlinked_relations(solr, source_ids_of(names, source), reason, limit, offset)
    ends = data_ends(Graph(solr), found)
    results = tuple(
        UnlinkedRelation(each, names.get(each.writer, each.writer), between)
        for each, between in zip(found, ends, strict=True)
    )
    return Page(results, total, offset, limit)
