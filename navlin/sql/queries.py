"""Queries, read from the inside out: the sources of each output column, and the sources that decide which rows there
are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from navlin.sql.flows import (
    NOTHING,
    UNKNOWN,
    ExpansionTooLarge,
    Out,
    QueryResult,
    ValueSources,
    deciding,
    merged,
    named,
    united,
)
from navlin.sql.joins import enter, join
from navlin.sql.reading import Name, TextToRead
from navlin.sql.scopes import Output, Rel, Scope
from navlin.sql.sources import PARTIAL, excluded, rel_of, stacked
from navlin.sql.values import Values

MOST_SOURCES: Final = 3_000_000
"""Maximum total number of source columns, over all values of a text."""
MOST_COLUMNS: Final = 100_000
ROUNDS: Final = 50
"""Maximum number of iterations over a recursive query."""
_ROW_CLAUSES: Final = {
    "where": Output.NEVER,
    "having": Output.EITHER,
    "qualify": Output.EITHER,
    "connect": Output.NEVER,
    "distribute": Output.FIRST,
    "sort": Output.FIRST,
    "cluster": Output.FIRST,
    "order": Output.FIRST,
    "group": Output.EITHER,
}
"""Clause → precedence of an alias in it, for the clauses that decide which rows there are, or the order of the rows."""


@dataclass(slots=True)
class _Common:
    """A common table expression, which is read when it is first referenced."""

    node: exp.CTE
    around: _Commons | None
    recursive: bool
    result: QueryResult | None = None


@dataclass(slots=True)
class _Commons:
    """Linked list of the common table expressions that a query sees, from the last to the first."""

    name: str
    common: _Common
    before: _Commons | None

    def find(self, name: str) -> _Common | None:
        seen: _Commons | None = self
        while seen is not None:
            if seen.name == name.lower():
                return seen.common
            seen = seen.before
        return None


class QueryReader:
    """Reader of the queries of one text."""

    def __init__(
        self, question: TextToRead, temporary: Mapping[tuple[str, ...], QueryResult] | None = None
    ) -> None:
        self.question = question
        self.temporary = temporary or {}
        """Lower-case parts of the name → result, for the temporary views that the text has created so far."""
        self.schema = {tuple(name.lower().rsplit(".", 1)): each for name, each in question.schema.items()}
        self._commons: _Commons | None = None
        self.maybe_nested_tables: set[Name] = set()
        self._names: dict[tuple[str, str], Name] = {}
        self._source_count = self._column_count = 0

    def spelled(self, name: Name) -> Name:
        """Return the name in the spelling that the text uses first."""
        return self._names.setdefault(name.folded, name)

    # -- Queries -------------------------------------------------------------------------------------------------------

    def query(self, node: exp.Expr, outer: Scope | None = None) -> QueryResult:
        """Return the result of a query; a nested query sees the columns of ``outer``."""
        around = self._commons
        try:
            self.see_commons(node)
            match node:
                case exp.Subquery() | exp.Paren():
                    return self.query(node.this, outer)
                case exp.Select():
                    return self._select(node, outer)
                case exp.SetOperation():
                    return self._set_operation(node, outer)
                case exp.Values():
                    return self._values(node, outer)
                case exp.Table():
                    return rel_of(self, node, Scope(outer)).result
                case _:
                    return PARTIAL
        finally:
            self._commons = around

    def see_commons(self, node: exp.Expr) -> None:
        """Make the definitions of a statement's WITH visible."""
        with_ = node.args.get("with_")
        if with_ is None:
            return
        for each in with_.expressions:
            common = _Common(each, self._commons, bool(with_.args.get("recursive")))
            self._commons = _Commons(each.alias.lower(), common, self._commons)

    def common(self, name: str) -> QueryResult | None:
        """Return the result of the common table expression with this name; None if there is none."""
        common = self._commons.find(name) if self._commons is not None else None
        if common is None:
            return None
        if common.result is None:
            around = self._commons
            try:
                common.result = self._read_common(common)
            finally:
                self._commons = around
        return common.result

    def _read_common(self, common: _Common) -> QueryResult:
        body = common.node.this
        names = [column.name for column in common.node.args["alias"].args.get("columns") or ()]
        self._commons = common.around
        if not common.recursive or not isinstance(body, exp.SetOperation):
            return named(self.query(body), names)
        # A reference to the expression itself means the anchor in the first round, and the previous round's result in
        # later rounds. The last round adds nothing.
        common.result = named(self.query(body.this), names)
        self._commons = _Commons(common.node.alias.lower(), common, common.around)
        for _ in range(ROUNDS):
            result = named(self.query(body), names)
            if result == common.result:
                break
            common.result = result
        return common.result

    def _select(self, node: exp.Select, outer: Scope | None) -> QueryResult:
        scope = Scope(outer)
        windows = {each.name.lower(): each for each in node.args.get("windows") or ()}
        values = Values(self, scope, windows)
        if (from_ := node.args.get("from_")) is not None:
            self.enter(from_.this, scope)
        join(self, node, scope, 0)
        outs: list[Out] = []
        opened: list[Rel] = []
        for projection in node.expressions:
            outs.extend(self._projected(projection, scope, values, opened))
        opened_names = tuple(name for rel in opened for name in rel.result.open)
        partial = any(rel.result.partial for rel in opened)
        unresolved_star = opened[0].result.unresolved_star if len(opened) == 1 else None
        self._clauses(node, outs, values)
        return self._counted_columns(
            QueryResult(
                tuple(outs),
                merged(scope.rows),
                frozenset(scope.read),
                frozenset(scope.looked_at),
                opened_names,
                partial,
                unresolved_star,
            )
        )

    def _clauses(self, node: exp.Expr, outs: list[Out], values: Values) -> None:
        """Add the flow of each clause in `_ROW_CLAUSES` to the scope's rows."""
        scope = values.scope
        for out in outs:
            folded = out.name.lower()
            if folded:
                scope.outputs[folded] = (
                    out.flow if scope.outputs.get(folded, out.flow) == out.flow else UNKNOWN
                )
        for key, output in _ROW_CLAUSES.items():
            if (clause := node.args.get(key)) is not None:
                scope.rows.append(deciding(self._clause(clause, outs, values, output)))

    def _clause(self, clause: exp.Expr, outs: list[Out], values: Values, output: Output) -> ValueSources:
        flows: list[ValueSources] = []
        by_position = not isinstance(clause, exp.Where | exp.Having | exp.Qualify)
        if clause.args.get("all"):  # GROUP BY ALL: by everything not aggregated
            assert clause.parent is not None
            grouped = (each for each in clause.parent.expressions if each.find(exp.AggFunc) is None)
            flows.extend(values.flow(each, output=Output.BEHIND) for each in grouped)
        for node in clause.iter_expressions():
            number = node.this if isinstance(node, exp.Ordered) else node
            if isinstance(number, exp.Var) and number.name.upper() == "ALL":  # ORDER BY ALL
                flows.extend(out.flow for out in outs)
            elif by_position and isinstance(number, exp.Literal) and number.is_int:
                position = int(number.this)
                flows.append(outs[position - 1].flow if 0 < position <= len(outs) else NOTHING)
            else:
                flows.append(values.flow(node, deciding_only=True, output=output))
        return merged(flows)

    def _set_operation(self, node: exp.SetOperation, outer: Scope | None) -> QueryResult:
        branches: list[tuple[exp.SetOperation | None, exp.Expr]] = []
        at: exp.Expr = node
        while isinstance(at, exp.SetOperation) and (at is node or at.args.get("with_") is None):
            branches.append((at, at.expression))
            at = at.this
        result = self.query(at, outer)
        for operation, branch in reversed(branches):
            other = self.query(branch, outer)
            if isinstance(operation, exp.Union):
                by_name = bool(operation.args.get("by_name"))
                result = self._counted_columns(united(result, other, by_name=by_name))
            else:
                # INTERSECT and EXCEPT compare the other query's values, but do not pass them on.
                flows = merged([other.rows, *(out.flow for out in other.outs)])
                rows = merged([result.rows, deciding(flows if other.whole else merged([flows, UNKNOWN]))])
                looked_at = result.deciding_tables | other.tables | other.deciding_tables
                result = replace(result, rows=rows, deciding_tables=looked_at)
        scope = Scope(outer, [Rel(result, frozenset())])
        self._clauses(node, list(result.outs), Values(self, scope, {}))
        return replace(
            result,
            rows=merged([result.rows, *scope.rows]),
            tables=result.tables | scope.read,
            deciding_tables=result.deciding_tables | scope.looked_at,
        )

    def _values(self, node: exp.Values, outer: Scope | None) -> QueryResult:
        scope = Scope(outer)
        rows = _rows_of(node)
        width = max((len(row.expressions) for row in rows if isinstance(row, exp.Tuple)), default=1)
        columns: list[list[ValueSources]] = [[] for _ in range(width)]
        for row in rows:
            cells = row.expressions if isinstance(row, exp.Tuple) else [row]
            for column, cell in zip(columns, cells, strict=False):
                if not isinstance(cell, exp.Literal):
                    column.append(self.value(cell, scope))
        names = _names_in_values(rows)
        outs = tuple(Out(names.get(at, f"col{at}"), merged(flows)) for at, flows in enumerate(columns, 1))
        return QueryResult(outs, tables=frozenset(scope.read), deciding_tables=frozenset(scope.looked_at))

    def enter(self, node: exp.Expr, scope: Scope) -> None:
        """Add a source of a FROM, and everything joined to it, to a scope."""
        enter(self, node, scope)

    # -- Output --------------------------------------------------------------------------------------------------------

    def _projected(
        self, projection: exp.Expr, scope: Scope, values: Values, opened: list[Rel]
    ) -> Iterator[Out]:
        match projection:
            case exp.Star():
                outs, rels = self._star(scope, projection, scope.rels)
                opened.extend(rels)
                yield from outs
            case exp.Column(this=exp.Star() as star):
                starred = scope.qualified_rels([part.name for part in projection.parts[:-1]])
                if len(starred) == 1:
                    outs, rels = self._star(scope, star, starred, own=True)
                    opened.extend(rels)
                    yield from outs
                else:
                    # The star means the fields of a struct, or one of two tables.
                    opened.append(Rel(PARTIAL, frozenset()))
            case exp.QueryTransform():
                flow = merged(values.flow(each, output=Output.BEHIND) for each in projection.expressions)
                schema = projection.args.get("schema")
                named = [each.name for each in schema.expressions] if schema is not None else ["key", "value"]
                yield from (Out(name, flow) for name in named)
            case exp.Aliases():
                flow = values.flow(projection.this, output=Output.BEHIND)
                own = stacked(projection.this, values.flow) if isinstance(projection.this, exp.Stack) else ()
                for at, each in enumerate(projection.expressions):
                    flow = own[at].flow if at < len(own) else flow
                    scope.aliases.setdefault(each.name.lower(), flow)
                    yield Out(each.name, flow)
            case exp.Stack() if own := stacked(projection, values.flow):
                yield from own
            case exp.Anonymous() if projection.name.lower() == "json_tuple":
                flow = values.flow(projection, output=Output.BEHIND)
                yield from (Out(f"c{at}", flow) for at in range(len(projection.expressions) - 1))
            case exp.Inline() | exp.Stack() | exp.Posexplode() | exp.PosexplodeOuter():
                # Only the engine knows the number of columns, because a map gives one more than an array.
                flow = values.flow(projection, output=Output.BEHIND)
                opened.append(Rel(QueryResult(partial=True, unresolved_star=flow), frozenset()))
            case _:
                flow = values.flow(projection, output=Output.BEHIND)
                if isinstance(projection, exp.Alias):
                    scope.aliases.setdefault(projection.alias.lower(), flow)
                yield Out(_output_name(projection), flow)

    def starred(self, scope: Scope) -> tuple[list[Out], list[Name], bool]:
        """Return the meaning of ``*`` in a scope: columns, tables with unknown columns, and whether there are still
        more columns."""
        outs, opened = self._star(scope, exp.Star(), scope.rels)
        return (
            outs,
            [name for rel in opened for name in rel.result.open],
            any(rel.result.partial for rel in opened),
        )

    def _star(
        self, scope: Scope, star: exp.Expr, rels: Iterable[Rel], *, own: bool = False
    ) -> tuple[list[Out], list[Rel]]:
        left_out = excluded(star, "except_")
        replaced = {each.alias.lower(): each.this for each in star.args.get("replace") or ()}
        renamed = {each.this.name.lower(): each.alias for each in star.args.get("rename") or ()}
        outs = [] if own else [Out(name, flow) for name, flow in scope.shared.items()]
        opened: list[Rel] = []
        for rel in rels:
            if rel.star or own:
                hidden = () if own else rel.merged_away
                outs.extend(out for out in rel.result.outs if out.name.lower() not in hidden)
                if not rel.result.whole:
                    opened.append(rel)
        kept = []
        for out in outs:
            folded = out.name.lower()
            if folded in left_out:
                continue
            flow = self.value(replaced[folded], scope) if folded in replaced else out.flow
            kept.append(Out(renamed.get(folded, out.name), flow))
        if opened and (left_out or replaced or renamed):
            # It is also unknown which of the unknown columns remain.
            opened.append(Rel(PARTIAL, frozenset()))
        return kept, opened

    # -- Values --------------------------------------------------------------------------------------------------------

    def value(self, node: exp.Expr, scope: Scope, *, deciding_only: bool = False) -> ValueSources:
        return Values(self, scope, {}).flow(node, deciding_only=deciding_only)

    def counted(self, flow: ValueSources) -> ValueSources:
        """Count the sources of a flow toward the maximum, and return the flow. Raises `ExpansionTooLarge` above
        `MOST_SOURCES`."""
        self._source_count += len(flow.data) + len(flow.control)
        if self._source_count > MOST_SOURCES:
            raise ExpansionTooLarge(f"its columns have more than {MOST_SOURCES:,} sources in total")
        return flow

    def _counted_columns(self, result: QueryResult) -> QueryResult:
        self._column_count += len(result.outs)
        if self._column_count > MOST_COLUMNS:
            raise ExpansionTooLarge(f"its queries have more than {MOST_COLUMNS:,} columns in total")
        return result


def _rows_of(node: exp.Values) -> list[exp.Expr]:
    """Return the rows, without Impala's optional outer pair of brackets: ``VALUES ((1 AS a), (2))``."""
    rows: list[exp.Expr] = node.expressions
    inner = rows[0].expressions if len(rows) == 1 and isinstance(rows[0], exp.Tuple) else []
    bracketed = len(inner) > 0 and all(isinstance(each, exp.Tuple | exp.Paren) for each in inner)
    return inner if bracketed and _names_in_values(inner) else rows


def _names_in_values(rows: Sequence[exp.Expr]) -> dict[int, str]:
    """Return column number → column name, from the first row: ``VALUES (1 AS a, 2 AS b), (3, 4)`` (Impala)."""
    cells = rows[0].expressions if rows and isinstance(rows[0], exp.Tuple) else rows[:1]
    bare = (cell.unnest() for cell in cells)
    return {at: cell.alias for at, cell in enumerate(bare, 1) if isinstance(cell, exp.Alias)}


def _output_name(projection: exp.Expr) -> str:
    """Return the name that all engines give an output column; "" for an expression, because each engine names these
    differently."""
    inner = projection
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.Dot) and isinstance(inner.expression, exp.Func):
        return ""  # a function qualified with its database: db.f(x)
    return inner.output_name if isinstance(inner, exp.Alias | exp.Column | exp.Dot) else ""
