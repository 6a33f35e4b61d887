"""Models in ``nav_edits``: packages, classes, namespaces, managed properties, and the mappings of properties to
classes.

Each model is a document with JSON, identified by kind and name; registering it again replaces the document.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import orjson

from navlin.index.schema.fields import EDITS, ELEMENTS, MANAGED, MANAGED_PREFIXES
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr

Registered = Mapping["ModelKind", Mapping[str, Mapping[str, Any]]]
"""kind → name → JSON"""
Versions = Mapping[str, int]
"""Identity of a model's document → ``_version_`` as read."""


class ModelKind(StrEnum):
    """The kind of a model. A class is named ``package.class``, a property ``namespace.name``, and a mapping like its
    class."""

    PACKAGE = "package"
    CLASS = "class"
    NAMESPACE = "namespace"
    PROPERTY = "property"
    MAPPING = "mapping"


def save_models(solr: Solr, models: Registered, read: Versions) -> bool:
    """Write models in place of those that were read, with immediate effect. Return False if some of the models were
    changed concurrently; these are not written."""
    documents = [
        {
            "identity": (identity := f"{kind}:{name}"),
            "kind": kind.value,
            "entity_s": name,
            "body": orjson.dumps(body).decode(),
            "_version_": read.get(identity, -1),
        }
        for kind, named in models.items()
        for name, body in named.items()
    ]
    added = solr.add_all(EDITS, documents)
    solr.commit(EDITS, soft=True)
    return not added.conflicts


def managed_field(solr: Solr, name: str) -> str:
    """Return the field with the values of the managed property ``namespace.name``. It follows from the registered type;
    without a registered type, it is the field that most entities have."""
    of_kind, named = q.term("kind", ModelKind.PROPERTY), q.term("entity_s", name)
    for document in solr.page(EDITS, of_kind, "body", filters=named, rows=1)[0]:
        return MANAGED.get(str(orjson.loads(document["body"]).get("type")), "cp_") + name
    fields = [prefix + name for prefix in MANAGED_PREFIXES]
    return max(fields, key=lambda field: solr.count(ELEMENTS, q.present(q.literal(field))))


def registered(solr: Solr) -> tuple[Registered, Versions]:
    """Return all models, and their versions."""
    found: dict[ModelKind, dict[str, Any]] = {kind: {} for kind in ModelKind}
    versions: dict[str, int] = {}
    filters = [q.one_of("kind", list(ModelKind))]
    for document in solr.cursor(
        EDITS, q.EVERYTHING, "identity,kind,entity_s,body,_version_", filters=filters
    ):
        found[ModelKind(document["kind"])][document["entity_s"]] = orjson.loads(document["body"])
        versions[document["identity"]] = int(document["_version_"])
    return found, versions
