"""``edit``: change the user-written fields of entities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from navlin.access.roles import Role
from navlin.model.refusal import Refusal
from navlin.questions.declare.parameters import Typed
from navlin.questions.declare.question import Question, QuestionRequest

if TYPE_CHECKING:
    from navlin.edit.edit_options import Done

MOST: Final = 10_000
"""Maximum number of entities that one request to a service edits."""
MOST_BYTES: Final = 2 << 20
"""Maximum size of a request body, because a description may have a million characters."""


@dataclass(frozen=True, slots=True)
class Parameters:
    entity: Annotated[str, "db.table, db.table.column, a path, or an id.", Typed(first=True)] = ""
    query: Annotated[str, "Edit all entities that match, as in `navlin search`."] = ""
    tag: Annotated[tuple[str, ...], "Add a tag. Repeatable."] = ()
    remove_tag: Annotated[tuple[str, ...], "Remove a tag. Repeatable."] = ()
    name: Annotated[str | None, "The display name; an empty one removes it."] = None
    description: Annotated[str | None, "The description; an empty one removes it."] = None
    property: Annotated[
        tuple[str, ...], "A custom property; an empty value removes it. Repeatable.", Typed("KEY=VALUE")
    ] = ()
    managed: Annotated[
        tuple[str, ...],
        "A managed property; an empty value removes it. Repeat it for several values.",
        Typed("NAMESPACE.NAME=VALUE"),
    ] = ()
    dry_run: Annotated[bool, "Show what would change, without writing."] = False


def _ask(request: QuestionRequest) -> Done:
    from navlin.edit.edit_options import EditOptions, changes_of, count_matching, edit_each, matching
    from navlin.index.search.print_query import to_solr as for_solr
    from navlin.index.search.searching import MOST_S
    from navlin.query.search import explained
    from navlin.query.syntax import parse

    given: Parameters = request.parameters
    if bool(given.entity) == bool(given.query):
        raise Refusal("give either an entity or a query")
    options = EditOptions(
        given.tag, given.remove_tag, given.name, given.description, given.property, given.managed
    )
    changes = changes_of(request.solr, options)
    if not given.query:
        return edit_each(request.solr, [request.entity_id()], changes, request.author, dry_run=given.dry_run)
    parsed = parse(given.query)
    wanted = for_solr(parsed.query)
    with explained(parsed, MOST_S):
        count = count_matching(request.solr, wanted)
    if count > MOST and not request.here:
        raise Refusal(
            f"more than {MOST:,} entities match: narrow the query; on the server's own machine there is no limit"
        )
    return edit_each(
        request.solr,
        matching(request.solr, wanted),
        changes,
        request.author,
        dry_run=given.dry_run,
        report=lambda done: request.progress(done, count, "entities"),
    )


QUESTION = Question(
    name="edit",
    summary="Change names, descriptions, tags and properties.",
    about="""
    Change what people write on ENTITY (db.table, db.table.column, a path, or an id), or on all entities that a query finds.

    Fields that are not named stay. Every change is noted with its user: `navlin edits` shows it. A running extraction
    neither undoes an edit nor is undone by it.
    """,
    examples=(
        "navlin edit sales.orders --tag pii --description 'All orders since 2019'",
        "navlin edit sales.orders --remove-tag draft --property steward=ann --name ''",
        "navlin edit --query 'type:TABLE AND parentPath:\"/sales\"' --tag sales --dry-run",
    ),
    parameters=Parameters,
    ask=_ask,
    answers="navlin.edit.edit_options:Done",
    view="navlin.render.edits:edited_view",
    role=Role.METADATA_ADMINISTRATOR,
    method="POST",
    most_bytes=MOST_BYTES,
    page="/edit",
)
