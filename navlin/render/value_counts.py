"""Table of counts by the values of fields: one column per field, with the values of each field nested in those of the
field before."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from navlin.index.search.counting import Counts
from navlin.query.value_counts import ValueCounts
from navlin.render.found import folded_lines
from navlin.render.text import clean

NO_VALUE = "(none)"
_INEXACT = "The index has several shards: a value that is rare on each of them may be missing here."


def value_counts_view(answer: ValueCounts) -> RenderableType:
    """Return the table of counts, and a note if values are left out."""
    if not answer.counted.total:
        return Text("nothing found")
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in answer.fields:
        table.add_column(clean(name), overflow="fold")
    table.add_column("count", justify="right")
    for cells in _rows(answer.counted.counts, (), len(answer.fields)):
        table.add_row(*(Text(clean(cell), overflow="fold") for cell in cells))
    notes = [Text(f"{answer.counted.total:,} in all"), *folded_lines(answer.folded)]
    if answer.cut:
        notes.append(Text(f"at most {answer.values:,} values of a field are shown; --values shows more"))
    if not answer.counted.exact:
        notes.append(Text(_INEXACT))
    return Group(table, *notes)


def _rows(counts: Counts, above: tuple[str, ...], width: int) -> Iterator[tuple[str, ...]]:
    blank = ("",) * (width - len(above) - 1)
    for each in counts.counts:
        value = NO_VALUE if each.value is None else str(each.value)
        yield (*above, value, *blank, f"{each.count:,}")
        if each.below is not None:
            yield from _rows(each.below, (*above, ""), width)
    if counts.more != 0:
        yield (*above, "…" if counts.more is None else f"… {counts.more:,} more", *blank, "")
