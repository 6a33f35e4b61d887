"""Expressions: which columns go into a value, and which only decide about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from navlin.sql.flows import NOTHING, UNKNOWN, Flow, Scope, deciding, merged

if TYPE_CHECKING:
    from navlin.sql.queries import Queries


@dataclass(slots=True)
class Values:
    """Expressions of one scope; ``windows`` are those that its query names."""

    queries: Queries
    scope: Scope
    windows: dict[str, exp.Expr]

    def flow(self, node: exp.Expr, *, deciding_only: bool = False, alias_first: bool = False) -> Flow:
        """What an expression is made of. ``alias_first``: a name means the output column before any other (ORDER BY)."""
        made: list[Flow] = []
        decide: list[Flow] = []
        todo: list[tuple[exp.Expr, bool]] = [(node, deciding_only)]
        while todo:
            at, decides = todo.pop()
            found = decide if decides else made
            match at:
                case exp.Column(this=exp.Star()) | exp.Star():
                    found.append(self._all_columns(at))
                case exp.Column():
                    found.append(
                        self.scope.resolve([part.name for part in at.parts], alias_first=alias_first)
                    )
                case exp.Dot():
                    parts, base = _dotted(at)
                    if base is None:
                        found.append(self.scope.resolve(parts, alias_first=alias_first))
                    else:
                        todo.append((base, decides))
                case exp.Window():
                    named = self.windows.get(at.args["alias"].name.lower()) if at.args.get("alias") else None
                    todo.append((at.this, decides))
                    for each in filter(None, (at, named)):
                        todo.extend((part, True) for part in each.args.get("partition_by") or ())
                        todo.extend((part, True) for key in ("order", "spec") if (part := each.args.get(key)))
                case exp.Filter():
                    todo += [(at.this, decides), (at.expression, True)]
                case exp.WithinGroup():
                    todo.append((at.this, decides))
                    todo.extend((each.this, decides) for each in at.expression.expressions)
                case exp.Order():
                    # Of what is gathered: array_agg(x ORDER BY y).
                    if at.this is not None:
                        todo.append((at.this, decides))
                    todo.extend((each, True) for each in at.expressions)
                case exp.Exists():
                    todo.append((at.this, True))
                case exp.Query():
                    result = self.queries.query(at, self.scope)
                    self.scope.met(result, deciding=decides)
                    found.extend(out.flow for out in result.outs)
                    decide.append(result.rows)
                    if not result.whole:
                        found.append(UNKNOWN)
                case exp.Literal() | exp.DataType() | exp.Identifier():
                    pass
                case _:
                    todo.extend((child, decides) for child in at.iter_expressions())
        flow = merged(made)
        if decide:
            by = deciding(merged(decide))
            flow = Flow(flow.data, flow.control | by.control, flow.complete and by.complete, flow.counts)
        if deciding_only:
            flow = deciding(flow)
        return self.queries.held(flow)

    def _all_columns(self, star: exp.Expr) -> Flow:
        if isinstance(star.parent, exp.Count):
            return Flow(counts=True)
        qualifier = [part.name for part in star.parts[:-1]] if isinstance(star, exp.Column) else []
        rels = self.scope.qualified_rels(qualifier) or self.scope.rels
        whole = NOTHING if all(each.result.whole for each in rels) else UNKNOWN
        return merged([*(flow for each in rels for flow in each.by_name.values()), whole])


def _dotted(node: exp.Expr) -> tuple[list[str], exp.Expr | None]:
    """The names of ``a.b.c``; or what the field is taken of, where that is no name."""
    names: list[str] = []
    while isinstance(node, exp.Dot):
        names.append(node.expression.name)
        node = node.this
    if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
        return [*(part.name for part in node.parts), *reversed(names)], None
    return [], node
