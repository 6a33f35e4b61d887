"""``search``: entities and relations by names, words or Solr's syntax."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

from navlin.model.refusal import Refusal
from navlin.query.bounds import LIMIT, MAX_LIMIT, MAX_OFFSET
from navlin.questions.declare.parameters import Typed
from navlin.questions.declare.question import CSV, JSON_LINES, Lines, Question, QuestionRequest
from navlin.questions.declare.shared import Filter, Query, Saved

if TYPE_CHECKING:
    from navlin.query.search import SearchAnswer

TOLD_EVERY: Final = 10_000
"""Number of documents between two progress reports, when a whole result is written."""


@dataclass(frozen=True, slots=True)
class Parameters:
    query: Query = ""
    saved: Saved = ""
    limit: Annotated[int, "Maximum number of results.", range(MAX_LIMIT + 1)] = LIMIT
    offset: Annotated[int, "Number of results to skip.", range(MAX_OFFSET + 1)] = 0
    sort: Annotated[
        str, "FIELD asc or FIELD desc (default: best match first).", Typed("FIELD [asc|desc]")
    ] = ""
    filter: Filter = ()
    facet: Annotated[tuple[str, ...], "Count the values of a field. Repeatable.", Typed("FIELD")] = ()
    csv: Annotated[bool, "The whole result as CSV, for spreadsheets."] = False
    jsonl: Annotated[bool, "The whole result as JSON lines."] = False
    field: Annotated[
        tuple[str, ...], "Field to include with --csv or --jsonl. Repeatable.", Typed("FIELD")
    ] = ()


def _ask(request: QuestionRequest) -> SearchAnswer | Lines:
    from navlin.query.finding import find_for_people, with_statements

    given: Parameters = request.parameters
    if given.csv or given.jsonl:
        return _whole(request, given)
    found = find_for_people(
        request.solr,
        request.query(),
        limit=given.limit,
        offset=given.offset,
        sort=given.sort,
        filters=given.filter,
        facets=given.facet,
    )
    return with_statements(request.solr, found)


def _whole(request: QuestionRequest, given: Parameters) -> Lines:
    from navlin.query.whole_result import json_lines, table_lines, whole_result

    if given.offset or given.sort or given.facet:
        raise Refusal("csv and jsonl contain the whole result: leave out offset, sort and facet")
    columns, found = whole_result(request.solr, request.query(), given.filter, given.field)
    count = 0

    def documents() -> Iterator[Mapping[str, Any]]:
        nonlocal count
        for document in found:
            count += 1
            if count % TOLD_EVERY == 0:
                request.progress(count, 0, "found")
            yield document

    lines = table_lines(columns, documents()) if given.csv else json_lines(documents())
    return Lines(lines, CSV if given.csv else JSON_LINES, lambda: 0 if count else 3)


QUESTION = Question(
    name="search",
    summary="Search entities and relations.",
    about="""
    Search entities and relations: a name, words of names and comments, or Solr's syntax as users of Navigator typed
    it.

    Entities with exactly that name come first: db.table, db.table.column, a path, a URI, an id. Then come names that
    contain the word, then comments, then statements. A text between quotation marks is exact. Parts of statements,
    executions and partitions are counted, and shown by a filter on their type.

    --csv and --jsonl have the whole result, however large, by identity; --limit does not apply to them.
    """,
    examples=(
        "navlin search shop.orders",
        "navlin search 'customer orders'",
        "navlin search 'type:TABLE AND owner:etl -deleted:true'",
        "navlin search 'sourceType:IMPALA AND queryText:*temp_sample_08*' --json",
        "navlin search 'type:OPERATION_EXECUTION AND started:[NOW/DAY-5DAYS TO NOW]' --sort 'started desc'",
        "navlin search '*' --facet type --facet sourceType --limit 3",
        "navlin search --saved 'personal data' --json",
        "navlin search 'type:TABLE AND tags:pii' --csv --field parentPath --field originalName --field owner > pii.csv",
    ),
    parameters=Parameters,
    ask=_ask,
    answers="navlin.query.search:SearchAnswer",
    view="navlin.render.found:search_view",
    page="/search",
)
