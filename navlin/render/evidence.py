"""Views of an entity's origin: a summary for a terminal, and the whole document as a page to be printed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

from jinja2 import Environment, StrictUndefined
from rich.console import Group, RenderableType
from rich.text import Text

from navlin.model.plurals import counted
from navlin.query.evidence import Evidence, UncertaintyKind
from navlin.render.field_words import edge_words, engine_words, field_words, type_words
from navlin.render.text import clean, date_text, in_page, name_text, plain_table

UNCERTAINTIES_LISTED: Final = 20
_PAGE: Final = Path(__file__).with_name("evidence.html")


def evidence_html(evidence: Evidence, base: str | None = None) -> str:
    """Return the whole document as a self-contained HTML page, with everything escaped. In the console, names link to
    the pages below ``base``. Without ``base``, for a file, nothing is linked."""
    pages = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=in_page
    )
    pages.filters["words"] = field_words
    pages.filters["type_words"] = type_words
    pages.filters["engine"] = engine_words
    pages.filters["edge_words"] = edge_words
    pages.filters["plural"] = counted
    pages.filters["utc"] = date_text
    pages.filters["doubt_words"] = _kind_words
    flows = evidence.flows
    return pages.from_string(_PAGE.read_text("utf-8")).render(
        {
            **evidence.to_json(),
            "base": base,
            "flows": flows.edges,
            "nodes": {node.id: node for node in flows.nodes},
            "known": _known(evidence),
            "statements_made": evidence.statements,
        }
    )


def _kind_words(kind: str) -> str:
    """Return a kind of uncertainty in words: it is the relation that is unlinked, and the entity is a placeholder."""
    return "placeholder" if kind == UncertaintyKind.UNLINKED else str(kind)


def _known(evidence: Evidence) -> set[str]:
    """Return the ids of entities that have a page: all except placeholders."""
    nodes = {node.id for node in evidence.upstream.nodes if not node.placeholder}
    executions = {run.id for each in evidence.statements for run in each.listed}
    return nodes | executions | {evidence.entity.id} | {each.entity.id for each in evidence.statements}


def evidence_view(evidence: Evidence) -> RenderableType:
    """Return a summary: the statements that made the entity, with their last users; the uncertainties; and how up to
    date the index is."""
    parts: list[RenderableType] = [
        name_text(evidence.entity).append(f"  {evidence.entity.type}"),
        Text(),
        Text(f"Statements: {len(evidence.statements)}", style="bold"),
    ]
    statements = plain_table("Output", "Statement", "Last execution", "By")
    for each in evidence.statements:
        last = str(each.to_json()["executions"]["last"] or "")
        makes = ", ".join(clean(made.name) for made in each.makes)
        statements.add_row(makes, clean(each.title), last, clean(each.executions.principal))
    parts.append(statements)
    counts = Counter(_kind_words(point.kind) for point in evidence.uncertainties)
    uncertain = ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "nothing"
    parts.extend((Text(), Text(f"Not certain: {uncertain}", style="bold")))
    table = plain_table("", "What", "Why")
    for point in evidence.uncertainties[:UNCERTAINTIES_LISTED]:
        table.add_row(_kind_words(point.kind), clean(point.what), clean(point.why))
    parts.append(table)
    if len(evidence.uncertainties) > UNCERTAINTIES_LISTED:
        parts.append(
            Text(
                f"and {len(evidence.uncertainties) - UNCERTAINTIES_LISTED} more (--json and --html have all)"
            )
        )
    parts.extend((Text(), Text("Data freshness", style="bold")))
    sources = plain_table("Source", "Last extraction", "Last full extraction", "State")
    for freshness in evidence.freshness:
        shown = freshness.to_json()
        state = f"{freshness.status}, held" if freshness.blocked_run else freshness.status
        dates = (str(shown[key] or "unknown") for key in ("lastReading", "lastCompleteReading"))
        sources.add_row(clean(freshness.source.name), *dates, state)
    parts.append(sources)
    return Group(*parts)
