"""``/edit``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from navlin.access.roles import Role
from navlin.api.answers import Problem
from navlin.api.bodies import EDIT_BYTES
from navlin.api.endpoint import Asked, Endpoint
from navlin.api.own.naming import entity_id
from navlin.edit.asked import Done, Options, count_matching, edit_each, matching, words_of
from navlin.edit.values import BadValue
from navlin.index.query_text import asked as for_solr
from navlin.index.solr import SolrError
from navlin.query.scanner import QueryError
from navlin.query.syntax import parse
from navlin.render import edited_view

MOST: Final = 10_000
"""Most entities that one request edits."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters like the options of ``navlin edit``."""

    entity: Annotated[str, "db.table, db.table.column, a path, or an id."] = ""
    query: Annotated[str, "Edit all entities that match."] = ""
    tag: Annotated[tuple[str, ...], "Tags to add."] = ()
    remove_tag: Annotated[tuple[str, ...], "Tags to take away."] = ()
    name: Annotated[str | None, "The name that people see; an empty one erases it."] = None
    description: Annotated[str | None, "The description; an empty one erases it."] = None
    property: Annotated[tuple[str, ...], "KEY=VALUE; an empty value erases it."] = ()
    managed: Annotated[tuple[str, ...], "NAMESPACE.NAME=VALUE; an empty value erases it."] = ()
    dry_run: Annotated[bool, "Say what would change, and write nothing."] = False


def _answer(asked: Asked) -> Done:
    given: Parameters = asked.parameters
    if bool(given.entity) == bool(given.query):
        raise Problem(400, "name one entity, or give a query")
    options = Options(
        given.tag, given.remove_tag, given.name, given.description, given.property, given.managed
    )
    try:
        words = words_of(asked.solr, options)
        if given.query:
            wanted = for_solr(parse(given.query).query)
            if count_matching(asked.solr, wanted) > MOST:
                raise Problem(
                    400, f"more than {MOST:,} entities match: `navlin edit --query` takes any number"
                )
            ids = list(matching(asked.solr, wanted))
        else:
            ids = [entity_id(asked.solr, given.entity)]
    except (BadValue, QueryError) as error:
        raise Problem(400, str(error)) from error
    except SolrError as error:
        if error.status != 400:
            raise
        raise Problem(400, error.message) from error
    return edit_each(asked.solr, ids, words, asked.author(), dry_run=given.dry_run)


ENDPOINT = Endpoint(
    "POST",
    "/edit",
    Role.METADATA_ADMINISTRATOR,
    "Change names, descriptions, tags and properties.",
    Parameters,
    _answer,
    returns=Done.to_json.__doc__ or "",
    form=Done.to_json,
    most_bytes=EDIT_BYTES,
    view=edited_view,
)
