from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from navlin.index.schema.fields import EPOCH_MS_FIELDS, solr_date
from navlin.query.closure import MARKS
from navlin.query.column_flows import ColumnNeighbour
from navlin.query.show import Executions, RelationGroup, ShownEntity
from navlin.render.field_words import edge_words, engine_words, field_words, relation_words, type_words
from navlin.render.text import clean, name_text, plain_table

VALUE_CHARS: Final = 1_000
"""Maximum number of characters shown per value; ``--json`` has the whole value."""


def show_view(shown: ShownEntity) -> RenderableType:
    """Return a view of one entity: fields by owner, relations, executions, unlinked relations."""
    entity, fields = shown.entity, shown.fields
    parts: list[RenderableType] = [
        name_text(entity, shown.title).append(
            f" ({engine_words(clean(entity.source_type))} {type_words(entity.type)})"
        ),
        Text(f"id {entity.id}", style="dim"),
    ]
    for title, group in (
        ("Technical metadata", fields.extractor),
        ("Technical properties", fields.technical),
        ("Business metadata", fields.people),
        ("Derived", fields.linker),
        ("System", fields.navlin),
    ):
        if group:
            parts.extend((Text(), Text(title, style="bold"), _field_table(group)))
    for each in shown.inherited:
        between = ", ".join(clean(step.title) for step in each.between)
        marks = [mark for mark in MARKS if getattr(each, mark)]
        text = Text(f"Inherited: {clean(each.word.text)}, from {clean(each.origin.name)}", overflow="fold")
        text.append(f", via {between}" if between else "")
        text.append("".join(f"  {mark}" for mark in marks), style="yellow")
        parts.extend((Text(), text))
    for incoming, title in ((True, "Upstream"), (False, "Downstream")):
        if flows := [each for each in shown.flows if each.incoming == incoming]:
            parts.extend((Text(), Text(title, style="bold"), *map(_flow, flows)))
    if groups := shown.relations_for_people:
        parts.extend((Text(), Text("Relations", style="bold"), *map(_relation_group, groups)))
    if shown.executions.count:
        parts.extend((Text(), *_executions(shown.executions)))
    if shown.unlinked_count:
        parts.extend((Text(), Text(f"Unresolved references: {shown.unlinked_count}", style="bold")))
        for related in shown.unlinked:
            relation = related.relation
            reason = f": {clean(relation.unlinked_reason)}" if relation.unlinked_reason else ""
            since = f", since {relation.unlinked_since}" if relation.unlinked_since else ""
            words = edge_words(relation.type)
            parts.append(Text(f"  {words} {clean(related.title)}{reason}{since}", overflow="fold"))
    return Group(*parts)


def _field_table(group: Mapping[str, Any]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in group.items():
        if name in EPOCH_MS_FIELDS:
            value = solr_date(int(value))
        table.add_row(Text("  " + clean(field_words(name))), Text(_value(value), overflow="fold"))
    return table


def _value(value: Any) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    cut = text if len(text) <= VALUE_CHARS else f"{text[:VALUE_CHARS]} … ({len(text)} characters)"
    return "\n".join(clean(line) for line in cut.splitlines())


def _relation_group(group: RelationGroup) -> Tree:
    deleted = f", {group.deleted} deleted" if group.deleted else ""
    words = relation_words(group.type, group.incoming)
    tree = Tree(Text(f"{words}: {group.count}{deleted}"), guide_style="dim")
    for related in group.listed:
        text = Text(clean(related.title), overflow="fold")
        if related.relation.deleted:
            text.stylize("strike")
            text.append(" (deleted)", style="not strike")
        if related.relation.unlinked:
            text.append(" (unresolved)", style="italic")
        tree.add(text)
    if (more := group.count + group.deleted - len(group.listed)) > 0:
        tree.add(Text(f"and {more} more", style="dim"))
    return tree


def _flow(flow: ColumnNeighbour) -> Text:
    text = Text("  ").append_text(name_text(flow.other))
    if flow.through:
        text.append("  through " + ", ".join(clean(hop.title) for hop in flow.through), style="dim")
    if flow.edge.type == "CONTROL_FLOW":
        text.append("  control", style="yellow")
    for mark in MARKS:
        if getattr(flow.edge, mark):
            text.append(f"  {mark}", style="yellow")
    for each in flow.expressions:
        text.append(f"\n    {clean(each)}", style="dim")
    return text


def _executions(executions: Executions) -> Iterable[RenderableType]:
    last = f", last {executions.last}" if executions.last else ""
    by = f" by {clean(executions.last_principal)}" if executions.last_principal else ""
    yield Text(f"Executions: {executions.count}{last}{by}", style="bold")
    table = plain_table("Started", "Run", "By", "Status", "Of")
    for each in executions.listed:
        name = Text(clean(each.own_name or each.id), overflow="fold")
        row = (str(each.as_indexed.get("started", "")), name, clean(each.principal))
        table.add_row(*row, clean(each.status), clean(executions.title(each)))
    yield table
