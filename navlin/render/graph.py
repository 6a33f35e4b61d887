"""Lineage as trees, upstream and downstream of the start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from navlin.model.plurals import agreeing, counted
from navlin.query.answer import CutNode, Direction, Edge, Lineage, Node
from navlin.query.columns import CONTAINED
from navlin.query.data_flows import between_data
from navlin.render.field_words import engine_words, type_words
from navlin.render.text import clean, name_text

MAX_INDENT: Final = 8
"""Maximum depth of a tree that fits into 80 columns. Deeper nodes are shown in a further tree below."""
COLUMNS_LISTED: Final = 12
CUTS_LISTED: Final = 10

_FLOWS: Final = frozenset({"DATA_FLOW", "CONTROL_FLOW"})
_ARROWS: Final = {
    (Direction.UPSTREAM, "DATA_FLOW"): "<-- ",
    (Direction.UPSTREAM, "CONTROL_FLOW"): "<.. ",
    (Direction.DOWNSTREAM, "DATA_FLOW"): "--> ",
    (Direction.DOWNSTREAM, "CONTROL_FLOW"): "..> ",
}


def lineage_view(lineage: Lineage) -> RenderableType:
    """Return a view of the start, with an upstream and a downstream tree, and notes on missing parts."""
    lineage = between_data(lineage)
    picture = _LineageIndex(lineage)
    parts: list[RenderableType] = [picture.heading(lineage.node(lineage.start))]
    parts.extend(picture.beside())
    for direction in (Direction.UPSTREAM, Direction.DOWNSTREAM):
        if lineage.direction in (direction, Direction.BOTH):
            parts.append(Text())
            parts.append(Text(direction.value.capitalize(), style="bold"))
            parts.extend(picture.trees(direction))
    parts.extend(footnotes(lineage.truncated_at, lineage.unlinked))
    return Group(*parts)


@dataclass(slots=True)
class _LineageIndex:
    lineage: Lineage
    nodes: dict[str, Node] = field(init=False)
    into: dict[str, list[Edge]] = field(init=False)
    out_of: dict[str, list[Edge]] = field(init=False)
    inside: dict[tuple[str, str], list[Edge]] = field(init=False)
    cut: set[tuple[str, Direction]] = field(init=False)

    def __post_init__(self) -> None:
        self.nodes = {node.id: node for node in self.lineage.nodes}
        self.into, self.out_of, self.inside = {}, {}, {}
        self.cut = {(cut.id, cut.direction) for cut in self.lineage.truncated_at}
        by_columns = self.nodes[self.lineage.start].type in CONTAINED
        for edge in self.lineage.edges:
            if edge.type not in _FLOWS:
                continue
            outer = (self._outer(edge), self._box(edge.target))
            if outer != (edge.source, edge.target) and not by_columns:
                self.inside.setdefault(outer, []).append(edge)
            else:
                self.into.setdefault(edge.target, []).append(edge)
                self.out_of.setdefault(edge.source, []).append(edge)

    def _outer(self, edge: Edge) -> str:
        """Return the node from which an edge between columns is drawn: the last shown operation along the edge, else
        the container of the source."""
        drawn = [hop.id for hop in edge.via if hop.type == "OPERATION" and hop.id in self.nodes]
        return drawn[-1] if drawn else self._box(edge.source)

    def _box(self, identity: str) -> str:
        node = self.nodes[identity]
        return node.parent if node.type in CONTAINED and node.parent in self.nodes else identity

    def heading(self, node: Node) -> Text:
        text = name_text(node)
        engine = f"{engine_words(clean(node.source_type))} " if node.source_type else ""
        text.append(f" ({engine}{type_words(node.type)})")
        return text

    def beside(self) -> Iterable[Text]:
        """Yield a line for each entity related to the start without a flow: a table at the location, the operation of
        an execution, an execution of the operation."""
        start = self.lineage.start
        for edge in self.lineage.edges:
            if edge.type == "LOGICAL_PHYSICAL" and edge.target == start:
                yield Text("location of ").append_text(name_text(self.nodes[edge.source]))
            elif edge.type == "INSTANCE_OF" and edge.target == start:
                yield Text("execution of ").append_text(name_text(self.nodes[edge.source]))
            elif edge.type == "INSTANCE_OF" and edge.source == start:
                yield Text("executed as ").append_text(name_text(self.nodes[edge.target]))

    def trees(self, direction: Direction) -> Iterable[RenderableType]:
        """Yield a tree for each root. Branches that are too deep are continued in a further tree."""
        edges = self.into if direction is Direction.UPSTREAM else self.out_of
        shown: set[str] = set()
        roots = [root for root in self._roots() if edges.get(root)]
        if not roots:
            yield Text("  nothing", style="dim")
        while roots:
            root = roots.pop(0)
            if root != self.lineage.start and root in shown:
                continue
            tree = Tree(name_text(self.nodes[root]), guide_style="dim")
            roots = [*self._grow(tree, root, edges, direction, shown), *roots]
            yield tree

    def _roots(self) -> list[str]:
        beside = [
            edge.source
            for edge in self.lineage.edges
            if edge.type not in _FLOWS and edge.target == self.lineage.start
        ]
        parent = self.nodes[self.lineage.start].parent
        boxes = [parent] if parent in self.nodes else []
        return list(dict.fromkeys([self.lineage.start, *beside, *boxes]))

    def _grow(
        self,
        tree: Tree,
        root: str,
        edges: Mapping[str, Sequence[Edge]],
        direction: Direction,
        shown: set[str],
    ) -> list[str]:
        """Add the nodes below ``root`` to the tree. Return the nodes at which a further tree continues."""
        continued: list[str] = []
        shown.add(root)
        stack = [(tree, root, 0)]
        while stack:
            branch, at, depth = stack.pop()
            below: list[tuple[Tree, str, int]] = []
            for edge in edges.get(at, ()):
                far = edge.source if direction is Direction.UPSTREAM else edge.target
                again = far in shown
                deep = not again and depth + 1 >= MAX_INDENT and bool(edges.get(far))
                child = branch.add(self._branch(edge, far, direction, again=again, deep=deep))
                if deep:
                    continued.append(far)
                elif not again:
                    shown.add(far)
                    below.append((child, far, depth + 1))
            stack.extend(reversed(below))
        return list(dict.fromkeys(continued))

    def _branch(self, edge: Edge, far: str, direction: Direction, *, again: bool, deep: bool) -> Text:
        text = Text(_ARROWS[(direction, edge.type)], style="", overflow="fold")
        text.append_text(name_text(self.nodes[far]))
        if self.nodes[far].type == "OPERATION":
            text.append("  [operation]", style="dim")
        hidden = [hop for hop in edge.via if hop.type != "OPERATION"]
        if hidden:
            # Show the hops in the order in which the tree is read.
            ordered = reversed(hidden) if direction is Direction.UPSTREAM else hidden
            text.append(
                "  via " + ", ".join(clean(hop.title) + " (deleted)" * hop.deleted for hop in ordered),
                style="dim",
            )
        for flag in ("inferred", "incomplete", "parsed"):
            if getattr(edge, flag):
                text.append(f"  {flag}", style="yellow")
        if again:
            text.append("  (shown above)", style="dim")
        elif deep:
            text.append("  (continued below)", style="dim")
        elif (far, direction) in self.cut:
            text.append("  …", style="bold")
        for line in self._column_lines(edge):
            text.append("\n    ").append_text(line)
        return text

    def _column_lines(self, edge: Edge) -> Iterable[Text]:
        pairs = self.inside.get((edge.source, edge.target), [])
        for pair in pairs[:COLUMNS_LISTED]:
            arrow = " --> " if pair.type == "DATA_FLOW" else " ..> "
            yield Text(arrow.join(self._ends(pair)), style="dim")
        if len(pairs) > COLUMNS_LISTED:
            yield Text(f"and {len(pairs) - COLUMNS_LISTED} more columns", style="dim")

    def _ends(self, pair: Edge) -> tuple[str, str]:
        """Return the short names of both columns, or the full names if the short ones are equal."""
        source, target = self._short(pair.source), self._short(pair.target)
        if source != target:
            return source, target
        return clean(self.nodes[pair.source].name), clean(self.nodes[pair.target].name)

    def _short(self, identity: str) -> str:
        node = self.nodes[identity]
        box = self.nodes.get(node.parent)
        own = node.name.removeprefix(box.name + ".") if box is not None else node.name
        return clean(own)


def footnotes(
    truncated_at: Sequence[CutNode], unlinked: int, shown_by: str = "show with --unlinked"
) -> Iterable[Text]:
    """Yield notes on the gaps in a lineage: the nodes at which the lineage was truncated, and the number of relations
    to entities that were never extracted."""
    if truncated_at:
        yield Text()
        yield Text("Results are truncated:", style="bold")
        for cut in truncated_at[:CUTS_LISTED]:
            yield _cut_line(cut)
        if len(truncated_at) > CUTS_LISTED:
            yield Text(f"  and at {len(truncated_at) - CUTS_LISTED} more places")
    if unlinked:
        yield Text()
        ends = agreeing(unlinked, "an entity that was", "entities that were")
        yield Text(f"{counted(unlinked, 'reference')} to {ends} never extracted ({shown_by})")


def _cut_line(cut: CutNode) -> Text:
    way = "" if cut.direction is Direction.BOTH else f", {cut.direction.value}"
    return Text(f"  at {clean(cut.name)}{way}: {cut.reason.words}")
