"""rich's console, through which nothing of a text's own goes to the terminal but what is printed."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from navlin.model.printable import printable


class CleanConsole(Console):
    """A console that replaces what a terminal would obey in every text, whatever it stands in: a cell, a title, a rule."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """What rich prints, piece by piece; its own control codes stay."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)
