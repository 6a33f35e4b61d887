"""Statements: the target, and the sources of the columns written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sqlglot import exp

from navlin.sql.altered import exchanged_tables, rebuilt_view
from navlin.sql.flows import NONE, NOTHING, Out, QueryResult, ValueSources, merged, named
from navlin.sql.queries import QueryReader
from navlin.sql.reading import MadeColumn, Name, ParsedStatement, ReadTable, SourceColumn, TextToRead
from navlin.sql.scopes import Rel, Scope
from navlin.sql.sources import PARTIAL, NotUnderstood, all_of, name_of, named_table, rel_of


class Statement:
    """One statement of a text, or of a block or a procedure in it."""

    def __init__(
        self,
        question: TextToRead,
        node: exp.Expr,
        temporary: Mapping[tuple[str, ...], QueryResult] | None = None,
    ) -> None:
        self.question, self.node = question, node
        self.queries = QueryReader(question, temporary)
        self.view: tuple[tuple[str, ...], QueryResult] | None = None
        """The temporary view that the statement creates, in no database: (lower-case parts of its name, result)."""

    def made(self) -> Iterator[ParsedStatement]:
        """Yield the statement's effects. Raises `NotUnderstood` and `sqlglot.errors.SqlglotError`."""
        node = self.node
        if not isinstance(node, exp.Query):  # a query handles its own WITH
            self.queries.see_commons(node)
        match node:
            case exp.Insert():
                yield self._insert(node)
            case exp.MultitableInserts():
                for each in node.expressions:
                    if isinstance(each.expression, exp.Select):
                        each.expression.set("from_", exp.From(this=node.args["source"].copy()))
                    yield self._insert(each)
            case exp.Create(kind=("TABLE" | "VIEW") as kind):
                yield self._create(node, kind)
            case exp.Cache() if node.expression is not None:
                result = self.queries.query(node.expression)
                self.view = (node.this.name.lower(),), result
                yield self._written("CACHE", None, result, ())
            case exp.Alter(kind="VIEW") if any(isinstance(each, exp.Query) for each in node.args["actions"]):
                query = next(each for each in node.args["actions"] if isinstance(each, exp.Query))
                yield self._altered_view(node.this, self.queries.query(query))
            case exp.Merge():
                yield self._merge(node)
            case exp.Update():
                yield self._update(node)
            case exp.Delete():
                yield ParsedStatement("DELETE")
            case exp.Query():
                result = self.queries.query(node)
                if (into := _into(node)) is not None:
                    yield self._written("CREATETABLE_AS_SELECT", self._name(into.this), result, ())
                else:
                    yield self._written("SELECT", None, result, ())
            case exp.LoadData():
                path = ReadTable(Name("", node.args["inpath"].name, is_path=True), control=False)
                yield ParsedStatement("LOAD", self._name(node.this), (path,), whole=False, complete=False)
            case exp.Copy():
                yield self._copy(node)
            case exp.Command() if str(node.this).upper() in _WRITING:
                raise NotUnderstood(f"its {str(node.this).upper()} is not understood")
            case exp.Command() if str(node.this).upper() == "ALTER":
                yield self._alter(node.text("expression"))
            case exp.Alias(this=exp.Column() as word) if word.name.upper() == "TABLE":
                if not isinstance(node.args["alias"], exp.Identifier):
                    raise NotUnderstood("the name of a table in it is a variable")
                query = exp.select("*").from_(named_table(node.alias))
                yield self._written("SELECT", None, self.queries.query(query), ())
            case _:
                yield ParsedStatement("")

    # -- Writing -------------------------------------------------------------------------------------------------------

    def _insert(self, node: exp.Insert) -> ParsedStatement:
        table = node.this.this if isinstance(node.this, exp.Schema) else node.this
        listed = [each.name for each in node.this.expressions] if isinstance(node.this, exp.Schema) else []
        kind = "INSERT_OVERWRITE" if node.args.get("overwrite") else "INSERT"
        directory = isinstance(table, exp.Directory)
        target = Name("", table.this.name, is_path=True) if directory else self._name(table)
        query = node.expression or node.args.get("source")
        if not isinstance(query, exp.Expr):
            return ParsedStatement(kind, target)  # without a query, or ``INSERT INTO t ()``
        result = self.queries.query(query)
        if target.is_path:
            return self._written(kind, target, result, ())
        if node.args.get("by_name"):
            return self._written(kind, target, result, ())
        columns = listed or list(self.queries.schema.get(target.folded, ()))
        names = _in_order(columns, table.args.get("partition"), listed=bool(listed))
        return self._written(kind, target, result, names, positions=True)

    def _create(self, node: exp.Create, kind: str) -> ParsedStatement:
        table = node.this.this if isinstance(node.this, exp.Schema) else node.this
        target = self._name(table)
        word = "CREATEVIEW" if kind == "VIEW" else "CREATETABLE"
        if (clone := node.args.get("clone")) is not None:
            source = exp.select("*").from_(clone.this.copy())
            return self._written(word, target, self.queries.query(source), ())
        names = [each.name for each in node.this.expressions] if isinstance(node.this, exp.Schema) else []
        temporary = kind == "VIEW" and node.find(exp.TemporaryProperty) is not None
        if node.expression is None and kind == "VIEW":
            path = _path_of(node)
            if temporary:
                self.view = _view_name(node, target), _of_files(path.name, names) if path else PARTIAL
            read = (path,) if path else ()
            return ParsedStatement(word, None if temporary else target, read, whole=False, complete=False)
        if node.expression is None:
            return ParsedStatement(word, target)
        result = self.queries.query(node.expression)
        if temporary:
            self.view = _view_name(node, target), named(result, names)
            return self._written(word, None, named(result, names), ())
        word = word if kind == "VIEW" else "CREATETABLE_AS_SELECT"
        # The brackets after a Hive table's name can contain only its partitions.
        fit = names if len(names) == len(result.outs) else ()
        return self._written(word, target, result, fit, positions=bool(fit))

    def _altered_view(self, table: exp.Table, result: QueryResult) -> ParsedStatement:
        key = tuple(part.name.lower() for part in table.parts)
        if key in self.queries.temporary:
            self.view = key, result
            return self._written("ALTERVIEW_AS", None, result, ())
        return self._written("ALTERVIEW_AS", self._name(table), result, ())

    def _copy(self, node: exp.Copy) -> ParsedStatement:
        """Return the effect of ``COPY INTO t FROM '/x'`` or ``COPY INTO '/x' FROM t``."""
        sides = [node.this, *node.args["files"]]
        if len(sides) != 2 or not all(
            isinstance(each, exp.Table | exp.Schema | exp.Literal) for each in sides
        ):
            raise NotUnderstood("its COPY is not understood")
        ours, other = map(self._place, sides)
        target, source = (ours, other) if node.args["kind"] else (other, ours)
        return ParsedStatement(
            "COPY", target, (ReadTable(source, control=False),), whole=False, complete=False
        )

    def _place(self, node: exp.Expr) -> Name:
        place = node.this if isinstance(node, exp.Table) and isinstance(node.this, exp.Literal) else node
        return Name("", place.name, is_path=True) if isinstance(place, exp.Literal) else self._name(node)

    def _alter(self, text: str) -> ParsedStatement:
        if (tables := exchanged_tables(text)) is not None:
            target, source = tables
            result = self.queries.query(exp.select("*").from_(source))
            return self._written("ALTERTABLE_EXCHANGEPARTITION", self._name(target), result, ())
        if (view := rebuilt_view(text)) is not None:
            return ParsedStatement(
                "ALTER_MATERIALIZED_VIEW_REBUILD", self._name(view), whole=False, complete=False
            )
        return ParsedStatement("")

    def _merge(self, node: exp.Merge) -> ParsedStatement:
        scope = Scope()
        self.queries.enter(node.args["using"], scope)
        source = scope.rels[0]
        target = self._name(node.this)
        own = rel_of(self.queries, node.this, scope)
        scope.rels.append(own)
        if node.args.get("on") is not None:
            scope.rows.append(self.queries.value(node.args["on"], scope, deciding_only=True))
        flows: dict[str, list[ValueSources]] = {}
        unnamed: list[Out] = []
        names = self.queries.schema.get(target.folded, ())
        complete = True
        for when in node.args["whens"].expressions:
            if when.args.get("condition") is not None:
                scope.rows.append(self.queries.value(when.args["condition"], scope, deciding_only=True))
            then = when.args["then"]
            for assigned, value in _assigned(then, names):
                flow = self.queries.value(value, scope)
                if assigned:
                    column, before = _set_in(assigned, own, scope)
                    flows.setdefault(column.lower(), []).extend((flow, before))
                else:
                    unnamed.append(Out("", flow))
            if _everything(then):
                complete = complete and source.result.whole
                known = {name.lower() for name in names}
                for out in source.result.outs:
                    if not known or out.name.lower() in known:  # others are ignored
                        flows.setdefault(out.name.lower(), []).append(out.flow)
        outs = (*(Out(name, merged(each)) for name, each in flows.items()), *unnamed)
        return self._changed("MERGE", target, outs, scope, complete=complete)

    def _update(self, node: exp.Update) -> ParsedStatement:
        scope = Scope()
        changed = _in_its_from(node, self.question.database)
        target = self._name(node.this if changed is None else changed)
        own = rel_of(self.queries, node.this if changed is None else changed, scope)
        if changed is None:
            scope.rels.append(own)
        for each in (node.args.get("from_"), *(node.this.args.get("joins") or ())):
            if each is not None:
                self.queries.enter(each.this, scope)
                if each.args.get("on") is not None:
                    scope.rows.append(self.queries.value(each.args["on"], scope, deciding_only=True))
        if changed is not None:
            scope.read = {name for name in scope.read if name.folded != target.folded}
        if (where := node.args.get("where")) is not None:
            scope.rows.append(self.queries.value(where.this, scope, deciding_only=True))
        flows: dict[str, list[ValueSources]] = {}
        for assigned, value in _assigned(node):
            column, before = _set_in(assigned, own, scope)
            flows.setdefault(column, []).extend((self.queries.value(value, scope), before))
        outs = tuple(Out(column, merged(each)) for column, each in flows.items())
        return self._changed("UPDATE", target, outs, scope, complete=True)

    def _changed(
        self, kind: str, target: Name, outs: tuple[Out, ...], scope: Scope, *, complete: bool
    ) -> ParsedStatement:
        """Return the effect of changing rows in place. The table is its own source only if values come from it."""
        own = any(source.table.folded == target.folded for out in outs for source in out.flow.data)
        read = frozenset(scope.read | {target}) if own else frozenset(scope.read)
        result = QueryResult(outs, merged(scope.rows), read, frozenset(scope.looked_at), partial=not complete)
        return self._written(kind, target, result, ())

    def _written(
        self,
        kind: str,
        target: Name | None,
        result: QueryResult,
        names: Sequence[str],
        *,
        positions: bool = False,
    ) -> ParsedStatement:
        """Return the effect of a statement. With ``positions``, result columns are matched by position to ``names``,
        the target's columns; otherwise they keep their own names."""
        if positions:
            fits = result.whole and len(names) == len(result.outs)
            named = list(names) if fits else [""] * len(result.outs)
        else:
            named = [out.name for out in result.outs]
        columns = tuple(_column(name, out) for name, out in zip(named, result.outs, strict=True))
        complete = (
            result.whole
            and result.rows.complete
            and all(column.complete and (column.name or target is None) for column in columns)
        )
        control = _sorted(result.rows.control)
        tables = tuple(_tables(result, complete=complete))
        maybe_nested = tuple(sorted(self.queries.maybe_nested_tables))
        return ParsedStatement(kind, target, tables, columns, control, result.whole, complete, maybe_nested)

    def _name(self, node: exp.Expr) -> Name:
        table = node.this if isinstance(node, exp.Schema) else node
        return name_of(table, self.question.database)


_WRITING = frozenset("INSERT CREATE MERGE WITH SELECT FROM UPDATE REPLACE UPSERT EXECUTE COPY UNLOAD".split())


def _view_name(node: exp.Create, view: Name) -> tuple[str, ...]:
    """Return the name by which later statements refer to a temporary view, as lower-case parts."""
    name = view.table.lower()
    return ("global_temp", name) if node.find(exp.GlobalProperty) else (name,)


def _of_files(path: Name, names: Sequence[str]) -> QueryResult:
    """Return the result of a view over files. Its columns are unknown if ``names`` is empty."""
    outs = (Out(name, ValueSources(frozenset((SourceColumn(path, name, True),)))) for name in names)
    return QueryResult(tuple(outs), tables=frozenset((path,))) if names else all_of(path)


def _path_of(node: exp.Create) -> ReadTable | None:
    """Return the files of a view without a query, ``USING csv OPTIONS (path '/x')`` (Spark); None if no path is
    given."""
    options = node.find(exp.OptionsProperty)
    for each in options.expressions if options is not None else ():
        if each.name.lower() == "path":
            return ReadTable(Name("", each.args["value"].name, is_path=True), control=False)
    return None


def _in_its_from(node: exp.Update, database: str) -> exp.Table | None:
    """Return the table that an UPDATE changes, if the FROM contains it, perhaps under another name (Impala, SQL
    Server); else None."""
    from_ = node.args.get("from_")
    if from_ is None or node.this.args.get("alias") is not None:
        return None
    changed = name_of(node.this, database).folded
    for each in (from_.this, *(joined.this for joined in from_.this.args.get("joins") or ())):
        if isinstance(each, exp.Table):
            called = named_table(each.alias) if each.alias else each
            if name_of(called, database).folded == changed:
                return each
    return None


def _column(name: str, out: Out) -> MadeColumn:
    flow = out.flow
    return MadeColumn(name, _sorted(flow.data), _sorted(flow.control - flow.data), flow.complete, out.name)


def _into(node: exp.Expr) -> exp.Expr | None:
    """Return the INTO of ``SELECT … INTO t``, which a union has in its first query; None if there is none."""
    while isinstance(node, exp.SetOperation):
        node = node.this
    found: exp.Expr | None = node.args.get("into")
    return found


def _sorted(sources: Iterable[SourceColumn]) -> tuple[SourceColumn, ...]:
    return tuple(sorted(sources))


def _tables(result: QueryResult, *, complete: bool) -> Iterator[ReadTable]:
    """Yield each table once. A table is control if its columns are used only to decide about rows. This does not hold
    if the result is incomplete, counts rows or has no source columns."""
    data = {source.table.folded for out in result.outs for source in out.flow.data}
    deciding_columns = NONE.union(result.rows.control, *(out.flow.control for out in result.outs))
    looked_at = {source.table.folded for source in deciding_columns}
    counting = not data or any(out.flow.counts for out in result.outs)
    seen = set()
    for name in sorted(result.tables):
        if name.folded not in seen:
            seen.add(name.folded)
            only_decides = name.folded in looked_at and name.folded not in data
            yield ReadTable(name, control=complete and only_decides and not counting)
    for name in sorted(result.deciding_tables):
        if name.folded not in seen:
            seen.add(name.folded)
            yield ReadTable(name, control=True)


def _in_order(columns: Sequence[str], partition: exp.Expr | None, *, listed: bool) -> list[str]:
    """Return the target's columns in the order of an INSERT's query, which omits the columns of a given partition."""
    names = list(columns)
    for each in partition.expressions if partition is not None else ():
        given = isinstance(each, exp.EQ)
        name = (each.this if given else each).name
        if listed and not given and name.lower() in (other.lower() for other in columns):
            continue  # the list gives its position (Hive)
        names = [other for other in names if other.lower() != name.lower()]
        if not given and (listed or columns):
            names.append(name)
    return names


def _set_in(parts: Sequence[str], target: Rel, scope: Scope) -> tuple[str, ValueSources]:
    """Return the column that an assignment sets, and the flow of its old value if only a field of the column is set."""
    for width in range(min(len(parts) - 1, 3), 0, -1):
        rels = scope.qualified_rels(parts[:width])
        # The target may be in the FROM too, under another name.
        if target in rels or (rels and target.column(parts[0]) is None):
            parts = parts[width:]
            break
    if len(parts) == 1:
        return parts[0], NOTHING
    column = target.column(parts[0])
    return parts[0], target.supposed(parts[0]) if column is None else column


def _assigned(node: exp.Expr, names: Sequence[str] = ()) -> Iterator[tuple[Sequence[str], exp.Expr]]:
    """Yield (parts of the name, value) for each assignment, from ``SET t.a = x`` or ``INSERT (a) VALUES (x)``. Hive's
    ``INSERT VALUES (x)`` has the order of the target's columns; the name is empty if these are unknown."""
    if isinstance(node, exp.Insert):
        if not isinstance(node.expression, exp.Tuple):
            return
        values = node.expression.expressions
        if isinstance(node.this, exp.Tuple):
            yield from zip(map(_parts, node.this.expressions), values, strict=False)
        elif node.this is None:
            known = [(name,) for name in names]
            yield from zip(known if len(known) == len(values) else [()] * len(values), values, strict=True)
    elif isinstance(node, exp.Update):
        for each in node.expressions:
            if isinstance(each, exp.EQ):
                yield _parts(each.this), each.expression


def _parts(name: exp.Expr) -> list[str]:
    return [part.name for part in name.parts] if isinstance(name, exp.Column | exp.Dot) else [name.name]


def _everything(node: exp.Expr) -> bool:
    """Whether an action of a MERGE is ``UPDATE SET *`` or ``INSERT *``."""
    if isinstance(node, exp.Insert):
        return isinstance(node.this, exp.Star)
    return isinstance(node, exp.Update) and any(isinstance(each, exp.Star) for each in node.expressions)
