"""``/interactive/entities`` and ``/interactive/suggestions``: searches with counts, in the form that Hue requests."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated, Any, Final

from navlin.access.roles import Role
from navlin.api.answers import HttpError
from navlin.api.bodies import QUERY_BYTES
from navlin.api.endpoint import ApiRequest, Endpoint
from navlin.api.navigator.asking import EVERYTHING, found
from navlin.api.navigator.entity_form import EntityForm
from navlin.index.schema.fields import ELEMENTS
from navlin.query.suggest import suggestions

DEFAULT_LIMIT: Final = 50
COUNT: Final = "/api/navlin/v1/count"
HIGHLIGHTED: Final = ("originalName", "originalDescription", "name", "description", "tags")
NOT_FIRST_CLASS: Final = "-type:(FIELD OR PARTITION OR SUB_OPERATION)"
"""Filter that excludes entities that are only parts of other entities."""


@dataclass(frozen=True, slots=True)
class Parameters:
    query: Annotated[str, "Query in Solr's syntax (default: everything)."] = EVERYTHING
    limit: Annotated[int, "Maximum number of results; 0 only counts."] = DEFAULT_LIMIT
    offset: Annotated[int, "Number of results to skip."] = 0
    facetFields: Annotated[tuple[str, ...], "Fields whose values are to be counted."] = ()
    facetPrefix: Annotated[str, "Prefix of the values that are counted."] = ""
    filterQueries: Annotated[
        tuple[str, ...], "A further query that results must match; it may have a tag."
    ] = ()
    facetRanges: Annotated[Any, "Ranges to count; not supported."] = None
    firstClassEntitiesOnly: Annotated[bool, "Leave out columns, partitions and parts of operations."] = False


@dataclass(frozen=True, slots=True)
class SuggestParameters:
    query: Annotated[str, "The text typed so far."] = EVERYTHING


def _find(request: ApiRequest) -> dict[str, Any]:
    given: Parameters = request.parameters
    if given.facetRanges:
        raise HttpError(400, f"facetRanges is not supported here: {COUNT} counts by ranges")
    began = time.monotonic()
    filters = [each for each in given.filterQueries if each.strip()]
    if given.firstClassEntitiesOnly:
        filters.append(NOT_FIRST_CLASS)
    answer = found(
        request.solr,
        given.query,
        ELEMENTS,
        given.limit,
        given.offset,
        filters=filters,
        facets=[_facet(field, filters) for field in given.facetFields],
        facet_prefix=given.facetPrefix,
        highlighted=HIGHLIGHTED if given.query != EVERYTHING else (),
    )
    return {
        "totalMatched": answer.total,
        "limit": given.limit,
        "offset": given.offset,
        "qtime": round((time.monotonic() - began) * 1000),
        "facets": {field: dict(answer.facets[field]) for field in given.facetFields},
        "facetRanges": [],
        "results": list(map(EntityForm(request.solr), answer.documents)),
        "highlighting": {each: fields for each, fields in answer.highlights.items() if any(fields.values())},
    }


def _facet(field: str, filters: list[str]) -> str:
    """Return the facet for a field. If a filter is tagged with the field's name, the facet ignores this filter."""
    tagged = any(each.replace(" ", "").startswith(f"{{!tag={field}}}") for each in filters)
    return f"{{!ex={field} key={field}}}{field}" if tagged else f"{{!key={field}}}{field}"


def _suggest(request: ApiRequest) -> list[str]:
    return suggestions(request.solr, request.parameters.query)


FIND = Endpoint(
    "GET", "/interactive/entities", Role.LINEAGE_VIEWER, "Search.", Parameters, _find, lenient=True
)
FIND_BY_BODY = Endpoint(
    "POST",
    "/interactive/entities",
    Role.LINEAGE_VIEWER,
    "Search, with counts of values.",
    Parameters,
    _find,
    lenient=True,
    most_bytes=QUERY_BYTES,
)
SUGGEST = Endpoint(
    "GET",
    "/interactive/suggestions",
    Role.LINEAGE_VIEWER,
    "Suggest names that begin with a text.",
    SuggestParameters,
    _suggest,
    lenient=True,
)
