"""One hop of a walk: the relations at some ids, with a limit on the number read per id.

Ids are sent to Solr as ``{!terms}``, a thousand per request, which is correct on any number of shards. An entity with
very many relations does not crowd out the others, because if there is more than a page, a facet finds the ids with too
many relations, and these ids are read one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final

from navlin.index.graph.filters import RelationFilter
from navlin.index.graph.relation import NAMED, Side, StoredRelation
from navlin.index.schema.fields import RELATIONS
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr
from navlin.model.batches import in_batches

IDS_A_BATCH: Final = 1_000
IDS_A_PART: Final = 100
PARTS: Final = 2
"""Maximum number of parallel requests for looking up ids; more would cost more than they gain."""
ROWS_A_BATCH: Final = 10_000
ROWS_A_HOP: Final = 50_000
"""Maximum number of relations read for a batch of ids; the rest is cut, and reported as cut."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request for the live relations of these types with one of these ids at this side, at most ``fan_out`` for each
    id."""

    ids: Collection[str]
    side: Side
    types: tuple[str, ...]
    fan_out: int

    @property
    def field(self) -> str:
        return f"endpoint{self.side}Ids"


@dataclass(slots=True)
class Neighbours:
    """Relations of some ids. ``relations`` maps ids to relations, with those stated by several sources merged; ``cut``
    are the ids with more relations than were read."""

    relations: Mapping[str, Sequence[StoredRelation]]
    cut: frozenset[str] = frozenset()


def neighbours(solr: Solr, wanted: Sequence[Wanted], fields: str = NAMED) -> list[Neighbours]:
    """Return the neighbours for each request. All are read together if they fit on a page. ``fields`` is `NAMED`,
    `WALKED`, `IDENTIFIED` or `FLOWING`."""
    collected = [_CollectedRelations(each) for each in wanted]
    if len(wanted) == 1 or not _read_together(solr, collected, fields):
        for each in collected:
            for batch in in_batches(dict.fromkeys(each.wanted.ids), IDS_A_BATCH):
                each.add(_page(solr, each, batch, fields))
    return [each.neighbours() for each in collected]


@dataclass(slots=True)
class _CollectedRelations:
    wanted: Wanted
    found: dict[str, dict[tuple[str, str, str], StoredRelation]] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)

    def add(self, documents: Iterator[dict[str, Any]]) -> None:
        side, fan_out = self.wanted.side, self.wanted.fan_out
        for document in documents:
            for relation in StoredRelation.each_of(document, keep=False):
                key = relation.key
                one = key[side]
                known = self.found.setdefault(one, {})
                if key in known:
                    known[key] = known[key].merged(relation)
                elif len(known) < fan_out:
                    known[key] = relation
                else:
                    self.cut.add(one)

    def neighbours(self) -> Neighbours:
        relations = {one: tuple(known.values()) for one, known in self.found.items()}
        return Neighbours(relations, frozenset(self.cut))


def _read_together(solr: Solr, collected: Sequence[_CollectedRelations], fields: str) -> bool:
    """Read the relations of all requests together. Return False, and collect nothing, if there are too many."""
    total = sum(len(each.wanted.ids) for each in collected)
    if total > IDS_A_BATCH:
        return False
    count = parts_of(total)
    rest = {"fq": _filters(()), "fl": fields, "rows": ROWS_A_BATCH}
    parts = zip(*(in_parts(each.wanted.ids, count) for each in collected), strict=True)
    documents = _all_in_order(solr, [{**rest, **_clauses(collected, ids)} for ids in parts])
    if documents is None:
        return False
    for each in collected:
        ids, types, name = set(each.wanted.ids), set(each.wanted.types), each.wanted.field
        each.add(
            document
            for document in documents
            if document["type"] in types and not ids.isdisjoint(document[name])
        )
    return True


def first_by_id(
    solr: Solr, core: str, query: str, filters: Sequence[str], fields: str, rows: int
) -> tuple[list[dict[str, Any]], int]:
    """Return the first ``rows`` matching documents, ordered by identity, and the number of matches."""
    params = {"q": query, "fq": filters, "fl": fields, "rows": rows}
    response = solr.select(core, params)["response"]
    count, documents = int(response["numFound"]), response["docs"]
    if count > len(documents):
        documents = solr.select(core, {**params, "sort": "identity asc"})["response"]["docs"]
    return sorted(documents, key=itemgetter("identity")), count


def in_parts(ids: Collection[str], count: int) -> list[list[str]]:
    """Split ids into lists of about equal length, for parallel requests."""
    listed = list(ids)
    return [listed[first::count] for first in range(count)]


def parts_of(count: int) -> int:
    """Return the number of parallel requests for this many ids."""
    return max(1, min(PARTS, count // IDS_A_PART))


def _all_in_order(solr: Solr, searches: Sequence[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """Return the documents found, sorted by their ends; None if they exceed a page. A document with several of the ids
    may appear twice."""
    responses = [answer["response"] for answer in solr.select_each(RELATIONS, searches)]
    if sum(response["numFound"] for response in responses) > ROWS_A_BATCH:
        return None
    documents = [document for response in responses for document in response["docs"]]
    # Solr reads documents twice as fast in their storage order, so they are sorted here.
    return sorted(documents, key=_ends)


def _clauses(collected: Sequence[_CollectedRelations], ids: Sequence[Sequence[str]]) -> dict[str, str]:
    params, clauses = {}, []
    for number, (each, of_each) in enumerate(zip(collected, ids, strict=True)):
        if of_each:
            params[f"ids{number}"] = q.joined(of_each)
            at_ids = q.terms_given(each.wanted.field, f"ids{number}")
            clauses.append(f"(+{at_ids} +filter({q.one_of('type', each.wanted.types)}))")
    return {**params, "q": " ".join(clauses)}


def _ends(document: Mapping[str, Any]) -> tuple[list[str], list[str], str, str]:
    get = document.get
    return get("endpoint1Ids", []), get("endpoint2Ids", []), get("type", ""), get("identity", "")


def _filters(types: tuple[str, ...]) -> tuple[str, ...]:
    # Types are filters because Solr caches filters from hop to hop. Ids are not, because they are not requested again.
    return tuple(RelationFilter(types, deleted=False).filters())


def _page(
    solr: Solr, collected: _CollectedRelations, batch: Sequence[str], fields: str
) -> Iterator[dict[str, Any]]:
    wanted, cut = collected.wanted, collected.cut
    filters = _filters(wanted.types)
    params = {"q": q.terms(wanted.field, batch), "fq": filters, "fl": fields}
    parts = in_parts(batch, parts_of(len(batch)))
    searches = [{**params, "q": q.terms(wanted.field, part), "rows": ROWS_A_BATCH} for part in parts]
    documents = _all_in_order(solr, searches)
    if documents is not None:
        yield from documents
        return
    facet = solr.facet(RELATIONS, wanted.field, {"q": params["q"], "fq": filters})
    counts = {one: facet[one] for one in batch if one in facet}
    heavy = sorted(one for one, count in counts.items() if count > wanted.fan_out)
    cut.update(heavy)
    spent = 0
    for group in (*_packed(counts, wanted.fan_out), *([one] for one in heavy)):
        # Read more than the fan-out, because two sources may state the same edge.
        rows = min(sum(counts[one] for one in group), wanted.fan_out * 2 if group[0] in cut else ROWS_A_BATCH)
        if spent + rows > ROWS_A_HOP:
            cut.update(group)
            continue
        spent += rows
        page = {"q": q.terms(wanted.field, group), "rows": rows, "sort": "identity asc"}
        yield from solr.select(RELATIONS, {**params, **page})["response"]["docs"]


def _packed(counts: Mapping[str, int], fan_out: int) -> Iterator[list[str]]:
    """Yield the ids that have no more than ``fan_out`` relations, in groups that fit a page."""
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
