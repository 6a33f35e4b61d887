"""Lineage asked of the index alone and of memory."""

from __future__ import annotations

from navlin.index.graph.graph import Graph
from navlin.index.solr.solr import Solr
from navlin.query.answer import Lineage
from navlin.query.lineage import lineage, lineage_of
from navlin.query.options import WalkOptions


def asked_both_ways(solr: Solr, start: str, options: WalkOptions) -> Lineage:
    """Return the lineage. Fail unless the index alone, a first answer and an answer from memory are the same."""
    answer = lineage(solr, start, options)
    assert lineage(solr, start, options) == answer
    assert lineage_of(Graph(solr), start, options) == answer
    return answer
