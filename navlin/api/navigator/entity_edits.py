"""``PUT /entities/{id}`` and ``PUT /entities/bulk``: edits of user-written fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from navlin.access.roles import Role
from navlin.api.answers import HttpError
from navlin.api.bodies import EDIT_BYTES
from navlin.api.endpoint import ApiRequest, Endpoint
from navlin.api.navigator.entities import OneParameters
from navlin.api.navigator.entity_form import EntityForm
from navlin.edit.annotation_changes import AnnotationChanges, edit_annotations
from navlin.edit.as_navigator import changes_of_put
from navlin.edit.models import properties_of
from navlin.edit.values import BadValue
from navlin.index.graph.entity import WHOLE
from navlin.index.graph.graph import Graph
from navlin.questions.declare.shared import Nothing

MOST: Final = 10_000
"""Maximum number of entities that one request may edit."""


def _one(request: ApiRequest) -> dict[str, Any]:
    identity = request.parameters.id
    (entity,) = _edited(request, {identity: request.body})
    return entity


def _bulk(request: ApiRequest) -> list[dict[str, Any]]:
    bodies = request.body
    if not isinstance(bodies, list) or len(bodies) > MOST:
        raise HttpError(400, f"the body must be a list of at most {MOST:,} entities")
    given: dict[str, Any] = {}
    for number, body in enumerate(bodies):
        identity = body.get("identity") if isinstance(body, Mapping) else None
        if not isinstance(identity, str) or identity in given:
            raise HttpError(400, f"entity {number} of the list has no identity of its own")
        given[identity] = body
    return _edited(request, given)


def _edited(request: ApiRequest, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Edit the entities and return their new state, in the order of the bodies. Nothing is written unless all bodies
    are valid. If Solr refuses one entity, `HttpError` is raised only after the other entities are written."""
    registered = properties_of(request.solr)
    changes: dict[str, AnnotationChanges] = {}
    for identity, body in given.items():
        try:
            changes[identity] = changes_of_put(registered, body)
        except BadValue as error:
            raise HttpError(400, f"{identity}: {error}" if len(given) > 1 else str(error)) from error
    graph = Graph(request.solr)
    if absent := changes.keys() - graph.present_now(changes):
        raise HttpError(404, f"there is no entity {', '.join(sorted(absent)[:10])}")
    steps = list(edit_annotations(request.solr, changes, request.author()))
    for refused in (each for edited in steps for each in edited.refused):
        raise HttpError(400, f"{refused.identity}: {refused.reason}")
    found = graph.entities_now(changes, WHOLE)
    form = EntityForm(request.solr)
    return [form(found[identity].as_presented) for identity in changes if identity in found]


PUT = Endpoint(
    "PUT",
    "/entities/{id}",
    Role.METADATA_ADMINISTRATOR,
    "Edit the business metadata of an entity, and return the entity.",
    OneParameters,
    _one,
    takes_body=True,
    most_bytes=EDIT_BYTES,
)
PUT_BULK = Endpoint(
    "PUT",
    "/entities/bulk",
    Role.METADATA_ADMINISTRATOR,
    "Edit the business metadata of several entities, and return them.",
    Nothing,
    _bulk,
    takes_body=True,
    most_bytes=EDIT_BYTES,
)
