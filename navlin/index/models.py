"""Models in ``nav_edits``: packages, classes, namespaces, managed properties, and which class has which of them.

Each is a document with its JSON, under its kind and its name; whoever registers one again replaces it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import orjson

from navlin.index import solr_query as q
from navlin.index.fields import EDITS
from navlin.index.solr import Solr

Registered = Mapping["Kind", Mapping[str, Mapping[str, Any]]]
"""kind → name → JSON"""


class Kind(StrEnum):
    """What a model consists of. A class is called ``package.class``, a property ``namespace.name``, and a mapping as its
    class."""

    PACKAGE = "package"
    CLASS = "class"
    NAMESPACE = "namespace"
    PROPERTY = "property"
    MAPPING = "mapping"


def save_models(solr: Solr, models: Registered) -> None:
    """Writes models; they count from then on."""
    documents = [
        {
            "identity": f"{kind}:{name}",
            "kind": kind.value,
            "entity_s": name,
            "body": orjson.dumps(body).decode(),
        }
        for kind, named in models.items()
        for name, body in named.items()
    ]
    for refused in solr.add(EDITS, documents).refused:
        raise ValueError(f"Solr refused {refused.identity} of {EDITS}: {refused.reason}")
    solr.commit(EDITS, soft=True)


def registered(solr: Solr) -> Registered:
    """All models."""
    found: dict[Kind, dict[str, Any]] = {kind: {} for kind in Kind}
    filters = [q.one_of("kind", list(Kind))]
    for document in solr.cursor(EDITS, q.EVERYTHING, "kind,entity_s,body", filters=filters):
        found[Kind(document["kind"])][document["entity_s"]] = orjson.loads(document["body"])
    return found
