"""A list shown page by page: its parameters, and the addresses of its other pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final
from urllib.parse import urlencode

from navlin.query.page import Page

ROWS_A_PAGE: Final = 25


def paged(given: Any, found: Page[Any]) -> Mapping[str, Any]:
    """Return the template values for one page of a list, the one with the number ``given.page``."""
    return {
        "given": given,
        "found": found,
        "first": found.offset + 1,
        "last": found.offset + len(found.results),
        "before": address(given, page=given.page - 1) if given.page > 1 else "",
        "after": address(given, page=given.page + 1) if found.truncated else "",
    }


def address(given: Any, **other: Any) -> str:
    """Return the query string of the same question with other parameters; default values are left out."""
    pairs: list[tuple[str, str]] = []
    for each in fields(given):
        value = other.get(each.name, getattr(given, each.name))
        if value != each.default:
            pairs.extend((each.name, str(one)) for one in (value if isinstance(value, tuple) else (value,)))
    return urlencode(pairs)
