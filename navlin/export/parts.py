"""Sends the parts of a request that made a server fail: one of them may be the cause, or the server itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from navlin.export.connection import Failing
from navlin.export.target import Refused

_Part = TypeVar("_Part")


def in_parts(
    parts: Iterable[_Part], send: Callable[[_Part], Iterable[int | Refused]], shown: Callable[[_Part], str]
) -> Iterator[int | Refused]:
    """Sends each part. A part that makes the server fail is refused if others are accepted; raises `Failing` if none is.
    ``shown`` names a part."""
    failed: list[tuple[_Part, Failing]] = []
    taken = False
    for part in parts:
        try:
            yield from send(part)
            taken = True
        except Failing as error:
            failed.append((part, error))
            # Each failure was retried for long: two are enough to blame the server.
            if not taken and len(failed) > 1:
                raise
    if failed and not taken:
        raise failed[0][1]
    for part, reason in failed:
        yield Refused(shown(part), str(reason))
