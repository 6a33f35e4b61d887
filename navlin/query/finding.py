"""Search for people, on the command line, over HTTP and in the console: names first, then words.

Navigator's own API uses `navlin.query.search`, as Navigator's clients expect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from navlin.index.graph.graph import Graph
from navlin.index.schema.fields import RELATIONS
from navlin.index.search.searching import MOST_S, SolrQuery
from navlin.index.solr.solr import Solr
from navlin.query.meant import FOLDED, meant
from navlin.query.search import (
    SearchAnswer,
    answer_of,
    check_page,
    core_for,
    counted_field,
    each_page,
    facet_of,
    orders,
)
from navlin.query.statement_names import NAMED_BY_STATEMENT, STATEMENT, names_of_statements
from navlin.query.syntax import parse_beside

Document = Mapping[str, Any]


def find_for_people(
    solr: Solr,
    query: str,
    *,
    limit: int = 25,
    offset: int = 0,
    filters: Sequence[str] = (),
    sort: str = "",
    facets: Sequence[str] = (),
    most_s: float = MOST_S,
) -> SearchAnswer:
    """Find the entities that a person means by ``query``. Entities with exactly this name come first. Everything else
    is as in `navlin.query.search.search`. A query with invalid syntax is searched as a name only.

    Sub-operations, executions and partitions (`FOLDED`) are not among the results, but are counted by type in the
    answer's ``folded`` if there are at most `MOST_COUNTED_BESIDE` results; otherwise ``folded`` is None. They are results
    themselves, and ``folded`` is empty, if nothing else matches, if the query requests a type or an id, or if ``query``
    is their name. Raises `QueryError` if the syntax is invalid and no entity has that name.
    """
    check_page(limit, offset)
    read = parse_beside(None, filters)
    understood = meant(solr, query, read)
    question = SolrQuery(
        understood.asked(ranked=not sort),
        [each.query for each in read],
        orders(sort, partial(counted_field, solr)),
        [facet_of(solr, text) for text in facets],
        beside=understood.asked(folded=True) if understood.folding is not None else None,
    )
    asked = solr, understood.parsed, core_for(understood.parsed)
    answer = answer_of(*asked, question, limit, offset, most_s)
    if answer.folded and not answer.total:
        everything = replace(understood, folding=None).asked(ranked=not sort)
        return answer_of(*asked, replace(question, query=everything, beside=None), limit, offset, most_s)
    if understood.error and not answer.total:
        raise understood.error
    if answer.folded is None:
        return answer
    return replace(answer, folded={name: answer.folded[name] for name in FOLDED if name in answer.folded})


def with_statements(solr: Solr, answer: SearchAnswer) -> SearchAnswer:
    """Return the answer with the display names of the statements and jobs among its results, and of the statements of
    sub-operations and executions. Without such results, nothing is read."""
    if answer.core == RELATIONS:
        return answer
    found = [each for each in answer.entities if each.type in NAMED_BY_STATEMENT]
    own = {each.id: each.name for each in found if each.type == STATEMENT}
    named = names_of_statements(Graph(solr), {each.id: each.type for each in found}, own)
    return replace(answer, statements={each: name for each, (_, name) in named.items()})


def every_page_for_people(
    solr: Solr, query: str, filters: Sequence[str]
) -> tuple[str, Iterator[list[Document]]]:
    """Return the core, and an iterator of everything that `find_for_people` finds, page by page in the order of the
    ids. Folded entities are included as they are there, and also if the query has no words to rank by (none, or too
    many), because the pages cannot say that some were left out. Raises `QueryError`."""
    read = parse_beside(None, filters)
    understood = meant(solr, query, read)
    # ``folded`` is empty if there are no folded matches, or if these are the results.
    if understood.folding is not None and (
        not (understood.ranks or understood.error)
        or find_for_people(solr, query, limit=0, filters=filters).folded == {}
    ):
        understood = replace(understood, folding=None)
    core = core_for(understood.parsed)
    question = SolrQuery(understood.asked(), [each.query for each in read])
    return core, each_page(solr, understood.parsed, core, question)
