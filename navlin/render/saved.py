from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from navlin.index.people.saved_searches import SavedSearch
from navlin.query.saved import SavedSearches
from navlin.render.text import clean, plain_table

QUERY_CHARS = 200


def saved_view(saved: SavedSearches) -> RenderableType:
    """Return a table of searches: name, owner, visibility, and the beginning of the query."""
    if not saved.searches:
        return Text("No saved searches.")
    table = plain_table("Name", "Owner", "For", "Query")
    for each in saved.searches:
        query = each.query if len(each.query) <= QUERY_CHARS else each.query[:QUERY_CHARS] + " …"
        cells = (each.name, each.owner, "all users" if each.shared else "owner", query)
        table.add_row(*(Text(clean(cell), overflow="fold") for cell in cells))
    return Group(table)


def saved_one_view(saved: SavedSearch) -> RenderableType:
    return Text(f"saved: {clean(saved.full_name)}, {'shared with all users' if saved.shared else 'private'}")


def removed_view(removed: SavedSearch) -> RenderableType:
    return Text(f"removed: {clean(removed.full_name)}")
