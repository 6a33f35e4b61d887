"""Fetch many objects from a metastore in calls of a size that it can handle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from extractors.hms.client import (
    MetastoreConnection,
    MetastoreError,
    MetastoreGarbled,
    MetastoreLost,
    MetastoreRefused,
    MetastoreTimedOut,
)
from extractors.hms.idl import Table

_N = TypeVar("_N")
_T = TypeVar("_T")

COLUMNS_A_CALL = 20_000
"""Target number of columns in a call for tables. A metastore's time and memory depend on it, and some tables have ten
thousand columns.
"""
_SLOW_ONES = 3
_ONE_FAILED = (MetastoreTimedOut, MetastoreRefused, MetastoreGarbled, MetastoreLost)
"""Errors of a whole call that a single object may cause."""


@dataclass(frozen=True, slots=True)
class Missed:
    """An object that was listed, but could not be fetched."""

    name: str
    reason: str
    kind: type[MetastoreError] = MetastoreRefused


VANISHED = (
    "it was listed, but was not there when it was read: dropped in between, or hidden from navlin's user"
)


def fetch(
    metastore: MetastoreConnection,
    ask: Callable[[Sequence[str]], Callable[[], Sequence[_T]]],
    name_of: Callable[[_T], str],
    names: Sequence[str],
    at_once: int,
    weight: Callable[[_T], int] = lambda _: 0,
) -> Iterator[tuple[str, _T] | Missed]:
    """Yield (name, object) for each of ``names``, or `Missed` for an object that ``ask`` cannot get.

    ``ask`` sends a call for some names, and returns a function that waits for the result (`MetastoreConnection.ask`).
    When an object is yielded, the next call may already be sent. So the caller must make no other call on ``metastore``
    until the iterator ends.

    A call requests at most ``at_once`` objects. The first call requests half of that, and each success doubles the
    number. A call is halved, down to single objects, if it takes too long, cannot be decoded, breaks the connection
    twice or is refused; one object that the metastore cannot read spoils its whole batch (JDOObjectNotFoundException).
    ``weight`` returns the number of columns of an object. Raises `MetastoreTimedOut` if several single objects time
    out one after another, because the metastore is then gone. Also raises the other errors of `MetastoreConnection.ask` and
    `MetastoreConnection.open`.
    """
    at, size, slow, again = 0, max(1, at_once // 2), 0, False
    asked = names[:size]
    answer = _sent(ask, asked) if asked else list
    while asked:
        found: dict[str, _T] = {}
        reason = VANISHED
        try:
            answered = answer()
        except _ONE_FAILED as error:
            if not isinstance(error, MetastoreRefused):
                metastore.close()
                metastore.open()
                again = isinstance(error, MetastoreLost) and not again
                if again:
                    answer = _sent(ask, asked)
                    continue
                slow += len(asked) == 1 and isinstance(error, MetastoreTimedOut)
            if slow >= _SLOW_ONES:
                raise
            if len(asked) > 1:
                size = len(asked) // 2
                asked = asked[:size]
                answer = _sent(ask, asked)
                continue
            reason = str(error)
        else:
            slow, again = 0, False
            # Objects are matched by name, not by position, because missing objects leave no gap, and the metastore
            # chooses the order.
            found = {name_of(one): one for one in answered}
            columns = sum(map(weight, answered)) // len(asked) or 1
            size = max(1, min(at_once, 2 * size, COLUMNS_A_CALL // columns))
        just_asked = asked
        at += len(asked)
        asked = names[at : at + size]
        if asked:
            # The next call is sent before the objects are processed, so that the metastore and navlin work at the same
            # time.
            answer = _sent(ask, asked)
        for name in just_asked:
            one = found.get(name)
            yield Missed(name, reason) if one is None else (name, one)


def one_by_one(
    metastore: MetastoreConnection, names: Iterable[_N], call: Callable[[_N], _T]
) -> Iterator[tuple[_N, _T | Missed]]:
    """Yield (name, result of ``call`` or `Missed`) for each name. Raises `MetastoreTimedOut` if the metastore is gone,
    as `fetch` does.
    """
    slow = 0
    for name in names:
        found = _one(metastore, name, call)
        slow = slow + 1 if isinstance(found, Missed) and found.kind is MetastoreTimedOut else 0
        if slow >= _SLOW_ONES and isinstance(found, Missed):
            raise MetastoreTimedOut(found.reason)
        yield name, found


def _one(
    metastore: MetastoreConnection, name: _N, call: Callable[[_N], _T], *, again: bool = False
) -> _T | Missed:
    try:
        return call(name)
    except _ONE_FAILED as error:
        if not isinstance(error, MetastoreRefused):
            metastore.close()
            metastore.open()
        if isinstance(error, MetastoreLost) and not again:
            return _one(metastore, name, call, again=True)
        return Missed(str(name), str(error), type(error))


def _sent(
    ask: Callable[[Sequence[str]], Callable[[], Sequence[_T]]], names: Sequence[str]
) -> Callable[[], Sequence[_T]]:
    """Return a function that waits for the result. If the connection broke during ``ask``, the returned function
    raises that error.
    """
    try:
        return ask(names)
    except MetastoreLost as lost:
        error = lost

    def answer() -> Sequence[_T]:
        raise error

    return answer


def columns_in(table: Table) -> int:
    """Return the number of a table's columns, without partition keys. Used as ``weight`` for `fetch`."""
    return len((table.sd.cols if table.sd else None) or ())
