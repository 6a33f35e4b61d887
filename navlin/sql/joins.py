"""The sources in a FROM, from left to right, and the columns that joins merge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from navlin.sql.flows import UNKNOWN, ValueSources, deciding, merged
from navlin.sql.scopes import Rel, Scope
from navlin.sql.sources import rel_of

if TYPE_CHECKING:
    from navlin.sql.queries import QueryReader


def enter(queries: QueryReader, node: exp.Expr, scope: Scope, *, deciding_only: bool = False) -> None:
    """Add a source, and everything joined to it, to a scope."""
    first = len(scope.rels)
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table | exp.Subquery) and not node.alias:
        # Brackets without an alias do not hide the sources inside.
        enter(queries, node.this, scope, deciding_only=deciding_only)
    else:
        rel = rel_of(queries, node, scope)
        rel.star = not deciding_only
        scope.rels.append(rel)
        scope.rows.append(rel.result.rows)
        scope.met(rel.result, deciding=deciding_only)
    join(queries, node, scope, first)


def join(queries: QueryReader, node: exp.Expr, scope: Scope, first: int) -> None:
    """Add everything joined to the scope's sources from index ``first`` on. The order is that of the text, because
    conditions and the arguments of a LATERAL VIEW see only the sources to their left."""
    for key in node.args:
        if key == "joins":
            for each in node.args[key]:
                _join(queries, each, scope, first)
        elif key == "laterals":
            for each in node.args[key]:
                enter(queries, each, scope)


def _join(queries: QueryReader, node: exp.Join, scope: Scope, first: int) -> None:
    halves = node.kind in ("SEMI", "ANTI")
    before = len(scope.rels)
    enter(queries, node.this, scope, deciding_only=halves and node.side != "RIGHT")
    left, right = slice(first, before), slice(before, len(scope.rels))
    _merge(node, scope, scope.rels[left], scope.rels[right])
    if (condition := node.args.get("on")) is not None:
        seen = Scope(scope.outer, scope.rels[first:], scope.beside, scope.shared)
        scope.rows.append(queries.value(condition, seen, deciding_only=True))
        scope.read |= seen.read
        scope.looked_at |= seen.looked_at
    if halves:
        # The side of a semi or anti join that only filters is hidden from everything after the join.
        del scope.rels[left if node.side == "RIGHT" else right]


def _merge(node: exp.Join, scope: Scope, left: Sequence[Rel], right: Sequence[Rel]) -> None:
    """Merge the columns that a join names in USING, or that both sides of a natural join have."""
    names = [column.name.lower() for column in node.args.get("using") or ()]
    if node.method == "NATURAL":
        ours, theirs = _names(left), _names(right)
        names = [name for name in ours if name in theirs]
        wholes = all(rel.whole for rel in left), all(rel.whole for rel in right)
        if not all(wholes):
            scope.rows.append(UNKNOWN)
        for side, only, other_whole in ((left, ours, wholes[1]), (right, theirs, wholes[0])):
            for name in only:
                if not other_whole and name not in names:
                    _maybe_merge(node.side, scope, side, name, is_left=side is left)
    keys: dict[str, ValueSources] = {}
    for name in names:
        one, other = _take(scope, left, name), _take(scope, right, name)
        scope.rows.append(deciding(merged((one, other))))
        keys[name] = other if node.side == "RIGHT" else merged((one, other)) if node.side == "FULL" else one
    # The columns that the last join merged come first (Spark's Analyzer, commonNaturalJoinProcessing).
    scope.shared = keys | {name: flow for name, flow in scope.shared.items() if name not in keys}


def _names(rels: Sequence[Rel]) -> list[str]:
    names = (name for rel in rels for name in rel.by_name)
    return list(dict.fromkeys(names))


def _maybe_merge(join_side: str, scope: Scope, rels: Sequence[Rel], name: str, *, is_left: bool) -> None:
    """Mark a column that a natural join may have merged with a column of a table whose columns are unknown."""
    if join_side == "FULL":
        scope.shared[name] = merged((_take(scope, rels, name), UNKNOWN))
    elif is_left is (join_side == "RIGHT"):
        _take(scope, rels, name)
        scope.shared[name] = UNKNOWN


def _take(scope: Scope, rels: Sequence[Rel], name: str) -> ValueSources:
    """Return the flow of a column from one side of a join, and mark the column as merged away there."""
    having = [rel for rel in rels if rel.column(name) is not None]
    found = [rel.by_name[name] for rel in having if name not in rel.merged_away]
    if len(found) < len(having) and name in scope.shared:
        found.append(scope.shared[name])
    for rel in having:
        rel.merged_away.add(name)
    if found:
        return found[0] if len(found) == 1 else UNKNOWN
    unknown = [rel for rel in rels if not rel.whole]
    return unknown[0].supposed(name) if len(unknown) == 1 else UNKNOWN
