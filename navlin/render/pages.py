"""Tables of unlinked relations, incomplete operations, rejects, runs, blocked deletions, purges, and usage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from navlin.index.journal.rejects import Rejected
from navlin.index.journal.runs import RunRecord
from navlin.model.plurals import counted
from navlin.query.blocked_deletions import BlockedDeletions
from navlin.query.incomplete import IncompleteOperation
from navlin.query.page import Page
from navlin.query.purges import Purges
from navlin.query.unlinked import UnlinkedRelation
from navlin.query.usage import Usage
from navlin.render.counts import count_lines
from navlin.render.field_words import edge_words
from navlin.render.text import clean, moment, plain_table


def unlinked_view(page: Page[UnlinkedRelation]) -> RenderableType:
    """Return a table of relations: ends, reason, and time."""
    table = plain_table("Type", "From", "To", "Through", "Reason", "Since", "Reported by")
    for each in page.results:
        kind = edge_words(each.relation.type)
        ends = [", ".join(one.name for one in side) for side in (each.ends.sources, each.ends.targets)]
        through = each.ends.through.name if each.ends.through else ""
        _add(table, kind, *ends, through, each.reason, each.relation.unlinked_since, each.stated_by)
    return _whole(page, table, "No unresolved relations")


def incomplete_view(page: Page[IncompleteOperation]) -> RenderableType:
    """Return a table of operations, each with the reasons."""
    table = plain_table("Operation", "Source", "Missing")
    for each in page.results:
        _add(table, each.title, each.source, "; ".join(each.reasons))
        table.add_row(Text(each.operation.id, style="dim"))
    return _whole(page, table, "No incomplete operations")


def rejects_view(page: Page[Rejected]) -> RenderableType:
    """Return a table of records that could not be parsed: place and reason."""
    table = plain_table("Source", "Place", "Reason", "Count", "Last seen")
    for each in page.results:
        _add(table, each.source, each.where, each.reason, f"{each.count:,}", moment(each.seen_ms))
    return _whole(page, table, "No rejects")


def runs_view(page: Page[RunRecord]) -> RenderableType:
    """Return a table of runs: time, duration and result."""
    table = plain_table("Source", "Started", "Duration", "Status", "Result")
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
    return _whole(page, table, "No runs")


def blocked_view(loss: BlockedDeletions) -> RenderableType:
    """Return a table of the blocked deletions, and the command that accepts these deletions."""
    if loss.run is None:
        return Text("Nothing to review for this source")
    table = plain_table("Path", "Entity", "Entities affected", right={"Entities affected"})
    for each in loss.listed.results:
        _add(table, each.path, each.entity.name if each.entity else "", f"{each.entities:,}")
    accept = f"navlin extract {loss.run.source} --accept-loss '{loss.run.run_id}'"
    return Group(
        Text(clean(loss.run.note)),
        *([_whole(loss.listed, table, "")] if loss.listed.total else []),
        Text(f"if these are really gone: {clean(accept)}"),
    )


def purges_view(purges: Purges) -> RenderableType:
    """Return a table of the open purges, followed by the history."""
    table = plain_table("Started", "State", "Older than", "Requested by", "Removed")
    for each in (*purges.open, *purges.listed.results):
        removed = [
            f"{counts['removed']:,} {rule}" for rule, counts in each.rules.items() if counts["removed"]
        ]
        what = ", ".join(filter(None, [*removed, each.note]))
        _add(table, moment(each.started_ms), each.state.value, moment(each.before_ms), each.asked_by, what)
    if purges.open and not purges.listed.total:
        return table
    return _whole(purges.listed, table, "No purges yet")


def usage_view(usage: Usage) -> RenderableType:
    """Return a table of executions by user and operation, and the totals."""
    table = plain_table("User", "Operation", "Does", "Executions", "Last", right={"Executions"})
    for each in usage.listed.results:
        user = each.user or "unknown"
        _add(table, user, each.title, each.does, f"{each.executions:,}", moment(each.last_ms))
    cut = [Text("There are more operations or executions than navlin examines.")] if usage.cut else []
    reads, writes = counted(usage.reads, "execution"), counted(usage.writes, "execution")
    sums = f"since {moment(usage.since_ms)}: {reads} read it, {writes} wrote it"
    return Group(_whole(usage.listed, table, "No executions recorded in this period."), Text(sums), *cut)


def _add(table: Table, *cells: str) -> None:
    table.add_row(*(Text(clean(each), overflow="fold") for each in cells))


def _whole(page: Page[Any], table: Table, nothing: str) -> RenderableType:
    results: Sequence[Any] = page.results
    if not results:
        return Text(nothing if not page.total else f"{page.total:,} in all, none on this page")
    last = page.offset + len(results)
    more = f"; use --offset {last} for more" if page.truncated else ""
    return Group(table, Text(f"Showing {page.offset + 1:,}–{last:,} of {page.total:,}{more}"))
