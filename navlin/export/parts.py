"""Sends the parts of a failed request one by one, to find out whether a part or the server caused the failure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from navlin.export.connection import Failing
from navlin.export.target import RefusedRecord

_Part = TypeVar("_Part")


def in_parts(
    parts: Iterable[_Part],
    send: Callable[[_Part], Iterable[int | RefusedRecord]],
    shown: Callable[[_Part], str],
) -> Iterator[int | RefusedRecord]:
    """Send each part, and yield the outcomes. A part that makes the server fail counts as refused if another part is
    accepted; otherwise `Failing` is raised. ``shown`` returns a name for a part."""
    failed: list[tuple[_Part, Failing]] = []
    taken = False
    for part in parts:
        try:
            yield from send(part)
            taken = True
        except Failing as error:
            failed.append((part, error))
            # Each failure was retried for a long time, so two failures are enough to blame the server.
            if not taken and len(failed) > 1:
                raise
    if failed and not taken:
        raise failed[0][1]
    for part, reason in failed:
        yield RefusedRecord(shown(part), str(reason))
