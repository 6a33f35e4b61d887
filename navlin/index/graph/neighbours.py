"""One hop of a walk: the relations at some ids, with a limit on the number read per id.

Ids are sent to Solr as ``{!terms}``, a thousand per request, which is correct on any number of shards. If there is more
than a page, a facet counts the relations of each id, and ids with too many relations are read one by one.

The relations of an id, their order, and the place where they are cut depend on this id alone, not on the ids requested
with it: they are sorted by their other end, type and id, and cut after the first ``fan_out`` edges. The only exception is
`RELATIONS_A_HOP`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import count
from operator import itemgetter
from typing import Any, Final

from navlin.index.graph.filters import RelationFilter
from navlin.index.graph.relation import NAMED, VERSION, Side, StoredRelation
from navlin.index.schema.fields import RELATIONS
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr
from navlin.model.batches import in_batches

IDS_A_BATCH: Final = 1_000
IDS_A_PART: Final = 100
PARTS: Final = 2
"""Maximum number of parallel requests for looking up ids; more would cost more than they gain."""
ROWS_A_BATCH: Final = 10_000
RELATIONS_A_HOP: Final = 50_000
"""Maximum number of relations counted for a batch of ids. Ids past this number have no relations in the result, and are
reported as cut; those with more relations than the fan-out are the first to be left out."""


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

    @property
    def far_field(self) -> str:
        return f"endpoint{3 - self.side}Ids"


@dataclass(slots=True)
class Neighbours:
    """Relations of some ids. ``relations`` maps ids to relations, with those stated by several sources merged; ``cut``
    are the ids with more relations than were read.

    If `VERSION` was among the fields, ``versions`` maps each id that is not cut and shares no document with another id to
    the versions of its documents.
    """

    relations: Mapping[str, Sequence[StoredRelation]]
    cut: frozenset[str] = frozenset()
    versions: Mapping[str, Sequence[int]] = field(default_factory=dict)


def neighbours(solr: Solr, wanted: Sequence[Wanted], fields: str = NAMED) -> list[Neighbours]:
    """Return the neighbours for each request. All are read together if they fit on a page. ``fields`` is `NAMED`,
    `WALKED`, `IDENTIFIED` or `FLOWING`, possibly with `VERSION`."""
    collected = [_CollectedRelations.of(each, versioned=VERSION in fields) for each in wanted]
    if len(wanted) == 1 or not _read_together(solr, collected, fields):
        for each in collected:
            for batch in in_batches(dict.fromkeys(each.wanted.ids), IDS_A_BATCH):
                _read_batch(solr, each, batch, fields)
    return [each.neighbours() for each in collected]


@dataclass(slots=True)
class _CollectedRelations:
    wanted: Wanted
    ids: frozenset[str]
    found: dict[str, dict[tuple[str, str, str], StoredRelation]] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    versions: dict[str, list[int]] | None = None
    shared: set[str] = field(default_factory=set)
    """Ids with a document that has further ids at the same side."""

    @classmethod
    def of(cls, wanted: Wanted, *, versioned: bool) -> _CollectedRelations:
        ids = frozenset(wanted.ids)
        return cls(wanted, ids, versions={one: [] for one in ids} if versioned else None)

    def add(self, documents: Iterable[dict[str, Any]], ids: Set[str]) -> None:
        """Add documents, which must be in order, to these ids. Nothing is added to an id after its first edge past the
        fan-out."""
        side, fan_out, cut = self.wanted.side, self.wanted.fan_out, self.cut
        versions, near = self.versions, self.wanted.field
        for document in documents:
            if versions is not None:
                at = document[near]
                if len(at) > 1:
                    self.shared.update(at)
                elif at[0] in versions:
                    versions[at[0]].append(document[VERSION])
            for relation in StoredRelation.each_of(document, keep=False):
                key = relation.key
                one = key[side]
                if one not in ids or one in cut:
                    continue
                known = self.found.setdefault(one, {})
                if key in known:
                    known[key] = known[key].merged(relation)
                elif len(known) < fan_out:
                    known[key] = relation
                else:
                    cut.add(one)

    def neighbours(self) -> Neighbours:
        relations = {one: tuple(known.values()) for one, known in self.found.items()}
        left_out = self.cut | self.shared
        versions = {one: each for one, each in (self.versions or {}).items() if one not in left_out}
        return Neighbours(relations, frozenset(self.cut), versions)


def _read_together(solr: Solr, collected: Sequence[_CollectedRelations], fields: str) -> bool:
    """Read the relations of all requests together. Return False, and collect nothing, if there are too many."""
    total = sum(len(each.wanted.ids) for each in collected)
    if total > IDS_A_BATCH:
        return False
    count = parts_of(total)
    rest = {"fq": _filters(()), "fl": fields, "rows": ROWS_A_BATCH}
    parts = zip(*(in_parts(each.wanted.ids, count) for each in collected), strict=True)
    documents = _within_page(solr, [{**rest, **_clauses(collected, ids)} for ids in parts])
    if documents is None:
        return False
    for each in collected:
        types, name = set(each.wanted.types), each.wanted.field
        of_each = (one for one in documents if one["type"] in types and not each.ids.isdisjoint(one[name]))
        each.add(_in_order(each.wanted, of_each), each.ids)
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


def _within_page(solr: Solr, searches: Sequence[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """Return the documents found, in no order; None if they exceed a page. A document with several of the ids may appear
    twice."""
    responses = [answer["response"] for answer in solr.select_each(RELATIONS, searches)]
    if sum(response["numFound"] for response in responses) > ROWS_A_BATCH:
        return None
    return [document for response in responses for document in response["docs"]]


def _in_order(wanted: Wanted, documents: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    # Solr reads documents twice as fast in their storage order, so they are sorted here.
    far, near = wanted.far_field, wanted.field

    def order(document: Mapping[str, Any]) -> tuple[str, str, str, list[str], list[str]]:
        others = document.get(far) or [""]
        one = others[0] if len(others) == 1 else min(others)
        return one, document["type"], document.get("identity", ""), others, document[near]

    return sorted(documents, key=order)


def _clauses(collected: Sequence[_CollectedRelations], ids: Sequence[Sequence[str]]) -> dict[str, str]:
    params, clauses = {}, []
    for number, (each, of_each) in enumerate(zip(collected, ids, strict=True)):
        if of_each:
            params[f"ids{number}"] = q.joined(of_each)
            at_ids = q.terms_given(each.wanted.field, f"ids{number}")
            clauses.append(f"(+{at_ids} +filter({q.one_of('type', each.wanted.types)}))")
    return {**params, "q": " ".join(clauses)}


def _filters(types: tuple[str, ...]) -> tuple[str, ...]:
    # Types are filters because Solr caches filters from hop to hop. Ids are not, because they are not requested again.
    return tuple(RelationFilter(types, deleted=False).filters())


def _read_batch(solr: Solr, collected: _CollectedRelations, batch: Sequence[str], fields: str) -> None:
    wanted = collected.wanted
    params = {"fq": _filters(wanted.types), "fl": fields, "rows": ROWS_A_BATCH}
    parts = in_parts(batch, parts_of(len(batch)))
    documents = _within_page(solr, [{**params, "q": q.terms(wanted.field, part)} for part in parts])
    if documents is not None:
        collected.add(_in_order(wanted, documents), collected.ids)
        return
    counts = solr.facet(RELATIONS, wanted.field, {"q": q.terms(wanted.field, batch), "fq": params["fq"]})
    few, many, left_out = _split({one: counts[one] for one in batch if one in counts}, wanted.fan_out)
    collected.cut.update(left_out)
    for group in few:
        found = solr.select(RELATIONS, {**params, "q": q.terms(wanted.field, group)})["response"]["docs"]
        collected.add(_in_order(wanted, found), set(group))
    for one in many:
        _read_pages(solr, collected, one, {**params, "q": q.terms(wanted.field, [one])})


def _read_pages(solr: Solr, collected: _CollectedRelations, one: str, params: Mapping[str, Any]) -> None:
    """Read the relations of one id page by page, until they are cut."""
    wanted = collected.wanted
    # Read more than the fan-out, because two sources may state the same edge.
    rows = min(wanted.fan_out * 2, ROWS_A_BATCH)
    page = {**params, "rows": rows, "sort": f"{wanted.far_field} asc,type asc,identity asc"}
    for start in count(0, rows):
        documents = solr.select(RELATIONS, {**page, "start": start})["response"]["docs"]
        collected.add(documents, {one})
        if one in collected.cut or len(documents) < rows:
            return


def _split(counts: Mapping[str, int], fan_out: int) -> tuple[list[list[str]], list[str], list[str]]:
    """Split ids, given with the number of their relations, into groups that fit a page, ids to be read one by one, and
    ids past `RELATIONS_A_HOP`."""
    groups: list[list[str]] = []
    many: list[str] = []
    left_out: list[str] = []
    total = rows = 0
    for one in sorted(counts, key=lambda each: counts[each] > fan_out):
        number = counts[one]
        total += min(number, fan_out)
        if total > RELATIONS_A_HOP:
            left_out.append(one)
        elif number > min(fan_out, ROWS_A_BATCH):
            many.append(one)
        elif groups and rows + number <= ROWS_A_BATCH:
            groups[-1].append(one)
            rows += number
        else:
            groups.append([one])
            rows = number
    return groups, many, left_out
