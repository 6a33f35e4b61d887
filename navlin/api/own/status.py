"""``/status``."""

from __future__ import annotations

from typing import Any

from navlin.access.roles import Role
from navlin.api.endpoint import Asked, Endpoint, Nothing
from navlin.render.status import status_view


def _answer(asked: Asked) -> dict[str, Any]:
    return dict(asked.service.status(asked.solr))


ENDPOINT = Endpoint(
    "GET",
    "/status",
    Role.LINEAGE_VIEWER,
    "How each source is, and what stays unlinked.",
    Nothing,
    _answer,
    view=status_view,
)
