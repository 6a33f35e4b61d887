"""The parser, corrected where Hive, Impala and Spark differ from sqlglot's dialects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

import sqlglot
from sqlglot import exp
from sqlglot.parsers.databricks import DatabricksParser
from sqlglot.parsers.hive import HiveParser
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import TokenType

from navlin.sql.pipes import PipeParser


class _Ours(PipeParser):
    ARRAY_CONSTRUCTORS: ClassVar[Any] = {}  # a column may have this name: `array`[1]

    def validate_expression(self, expression: Any, args: list[Any] | None = None) -> Any:
        """Treat a function as unknown if sqlglot expects another number of arguments. Its sources are still known,
        because they are the arguments."""
        if args is not None and isinstance(expression, exp.Func) and expression.error_messages(args):
            return exp.Anonymous(this=expression.sql_name(), expressions=list(args))
        return super().validate_expression(expression, args)

    def _parse_extract(self) -> Any:
        """Parse Impala's ``extract(x, 'year')``, or the form with FROM."""
        index = self._index
        first = self._parse_bitwise()
        if self._match(TokenType.COMMA):
            return exp.Anonymous(this="EXTRACT", expressions=[first, self._parse_bitwise()])
        self._retreat(index)
        return super()._parse_extract()


_UNITS: Final = frozenset(
    "YEAR YYYY YY QUARTER Q MONTH MON MM WEEK W DAY DD D J HOUR HH MI MINUTE SECOND MILLISECOND MICROSECOND".split()
)
"""Names of time units, which look like columns."""


def _keeping(functions: Mapping[str, Any]) -> dict[str, Any]:
    """Return sqlglot's function builders, replacing those that would drop arguments that may be columns."""
    kept = {name: _of_columns(name, functions[name]) for name in ("DATE_TRUNC", "TRUNC")}
    return {**functions, **kept, "PERCENTILE": _percentile}


def _of_columns(
    name: str, build: Callable[[list[exp.Expr]], exp.Expr]
) -> Callable[[list[exp.Expr]], exp.Expr]:
    def made(args: list[exp.Expr]) -> exp.Expr:
        columns = [each for each in args if each.find(exp.Column) and each.name.upper() not in _UNITS]
        return build(args) if len(columns) < 2 else exp.Anonymous(this=name, expressions=args)

    return made


def _percentile(args: list[exp.Expr]) -> exp.Expr:
    return exp.AnonymousAggFunc(this="PERCENTILE", expressions=args)


def _without_percentile(parsers: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in parsers.items() if name != "PERCENTILE"}


class _Hive(_Ours, HiveParser):
    FUNCTIONS: ClassVar[Any] = _keeping(HiveParser.FUNCTIONS)
    FUNCTION_PARSERS: ClassVar[Any] = _without_percentile(HiveParser.FUNCTION_PARSERS)


class _Spark(_Ours, SparkParser):
    FUNCTIONS: ClassVar[Any] = _keeping(SparkParser.FUNCTIONS)
    FUNCTION_PARSERS: ClassVar[Any] = _without_percentile(SparkParser.FUNCTION_PARSERS)


class _Databricks(_Ours, DatabricksParser):
    FUNCTIONS: ClassVar[Any] = _keeping(DatabricksParser.FUNCTIONS)
    FUNCTION_PARSERS: ClassVar[Any] = _without_percentile(DatabricksParser.FUNCTION_PARSERS)


_PARSERS: Final = {"hive": _Hive, "spark": _Spark, "databricks": _Databricks}


def parse(text: str, name: str) -> list[exp.Expr]:
    """Parse the statements of a text in one of sqlglot's dialects. Raises sqlglot's errors."""
    dialect = sqlglot.Dialect.get_or_raise(name)
    parser = _PARSERS.get(name, dialect.parser_class)(dialect=dialect)
    return [each for each in parser.parse(dialect.tokenize(text), text) if each is not None]
