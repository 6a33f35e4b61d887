"""Shares of what is bounded: nobody takes what others need."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

_Who = TypeVar("_Who", bound=Hashable)


def shares(wanted: Mapping[_Who, int], *, of_one: int, in_all: int) -> dict[_Who, int]:
    """How much each may have of ``in_all``, at most ``of_one``: what those leave that want little is for the others, and
    those that want most are the first to go without."""
    given: dict[_Who, int] = {}
    left = in_all
    for number, who in enumerate(sorted(wanted, key=lambda each: (wanted[each], str(each)))):
        given[who] = min(wanted[who], of_one, left // (len(wanted) - number))
        left -= given[who]
    return given
