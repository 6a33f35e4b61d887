"""Match whole names in queries. API clients look up exact names, while people search for parts of names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from navlin.index.search.query_tree import Clause, FieldValue, FunctionRange, Group, Node, Phrase, Word
from navlin.query.syntax import Parsed

_NAME = "originalName"


def by_whole_name(parsed: Parsed) -> Parsed | None:
    """Return the query with each required ``originalName`` matched as a whole name, case-sensitively; None if the query
    requires no name. In the original query, a name is also matched by one of its parts: ``orders`` finds
    ``big_orders``."""
    names = {_text(node) for node in _required(parsed.query.clauses)} - {None}
    if not names:
        return None
    whole = [Clause(FunctionRange(_NAME, name, name), sign="+") for name in sorted(filter(None, names))]
    asked = Clause(Group(parsed.query.clauses), sign="+")
    return replace(parsed, query=replace(parsed.query, clauses=(asked, *whole)))


def _required(clauses: tuple[Clause, ...]) -> Iterator[Node]:
    joined = all(each.operator == "AND" for each in clauses[1:])
    for each in clauses:
        if each.sign == "+" or (joined and not each.sign):
            if isinstance(each.node, Group):
                yield from _required(each.node.clauses)
            else:
                yield each.node


def _text(node: Node) -> str | None:
    match node:
        case FieldValue(field=field, value=Word() as word) if field == _NAME:
            return word.text
        case FieldValue(field=field, value=Phrase(text=text, distance="")) if field == _NAME:
            return text
    return None
