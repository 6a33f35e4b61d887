"""Paging of lists: the template values of one page, and the links to the previous and the next page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final
from urllib.parse import urlencode

from navlin.query.page import Page

ROWS_A_PAGE: Final = 25


def paged(given: Any, found: Page[Any]) -> Mapping[str, Any]:
    """Return the template values for one page of a list. ``given.page`` is the number of the page."""
    return {
        "given": given,
        "found": found,
        "first": found.offset + 1,
        "last": found.offset + len(found.results),
        "before": address(given, page=given.page - 1) if given.page > 1 else "",
        "after": address(given, page=given.page + 1) if found.truncated else "",
    }


def address(given: Any, **other: Any) -> str:
    """Return the query string for ``given``, with the parameters in ``other`` replaced. Default values are left out."""
    pairs: list[tuple[str, str]] = []
    for each in fields(given):
        value = other.get(each.name, getattr(given, each.name))
        if value != each.default:
            pairs.extend((each.name, str(one)) for one in (value if isinstance(value, tuple) else (value,)))
    return urlencode(pairs)
