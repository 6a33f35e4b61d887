"""``/solr/…`` for the tools of Cloudera's SDK, which query Navigator's Solr directly. The endpoints only read entities
and relations, and accept a fixed set of parameters. They are off unless ``[web]`` sets ``solr_passthrough``.

Queries are parsed, checked and rewritten. So every user who may search may use them, and gets the same results as in a
search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from navlin.access.roles import Role
from navlin.api.answers import HttpError
from navlin.api.bodies import QUERY_BYTES
from navlin.api.endpoint import ApiRequest, Endpoint
from navlin.index.admin.core_status import core_status, fields_of_core
from navlin.query.select import CORES, select_pieces
from navlin.questions.declare.shared import Nothing

OFF = "requests to Solr are disabled here: an administrator can enable them with solr_passthrough = true in [web]"


@dataclass(frozen=True, slots=True)
class CoreParameters:
    core: Annotated[str, "nav_elements, nav_relation or nav_relations."]


def _core(request: ApiRequest) -> str:
    _allowed(request)
    core: str = request.parameters.core
    if core not in CORES:
        raise HttpError(404, f"there is no core {core[:60]} here; there are {', '.join(CORES)}")
    return core


def _allowed(request: ApiRequest) -> None:
    if not request.service.solr_passthrough:
        raise HttpError(403, OFF)


def _select(request: ApiRequest) -> Iterator[bytes]:
    return select_pieces(request.solr, _core(request), request.body, request.service.now_ms())


def _schema(request: ApiRequest) -> dict[str, Any]:
    fields = fields_of_core(request.solr, CORES[_core(request)])
    return {
        "responseHeader": {"status": 0},
        "schema": {
            "name": "navlin",
            "uniqueKey": "identity",
            "fields": [each for each in fields if "*" not in each["name"]],
            "dynamicFields": [each for each in fields if "*" in each["name"]],
        },
    }


def _cores(request: ApiRequest) -> dict[str, Any]:
    _allowed(request)
    given = dict(request.body)
    if given.get("action", "STATUS").upper() != "STATUS" or given.get("wt", "json") != "json":
        raise HttpError(400, "only action=STATUS with wt=json is available here")
    if unknown := given.keys() - {"action", "wt", "core", "indent", "indexInfo"}:
        raise HttpError(400, f"the parameter {min(unknown)[:60]!r} is not available here")
    wanted = given.get("core")
    if wanted and wanted not in CORES:
        raise HttpError(404, f"there is no core {wanted[:60]} here; there are {', '.join(CORES)}")
    names = [wanted] if wanted else ["nav_elements", "nav_relations"]
    status = {name: {"name": name, "index": core_status(request.solr, CORES[name])} for name in names}
    return {"responseHeader": {"status": 0}, "initFailures": {}, "status": status}


def _dev_mode(request: ApiRequest) -> dict[str, bool]:
    _allowed(request)
    return {"mode": True}


def _endpoint(
    method: Literal["GET", "POST"],
    path: str,
    summary: str,
    parameters: type[Any],
    answer: Callable[[ApiRequest], Any],
) -> Endpoint:
    return Endpoint(
        method,
        path,
        Role.LINEAGE_VIEWER,
        summary,
        parameters,
        answer,
        takes_pairs=True,
        most_bytes=QUERY_BYTES,
    )


_SELECT = "/solr/{core}/select"
ENDPOINTS = (
    _endpoint("GET", "/solr/admin/cores", "Get the sizes of the cores.", Nothing, _cores),
    _endpoint("GET", _SELECT, "Select documents and counts.", CoreParameters, _select),
    _endpoint(
        "POST",
        _SELECT,
        "Select documents and counts, with the parameters as a form.",
        CoreParameters,
        _select,
    ),
    _endpoint("GET", "/solr/{core}/schema", "List the fields of a core.", CoreParameters, _schema),
    _endpoint(
        "GET", "/debug/devMode", "Tell tools whether requests to Solr are enabled.", Nothing, _dev_mode
    ),
)
