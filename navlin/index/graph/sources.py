"""The SOURCE documents: the sources known to the index, configured or placeholders, and the authorities of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import Solr

FIELDS: Final = "identity,sourceType,originalName,clusterName,serves,granted,sourceTemplate"


@dataclass(frozen=True, slots=True)
class KnownSource:
    """A source as recorded in the index. ``placeholder``: whether it was only claimed, never configured. ``metastore``:
    whether it is of type HIVE, with tables, and without records of executions other than renames."""

    id: str
    type: str
    name: str
    cluster: str
    serves: tuple[str, ...]
    placeholder: bool
    metastore: bool = False


def known_sources(solr: Solr) -> tuple[KnownSource, ...]:
    """Return every live source in the index, ordered by id."""
    return sources_in(solr.cursor(ELEMENTS, "type:SOURCE", FIELDS, filters=["deleted:false"]))


def sources_in(documents: Iterable[Mapping[str, Any]]) -> tuple[KnownSource, ...]:
    """Return the sources in documents that were read with `FIELDS`, ordered by id."""
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
