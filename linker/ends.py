"""Which of some ids are there, and which are an end of some relation: what rules and purge ask most."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Literal

from linker.linking import among, batched
from navlin.index.documents import Document
from navlin.index.fields import ELEMENTS, RELATIONS
from navlin.index.solr import Solr

IDS_A_QUERY = 1_000
END_FIELDS = (
    "identity,_version_,type,writer,deleted,rule,claimedIds,unlinked,unlinkedReason,"
    "endpoint1Ids,endpoint1Type,endpoint1SourceType,endpoint1SourceId,endpoint1Name,"
    "endpoint2Ids,endpoint2Type,endpoint2SourceType,endpoint2SourceId,endpoint2Name"
)
"""All that tells what a relation is and between what."""

Side = Literal[1, 2]
BOTH: tuple[Side, Side] = (1, 2)


def end_id(relation: Document, side: Side) -> str:
    """The identity of one end of a relation."""
    identity: str = relation[f"endpoint{side}Ids"][0]
    return identity


def present(solr: Solr, ids: Collection[str], query: str = "*:*") -> set[str]:
    """Those ids that are entities in the index and match, as last committed; flagged deleted or not, if nothing is said."""
    found: set[str] = set()
    for batch in batched(sorted(ids), IDS_A_QUERY):
        sought = {"q": query, "fq": among("identity", batch), "fl": "identity", "rows": len(batch)}
        answer = solr.select(ELEMENTS, sought)
        found.update(document["identity"] for document in answer["response"]["docs"])
    return found


def present_now(solr: Solr, ids: Iterable[str]) -> set[str]:
    """As `present`, but as things stand at this moment, committed or not."""
    return {document["identity"] for document in solr.get(ELEMENTS, ids, "identity")}


def relations_of(
    solr: Solr, ids: Iterable[str], query: str, sides: Iterable[Side] = BOTH, fields: str = END_FIELDS
) -> Iterator[dict[str, Any]]:
    """The relations that match and have one of these ids at one of these ends; one with both comes twice."""
    for batch in batched(ids, IDS_A_QUERY):
        for side in sides:
            yield from solr.cursor(RELATIONS, query, fields, filters=[among(f"endpoint{side}Ids", batch)])


def named(solr: Solr, ids: Iterable[str], query: str, sides: Iterable[Side] = BOTH) -> set[str]:
    """Those ids that are an end of a relation that matches.

    Asks for a thousand relations at a time and never again for an id it has found: an id with a million relations costs
    as much as one with a thousand.
    """
    found: set[str] = set()
    for batch in batched(ids, IDS_A_QUERY):
        for side in sides:
            sought = [identity for identity in batch if identity not in found]
            while sought:
                ends = f"endpoint{side}Ids"
                answer = solr.select(
                    RELATIONS,
                    {"q": query, "fq": among(ends, sought), "fl": ends, "rows": IDS_A_QUERY},
                )
                documents = answer["response"]["docs"]
                found.update(document[ends][0] for document in documents)
                if len(documents) < IDS_A_QUERY:
                    break
                sought = [identity for identity in sought if identity not in found]
    return found
