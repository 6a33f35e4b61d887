"""``/export/{target}``: a download of the graph in another model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Annotated, Any

from navlin.access.roles import Role
from navlin.api.answers import UNTIL, HttpError
from navlin.api.endpoint import ApiRequest, Endpoint
from navlin.export import parameters
from navlin.export.batches import Batch
from navlin.export.target import Target, targets
from navlin.export.writing import ExportQuestion
from navlin.index.journal.removals import newest_run
from navlin.questions.declare.parameters import from_query
from navlin.questions.declare.question import Lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters(parameters.Parameters):
    target: Annotated[str, "The target, one of those that `navlin export --help` lists."]
    option: Annotated[
        tuple[str, ...], "An option of the target, as NAME=VALUE, or as NAME for a switch. Repeatable."
    ] = ()


def _answer(request: ApiRequest) -> Lines:
    given: Parameters = request.parameters
    known = targets()
    if (target := known.get(given.target)) is None:
        raise HttpError(404, f"there is no target {given.target!r}; there are {', '.join(known)}")
    query = request.question(given).query() if given.query or given.saved else ""
    question = ExportQuestion(target, given.selection(query), _options(target, given.option))
    # The newest finished run is determined before anything is read, as in the command, so that changes made meanwhile
    # come again with the next export.
    until = newest_run(request.solr)
    batches = CountedBatches(question.batches(request.solr))
    return Lines(
        question.records(batches),
        target.media_type,
        lambda: 0 if batches.items else 3,
        {UNTIL: until} if until else {},
    )


@dataclass(slots=True)
class CountedBatches:
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
        raise HttpError(400, f"there is no option {', '.join(unknown)}; {target.name} has {', '.join(own)}")
    return from_query(target.options, pairs)


ENDPOINT = Endpoint(
    "GET",
    "/export/{target}",
    Role.LINEAGE_VIEWER,
    "Export the graph to another catalogue's model, as a download.",
    Parameters,
    _answer,
    returns="The target's records, one after the other.",
)
