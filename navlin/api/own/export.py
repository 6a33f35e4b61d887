"""``/export/{target}``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Annotated, Any

from navlin.access.roles import Role
from navlin.api.answers import Problem, Table
from navlin.api.endpoint import Asked, Endpoint
from navlin.api.own.naming import query_of
from navlin.api.parameters import from_query
from navlin.export.choosing import NotExportable, Selection, since
from navlin.export.target import Target, targets
from navlin.export.writing import Question
from navlin.index.removals import UnknownRun
from navlin.query.scanner import QueryError


@dataclass(frozen=True, slots=True)
class Parameters:
    """As the options of ``navlin export TARGET``."""

    target: Annotated[str, "The model: what `navlin export --help` lists."]
    query: Annotated[str, "What is exported, in Solr's syntax; everything without it."] = ""
    saved: Annotated[str, "In place of the query: the saved search NAME, or OWNER/NAME."] = ""
    filter: Annotated[tuple[str, ...], "What must match as well. Repeatable."] = ()
    since: Annotated[str, "Only what changed since, with what went: the id of a run, or a date."] = ""
    all_executions: Annotated[bool, "All executions of an operation, not the last alone."] = False
    tables_only: Annotated[bool, "No columns."] = False
    no_texts: Annotated[bool, "No texts of queries and views, and no expressions."] = False
    placeholders: Annotated[bool, "Also inputs and outputs that the index does not have."] = False
    option: Annotated[
        tuple[str, ...], "An option of the target's own, as NAME=VALUE or, of a switch, NAME. Repeatable."
    ] = ()


def _answer(asked: Asked) -> Table:
    given: Parameters = asked.parameters
    known = targets()
    if (target := known.get(given.target)) is None:
        raise Problem(404, f"there is no target {given.target!r}; there are {', '.join(known)}")
    try:
        since_run, since_ms = since(given.since)
    except ValueError as error:
        raise Problem(400, str(error)) from error
    selection = Selection(
        query_of(asked, given.query, given.saved) if given.query or given.saved else "",
        given.filter,
        since_run,
        since_ms,
        given.all_executions,
        given.tables_only,
        not given.no_texts,
        given.placeholders,
    )
    question = Question(target, selection, _options(target, given.option))
    return Table(_refused(question.records(question.batches(asked.solr))), target.media_type)


def _options(target: Target, given: tuple[str, ...]) -> Any:
    pairs = [(name.replace("-", "_"), value) for name, _, value in (text.partition("=") for text in given)]
    own = sorted(each.name for each in fields(target.options))
    if unknown := sorted({name for name, _ in pairs} - {*own}):
        raise Problem(400, f"there is no option {', '.join(unknown)}; {target.name} has {', '.join(own)}")
    return from_query(target.options, pairs)


def _refused(records: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from records
    except (QueryError, NotExportable) as error:
        raise Problem(400, str(error)) from error
    except UnknownRun as error:
        raise Problem(410, str(error)) from error


ENDPOINT = Endpoint(
    "GET",
    "/export/{target}",
    Role.LINEAGE_VIEWER,
    "The graph in another model, as a download.",
    Parameters,
    _answer,
    returns="The records of the target, as they come.",
)
