"""Tables of unlinked relations, incomplete operations, rejects, and runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from navlin.index.rejects import Rejected
from navlin.index.runs import RunRecord
from navlin.query.incomplete import IncompleteOperation
from navlin.query.page import Page
from navlin.query.unlinked import UnlinkedRelation
from navlin.render.counts import count_lines
from navlin.render.text import clean, moment, plain_table


def unlinked_view(page: Page[UnlinkedRelation]) -> RenderableType:
    """Return a table of relations: ends, reason, and time."""
    table = plain_table("Type", "From", "To", "Through", "Reason", "Since", "Stated by")
    for each in page.results:
        kind = each.relation.type.lower().replace("_", " ")
        ends = [", ".join(one.name for one in side) for side in (each.ends.sources, each.ends.targets)]
        through = each.ends.through.name if each.ends.through else ""
        _add(table, kind, *ends, through, each.reason, each.relation.unlinked_since, each.stated_by)
    return _whole(page, table, "no relation waits for an end")


def incomplete_view(page: Page[IncompleteOperation]) -> RenderableType:
    """Return a table of operations, each with the reasons."""
    table = plain_table("Operation", "Source", "Not known")
    for each in page.results:
        _add(table, each.title, each.source, "; ".join(each.reasons))
        table.add_row(Text(each.operation.id, style="dim"))
    return _whole(page, table, "nothing is missing of any operation")


def rejects_view(page: Page[Rejected]) -> RenderableType:
    """Return a table of records that could not be parsed: place and reason."""
    table = plain_table("Source", "Where", "Why", "Times", "Seen last")
    for each in page.results:
        _add(table, each.source, each.where, each.reason, f"{each.count:,}", moment(each.seen_ms))
    return _whole(page, table, "everything read")


def runs_view(page: Page[RunRecord]) -> RenderableType:
    """Return a table of runs: time, duration and result."""
    table = plain_table("Source", "Started", "Took", "Status", "What")
    for each in page.results:
        took = f"{(each.ended_ms - each.started_ms) / 1000:.1f} s" if each.ended_ms else ""
        what = [each.error, each.note, *count_lines(each.counts.counted()), *each.failures[:1]]
        _add(
            table,
            each.source,
            moment(each.started_ms),
            took,
            each.status.value,
            ", ".join(filter(None, what)),
        )
    return _whole(page, table, "no runs")


def _add(table: Table, *cells: str) -> None:
    table.add_row(*(Text(clean(each), overflow="fold") for each in cells))


def _whole(page: Page[Any], table: Table, nothing: str) -> RenderableType:
    results: Sequence[Any] = page.results
    if not results:
        return Text(nothing if not page.total else f"{page.total:,} in all, none on this page")
    last = page.offset + len(results)
    more = f"; --offset {last} goes on" if page.truncated else ""
    return Group(table, Text(f"{page.offset + 1:,} to {last:,} of {page.total:,}{more}"))
