"""Restore the full SQL text of a run from the event's file, because only the beginning is stored between two reads."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from extractors.lineage.regular_files import open_regular
from extractors.openlineage.event_files import parse, side_by_side
from extractors.openlineage.events import NotAnOpenLineageEvent, events_in, mapping
from extractors.openlineage.runs import JobRun, hash_of, sql_in

CUT: Final = "the SQL text is cut: the file of the event with the whole text no longer exists"


def make_whole(run: JobRun) -> None:
    """Restore the full SQL text of a run. If the text can no longer be read, mark the run as incomplete."""
    if not run.sql_is_cut:
        return
    with suppress(OSError, NotAnOpenLineageEvent, ValueError):
        for value in _values(*run.sql_at):
            facets = mapping(mapping(mapping(value).get("job")).get("facets"))
            sql = sql_in(facets)
            if hash_of(sql) == (run.sql_hidden or run.sql_digest):
                run.sql, run.sql_hidden = sql, ""
                return
    run.missing(CUT)


def _values(path: str, offset: int, size_bytes: int) -> list[Any]:
    with open_regular(path, str(Path(path).parent)) as file:
        file.seek(offset)
        text = file.read(size_bytes) or b""
    try:
        return list(events_in(parse(text)))
    except NotAnOpenLineageEvent:
        return side_by_side(text)[0]
