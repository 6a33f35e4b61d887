"""Parser for Spark's pipes (``FROM t |> WHERE a > 1 |> SELECT b``), which turns each step into a query over the
previous one.

sqlglot parses pipes as in BigQuery, and so loses some tables, windows and columns of Spark's pipes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NoReturn

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

_STAYS: Final = frozenset({"expressions", "from_", "joins", "where", "order", "with_", "hint", "laterals"})
"""Clauses of a query to which a further step can still be added; a query with any other clause becomes a subquery."""


class PipeParser(sqlglot.Parser):
    """Parser of the steps of a pipe. Raises sqlglot's errors for an unknown step."""

    def _parse_pipe_syntax_query(self, query: Any) -> Any:
        while self._match(TokenType.PIPE_GT):
            query = self._step(query)
        return query

    def _step(self, query: exp.Query) -> exp.Query:
        word = self._curr.text.upper() if self._curr else ""
        match word:
            case "SELECT":
                return self._selected(query)
            case "EXTEND":
                self._advance()
                return _with_columns(query, [exp.Star(), *(made := self._parse_expressions())], made)
            case "SET":
                self._advance()
                return _with_columns(
                    query, [exp.Star(replace=(made := self._parse_csv(self._assigned)))], made
                )
            case "DROP":
                self._advance()
                return _with_columns(query, [exp.Star(except_=self._parse_csv(self._parse_id_var))], [])
            case "AS":
                self._advance()
                return _over(query, exp.TableAlias(this=self._parse_id_var()))
            case "WHERE":
                where = self._parse_where()
                return _taking_in(query).where(where.this, copy=False) if where else query
            case "AGGREGATE":
                self._advance()
                return self._aggregated(query)
            case "ORDER BY":
                ordered = _taking_in(query)
                order = self._parse_order()
                if (before := ordered.args.get("order")) is not None:
                    # A LIMIT may be between the two, so both orders affect the rows.
                    for each in order.expressions if order is not None else ():
                        before.append("expressions", each)
                else:
                    ordered.set("order", order)
                return ordered
            case "LIMIT" | "OFFSET" | "TABLESAMPLE":
                # Choosing rows does not affect columns.
                self._parse_limit()
                self._parse_offset()
                self._parse_table_sample()
                return query
            case "PIVOT" | "UNPIVOT":
                pivoted = _over(query, None)
                pivoted.args["from_"].this.set("pivots", self._parse_pivots())
                return pivoted
            case "UNION" | "EXCEPT" | "INTERSECT" | "MINUS":
                return self.parse_set_operation(this=query) or self._refuse(word)
        join = self._parse_join()
        if join is None or isinstance(join.this, exp.Lateral):  # a LATERAL swallows the steps after it
            self._refuse(word)
        return _taking_in(query, of_joined=True).join(join, copy=False)

    def _selected(self, query: exp.Query) -> exp.Query:
        select = self._parse_select(consume_pipe=False, parse_set_operation=False)
        if not isinstance(select, exp.Select) or select.args.get("from_") is not None:
            self._refuse("SELECT")
        query = _taking_in(query, select.expressions)
        for key in ("expressions", "distinct", "windows"):
            if select.args.get(key):
                query.set(key, select.args[key])
        return query

    def _refuse(self, word: str) -> NoReturn:
        self.raise_error(f"Unsupported pipe {word}")
        raise sqlglot.ParseError(word)  # in case the parser ignores errors

    def _assigned(self) -> exp.Expr:
        name = self._parse_id_var()
        if not self._match(TokenType.EQ):
            self._refuse("SET")
        return exp.Alias(this=self._parse_disjunction(), alias=name)

    def _aggregated(self, query: exp.Query) -> exp.Query:
        made = [] if self._match(TokenType.GROUP_BY, advance=False) else self._parse_expressions()
        groups = self._parse_expressions() if self._match(TokenType.GROUP_BY) else []
        if any(isinstance(each.unalias(), exp.Literal) or each.name.upper() == "ALL" for each in groups):
            self._refuse("AGGREGATE")
        query = _taking_in(query, [*groups, *made])
        query.set("expressions", [*groups, *made])
        if groups:
            query.set("group", exp.Group(expressions=[each.unalias().copy() for each in groups]))
        return query


def _taking_in(query: exp.Query, made: Sequence[exp.Expr] = (), *, of_joined: bool = False) -> exp.Select:
    """Return the query if a further step can be added to it, else a new query that selects from it. The new query is
    also needed if names in an earlier step would otherwise refer to columns that the further step creates (``made``) or
    joins (``of_joined``)."""
    if isinstance(query, exp.Select) and query.args.get("from_") is not None:
        extra = {key for key, value in query.args.items() if value and key not in _STAYS}
        stars = [each for each in query.expressions if type(each) is exp.Star and not any(each.args.values())]
        if not extra and len(stars) == len(query.expressions) == 1:
            if not made and not of_joined:
                return query
            keys = ("where", "order") if of_joined else ("order",)
            before = [each for key in keys if (each := query.args.get(key)) is not None]
            bare = {
                name.name.lower() for each in before for name in each.find_all(exp.Column) if not name.table
            }
            hidden = bare if of_joined else bare & {each.alias.lower() for each in made}
            name = _only_name(query)
            return query if not hidden or (of_joined and name is None) else _over(query, name)
    return _over(query, None)


def _only_name(query: exp.Select) -> exp.TableAlias | None:
    """Return the name of a query's only table, which later steps may still use; None if there are several tables."""
    source = query.args["from_"].this
    alone = not any(each.args.get(key) for each in (query, source) for key in ("joins", "laterals"))
    return exp.TableAlias(this=exp.to_identifier(source.alias_or_name, quoted=True)) if alone else None


def _over(query: exp.Query, alias: exp.TableAlias | None) -> exp.Select:
    inner = (
        query if isinstance(query, exp.Subquery) and alias is None else exp.Subquery(this=query, alias=alias)
    )
    return exp.select("*").from_(inner, copy=False)


def _with_columns(query: exp.Query, columns: list[exp.Expr], named: Sequence[exp.Expr]) -> exp.Select:
    made = _taking_in(query, named)
    made.set("expressions", columns)
    return made
