"""View of unused data by database and owner, and of the reasons for unknown verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.filesize import decimal
from rich.text import Text

from navlin.query.read_coverage import ReadCoverage
from navlin.query.unused_report import Totals
from navlin.query.usage_status import EntityUsage
from navlin.render.text import clean, name_text, plain_table

LISTED: Final = 30


def unused_view(known: ReadCoverage, largest: Sequence[EntityUsage], totals: Totals) -> RenderableType:
    """Return a view of the totals, the unused data by database and owner, and the reasons. ``largest`` are the unused
    entities with the most bytes; at most `LISTED` are shown."""
    sums, many = totals.to_json(), totals.of.value
    parts: list[RenderableType] = [
        Text(
            f"unused: {sums['unused'][many]:,} {many}, {decimal(sums['unused']['sizeBytes'])};"
            f" unknown: {sums['not known'][many]:,}; used: {sums['used'][many]:,}",
            style="bold",
        )
    ]
    if sums["unusedBy"]:
        table = plain_table("Database", "Owner", many.capitalize(), "Size")
        for each in sums["unusedBy"]:
            names = clean(each["database"]), clean(each["owner"])
            table.add_row(*names, f"{each[many]:,}", decimal(each["sizeBytes"]))
        parts.extend((Text(), table))
    if largest:
        table = plain_table("Largest", "Size", "Last known read", "By", "Where")
        for usages in largest[:LISTED]:
            shown = usages.to_json()
            size = "unknown" if shown["sizeBytes"] is None else decimal(shown["sizeBytes"])
            if shown["sizeAsOf"]:
                size += f" on {shown['sizeAsOf'][:10]}"
            where = ", ".join(map(clean, shown["locations"]))
            read = str(shown["lastRead"] or "none")
            table.add_row(name_text(usages.entity), size, read, clean(usages.last_reader), where)
        parts.extend((Text(), table, Text(), Text("Evidence", style="bold")))
        parts.extend(Text("  " + clean(each), overflow="fold") for each in largest[0].reasons)
    if known.reasons and not totals.reasons:
        parts.extend((Text(), Text("Why some answers are unknown", style="bold")))
        parts.extend(Text("  " + clean(each), overflow="fold") for each in known.reasons)
    if totals.reasons:
        parts.extend((Text(), Text("Why the answer is unknown", style="bold")))
        reasons = plain_table(many.capitalize(), "Why")
        for reason, count in totals.reasons.most_common(LISTED):
            reasons.add_row(f"{count:,}", clean(reason))
        parts.append(reasons)
    if totals.reasons or known.reasons:
        parts.extend(
            (Text(), Text("if this does not matter here: --without-engine, --despite-gaps", style="dim"))
        )
    return Group(*parts)
