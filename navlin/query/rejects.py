"""Records that could not be parsed, with place and reason."""

from __future__ import annotations

from navlin.index.journal.rejects import Rejected, rejected
from navlin.index.solr.solr import Solr
from navlin.query.bounds import LIMIT
from navlin.query.page import Page, source_ids_of, sources_by_id


def rejects(solr: Solr, *, source: str = "", limit: int = LIMIT, offset: int = 0) -> Page[Rejected]:
    """Return the rejects of the source with this name ("" for all sources), most recently seen first. Raises
    `UnknownSource`."""
    found, total = rejected(solr, limit, offset, source=source)
    if not total:
        # A source that never reached the index may nevertheless have rejects.
        source_ids_of(sources_by_id(solr), source)
    return Page(found, total, offset, limit)
