"""View of the entities that inherit a tag, below the entity that has the tag."""

from __future__ import annotations

from typing import Final

from rich.console import RenderableType
from rich.text import Text
from rich.tree import Tree

from navlin.query.closure import MARKS
from navlin.query.inherited import Origin
from navlin.render.text import clean, name_text

CUTS_LISTED: Final = 5


def inherited_view(origin: Origin) -> RenderableType:
    """Return a tree of the entity that has the tag and the entities that inherit it, with the paths."""
    tree = Tree(name_text(origin.entity).append(f"  {origin.entity.type}"), guide_style="dim")
    for each in origin.inherited:
        text = name_text(each.node).append(f"  {each.node.type}", style="dim")
        if each.decision:
            text.append("  control", style="yellow")
        for mark in MARKS:
            if getattr(each, mark):
                text.append(f"  {mark}", style="yellow")
        if each.between:
            text.append("\n  via " + ", ".join(clean(step.title) for step in each.between), style="dim")
        tree.add(text)
    if not origin.inherited:
        tree.add(Text("nothing inherits it from here", style="dim"))
    for cut in origin.truncated_at[:CUTS_LISTED]:
        tree.add(Text(f"results are truncated at {clean(cut.name)}: {cut.reason.words}", style="bold"))
    return tree
