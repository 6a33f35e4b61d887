"""What is affected by a change, a table for each owner."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from navlin.query.impact import Affected, Impact
from navlin.render.graph import footnotes
from navlin.render.text import clean, name_text, plain_table

DAY_MS: Final = 86_400_000


def impact_view(impact: Impact) -> RenderableType:
    """The start, what is affected by owner, and what is missing from that."""
    parts: list[RenderableType] = [name_text(impact.start).append(f"  {impact.start.type}")]
    if not impact.affected:
        parts.append(Text("  nothing is known to come from it", style="dim"))
    for owner, affected in impact.owners.items():
        title = clean(owner) or "of nobody that is known"
        parts.extend((Text(), Text(f"{title}: {len(affected)}", style="bold"), _table(affected)))
    parts.extend(footnotes(impact.truncated_at, impact.unlinked, "navlin lineage --unlinked shows it"))
    return Group(*parts)


def _table(affected: Iterable[Affected]) -> Table:
    table = plain_table("", "Affected", "Last execution", "By", "Executions")
    for each in affected:
        name = name_text(each.node).append(f"  {each.node.type}", style="dim")
        for mark in ("inferred", "parsed", "incomplete"):
            if getattr(each, mark):
                name.append(f"  {mark}", style="yellow")
        shown = each.to_json()
        table.add_row(
            "data" if each.carries else "decides",
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
    return f"{count:,} in {days:,} days" if days > 0 else f"{count:,}"
