"""Views of edits: the user, the changes, and the old values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from navlin.edit.edit_options import Done
from navlin.index.journal.edits import Edit
from navlin.model.plurals import counted
from navlin.query.edits import History
from navlin.render.text import clean, moment

SHOWN: Final = 20
VALUE_CHARS: Final = 200
"""Maximum number of characters shown per value; ``--json`` has the whole value."""


def edits_view(edits: Iterable[Edit]) -> RenderableType:
    """Return a view of edits, one below the other, each with its changes."""
    lines: list[RenderableType] = []
    for edit in edits:
        lines.append(
            Text(
                f"{moment(edit.when_ms)}  {clean(edit.who)}  {clean(edit.name)}",
                style="bold",
                overflow="fold",
            )
        )
        for change in edit.changes:
            text = f"  {clean(change.field)}: {_value(change.old)} → {_value(change.new)}"
            lines.append(Text(text, overflow="fold"))
    return Group(*lines)


def history_view(history: History) -> RenderableType:
    """Return a view of the edits, and the total number if some are not shown."""
    shown = edits_view(history.edits)
    if len(history.edits) == history.total:
        return shown
    return Group(
        shown,
        Text(f"{len(history.edits):,} of {history.total:,} edits; --limit and --offset have the others"),
    )


def edited_view(done: Done) -> RenderableType:
    """Return a view of an edit's result: the number of changed entities, the first changes, and the refusals."""
    verb = "would change" if done.dry_run else "changed"
    parts: list[RenderableType] = [Text(f"{done.changed:,} of {counted(done.entities, 'entity')} {verb}")]
    if done.edits:
        parts.append(edits_view(done.edits[:SHOWN]))
    if done.changed > SHOWN:
        parts.append(Text(f"and {done.changed - SHOWN:,} more (`navlin edits` has those of each entity)"))
    parts += [Text(f"{each.identity}: {clean(each.reason)}") for each in done.refused[:SHOWN]]
    return Group(*parts)


def _value(value: Any) -> str:
    if value is None:
        return "nothing"
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return clean(text if len(text) <= VALUE_CHARS else text[:VALUE_CHARS] + " …")
