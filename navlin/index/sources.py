"""The SOURCE documents: which sources the index knows, configured once or granted, and the authorities each answers for."""

from __future__ import annotations

from dataclasses import dataclass

from navlin.index.fields import ELEMENTS
from navlin.index.solr import Solr

_FIELDS = "identity,sourceType,originalName,clusterName,serves,granted,sourceTemplate"


@dataclass(frozen=True, slots=True)
class KnownSource:
    """A source as the index has it. ``granted``: it was only ever claimed, never configured. ``metastore``: of type HIVE, it
    has tables, and records nothing that ran but renames."""

    id: str
    type: str
    name: str
    cluster: str
    serves: tuple[str, ...]
    granted: bool
    metastore: bool = False


def known_sources(solr: Solr) -> tuple[KnownSource, ...]:
    """Every source that the index holds and that is not flagged deleted, by id."""
    documents = solr.cursor(ELEMENTS, "type:SOURCE", _FIELDS, filters=["deleted:false"])
    known = [
        KnownSource(
            document["identity"],
            document["sourceType"],
            document["originalName"],
            document.get("clusterName", ""),
            tuple(document.get("serves", ())),
            document.get("granted", False),
            document.get("sourceTemplate", False),
        )
        for document in documents
    ]
    return tuple(sorted(known, key=lambda source: source.id))
