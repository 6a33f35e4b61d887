"""Options of the benches, and the tables and figures that they print."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

from rich.table import Table


def options(doc: str | None, **numbers: float) -> argparse.ArgumentParser:
    """Return a parser with the bench's docstring as its help, and an option for each number with its default."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=type(default), default=default, help=f"by default {default:,}")
    return parser


def table_of(
    *words: str, figures: Iterable[str], title: str | None = None, caption: str | None = None
) -> Table:
    """Return an empty table with columns of words, and columns of figures behind them."""
    table = Table(*words, title=title, caption=caption)
    for each in figures:
        table.add_column(each, justify="right")
    return table


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which this share of the values lies."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
