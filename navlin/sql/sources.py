"""Convert everything that may be in a FROM to a source with columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import sqlglot
from sqlglot import exp

from navlin.sql.flows import UNKNOWN, Out, QueryResult, ValueSources, merged
from navlin.sql.reading import METASTORES, Name, SourceColumn
from navlin.sql.scopes import Rel, Scope

if TYPE_CHECKING:
    from navlin.sql.queries import QueryReader

FILE_FORMATS: Final = frozenset("parquet orc csv json xml text avro delta hudi binaryfile iceberg".split())
"""File formats. A query that reads files directly names the format in place of a database."""
FROM_NOTHING: Final = frozenset(
    "range sql_keywords collations json_tuple stack inline_outer variant_explode variant_explode_outer"
    " python_worker_logs".split()
)
"""Spark's own functions that produce rows without reading a table. Functions that the parser itself knows are not
listed."""
OF_A_TABLE: Final = frozenset({"table_changes"})
"""Functions that read the table named by their argument (Delta)."""
OF_A_PATH: Final = frozenset({"table_changes_by_path", "read_files"})
"""Functions that read the files at the path in their argument (Delta, Databricks)."""
PARTIAL: Final = QueryResult(partial=True)


class NotUnderstood(sqlglot.errors.SqlglotError):
    """The text parses, but its meaning is not supported."""


def rel_of(queries: QueryReader, node: exp.Expr, scope: Scope) -> Rel:
    """Return the source that a FROM or JOIN names. ``scope`` has the sources to the left."""
    alias = node.args.get("alias")
    named = alias.name if alias is not None else ""
    match node:
        case exp.Table() if all(isinstance(part, exp.Identifier) for part in node.parts):
            rel = _table(queries, node, scope, named)
        case exp.Table():
            rel = _rel(_function(queries, node.this, scope), named)
        case exp.Subquery(this=exp.Table() | exp.Subquery()):
            rel = _joined(queries, node.this, scope, named)
        case exp.Subquery():
            rel = _rel(queries.query(node.this, scope.apart()), named)
        case exp.Values():
            rel = _rel(queries.query(node, scope.apart()), named)
        case exp.Lateral(this=exp.Subquery()):
            rel = _rel(queries.query(node.this.this, scope), named)
        case exp.Lateral(this=exp.Anonymous() as function) if not node.args.get("view"):
            rel = _rel(_function(queries, function, scope), named)
        case exp.Lateral() | exp.Unnest():
            rel = _rel(_function(queries, node, scope), named)
        case _:
            rel = _rel(PARTIAL, named)
    if alias is not None and alias.args.get("columns"):
        rel = _renamed(rel, [column.name for column in alias.args["columns"]])
    if node.args.get("pivots"):
        # Each engine has its own rules for the column names of a pivot.
        rel = Rel(replace(rel.result, outs=(), open=(), partial=True), rel.qualifiers)
    return rel


def name_of(node: exp.Expr, database: str) -> Name:
    """Return the table, or the path of files, that a name means."""
    parts = [part.name for part in node.parts] if isinstance(node, exp.Table) else [node.name]
    if len(parts) == 2 and parts[0].lower() in FILE_FORMATS and "/" in parts[1]:
        return Name("", parts[1], is_path=True)
    catalog, _, inside = database.partition(".")
    if len(parts) == 2 and inside:
        parts = [catalog, *parts]
    elif len(parts) > 2 and parts[0].lower() in METASTORES:
        parts = parts[1:]
    # A table of another catalog, or a table's metadata (db.t.snapshots), keeps its full name, so no schema matches.
    return Name(".".join(parts[:-1]) or database, parts[-1])


def spell_out(statement: exp.Expr) -> None:
    """Replace ``IDENTIFIER('db.t')`` with the name in it (Spark). Raises `NotUnderstood` if a table's name is known
    only when the statement runs."""
    for node in list(statement.find_all(exp.Table)):
        if any(isinstance(part, exp.Parameter | exp.Placeholder) or "${" in part.name for part in node.parts):
            raise NotUnderstood("the name of a table in it is a variable")
        if any(_is_identifier(part) for part in node.parts):
            names = [name for part in node.parts for name in _spelled(part)]
            table = exp.Table(**_named_parts(names))
            for key in node.args.keys() - {"this", "db", "catalog"}:
                table.set(key, node.args[key])
            node.replace(table)
        elif (
            node.name.upper() == "IDENTIFIER"
            and isinstance(schema := node.parent, exp.Schema)
            and any(
                isinstance(each, exp.Literal | exp.Placeholder | exp.Parameter) for each in schema.expressions
            )
        ):
            # After INSERT INTO, IDENTIFIER looks like a table with a list of columns.
            function = exp.Anonymous(this="IDENTIFIER", expressions=schema.expressions)
            schema.replace(exp.Table(**_named_parts(_spelled(function))))
    for directory in statement.find_all(exp.Directory):
        if "${" in directory.this.name:
            raise NotUnderstood("a path in it is a variable")
    for call in list(statement.find_all(exp.Anonymous)):
        if _is_identifier(call) and call.find(exp.Column) is None:  # else it is a function of that name
            if isinstance(call.parent, exp.Aliases | exp.Dot):
                raise NotUnderstood("a name in it is computed")
            call.replace(exp.column(*reversed(_spelled(call))))


def _is_identifier(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() == "IDENTIFIER"


def _spelled(part: exp.Expr) -> list[str]:
    """Return the names in one part of a name; IDENTIFIER may contain several."""
    if not _is_identifier(part):
        return [part.name]
    if len(part.expressions) != 1 or not isinstance(part.expressions[0], exp.Literal):
        raise NotUnderstood("a name in it is computed")
    return [each.name for each in sqlglot.to_table(part.expressions[0].name, dialect="spark").parts]


def _table(queries: QueryReader, node: exp.Table, scope: Scope, alias: str) -> Rel:
    parts = [part.name for part in node.parts]
    if len(parts) == 1 and (common := queries.common(parts[0])) is not None:
        return _rel(common, alias or parts[0])
    folded = tuple(part.lower() for part in parts)
    if (view := queries.temporary.get(folded)) is not None:
        return _rel(view, alias) if alias else Rel(view, frozenset({folded, folded[-1:]}))
    if len(parts) > 1 and (collection := _collection(queries, node, scope)) is not None:
        return _rel(collection, alias or parts[-1])
    name = queries.spelled(name_of(node, queries.question.database))
    columns = None if name.is_path else queries.schema.get(name.folded)
    if columns is None and (collection := _nested(queries, parts)) is not None:
        return _rel(collection, alias or parts[-1])
    if columns is None:
        result = all_of(name)
    else:
        outs = (Out(c, ValueSources(frozenset((SourceColumn(name, c, True),)))) for c in columns)
        result = QueryResult(tuple(outs), tables=frozenset((name,)))
    if alias:
        return _rel(result, alias)
    qualified = {folded[-width:] for width in range(1, len(folded) + 1)} | {(name.folded[0], folded[-1])}
    return Rel(result, frozenset(qualified))


def all_of(name: Name) -> QueryResult:
    """Return the result of reading a table or files with unknown columns."""
    return QueryResult(tables=frozenset((name,)), open=(name,))


def _collection(queries: QueryReader, node: exp.Table, scope: Scope) -> QueryResult | None:
    """Return the nested data that ``FROM t, t.items`` reads from a column of a table to the left, or of an outer query
    (Impala); None if the name is a table even for Impala. Hive and Spark always treat the name as a table."""
    parts = [part.name for part in node.parts]
    is_table = name_of(node, queries.question.database).folded in queries.schema
    for around in scope.with_tables():
        rels = around.qualified_rels(parts[:1])
        if rels and is_table and around is not scope:
            return None  # a table takes precedence over outer queries
        for rel in rels:
            flow = rel.column(parts[1])
            if flow is None and not rel.whole:
                if _has_condition(node):
                    queries.maybe_nested_tables.add(name_of(node, queries.question.database))
                    continue
                flow = rel.supposed(parts[1]) if around is scope else UNKNOWN
            if flow is not None:
                queries.maybe_nested_tables.add(name_of(node, queries.question.database))
                return QueryResult(partial=True, unresolved_star=UNKNOWN if is_table else flow)
    return None


def _has_condition(node: exp.Table) -> bool:
    """Whether a table is joined with a condition; data nested in a row needs none."""
    join = node.parent
    if not isinstance(join, exp.Join):
        return False
    on = join.args.get("on")
    # The parser adds ON TRUE if there is none.
    return bool(join.args.get("using")) or (on is not None and on != exp.true())


def _nested(queries: QueryReader, parts: Sequence[str]) -> QueryResult | None:
    """Return the nested data that ``FROM db.t.items`` or ``FROM t.items`` reads from a column of a table (Impala); None
    if no table is known to have this column. Hive and Spark treat the name as a table in another catalog or
    database."""
    if parts[0].lower() in METASTORES:
        parts = parts[1:]
    elif len(parts) == 2 and "." not in queries.question.database:
        queries.maybe_nested_tables.add(Name(parts[0], parts[1]))
        parts = [queries.question.database, *parts]
    if len(parts) < 3:
        return None
    owner = queries.spelled(Name(parts[0], parts[1]))
    queries.maybe_nested_tables.add(owner)
    for column in queries.schema.get(owner.folded, ()):
        if column.lower() == parts[2].lower():
            flow = ValueSources(frozenset((SourceColumn(owner, column, True),)))
            return QueryResult(tables=frozenset((owner,)), partial=True, unresolved_star=flow)
    return None


def _joined(queries: QueryReader, first: exp.Expr, scope: Scope, alias: str) -> Rel:
    """Return several sources in brackets as one source: ``FROM (a JOIN b ON …)``."""
    inner = scope.apart()
    queries.enter(first, inner)
    outs, opened, partial = queries.starred(inner)
    result = QueryResult(
        tuple(outs),
        merged(inner.rows),
        frozenset(inner.read),
        frozenset(inner.looked_at),
        tuple(opened),
        partial,
    )
    if alias:
        return _rel(result, alias)
    return Rel(result, frozenset(qualifier for rel in inner.rels for qualifier in rel.qualifiers))


def _function(queries: QueryReader, node: exp.Expr, scope: Scope) -> QueryResult:
    """Return the result of a function that produces rows. The column names may be unknown, but all columns come from
    the arguments and the tables read."""
    alias = node.args.get("alias")
    arguments = [each for each in node.iter_expressions() if each is not alias]
    tables = [table for each in arguments if (table := _table_argument(each)) is not None]
    flows = [queries.value(each, scope) for each in arguments if _table_argument(each) is None]
    read: set[Name] = set()
    looked_at: set[Name] = set()
    rows: list[ValueSources] = []
    for table in tables:
        result = queries.query(table, scope.apart())
        read |= result.tables
        looked_at |= result.deciding_tables
        rows.append(result.rows)
        flows += [*(out.flow for out in result.outs), *([] if result.whole else [UNKNOWN])]
    stack = node.this if isinstance(node, exp.Lateral) else node
    if isinstance(stack, exp.Stack) and (outs := stacked(stack, lambda each: queries.value(each, scope))):
        return QueryResult(outs)
    if isinstance(node, exp.Anonymous):
        place = _place_argument(node, queries.question.database)
        read |= {place} if place is not None else set()
        from_nothing = not tables and node.find(exp.Column) is None
        if from_nothing and node.name.lower() not in FROM_NOTHING:
            # Only the function's own code shows the sources of its rows.
            flows.append(UNKNOWN)
            rows += [UNKNOWN] if place is None else []
    return QueryResult(
        rows=merged(rows),
        tables=frozenset(read),
        deciding_tables=frozenset(looked_at),
        partial=True,
        unresolved_star=merged(flows),
    )


def stacked(node: exp.Stack, flow: Callable[[exp.Expr], ValueSources]) -> tuple[Out, ...]:
    """Return the columns of ``stack(2, a, b, c, d)``, whose values are listed row by row: the first comes from a and c,
    the second from b and d. Empty if the number of rows is computed."""
    rows = node.this
    if not (isinstance(rows, exp.Literal) and rows.is_int and int(rows.name) > 0) or node.find(exp.Star):
        return ()
    width = -(-len(node.expressions) // int(rows.name))
    return tuple(
        Out(f"col{at}", merged(flow(each) for each in node.expressions[at::width])) for at in range(width)
    )


def _table_argument(argument: exp.Expr) -> exp.Expr | None:
    """Return the query that ``TABLE(t)`` or ``TABLE(SELECT …)`` passes to a function (Spark), perhaps as a named
    parameter; None for any other argument."""
    if isinstance(argument, exp.Kwarg):
        argument = argument.expression
    if not (isinstance(argument, exp.Anonymous) and argument.name.upper() == "TABLE"):
        return None
    match argument.expressions:
        case [exp.Column() as column]:
            return exp.select("*").from_(exp.Table(**_named_parts([part.name for part in column.parts])))
        case [exp.Query() as query]:
            return query
    return None


def _named_parts(parts: Sequence[str]) -> dict[str, exp.Expr]:
    """Return the arguments of an `exp.Table` whose name has these parts, however many."""
    names: list[exp.Expr] = [exp.to_identifier(part, quoted=True) for part in parts]
    own = names[2] if len(names) > 2 else names[-1]
    for each in names[3:]:
        own = exp.Dot(this=own, expression=each)
    keys = ("catalog", "db")[-len(names[:3]) + 1 :] if len(names) > 1 else ()
    return {"this": own, **dict(zip(keys, names[:2], strict=False))}


def named_table(name: str) -> exp.Table:
    """Return the table with this name as its only part, whatever characters the name has."""
    return exp.Table(this=exp.to_identifier(name, quoted=True))


def _place_argument(node: exp.Anonymous, database: str) -> Name | None:
    """Return the table or path named by a function's first argument, if the function reads it; else None."""
    first = next(iter(node.expressions), None)
    if not (isinstance(first, exp.Literal) and first.is_string):
        return None
    if node.name.lower() in OF_A_PATH:
        return Name("", first.name, is_path=True)
    return (
        name_of(sqlglot.to_table(first.name, dialect="spark"), database)
        if node.name.lower() in OF_A_TABLE
        else None
    )


def _rel(result: QueryResult, alias: str) -> Rel:
    return Rel(result, frozenset(((alias.lower(),),)) if alias else frozenset())


def _renamed(rel: Rel, names: Sequence[str]) -> Rel:
    result = rel.result
    if result.whole:
        known = zip(names, result.outs, strict=False)
        outs = tuple(Out(name, out.flow) for name, out in known) + result.outs[len(names) :]
        return Rel(replace(result, outs=outs), rel.qualifiers)
    # Only the number of columns is known. If no other column is known, all columns of a function have the same source.
    flow = UNKNOWN if result.unresolved_star is None or result.outs else result.unresolved_star
    return Rel(
        replace(
            result,
            outs=tuple(Out(name, flow) for name in names),
            open=(),
            partial=False,
            unresolved_star=None,
        ),
        rel.qualifiers,
    )


def excluded(node: exp.Expr, key: str) -> set[str]:
    """Return the lower-case names in a clause of a star, such as the columns that it omits."""
    named: Iterable[exp.Expr] = node.args.get(key) or ()
    return {each.alias_or_name.lower() for each in named}
