"""Names and tables, alike in all views.

What colour and line styles say is said in a word as well: ``(deleted)``, ``(unlinked)``. Names come from outside, so
nothing in them is taken for markup or for a terminal's control sequence.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from navlin.index.entity import StoredEntity
from navlin.model.printable import REPLACEMENT, printable
from navlin.query.answer import Node


def name_text(node: Node | StoredEntity) -> Text:
    """A name, struck through if it is deleted, in italics if nothing but the name is known."""
    text = Text(clean(node.name), overflow="fold")
    if node.deleted:
        text.stylize("strike")
        text.append(" (deleted)", style="not strike")
    if isinstance(node, Node) and node.placeholder:
        text.stylize("italic")
        text.append(" (unlinked)", style="not italic")
    return text


def plain_table(*headings: str) -> Table:
    """A table without lines, whose cells are folded rather than cut."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def moment(at_ms: int) -> str:
    """A time as people read it, in UTC, to the second."""
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}Z"


def clean(text: str) -> str:
    """Text from outside that stands in one line, without what a terminal would obey."""
    return printable(text).replace("\n", REPLACEMENT)


def in_page(value: Any) -> Any:
    """A value as a page shows it: several with commas between them, nothing for None, and of a text no character that is not
    printed or turns the writing around. What is markup already stays."""
    if type(value) is str:
        return printable(value.expandtabs(4).replace("\r", ""))
    if isinstance(value, list | tuple):
        return printable(", ".join(map(str, value)))
    return "" if value is None else value
