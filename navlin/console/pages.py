"""A list shown page by page: its parameters, and the addresses of its other pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from navlin.api.answers import Problem
from navlin.query.page import BadPage, Page, UnknownSource

ROWS_A_PAGE: Final = 25


@dataclass(frozen=True, slots=True)
class OfReason:
    """Filters and page of a list whose entries lack something, each for a reason."""

    source: Annotated[str, "Only of the source of this name."] = ""
    reason: Annotated[str, "Only for this reason."] = ""
    page: Annotated[int, "Which page.", range(1, 1_000)] = 1


def listed(given: Any, ask: Callable[[int, int], Page[Any]]) -> Mapping[str, Any]:
    """Return the page ``given.page`` of the results of ``ask`` (limit, offset), and the addresses of the pages before and
    after it. Raises `Problem`."""
    try:
        found = ask(ROWS_A_PAGE, (given.page - 1) * ROWS_A_PAGE)
    except BadPage as error:
        raise Problem(400, str(error)) from error
    except UnknownSource as error:
        raise Problem(404, str(error)) from error
    return paged(given, found)


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
