"""``POST /metadata/plugin``, to which Cloudera's SDK writes, and ``POST /entities``, which registers one entity before
its source reports it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from navlin.access.roles import Role
from navlin.api.answers import HttpError
from navlin.api.bodies import EDIT_BYTES
from navlin.api.endpoint import ApiRequest, Endpoint
from navlin.api.navigator.entity_form import EntityForm
from navlin.edit.plugin import MOST, register_entity, write_objects
from navlin.index.graph.entity import WHOLE
from navlin.index.graph.graph import Graph
from navlin.questions.declare.shared import Nothing


def _plugin(request: ApiRequest) -> dict[str, Any]:
    given = request.body
    if not isinstance(given, Mapping):
        raise HttpError(400, "the body must be an object with entities and relations")
    lists = [[] if given.get(key) is None else given[key] for key in ("entities", "relations")]
    if not all(isinstance(each, list) and len(each) <= MOST for each in lists):
        raise HttpError(400, f"entities and relations must be lists of at most {MOST:,} objects")
    entities, relations = write_objects(request.solr, lists[0], lists[1], request.author())
    return {"entities": entities.to_json(), "relations": relations.to_json()}


def _entity(request: ApiRequest) -> dict[str, Any]:
    identity = register_entity(request.solr, request.body, request.author())
    return EntityForm(request.solr)(
        Graph(request.solr).entities_now([identity], WHOLE)[identity].as_presented
    )


PLUGIN = Endpoint(
    "POST",
    "/metadata/plugin",
    Role.METADATA_ADMINISTRATOR,
    "Write annotations, and entities and relations of a program's own.",
    Nothing,
    _plugin,
    takes_body=True,
    most_bytes=8 << 20,
    most_values=250_000,
)
REGISTER = Endpoint(
    "POST",
    "/entities",
    Role.METADATA_ADMINISTRATOR,
    "Annotate an entity, even before its source has been read.",
    Nothing,
    _entity,
    takes_body=True,
    most_bytes=EDIT_BYTES,
)
