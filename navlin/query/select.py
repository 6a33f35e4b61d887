"""Responses in the form of Solr's own ``select``; see `navlin.query.select_parameters` for the accepted requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.search.searching import MOST_S
from navlin.index.search.selecting import select
from navlin.index.solr.solr import Solr
from navlin.query.search import explained
from navlin.query.select_parameters import read_select
from navlin.query.syntax import parse

CORES: Final = {"nav_elements": ELEMENTS, "nav_relation": RELATIONS, "nav_relations": RELATIONS}
"""Navigator's name of a core, in both spellings → the index's name."""


def select_pieces(
    solr: Solr, core: str, pairs: Sequence[tuple[str, str]], now_ms: int, most_s: float = MOST_S
) -> Iterator[bytes]:
    """Yield the response to these parameters of ``select``, as pieces of Solr's JSON. Raises `QueryError`, at the first
    piece at the latest."""
    question = read_select(pairs, now_ms)
    typed = next((value for name, value in pairs if name == "q" and value.strip()), "*:*")
    with explained(parse(typed), most_s):
        yield from select(solr, CORES[core], question, most_s)
