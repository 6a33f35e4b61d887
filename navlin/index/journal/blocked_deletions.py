"""Deletions of a run that await review, as paths in the tree of the run's source."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from navlin.index.graph.entity import CORE, StoredEntity
from navlin.index.graph.state import count_stored
from navlin.index.journal.runs import MISSING, position_id
from navlin.index.schema.fields import ELEMENTS, RUNS
from navlin.index.schema.stored_form import tree_path_of
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr


def blocked_places(solr: Solr, source_id: str, run_id: str) -> tuple[str, ...]:
    """Return the topmost tree paths whose deletion by this run awaits review, sorted. Accepting the deletion flags
    everything at and below these paths deleted."""
    for document in solr.get(RUNS, [position_id(source_id, MISSING)]):
        remembered = orjson.loads(document["body"])
        if remembered["held_run"] == run_id:
            return tuple(sorted(remembered["shown"]))
    return ()


def entities_at(solr: Solr, source_id: str, places: Sequence[str]) -> dict[str, StoredEntity]:
    """Return tree path → live entity, for a small number of ``places``, which are tree paths."""
    if not places:
        return {}
    # The tree path of a file is not stored, because it follows from the file's path.
    clauses = [f"treePath:{q.phrase(each)}" for each in places]
    clauses += [f"fileSystemPath:{q.phrase(each.replace('%25', '%'))}" for each in places]
    filters = [q.term("sourceId", source_id), "deleted:false"]
    fields, rows = f"{CORE},treePath", 2 * len(places)
    documents, _ = solr.page(ELEMENTS, " ".join(clauses), fields, filters=filters, rows=rows)
    return {tree_path_of(document): StoredEntity.of(document) for document in documents}


def count_below(solr: Solr, source_id: str, place: str) -> int:
    """Count a source's live entities at and below a tree path."""
    return count_stored(solr, ELEMENTS, source_id, live=True, below=[place])
