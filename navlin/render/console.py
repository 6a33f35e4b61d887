"""rich's console, hardened: control characters in texts never reach the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.segment import Segment
from rich.text import Text

from navlin.model.printable import printable


class CleanConsole(Console):
    """A console that replaces control characters in every text, including cells, titles and rules."""

    def show(self, view: RenderableType) -> None:
        """Print a view: tables and trees as wide as the console, sentences unbroken, so that copied text is complete."""
        for part in view.renderables if isinstance(view, Group) else [view]:
            self.print(part, soft_wrap=isinstance(part, Text))

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield rich's output in pieces, without control characters from texts; rich's own control codes stay."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)
