"""Search results as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from navlin.index.graph.entity import PATH_TYPES
from navlin.index.schema.fields import RELATIONS
from navlin.query.meant import FOLDED
from navlin.query.search import SearchAnswer
from navlin.render.field_words import STATE_WORDS
from navlin.render.text import clean, name_text, plain_table

_STATES: Final = ("deleted", "unlinked", "inferred", "incomplete")


def search_view(answer: SearchAnswer) -> RenderableType:
    """Return a table of the results, followed by the range shown, the total, the types left out, and the facets."""
    if not answer.documents:
        return Text("nothing found" if not answer.total else f"{answer.total} found, none on this page")
    table = _relation_table(answer) if answer.core == RELATIONS else _entity_table(answer)
    first, last = answer.offset + 1, answer.offset + len(answer.documents)
    counted = f"Showing {first}–{last} of {answer.total}"
    if answer.truncated:
        counted += f"; use --offset {last} for more"
    facets = [_facet_line(name, counts) for name, counts in answer.facets.items()]
    return Group(table, Text(counted), *folded_lines(answer.folded), *facets)


def folded_lines(folded: Mapping[str, int] | None) -> Iterator[Text]:
    """Yield a line for each type of match that is not among the results, with the filter that shows these matches."""
    if folded is None:
        for kind, (_, several) in FOLDED.items():
            yield Text(f"{several} are not shown: --filter type:{kind}")
        return
    for kind, count in folded.items():
        yield Text(f"and {count} {FOLDED[kind][count != 1]}: --filter type:{kind}")


def _entity_table(answer: SearchAnswer) -> Table:
    table = plain_table("Type", "Name", "Source")
    for entity in answer.entities:
        name = name_text(entity, answer.statements.get(entity.id, ""))
        if entity.type not in ("DATABASE", "TABLE", "VIEW", "FIELD", *PATH_TYPES):
            # Entities of other types often have no unique name, so show the id as well.
            name.append(f"\n{entity.id}", style="dim")
        table.add_row(entity.type, name, clean(entity.source_type))
    return table


def _relation_table(answer: SearchAnswer) -> Table:
    table = plain_table("Type", "From", "To", "")
    for relation in answer.relations:
        states = [STATE_WORDS.get(state, state) for state in _STATES if getattr(relation, state)]
        ends = [Text(clean(end.name), overflow="fold") for end in (relation.ep1, relation.ep2)]
        table.add_row(relation.type, *ends, ", ".join(states))
    return table


def _facet_line(name: str, counts: Mapping[str, int]) -> Text:
    return Text(f"{name}: " + ", ".join(f"{clean(value)} {count}" for value, count in counts.items()))
