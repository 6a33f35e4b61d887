"""All results of a query, however many, one document at a time, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import orjson

from navlin.index.graph.presentation import TABLE_COLUMNS
from navlin.index.schema.fields import MANAGED_PREFIXES
from navlin.index.search.selecting import HIDDEN, is_shown
from navlin.index.solr.solr import Solr
from navlin.model.spreadsheet import csv_lines
from navlin.query.finding import every_page_for_people
from navlin.query.search import no_field
from navlin.query.syntax import plain_field

Document = Mapping[str, Any]


def whole_result(
    solr: Solr, query: str, filters: Sequence[str] = (), fields: Sequence[str] = ()
) -> tuple[tuple[str, ...], Iterator[Document]]:
    """Return the columns of a table, and all matching documents as indexed, in the order of the ids. With ``fields``,
    return only these, under the requested names.

    Documents written meanwhile may be missing; none appears twice. Raises `QueryError`.
    """
    named = {name: _indexed_as(name) for name in fields}
    core, pages = every_page_for_people(solr, query, filters)
    # Errors in the query, or in a filter, are raised before anything is sent.
    first = next(pages, [])
    documents = (document for page in chain([first], pages) for document in page)
    if not named:
        return TABLE_COLUMNS[core], documents
    return tuple(named), (_only(document, named) for document in documents)


def _indexed_as(name: str) -> tuple[str, ...]:
    """Return the index fields that a name may mean. Raises `QueryError` if there are none."""
    field = plain_field(name)
    if field == f"cp_{name.strip()}":
        # A managed property may be stored as a number, a date or a boolean, which takes precedence over the text as
        # given.
        return tuple(prefix + name.strip() for prefix in reversed(MANAGED_PREFIXES))
    if not is_shown(field) and field not in HIDDEN:
        raise no_field(field)
    return (field,)


def _only(document: Document, named: Mapping[str, Sequence[str]]) -> Document:
    found = {name: next((each for each in fields if each in document), "") for name, fields in named.items()}
    return {name: document[field] for name, field in found.items() if field}


def json_lines(documents: Iterable[Document]) -> Iterator[bytes]:
    """Yield each document as a line of JSON."""
    for document in documents:
        yield orjson.dumps(dict(document), option=orjson.OPT_APPEND_NEWLINE)


def table_lines(columns: Sequence[str], documents: Iterable[Document]) -> Iterator[bytes]:
    """Yield the documents as lines of CSV, with these columns."""
    return csv_lines(columns, documents)
