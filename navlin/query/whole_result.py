"""All that a query finds, however much that is: a document at a time, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import orjson

from navlin.index.presented import TABLE_COLUMNS
from navlin.index.solr import Solr
from navlin.model.spreadsheet import csv_lines
from navlin.query.search import core_for, every_page, parsed_query

Document = Mapping[str, Any]


def whole_result(
    solr: Solr, query: str, filters: Sequence[str] = ()
) -> tuple[tuple[str, ...], Iterator[Document]]:
    """All documents that match, by identity, as they are indexed; before them the columns of a table if none are named.

    What is written meanwhile may be there or not; nothing is there twice. Raises `QueryError`.
    """
    parsed = parsed_query(query)
    core = core_for(parsed)
    pages = every_page(solr, parsed, core, filters)
    # What is wrong with the query, or a filter, shows before anything is sent.
    first = next(pages, [])
    return TABLE_COLUMNS[core], (document for page in chain([first], pages) for document in page)


def json_lines(documents: Iterable[Document], fields: Sequence[str] = ()) -> Iterator[bytes]:
    """Each document as a line of JSON: all its fields, or those that are named, if it has them."""
    for document in documents:
        kept = {name: document[name] for name in fields if name in document} if fields else dict(document)
        yield orjson.dumps(kept, option=orjson.OPT_APPEND_NEWLINE)


def table_lines(
    columns: Sequence[str], documents: Iterable[Document], fields: Sequence[str] = ()
) -> Iterator[bytes]:
    """The documents as lines of CSV, with these columns or those that are named."""
    return csv_lines(tuple(fields) or columns, documents)
