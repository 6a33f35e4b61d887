"""``/schemas/{resource}/fields``: the fields that a query may name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from navlin.access.roles import Role
from navlin.api.answers import HttpError
from navlin.api.endpoint import ApiRequest, Endpoint
from navlin.index.search.query_fields import RELATION_ONLY, field_names


@dataclass(frozen=True, slots=True)
class Parameters:
    resource: Annotated[str, "entities or relations."]


def _fields(request: ApiRequest) -> list[dict[str, str]]:
    resource = request.parameters.resource
    if resource not in ("entities", "relations"):
        raise HttpError(404, "there is no such resource: choose entities or relations")
    names = field_names()
    if resource == "entities":
        names = [name for name in names if name not in RELATION_ONLY]
    return [{"name": name} for name in names]


FIELDS = Endpoint(
    "GET",
    "/schemas/{resource}/fields",
    Role.LINEAGE_VIEWER,
    "List the fields that a query may name.",
    Parameters,
    _fields,
    lenient=True,
)
