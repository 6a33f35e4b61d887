"""View of the impact of a change: the total, and a table for each owner."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from navlin.model.plurals import agreeing, counted
from navlin.query.answer import CutReason
from navlin.query.impact import LISTED, Affected, Impact
from navlin.render.field_words import type_words
from navlin.render.graph import footnotes
from navlin.render.text import clean, name_text, plain_table

DAY_MS: Final = 86_400_000
MORE: Final = "--max-nodes follows more"
LONGER: Final = "--max-seconds waits longer"
ALL: Final = "--csv and --json have all"


def impact_view(impact: Impact) -> RenderableType:
    """Return a view of the start, the total, the affected entities by owner, and notes on missing parts."""
    parts: list[RenderableType] = [name_text(impact.start).append(f"  {impact.start.type}")]
    if impact.affected:
        parts.append(Text(f"  {total_words(impact)}", style="bold"))
    elif not impact.truncated_at:
        parts.append(Text("  no known downstream", style="dim"))
    if impact.truncated_at:
        advice = LONGER if impact.truncated_at[0].reason is CutReason.TIME else MORE
        parts.append(Text(f"  {clean(impact.cut_words)} {advice}.", style="bold", overflow="fold"))
    listed = impact.listed(LISTED)
    for owner, affected in listed.owners.items():
        title = clean(owner) or "No known owner"
        parts.extend((Text(), Text(f"{title}: {len(affected):,}", style="bold"), _table(affected)))
    if (more := len(impact.affected) - len(listed.affected)) > 0:
        parts.extend((Text(), Text(f"and {more:,} more: {ALL}", style="bold")))
    parts.extend(footnotes((), impact.unlinked, "show with navlin lineage --unlinked"))
    return Group(*parts)


def total_words(impact: Impact) -> str:
    """Return the total in words: ``at least 300 tables and 300 operations are affected, 290 of these 600 by
    control flow alone``."""
    kinds = [counted(count, type_words(kind)) for kind, count in impact.total.items()]
    every = len(impact.affected)
    decided = sum(not each.carries for each in impact.affected)
    least = "at least " if impact.truncated_at else ""
    words = f"{least}{' and '.join(filter(None, (', '.join(kinds[:-1]), *kinds[-1:])))}"
    words += f" {agreeing(every, 'is', 'are')} affected"
    return f"{words}, {decided:,} of these {every:,} by control flow alone" if decided else words


def _table(affected: Iterable[Affected]) -> Table:
    table = plain_table("", "Affected", "Last execution", "By", "Executions")
    for each in affected:
        name = name_text(each.node).append(f"  {each.node.type}", style="dim")
        for mark in ("inferred", "parsed", "incomplete"):
            if getattr(each, mark):
                name.append(f"  {mark}", style="yellow")
        shown = each.to_json()
        table.add_row(
            "data" if each.carries else "control",
            name,
            str(shown["lastExecution"] or ""),
            clean(each.executions.principal),
            _frequency(each),
        )
    return table


def _frequency(each: Affected) -> str:
    known = each.executions
    count = known.count + known.purged
    if not count or not known.count or known.purged:
        return f"{count:,}" if count else ""
    days = (known.last_ms - known.first_ms) // DAY_MS
    return f"{count:,} in {counted(days, 'day')}" if days > 0 else f"{count:,}"
