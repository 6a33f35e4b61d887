"""Fetching many objects from a metastore in calls of a size that it can take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from extractors.hms.client import Connection, MetastoreGarbled, MetastoreRefused, MetastoreTimedOut
from extractors.hms.idl import Table

_T = TypeVar("_T")

COLUMNS_A_CALL = 20_000
"""What a call for tables aims at: a metastore's time and memory go by columns, and some tables have ten thousand."""
_SLOW_ONES = 3


@dataclass(frozen=True, slots=True)
class Missed:
    """Something that was listed, but could not be fetched."""

    name: str
    reason: str


VANISHED = (
    "it was listed, but was not there when it was read: dropped in between, or hidden from navlin's user"
)


def fetch(
    metastore: Connection,
    ask: Callable[[Sequence[str]], Callable[[], Sequence[_T]]],
    name_of: Callable[[_T], str],
    names: Sequence[str],
    at_once: int,
    weight: Callable[[_T], int] = lambda _: 0,
) -> Iterator[tuple[str, _T] | Missed]:
    """What is answered when ``ask`` asks for ``names``, at most ``at_once`` a call, each with the name that it was asked by.

    Begins with half of that and doubles after each answer. A call that takes too long, is refused (one object that the
    metastore cannot read spoils its whole batch: JDOObjectNotFoundException) or cannot be decoded is halved, down to the
    one that is missed.
    ``weight`` is an object's number of columns. Raises `MetastoreTimedOut` when single objects time out one after another:
    the metastore is then gone.
    """
    at, size, slow = 0, max(1, at_once // 2), 0
    asked = names[:size]
    answer = ask(asked) if asked else list
    while asked:
        found: dict[str, _T] = {}
        reason = VANISHED
        try:
            answered = answer()
        except (MetastoreTimedOut, MetastoreRefused, MetastoreGarbled) as error:
            if not isinstance(error, MetastoreRefused):
                metastore.close()
                metastore.open()
                slow += len(asked) == 1 and isinstance(error, MetastoreTimedOut)
            if slow >= _SLOW_ONES:
                raise
            if len(asked) > 1:
                size = len(asked) // 2
                asked = asked[:size]
                answer = ask(asked)
                continue
            reason = str(error)
        else:
            slow = 0
            # By name and not by place: what is missing leaves no gap, and the order is the metastore's own.
            found = {name_of(one): one for one in answered}
            columns = sum(map(weight, answered)) // len(asked) or 1
            size = max(1, min(at_once, 2 * size, COLUMNS_A_CALL // columns))
        just_asked = asked
        at += len(asked)
        asked = names[at : at + size]
        if asked:
            # Before what is there is worked on, so that the metastore and we work at the same time.
            answer = ask(asked)
        for name in just_asked:
            one = found.get(name)
            yield Missed(name, reason) if one is None else (name, one)


def columns_in(table: Table) -> int:
    """The weight of a table."""
    return len((table.sd.cols if table.sd else None) or ())
