"""Tables and figures as the benches print them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table


def table_of(
    *words: str, figures: Iterable[str], title: str | None = None, caption: str | None = None
) -> Table:
    """Return an empty table with columns of words, followed by columns of figures."""
    table = Table(*words, title=title, caption=caption)
    for each in figures:
        table.add_column(each, justify="right")
    return table


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which this share of the values lies."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
