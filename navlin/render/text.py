"""Names and tables that look the same in all views.

Colours and line styles are also expressed as words: ``(deleted)``, ``(placeholder)``. Names come from outside, so nothing
in them is taken for markup or for a terminal's control sequence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Any, Final

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from navlin.index.graph.entity import StoredEntity
from navlin.model.printable import REPLACEMENT, printable
from navlin.query.answer import Node


def name_text(node: Node | StoredEntity, title: str = "") -> Text:
    """Return an entity's name, or ``title`` instead. The text is struck through if the entity is deleted, and in
    italics if only the name is known."""
    text = Text(clean(title or (node.title if isinstance(node, Node) else node.name)), overflow="fold")
    if node.deleted:
        text.stylize("strike")
        text.append(" (deleted)", style="not strike")
    if isinstance(node, Node) and node.placeholder:
        text.stylize("italic")
        text.append(" (placeholder)", style="not italic")
    return text


LONG_CHARS: Final = 24
"""Maximum length of a word that must not be folded. Longer texts are names or sentences."""


class PlainTable(Table):
    """A table without lines, whose cells are folded rather than cut. If folding would break words up to `LONG_CHARS`,
    each row becomes a paragraph, with the first cell as its title."""

    def __init__(self, headings: Iterable[str], right: Collection[str] = ()) -> None:
        super().__init__(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
        for heading in headings:
            self.add_column(heading, justify="right" if heading in right else "left", overflow="fold")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        least = sum(min(self._widest(console, column), LONG_CHARS) + 2 for column in self.columns)
        if least - 2 <= options.max_width:
            yield from super().__rich_console__(console, options)
            return
        for title, *cells in zip(*(column.cells for column in self.columns), strict=True):
            yield Text.assemble(_text(title), style="bold", overflow="fold")
            cells_by_heading = (
                Text.assemble((f"{column.header} ".lstrip(), "dim"), text)
                for column, cell in zip(self.columns[1:], cells, strict=True)
                if (text := _text(cell))
            )
            yield Padding(Text(" · ").join(cells_by_heading), (0, 0, 0, 2))

    def _widest(self, console: Console, column: Column) -> int:
        return max(
            Measurement.get(console, console.options, cell).maximum for cell in (column.header, *column.cells)
        )


def _text(cell: RenderableType) -> Text:
    return cell if isinstance(cell, Text) else Text(str(cell), overflow="fold")


def plain_table(*headings: str, right: Collection[str] = ()) -> PlainTable:
    """Return a table with these headings; the columns in ``right`` are right-aligned, for numbers."""
    return PlainTable(headings, right)


def date_text(date: str) -> str:
    """Format a date of the index (ISO 8601, UTC) for people."""
    return f"{date[:10]} {date[11:19]} UTC"


def moment(at_ms: int) -> str:
    """Format a time (epoch ms) for people, in UTC, to the second."""
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}Z"


def clean(text: str) -> str:
    """Return text from outside as one line, with control characters replaced."""
    return printable(text).replace("\n", REPLACEMENT)


def in_page(value: Any) -> Any:
    """Return a value as shown on a page: lists joined by commas, "" for None, and texts without characters that are
    unprintable or change the writing direction. Markup is unchanged."""
    if type(value) is str:
        return printable(value.expandtabs(4).replace("\r", ""))
    if isinstance(value, list | tuple):
        return printable(", ".join(map(str, value)))
    return "" if value is None else value
