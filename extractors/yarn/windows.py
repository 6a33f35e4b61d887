"""List the entries that finished in a window of time, with responses of a bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from extractors.rest import Parameters, RestService


def in_windows(
    service: RestService, path: str, parameters: Parameters, names: Sequence[str], begin_ms: int, page: int
) -> Iterator[Mapping[str, Any]]:
    """Yield the entries that finished at ``begin_ms`` or later, from responses with at most ``page`` entries.

    The services cannot continue after a page, and do not say which entries a limited response contains. So if a
    response is full, its window is split in two, by the times in the response. ``names`` are the keys that lead to the
    list in a response, followed by the name of the time field in an entry.
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
            # The service hides the times, so the window cannot be split.
            yield from service.entries(path, way, asked)
        else:
            middle_ms = times_ms[len(times_ms) // 2]
            middle_ms = max(since_ms, middle_ms if until_ms is None else min(middle_ms, until_ms - 1))
            windows += [(middle_ms + 1, until_ms), (since_ms, middle_ms)]
