"""The parser, where Hive, Impala and Spark differ from what sqlglot takes them for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import sqlglot
from sqlglot import exp
from sqlglot.parsers.databricks import DatabricksParser
from sqlglot.parsers.hive import HiveParser
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

from navlin.sql.pipes import PipeParser


class _Ours(PipeParser):
    ARRAY_CONSTRUCTORS: ClassVar[Any] = {}  # a column may be called so: `array`[1]

    def validate_expression(self, expression: Any, args: list[Any] | None = None) -> Any:
        """A function with more or fewer arguments than sqlglot knows it with is taken for one that it does not know: of what
        it is made is clear all the same."""
        if args is not None and isinstance(expression, exp.Func) and expression.error_messages(args):
            return exp.Anonymous(this=expression.sql_name(), expressions=list(args))
        return super().validate_expression(expression, args)

    def _parse_extract(self) -> Any:
        """``extract(x, 'year')`` as Impala has it, or with FROM."""
        index = self._index
        first = self._parse_bitwise()
        if self._match(TokenType.COMMA):
            return exp.Anonymous(this="EXTRACT", expressions=[first, self._parse_bitwise()])
        self._retreat(index)
        return super()._parse_extract()


_LOSING: Final = frozenset({"DATE_TRUNC", "TRUNC", "PERCENTILE"})
"""Functions of which sqlglot throws arguments away that may be columns: to it they are functions that it does not know."""


def _without_losses(functions: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in functions.items() if name not in _LOSING}


class _Hive(_Ours, HiveParser):
    FUNCTIONS: ClassVar[Any] = _without_losses(HiveParser.FUNCTIONS)
    FUNCTION_PARSERS: ClassVar[Any] = _without_losses(HiveParser.FUNCTION_PARSERS)


class _Spark(_Ours, SparkParser):
    FUNCTIONS: ClassVar[Any] = _without_losses(SparkParser.FUNCTIONS)
    FUNCTION_PARSERS: ClassVar[Any] = _without_losses(SparkParser.FUNCTION_PARSERS)


class _Databricks(_Ours, DatabricksParser):
    FUNCTIONS: ClassVar[Any] = _without_losses(DatabricksParser.FUNCTIONS)
    FUNCTION_PARSERS: ClassVar[Any] = _without_losses(DatabricksParser.FUNCTION_PARSERS)


_PARSERS: Final = {"hive": _Hive, "spark": _Spark, "databricks": _Databricks}


def parse(text: str, name: str) -> list[exp.Expr]:
    """The statements of a text, in a dialect of sqlglot's. Raises its errors."""
    dialect = sqlglot.Dialect.get_or_raise(name)
    parser = _PARSERS.get(name, dialect.parser_class)(dialect=dialect)
    return [each for each in parser.parse(dialect.tokenize(text), text) if each is not None]
