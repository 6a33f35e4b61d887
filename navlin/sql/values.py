"""Expressions: the columns that a value is computed from, and the columns that only affect the value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from navlin.sql.flows import NOTHING, UNKNOWN, ValueSources, deciding, merged
from navlin.sql.scopes import Output, Scope

if TYPE_CHECKING:
    from navlin.sql.queries import QueryReader


@dataclass(slots=True)
class Values:
    """Reader of the expressions in one scope. ``windows`` are the query's named windows."""

    queries: QueryReader
    scope: Scope
    windows: dict[str, exp.Expr]
    decided: dict[str, ValueSources] = field(default_factory=dict)
    """Name → control flow, for the named windows read so far."""

    def flow(
        self, node: exp.Expr, *, deciding_only: bool = False, output: Output = Output.NEVER
    ) -> ValueSources:
        """Return the flow of an expression. ``output`` is the precedence of the query's own output columns for the
        names in the expression."""
        made: list[ValueSources] = []
        decide: list[ValueSources] = []
        todo: list[tuple[exp.Expr, bool]] = [(node, deciding_only)]
        alone = node.this if isinstance(node, exp.Ordered) else node
        if output is Output.FIRST and not isinstance(alone, exp.Column):
            output = Output.EITHER
        while todo:
            at, decides = todo.pop()
            found = decide if decides else made
            match at:
                case exp.Column(this=exp.Star()) | exp.Star():
                    found.append(self._all_columns(at))
                case exp.Column():
                    found.append(self.scope.resolve([part.name for part in at.parts], output))
                case exp.Dot(expression=exp.Func() as function):
                    # A function of a database: the text before its name is not a column.
                    todo.append((function, decides))
                case exp.Dot():
                    parts, base = _dotted(at)
                    if base is None:
                        found.append(self.scope.resolve(parts, output))
                    else:
                        todo.append((base, decides))
                case exp.Window():
                    todo.append((at.this, decides))
                    todo.extend((part, True) for part in _deciding_parts(at))
                    decide.append(self._of_named_window(_builds_on(at)))
                case exp.Filter():
                    todo += [(at.this, decides), (at.expression, True)]
                case exp.WithinGroup():
                    todo.append((at.this, decides))
                    todo.extend((each.this, decides) for each in at.expression.expressions)
                case exp.Order():
                    # The order of collected values: array_agg(x ORDER BY y).
                    if at.this is not None:
                        todo.append((at.this, decides))
                    todo.extend((each, True) for each in at.expressions)
                case exp.AggFunc() if output is Output.EITHER:
                    # An aggregate takes columns, not the query's output.
                    inner = (self.flow(each, output=Output.BEHIND) for each in at.iter_expressions())
                    found.extend(inner)
                case exp.Exists(this=exp.Query()):
                    # Only the existence of rows counts, not their values.
                    result = self.queries.query(at.this, self.scope)
                    self.scope.met(result, deciding=True)
                    decide.append(result.rows)
                case exp.Query():
                    result = self.queries.query(at, self.scope)
                    self.scope.met(result, deciding=decides)
                    found.extend(out.flow for out in result.outs)
                    decide.append(result.rows)
                    if not result.whole:
                        found.append(UNKNOWN)
                case exp.Parameter() if _stands_for_anything(at):
                    found.append(UNKNOWN)
                case exp.Literal() | exp.DataType() | exp.Identifier():
                    pass
                case _:
                    todo.extend((child, decides) for child in at.iter_expressions())
        flow = merged(made)
        if decide:
            by = deciding(merged(decide))
            flow = ValueSources(
                flow.data, flow.control | by.control, flow.complete and by.complete, flow.counts
            )
        if deciding_only:
            flow = deciding(flow)
        return self.queries.counted(flow)

    def _of_named_window(self, name: str) -> ValueSources:
        """Return the control flow of a window that the query names, and of the windows it builds on: ``w2 AS (w ORDER
        BY b)``. Each window is read once."""
        chain: list[str] = []
        while name in self.windows and name not in self.decided and name not in chain:
            chain.append(name)
            name = _builds_on(self.windows[name])
        flow = self.decided.get(name, NOTHING)
        for each in reversed(chain):
            parts = _deciding_parts(self.windows[each])
            own = (self.flow(part, deciding_only=True, output=Output.BEHIND) for part in parts)
            flow = self.decided[each] = merged((flow, *own))
        return flow

    def _all_columns(self, star: exp.Expr) -> ValueSources:
        qualifier = [part.name for part in star.parts[:-1]] if isinstance(star, exp.Column) else []
        if isinstance(star.parent, exp.Count) and not qualifier:
            return ValueSources(counts=True)
        rels = self.scope.qualified_rels(qualifier) if qualifier else self.scope.rels
        if not rels and qualifier:
            return self.scope.resolve(qualifier)  # the fields of a struct
        whole = NOTHING if all(each.result.whole for each in rels) else UNKNOWN
        return merged([*(out.flow for each in rels for out in each.result.outs), whole])


def _builds_on(window: exp.Expr) -> str:
    """Return the lower-case name of the window that this one builds on; "" if there is none."""
    named = window.args.get("alias")
    return named.name.lower() if named is not None else ""


def _deciding_parts(window: exp.Expr) -> Iterator[exp.Expr]:
    yield from window.args.get("partition_by") or ()
    yield from (part for key in ("order", "spec") if (part := window.args.get(key)))


def _stands_for_anything(node: exp.Parameter) -> bool:
    """Whether a Hive variable (``${filter}``) may be a whole condition or column. Next to an operator it is a value, as
    ``@x`` always is."""
    if "expression" not in node.args:
        return False
    beside = node.parent
    while isinstance(beside, exp.Paren | exp.Alias):
        beside = beside.parent
    return isinstance(
        beside, exp.Select | exp.Where | exp.Having | exp.Qualify | exp.Connector | exp.Not | exp.Join
    )


def _dotted(node: exp.Expr) -> tuple[list[str], exp.Expr | None]:
    """Return the names in ``a.b.c`` and None; for a field of any other expression, return no names and that
    expression."""
    names: list[str] = []
    while isinstance(node, exp.Dot) and not isinstance(node.expression, exp.Func):
        names.append(node.expression.name)
        node = node.this
    if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
        return [*(part.name for part in node.parts), *reversed(names)], None
    return [], node
