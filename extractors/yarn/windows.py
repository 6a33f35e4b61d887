"""Lists entries that finished in a window of time, in answers of a bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from extractors.yarn.rest import Parameters, RestService


def in_windows(
    service: RestService, path: str, parameters: Parameters, names: Sequence[str], begin_ms: int, page: int
) -> Iterator[Mapping[str, Any]]:
    """Yields the entries that finished at ``begin_ms`` or later, in answers of at most ``page`` entries.

    Neither service can continue after a page, nor states which entries a limited answer holds: a window that is full is
    halved, by the times in its answer. ``names`` lead to the list in the answer and to the time in an entry.
    """
    *way, finish = names
    windows: list[tuple[int, int | None]] = [(begin_ms, None)]
    while windows:
        since_ms, until_ms = windows.pop()
        asked = {
            **parameters,
            "finishedTimeBegin": since_ms,
            **({} if until_ms is None else {"finishedTimeEnd": until_ms}),
        }
        whole = since_ms == until_ms
        found = service.entries(path, way, asked if whole else {**asked, "limit": page})
        times_ms = sorted(
            time for each in found if isinstance(time := each.get(finish), int) and time >= since_ms
        )
        if len(found) < page or whole:
            yield from found
        elif not times_ms or times_ms[-1] == 0:
            # It hides the times: there is nothing to halve by.
            yield from service.entries(path, way, asked)
        else:
            middle_ms = times_ms[len(times_ms) // 2]
            middle_ms = max(since_ms, middle_ms if until_ms is None else min(middle_ms, until_ms - 1))
            windows += [(middle_ms + 1, until_ms), (since_ms, middle_ms)]
