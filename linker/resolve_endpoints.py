"""Rule 2: is what a relation claims in the index?

A relation with a claim is ``unlinked`` until every id that it claims is there; the ids are in place from the start.
An entity that is flagged deleted is there: a relation to it is linked, and whether to draw it is the asker's choice.
What stays unlinked says why (`Reason`) and since when. An id is never guessed, so there are never two that match.

Both directions in time, each from its smaller side, each after the commit of what it asks about: new relations look for
their ends, and relations that wait are found by the entities that arrived. Two runs may cross: whichever committed later
sees the other's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import partial
from typing import NamedTuple

from linker.ends import BOTH, END_FIELDS, IDS_A_QUERY, Side, end_id, present, present_now, relations_of
from linker.linking import Elsewhere, IdRange, Linking, among, batched
from navlin.index.documents import Document
from navlin.index.fields import ELEMENTS, RELATIONS, solr_date
from navlin.index.solr import Solr
from navlin.index.sources import KnownSource, known_sources
from navlin.index.writing import ATTEMPTS, WRITE_BATCH, TooManyConflicts

WAITING = "unlinked:true"
FEW_ARRIVALS = 1_000
"""So many entities are asked about in one query; no need to find out whether fewer relations wait."""
_TO_CHECK = "claimedIds:[* TO *] unlinked:true"


class Reason(StrEnum):
    """Why a relation is unlinked. For an end that is merely not there yet the reason names the source that has not
    shown it: "not in HIVE-1 yet" (`not_yet`)."""

    PURGED = "purged"
    """The end was there, was long flagged deleted, and was removed."""
    FORGOTTEN = "forgotten"
    """The end's source, or that part of it, is no longer configured, and what it left behind was removed."""
    NOT_READ = "its source has not been read yet"
    NO_AUTHORITY = "no such authority"
    """Nobody serves the system that was claimed, nor was the end granted."""


_STICKS = frozenset({Reason.PURGED, Reason.FORGOTTEN})
"""Reasons that stay until the end is there again; a later pass cannot tell them from an end that never was."""


def not_yet(source_name: str) -> str:
    """The reason for an end that its source has not shown."""
    return f"not in {source_name} yet"


def resolve_endpoints(linking: Linking) -> int:
    """Links what can be linked and says why the rest cannot; returns how many relations changed."""
    if linking.everything:
        return sum(linking.each_range(partial(_resolve_range, linking.elsewhere), linking.ranges))
    stamped = linking.solr.cursor(RELATIONS, WAITING, END_FIELDS, filters=[linking.stamped])
    changed = settle(linking, stamped)
    if changed > WRITE_BATCH:
        # Else all of that would be looked at twice: for its own sake, and as what the run's entities may have met.
        linking.solr.commit(RELATIONS, soft=True)
    return changed + settle(linking, _met_by_arrivals(linking))


def settle(linking: Linking, relations: Iterable[Document]) -> int:
    """Sets what is due on those of these relations (documents with `END_FIELDS`) of which it is not yet so."""
    changed = 0
    for batch in batched(relations, WRITE_BATCH):
        by_id = {relation["identity"]: relation for relation in batch}
        verdicts = judge(linking.solr, by_id.values())
        due = [identity for identity, relation in by_id.items() if verdicts[identity] != _standing(relation)]
        changed += _rewrite(linking, due, verdicts, judge)
    return changed


class Verdict(NamedTuple):
    """Whether a relation is unlinked, and why."""

    unlinked: bool
    reason: str | None


def judge(solr: Solr, relations: Collection[Document]) -> dict[str, Verdict]:
    """Each relation's verdict, by its identity."""
    sought = {relation["identity"]: _sought(relation) for relation in relations}
    there = present(solr, {end for ends in sought.values() for end in ends})
    missing = {identity: [end for end in ends if end not in there] for identity, ends in sought.items()}
    sources = {source.id: source for source in known_sources(solr)} if any(missing.values()) else {}
    return {
        relation["identity"]: _verdict(relation, missing[relation["identity"]], sources)
        for relation in relations
    }


def apply(relation: Document, verdict: Verdict, linking: Linking) -> Document:
    """Writes a verdict into a relation's document and stamps it."""
    for field in ("unlinkedReason", "unlinkedSince") if not verdict.unlinked else ():
        relation.pop(field, None)
    relation["unlinked"] = verdict.unlinked
    if verdict.unlinked:
        relation["unlinkedReason"] = verdict.reason
        relation.setdefault("unlinkedSince", solr_date(linking.now_ms))
    relation["extractorRunId"] = linking.run_id
    return relation


def unlink(linking: Linking, gone_ids: Iterable[str], reason: Reason, query: str = "*:*") -> int:
    """Unlinks every relation that matches and has one of these entities, which were removed from the index, as an end.

    An entity that has come back meanwhile keeps its relations.
    """

    def condemn(_: Solr, relations: Collection[Document]) -> dict[str, Verdict]:
        return {each["identity"]: Verdict(unlinked=True, reason=reason.value) for each in relations}

    unlinked = 0
    for batch in batched(gone_ids, IDS_A_QUERY):
        still_gone = set(batch) - present_now(linking.solr, batch)
        found = {
            relation["identity"]
            for relation in relations_of(
                linking.solr, sorted(still_gone), f"+({query}) -unlinkedReason:{reason.value}"
            )
        }
        for ids in batched(sorted(found), WRITE_BATCH):
            unlinked += _rewrite(
                linking, ids, condemn(linking.solr, [{"identity": each} for each in ids]), condemn
            )
    return unlinked


def _rewrite(
    linking: Linking,
    ids: Collection[str],
    verdicts: Mapping[str, Verdict],
    judge_again: Callable[[Solr, Collection[Document]], Mapping[str, Verdict]],
) -> int:
    todo, written = list(ids), 0
    for _ in range(ATTEMPTS):
        if not todo:
            return written
        relations = linking.solr.get(RELATIONS, todo)
        changed = [
            apply(relation, verdict, linking)
            for relation in relations
            if (verdict := verdicts[relation["identity"]]) != _standing(relation)
        ]
        outcome = linking.solr.add(RELATIONS, changed)
        if outcome.refused:
            raise ValueError(f"Solr refused {outcome.refused[0].identity}: {outcome.refused[0].reason}")
        written += len(outcome.applied)
        todo = list(outcome.conflicts)
        if todo:
            # Whoever was quicker may have changed what there is to find.
            verdicts = judge_again(linking.solr, linking.solr.get(RELATIONS, todo, END_FIELDS))
    raise TooManyConflicts(f"{len(todo)} relations kept changing under {ATTEMPTS} attempts to link them")


def _sought(relation: Document) -> list[str]:
    if relation.get("unlinkedReason") in _STICKS:
        # What was removed may be the writer's own end, of which there is no claim.
        return sorted({end_id(relation, side) for side in BOTH})
    return list(relation.get("claimedIds", ()))


def _standing(relation: Document) -> Verdict:
    return Verdict(relation.get("unlinked", False), relation.get("unlinkedReason"))


def _verdict(relation: Document, missing: Collection[str], sources: dict[str, KnownSource]) -> Verdict:
    if not missing:
        return Verdict(unlinked=False, reason=None)
    before = relation.get("unlinkedReason")
    if before in _STICKS:
        return Verdict(unlinked=True, reason=before)
    reasons = {_reason(relation, side, sources) for side in BOTH if end_id(relation, side) in missing}
    return Verdict(unlinked=True, reason=", ".join(sorted(reasons)))


def _reason(relation: Document, side: Side, sources: dict[str, KnownSource]) -> str:
    source = sources.get(relation[f"endpoint{side}SourceId"])
    if source is None:
        return Reason.NOT_READ
    return Reason.NO_AUTHORITY if source.granted else not_yet(source.name)


def _met_by_arrivals(linking: Linking) -> Iterator[Document]:
    """The waiting relations that the runs' entities may be the ends of, from the smaller side: of the entities that
    arrived (a few are asked about without counting) and the relations that wait for something of their sources."""
    solr, stamped = linking.solr, linking.stamped
    arrived = solr.select(
        ELEMENTS,
        {
            "q": stamped,
            "rows": 0,
            "facet": "true",
            "facet.field": "sourceId",
            "facet.limit": -1,
            "facet.mincount": 1,
        },
    )
    sources = arrived["facet_counts"]["facet_fields"]["sourceId"][::2]
    of_sources = among("endpoint1SourceId", sources), among("endpoint2SourceId", sources)
    if (arrivals := arrived["response"]["numFound"]) > FEW_ARRIVALS:
        waiting = [(solr.count(RELATIONS, WAITING, source), source) for source in of_sources]
        if sum(count for count, _ in waiting) <= arrivals:
            for _, source in waiting:
                yield from solr.cursor(RELATIONS, WAITING, END_FIELDS, filters=[source])
            return
    entities = solr.cursor(ELEMENTS, stamped, "identity,type")
    for batch in batched(entities, IDS_A_QUERY):
        yield from relations_of(solr, [entity["identity"] for entity in batch], WAITING)
        for entity in batch:
            if entity["type"] == "SOURCE":
                yield from _told_otherwise(solr, entity["identity"])


def _told_otherwise(solr: Solr, source_id: str) -> Iterator[Document]:
    """Relations that wait for something of a source that is new, or is called otherwise now: they say why in its name."""
    name = next((source.name for source in known_sources(solr) if source.id == source_id), "")
    waits = f'{WAITING} AND -unlinkedReason:"{_quoted(not_yet(name))}"'
    for side in BOTH:
        yield from solr.cursor(
            RELATIONS, waits, END_FIELDS, filters=[among(f"endpoint{side}SourceId", [source_id])]
        )


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _resolve_range(elsewhere: Elsewhere, ids: IdRange) -> int:
    with Solr(elsewhere.address) as solr:
        relations = solr.cursor(RELATIONS, _TO_CHECK, END_FIELDS, filters=[ids.filter])
        return settle(elsewhere.linking(solr), relations)
