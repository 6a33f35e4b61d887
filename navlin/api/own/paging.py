"""Endpoints that answer with a page of a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rich.console import RenderableType

from navlin.access.roles import Role
from navlin.api.answers import Problem
from navlin.api.endpoint import Asked, Endpoint
from navlin.query.page import BadPage, Page, UnknownSource

PAGED: Final = "total, offset, limit, truncated, results: "


def paged(
    path: str,
    summary: str,
    parameters: type[Any],
    ask: Callable[[Asked], Page[Any]],
    form: Callable[[Any], dict[str, Any]],
    view: Callable[[Page[Any]], RenderableType],
) -> Endpoint:
    """An endpoint for all users who may read. ``form`` makes the JSON of one result; its docstring lists the keys."""

    def answer(asked: Asked) -> Page[Any]:
        try:
            return ask(asked)
        except BadPage as error:
            raise Problem(400, str(error)) from error
        except UnknownSource as error:
            raise Problem(404, str(error), known=list(error.known)) from error

    returns = PAGED + (form.__doc__ or "")
    return Endpoint(
        "GET",
        path,
        Role.LINEAGE_VIEWER,
        summary,
        parameters,
        answer,
        returns=returns,
        form=lambda page: page.to_json(form),
        view=view,
    )
