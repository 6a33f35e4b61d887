"""Entities and relations written by users' programs. Programs define entities of their own (source type SDK), or
describe entities that a source will report later.

Both kinds have ``userEntity``, which protects them from deletion and purge. An entity of the second kind is a
placeholder, so that the extraction that finds the entity keeps its user metadata, and makes it an ordinary entity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from navlin.index.graph.entity import StoredEntity
from navlin.index.graph.graph import Graph, end_of
from navlin.index.graph.relation import NO_TREE, End, StoredRelation, relation_fields
from navlin.index.journal.inheritance_due import CARRYING, note_due
from navlin.index.schema.fields import ELEMENTS, RELATIONS, is_user_field, solr_date, to_fields
from navlin.index.schema.stored_form import PACKAGE, Document
from navlin.index.solr.solr import Solr
from navlin.index.write.documents import placeholder_envelopes, source_envelope
from navlin.index.write.rewriting import rewrite
from navlin.model.identity import identify, relation_id, run_id
from navlin.model.keys import EntityType, Key
from navlin.model.source import Source

SDK: Final = "SDK"
"""Source type of the entities that programs themselves define."""
SDK_SOURCE: Final = identify(SDK)
TREE: Final = "#sdk"
"""Tree path of the entities that programs define. It is outside every source's tree."""
NOT_THERE: Final = "not in the index yet"
_ITERATION: Final = 1
"""Iteration of the SDK source. It is constant, so that clients that follow sources always request everything."""


def require_sdk_source(solr: Solr, now_ms: int) -> None:
    """Create the SOURCE document for programs' entities, if it does not exist."""
    document: Document = {
        "identity": SDK_SOURCE,
        "type": "SOURCE",
        "sourceType": SDK,
        "sourceId": SDK_SOURCE,
        "packageName": PACKAGE,
        "originalName": SDK,
        "sourceUrl": SDK,
        "sourceExtractIteration": _ITERATION,
        "treePath": NO_TREE,
        **_stamps(SDK_SOURCE, now_ms),
    }
    solr.add_all(ELEMENTS, [{**document, "extractorRunId": run_id(SDK_SOURCE, _ITERATION), "_version_": -1}])


def require_sources(solr: Solr, sources: Iterable[Source], now_ms: int) -> None:
    """Create the SOURCE documents of unconfigured sources, as a claim on them would."""
    for source in sources:
        envelope = source_envelope(source, now_ms, placeholder=True)
        document = {**envelope.fields(), **_stamps(source.id, now_ms), "extractorRunId": run_id(source.id, 0)}
        solr.add_all(ELEMENTS, [{**document, "_version_": -1}])


def user_entity(identity: str, kind: str, namespace: str, now_ms: int) -> Document:
    """Return the document of a new entity that a program defines, without the program's attributes."""
    return {
        "type": kind,
        "sourceType": SDK,
        "sourceId": SDK_SOURCE,
        "packageName": namespace,
        "namespace": namespace,
        "userEntity": True,
        "treePath": TREE,
        **_stamps(identity, now_ms),
    }


def user_fields(attributes: Mapping[str, Any]) -> Document:
    """Convert the attributes that a program gives its own entity to fields."""
    fields = to_fields(attributes)
    if "internalType" in fields:
        fields["metaClassName"] = fields["internalType"]
    return fields


def awaited_entity(key: Key, now_ms: int) -> Document:
    """Return the document of an entity that its source has not reported yet."""
    envelope = next(placeholder_envelopes(key, now_ms))
    # The text allows clients to find an operation again, and allows the linker to find it once its source reports it
    # (`linker.adopt_operations`).
    text = to_fields({"queryText": key.name}) if key.type is EntityType.OPERATION else {}
    # Use the oldest possible time, so that any record of the entity's source is newer.
    return {**envelope.fields(), **text, "userEntity": True, **_stamps(key.identity, now_ms), "asOf": 0}


def adopt_annotations(solr: Solr, awaited: str, adopting: str) -> None:
    """Copy the user metadata of one entity to another. Existing values stay; tags are merged."""
    (given,) = solr.get(ELEMENTS, [awaited])
    annotations = {name: value for name, value in given.items() if is_user_field(name)}

    def change(document: Document) -> Document | None:
        tags = list(dict.fromkeys((*document.get("tags", ()), *annotations.get("tags", ()))))
        new = {**annotations, **document, **({"tags": tags} if tags else {})}
        return None if new == document else new

    list(rewrite(solr, ELEMENTS, [adopting], change))


def _stamps(identity: str, now_ms: int) -> Document:
    return {"identity": identity, "asOf": now_ms, "deleted": False, "firstSeen": solr_date(now_ms)}


# -- Relations ---------------------------------------------------------------------------------------------------------


def write_relations(
    solr: Solr,
    kind: str,
    ends: Sequence[tuple[End, End]],
    *,
    namespace: str,
    user_specified: bool,
    missing: Mapping[str, str],
    now_ms: int,
) -> bool:
    """Write a program's relations. They are identified by type and ends, so that a repeated write changes the same
    relation. Return False if one of the relations was written concurrently.

    ``missing`` maps the ids of ends that are not in the index to the reason. A relation with a missing end is unlinked
    until that end appears.
    """
    documents = []
    for ep1, ep2 in ends:
        document: Document = {
            "identity": relation_id(kind, ep1.id, ep2.id, SDK_SOURCE),
            **relation_fields(kind, ep1, ep2),
            "claimedIds": sorted({ep1.id, ep2.id}),
            "writer": SDK_SOURCE,
            "treePath": TREE,
            "userSpecified": user_specified,
            "deleted": False,
            "asOf": now_ms,
            "firstSeen": solr_date(now_ms),
            "extractorRunId": run_id(SDK_SOURCE, _ITERATION),
        }
        if namespace:
            document["namespace"] = namespace
        if reason := missing.get(ep1.id) or missing.get(ep2.id):
            document.update(unlinked=True, unlinkedReason=reason, unlinkedSince=solr_date(now_ms))
        documents.append(document)
    carrying = {end.id for pair in ends for end in pair} if kind in CARRYING else set()
    due = note_due(solr, ids=carrying) if carrying else ""
    there = {each["identity"]: each for each in solr.get(RELATIONS, [each["identity"] for each in documents])}
    for document in documents:
        before = there.get(document["identity"], {"_version_": -1})
        since = ("firstSeen", "unlinkedSince") if before.get("unlinked") else ("firstSeen",)
        document |= {name: before[name] for name in since if name in before and name in document}
        document["_version_"] = before["_version_"]
    added = solr.add(RELATIONS, documents)
    if due:
        note_due(solr, ids=carrying, again=due)
    solr.raise_refused(RELATIONS, added.refused)
    return not added.conflicts


def at_other_end(
    solr: Solr, relation: StoredRelation, before: str, entity: StoredEntity, now_ms: int
) -> None:
    """Write a program's relation again, with an entity in place of the end ``before``."""
    new = end_of(entity)
    ends = [new if each.id == before else each for each in (relation.ep1, relation.ep2)]
    there = Graph(solr).present_now(each.id for each in ends)
    write_relations(
        solr,
        relation.type,
        [(ends[0], ends[1])],
        namespace=str(relation.document.get("namespace", "")),
        user_specified=bool(relation.document.get("userSpecified")),
        missing={each.id: NOT_THERE for each in ends if each.id not in there},
        now_ms=now_ms,
    )
