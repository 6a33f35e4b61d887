"""Documents as shown to users and programs, including the fields that the index does not store
(`navlin.index.schema.stored_form`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from navlin.index.graph.entity import CORE, readable_name
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.schema.stored_form import Document, whole
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr
from navlin.model.batches import in_batches

IDS_A_QUERY: Final = 1_000
TABLE_COLUMNS: Final = {
    ELEMENTS: (
        "identity", "type", "sourceType", "originalName", "parentPath", "fileSystemPath", "name", "description", "tags",
        "owner", "created", "lastModified", "deleted",
    ),
    RELATIONS: (
        "identity", "type", "endpoint1Ids", "endpoint1Type", "endpoint1Name", "endpoint2Ids", "endpoint2Type",
        "endpoint2Name", "unlinked", "unlinkedReason", "deleted",
    ),
}  # fmt: skip
"""Core → default columns for a table of the core's documents."""
_64_BITS: Final = (1 << 64) - 1


def presented(solr: Solr, core: str, documents: Iterable[Mapping[str, Any]]) -> list[Document]:
    """Return documents in the form shown to users, with the fields that are not stored. They must have been read with
    all their fields."""
    every = [_presented(core, document) for document in documents]
    return with_end_names(solr, every) if core == RELATIONS else every


def with_end_names(solr: Solr, relations: Sequence[Document]) -> list[Document]:
    """Add the names of ends to relations. Implied relations do not store them, because their entities do."""
    ends = [
        (relation, f"endpoint{side}Name", relation[f"endpoint{side}Ids"][0])
        for relation in relations
        for side in (1, 2)
        if f"endpoint{side}Name" not in relation and relation.get(f"endpoint{side}Ids")
    ]
    names: dict[str, str] = {}
    for batch in in_batches(dict.fromkeys(identity for _, _, identity in ends), IDS_A_QUERY):
        for entity in solr.page(ELEMENTS, q.terms("identity", batch), CORE, rows=len(batch))[0]:
            names[entity["identity"]] = readable_name(entity)
    for relation, field, identity in ends:
        if identity in names:
            relation[field] = names[identity]
    return list(relations)


def _presented(core: str, document: Mapping[str, Any]) -> Document:
    presented = whole(core, document)
    if "digest" in presented:
        presented["digest"] = f"{presented['digest'] & _64_BITS:016x}"
    return presented
