"""One hop of a walk: the relations at the ids of one side, with a bound to how many of one id are read.

Ids go to Solr in batches of a thousand, as ``{!terms}``, which is right on any number of shards. An entity with very many
relations does not crowd out its neighbours: past a page, the heavy ones are found by a facet and read one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Final

from navlin.index import solr_query as q
from navlin.index.fields import RELATIONS
from navlin.index.filters import RelationFilter
from navlin.index.relation import NAMED, Side, StoredRelation
from navlin.index.solr import Solr
from navlin.index.state import in_batches

IDS_A_BATCH: Final = 1_000
ROWS_A_BATCH: Final = 10_000
ROWS_A_HOP: Final = 50_000
"""How many relations a batch of ids may bring in all: what is past it is cut, and reported as cut."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The relations of some ids, by id, and the ids that have more than were read."""

    relations: Mapping[str, Sequence[StoredRelation]]
    cut: frozenset[str] = frozenset()


def neighbours(
    solr: Solr,
    ids: Iterable[str],
    side: Side,
    where: RelationFilter,
    fan_out: int,
    fields: str = NAMED,
) -> Neighbours:
    """The relations that match and whose endpoint ``side`` is one of ``ids``; at most ``fan_out`` of each id. What several
    sources state is one relation. ``fields`` is `NAMED` or `WALKED`."""
    found: dict[str, dict[tuple[str, str, str], StoredRelation]] = {}
    cut: set[str] = set()
    filters = tuple(where.filters())
    for batch in in_batches(dict.fromkeys(ids), IDS_A_BATCH):
        for document in _page(solr, batch, side, filters, fan_out, fields, cut):
            for relation in StoredRelation.each_of(document):
                one = relation.end(side).id
                known = found.setdefault(one, {})
                if relation.key in known:
                    known[relation.key] = merged(known[relation.key], relation)
                elif len(known) < fan_out:
                    known[relation.key] = relation
                else:
                    cut.add(one)
    return Neighbours({one: tuple(known.values()) for one, known in found.items()}, frozenset(cut))


def merged(one: StoredRelation, other: StoredRelation) -> StoredRelation:
    """The same edge, stated twice: certain and linked if either says so, incomplete if either is."""
    return replace(
        one,
        unlinked=one.unlinked and other.unlinked,
        inferred=one.inferred and other.inferred,
        incomplete=one.incomplete or other.incomplete,
        parsed=one.parsed and other.parsed,
        # Of the two, the one that counts as first hand.
        writer=one.writer if one.first_hand else other.writer,
        rule=one.rule if one.first_hand else other.rule,
    )


def first_by_id(
    solr: Solr, core: str, query: str, filters: Sequence[str], fields: str, rows: int
) -> tuple[list[dict[str, Any]], int]:
    """The first ``rows`` documents that match, by identity, and how many match."""
    params = {"q": query, "fq": filters, "fl": fields, "rows": rows}
    # Solr reads documents in half the time if it reads them in the order in which they lie.
    response = solr.select(core, params)["response"]
    count, documents = int(response["numFound"]), response["docs"]
    if count > len(documents):
        documents = solr.select(core, {**params, "sort": "identity asc"})["response"]["docs"]
    return sorted(documents, key=itemgetter("identity")), count


def _page(
    solr: Solr,
    batch: Sequence[str],
    side: Side,
    filters: Sequence[str],
    fan_out: int,
    fields: str,
    cut: set[str],
) -> Iterator[dict[str, Any]]:
    field = f"endpoint{side}Ids"
    # What stands in a filter is kept by Solr from hop to hop; the ids are not asked for again.
    params = {"q": q.terms(field, batch), "fq": filters, "fl": fields}
    response = solr.select(RELATIONS, {**params, "rows": ROWS_A_BATCH})["response"]
    if response["numFound"] <= ROWS_A_BATCH:
        # Solr reads documents in half the time if it reads them in the order in which they lie.
        yield from sorted(response["docs"], key=itemgetter("identity"))
        return
    wanted = set(batch)
    facet = solr.facet(RELATIONS, field, {"q": q.terms(field, batch), "fq": filters})
    counts = {one: count for one, count in facet.items() if one in wanted}
    heavy = sorted(one for one, count in counts.items() if count > fan_out)
    cut.update(heavy)
    spent = 0
    for group in (*_packed(counts, fan_out), *([one] for one in heavy)):
        # A few more than the fan-out: two sources may state one edge.
        rows = min(sum(counts[one] for one in group), fan_out * 2 if group[0] in cut else ROWS_A_BATCH)
        if spent + rows > ROWS_A_HOP:
            cut.update(group)
            continue
        spent += rows
        page = {"q": q.terms(field, group), "rows": rows, "sort": "identity asc"}
        yield from solr.select(RELATIONS, {**params, **page})["response"]["docs"]


def _packed(counts: Mapping[str, int], fan_out: int) -> Iterator[list[str]]:
    """The ids that have no more than ``fan_out`` relations, in groups that fit a page."""
    group: list[str] = []
    rows = 0
    for one, count in sorted(counts.items()):
        if count > fan_out:
            continue
        if group and rows + count > ROWS_A_BATCH:
            yield group
            group, rows = [], 0
        group.append(one)
        rows += count
    if group:
        yield group
