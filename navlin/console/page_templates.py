"""The template environment of pages. It escapes every value, makes it printable, and formats times, sizes and long
names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from rich.filesize import decimal

from navlin.index.schema.fields import solr_date
from navlin.index.solr.solr_query import phrase
from navlin.model.plurals import agreeing, counted
from navlin.query.answer import Edge, Node
from navlin.render.counts import count_lines
from navlin.render.field_words import edge_words, engine_words, field_words, relation_words, type_words
from navlin.render.status import span
from navlin.render.text import date_text, in_page

NAME_CHARS: Final = 80
"""Maximum length of a displayed name. The middle of a longer name is cut; the whole name appears on hover, and on the
entity's page."""
_TEMPLATES: Final = Path(__file__).parent / "templates"
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_BREAKS: Final = re.compile(r"(?<=[./_])(?=[^./_])")
"""The places at which a narrow column breaks a name, rather than within a word."""


def page_templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        # The filter `e` exempts a value that a form has to return verbatim.
        finalize=in_page,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.tests["date"] = lambda text: _DATE.fullmatch(text) is not None
    filters: dict[str, Any] = {
        "entity": lambda name: urlencode({"entity": name}),
        "quoted": lambda text: quote(str(text), safe=""),
        "date": lambda at_ms: solr_date(int(at_ms)),
        "utc": date_text,
        "span": span,
        "size": decimal,
        "count_lines": count_lines,
        "counted": counted,
        "agreeing": agreeing,
        "words": field_words,
        "type_words": type_words,
        "phrase": phrase,
        "sort_edges": _by_names,
        "engine": engine_words,
        "edge_words": edge_words,
        "middle": _cut_in_middle,
        "pieces": _BREAKS.split,
    }
    made.filters.update(filters)
    made.globals["relation_words"] = relation_words
    # The pages of one entity, in the order of their tabs.
    made.globals["tabs_of_entity"] = ("details", "lineage", "impact", "evidence", "usage")
    return made


def _by_names(edges: Iterable[Edge], nodes: Mapping[str, Node]) -> list[Edge]:
    """Sort edges by the names of their ends, so that an edge keeps its position when the display options change."""
    return sorted(edges, key=lambda each: (nodes[each.source].title, nodes[each.target].title, each.type))


def _cut_in_middle(name: str) -> str:
    """Return a name, without the middle of a long one, because paths and statements differ at the beginning or at the
    end."""
    return name if len(name) <= NAME_CHARS else f"{name[: NAME_CHARS // 2]}…{name[1 - NAME_CHARS // 2 :]}"
