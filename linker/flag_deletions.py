"""Rule 1: flags what reconcile found gone. Nothing is removed; purge does that, later."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from navlin.index.documents import Document
from navlin.index.fields import ELEMENTS, RELATIONS
from navlin.index.solr import Solr
from navlin.index.stamp import Stamp
from navlin.index.writing import flag_deleted, rewrite

ASSETS = ("DATABASE", "TABLE", "VIEW", "PARTITION", "FIELD", "FILE", "DIRECTORY", "DATASET")


def flag_elements(solr: Solr, gone: Mapping[str, int], stamp: Stamp) -> int:
    """Flags entities deleted: identity → as of when (epoch ms). What was written since by somebody newer stays."""
    return _count(
        rewrite(solr, ELEMENTS, gone, lambda each: flag_deleted(each, stamp, gone[each["identity"]]))
    )


def flag_relations(solr: Solr, gone: Mapping[str, int], stamp: Stamp) -> int:
    """Flags relations whose statement was withdrawn, after their entities were flagged.

    A relation of an asset that is itself deleted stays as it is: where a dropped table lay is history, not an error.
    """
    buried = _of_deleted_assets(solr, list(gone))

    def withdraw(relation: Document) -> Document | None:
        if relation["identity"] in buried:
            return None
        return flag_deleted(relation, stamp, gone[relation["identity"]])

    return _count(rewrite(solr, RELATIONS, gone, withdraw))


def _of_deleted_assets(solr: Solr, relation_ids: list[str]) -> set[str]:
    fields = "identity,writer,endpoint1Ids,endpoint1SourceId,endpoint2Ids,endpoint2SourceId"
    own: dict[str, list[str]] = {}
    for relation in solr.get(RELATIONS, relation_ids, fields):
        ends = (("endpoint1Ids", "endpoint1SourceId"), ("endpoint2Ids", "endpoint2SourceId"))
        own[relation["identity"]] = [
            identity
            for ids, source in ends
            if relation[source] == relation["writer"]
            for identity in relation[ids]
        ]
    own_ends = {identity for identities in own.values() for identity in identities}
    deleted = {
        entity["identity"]
        for entity in solr.get(ELEMENTS, own_ends, "identity,type,deleted")
        if entity.get("deleted") and entity["type"] in ASSETS
    }
    return {relation for relation, identities in own.items() if deleted.intersection(identities)}


def _count(documents: Iterable[Document]) -> int:
    return sum(1 for _ in documents)
