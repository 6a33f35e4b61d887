"""Edits: who changed what, and what was there before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from navlin.index.edits import Edit
from navlin.index.fields import solr_date
from navlin.render.text import clean

VALUE_CHARS: Final = 200
"""How much of a value is shown; ``--json`` has the whole."""


def edits_view(edits: Iterable[Edit]) -> RenderableType:
    """Edits one below the other, each with its changes."""
    lines: list[RenderableType] = []
    for edit in edits:
        when = solr_date(edit.when_ms)[:19].replace("T", " ")
        lines.append(Text(f"{when}  {clean(edit.who)}  {clean(edit.name)}", style="bold", overflow="fold"))
        for change in edit.changes:
            text = f"  {clean(change.field)}: {_value(change.old)} → {_value(change.new)}"
            lines.append(Text(text, overflow="fold"))
    return Group(*lines)


def _value(value: Any) -> str:
    if value is None:
        return "nothing"
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return clean(text if len(text) <= VALUE_CHARS else text[:VALUE_CHARS] + " …")
