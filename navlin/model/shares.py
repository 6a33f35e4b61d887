from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

_Who = TypeVar("_Who", bound=Hashable)


def shares(wanted: Mapping[_Who, int], *, of_one: int, in_all: int) -> dict[_Who, int]:
    """Divide ``in_all`` fairly, at most ``of_one`` each. The smallest requests are met first, and the largest share the
    rest."""
    given: dict[_Who, int] = {}
    left = in_all
    for number, who in enumerate(sorted(wanted, key=lambda each: (wanted[each], str(each)))):
        given[who] = min(wanted[who], of_one, left // (len(wanted) - number))
        left -= given[who]
    return given
