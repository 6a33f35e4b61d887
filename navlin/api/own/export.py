"""``/export/{target}``: a download of the graph in another model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Annotated, Any

from navlin.access.roles import Role
from navlin.api.answers import UNTIL, Problem
from navlin.api.endpoint import Asked, Endpoint
from navlin.export.batches import Batch
from navlin.export.choosing import NotExportable, Selection, since
from navlin.export.name_patterns import BadPattern, NamePattern, patterns_of_lines
from navlin.export.target import Target, targets
from navlin.export.writing import Question
from navlin.index.journal.removals import UnknownRun, newest_run
from navlin.query.scanner import QueryError
from navlin.questions.declare.parameters import from_query
from navlin.questions.declare.question import Lines


@dataclass(frozen=True, slots=True)
class Parameters:
    target: Annotated[str, "The model: what `navlin export --help` lists."]
    query: Annotated[str, "What is exported, in Solr's syntax; everything without it."] = ""
    saved: Annotated[str, "In place of the query: the saved search NAME, or OWNER/NAME."] = ""
    filter: Annotated[tuple[str, ...], "What must match as well. Repeatable."] = ()
    database: Annotated[str, "Databases of such names alone, and their tables, as a pattern."] = ""
    table: Annotated[str, "Of these the tables of such names, as a pattern."] = ""
    name: Annotated[
        tuple[str, ...], "In their place: DATABASE or DATABASE:TABLE, as patterns. Repeatable."
    ] = ()
    since: Annotated[str, "Only what changed since, with what went: the id of a run, or a date."] = ""
    all_executions: Annotated[bool, "All executions of an operation, not the last alone."] = False
    tables_only: Annotated[bool, "No columns."] = False
    no_texts: Annotated[bool, "No texts of queries and views, and no expressions."] = False
    placeholders: Annotated[bool, "Also inputs and outputs that the index does not have."] = False
    option: Annotated[
        tuple[str, ...], "An option of the target's own, as NAME=VALUE or, of a switch, NAME. Repeatable."
    ] = ()


def _answer(asked: Asked) -> Lines:
    given: Parameters = asked.parameters
    known = targets()
    if (target := known.get(given.target)) is None:
        raise Problem(404, f"there is no target {given.target!r}; there are {', '.join(known)}")
    try:
        since_run, since_ms = since(given.since)
    except ValueError as error:
        raise Problem(400, str(error)) from error
    selection = Selection(
        asked.question(given).query() if given.query or given.saved else "",
        given.filter,
        since_run,
        since_ms,
        given.all_executions,
        given.tables_only,
        not given.no_texts,
        given.placeholders,
        tuple(_named(given)),
    )
    question = Question(target, selection, _options(target, given.option))
    # Determined before anything is read, as in the command, so that changes made meanwhile come again with the next
    # export.
    until = newest_run(asked.solr)
    batches = Counted(question.batches(asked.solr))
    return Lines(
        _refused(question.records(batches)),
        target.media_type,
        lambda: 0 if batches.items else 3,
        {UNTIL: until} if until else {},
    )


def _named(given: Parameters) -> Iterator[NamePattern]:
    try:
        if given.name:
            yield from patterns_of_lines(given.name)
        elif given.database or given.table:
            yield NamePattern(given.database, given.table)
    except BadPattern as error:
        raise Problem(400, str(error)) from error


@dataclass(slots=True)
class Counted:
    """Iterator over the batches of an export, which counts their items."""

    batches: Iterator[Batch]
    items: int = 0

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        batch = next(self.batches)
        self.items += len(batch.items)
        return batch


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
