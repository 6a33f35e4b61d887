"""Read the statements of a text in order. Later statements know the tables, views and current database of earlier
statements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Final

import sqlglot
from sqlglot import exp

from navlin.sql.current_database import chosen_database
from navlin.sql.flows import ExpansionTooLarge, QueryResult
from navlin.sql.parsing import parse
from navlin.sql.reading import ParsedStatement, ReadText, TextToRead
from navlin.sql.rewriting import bare_create, rewritten
from navlin.sql.sources import NotUnderstood, name_of, spell_out
from navlin.sql.statements import Statement

_PROBLEM_CHARS: Final = 200
_BEHIND_ALL: Final = "databricks"
"""Dialect to try last, because it knows new syntax of Spark (``column:path``)."""


def answer(question: TextToRead) -> ReadText:
    """Read a text. A problem with the text is part of the answer; running out of time or memory is not caught here."""
    problem = ""
    for text, dialect in _attempts(question):
        try:
            return ReadText(tuple(_read(question, parse(text, dialect), dialect)))
        except sqlglot.errors.SqlglotError as error:
            if isinstance(error.__cause__, MemoryError):
                raise error.__cause__ from None
            problem = problem or _in_words(error)
        except RecursionError:
            return ReadText(problem="it is nested too deeply")
        except ExpansionTooLarge as error:
            return ReadText(problem=str(error))
    return ReadText(problem=problem)


def _attempts(question: TextToRead) -> Iterator[tuple[str, str]]:
    """Yield (text, dialect) for each attempt: the text rewritten for the parser, then the text reduced by
    `bare_create`, in each dialect."""
    text = rewritten(question.text)
    dialects = list(dict.fromkeys((*question.dialects, _BEHIND_ALL)))
    yield from ((text, dialect) for dialect in dialects)
    if (bare := bare_create(text)) != text:
        yield from ((bare, dialect) for dialect in dialects)


def _in_words(error: sqlglot.errors.SqlglotError) -> str:
    details = getattr(error, "errors", None)
    if details:
        first = details[0]
        return f"{first['description']} at line {first['line']}, column {first['col']}"[:_PROBLEM_CHARS]
    return " ".join(str(error).split())[:_PROBLEM_CHARS]


def _read(question: TextToRead, statements: Iterable[exp.Expr], dialect: str) -> Iterator[ParsedStatement]:
    temporary: dict[tuple[str, ...], QueryResult] = {}
    for statement in chain.from_iterable(_opened(each, dialect) for each in statements):
        spell_out(statement)
        read = Statement(question, statement, temporary)
        for made in read.made():
            yield made
            question = _learned(question, statement, made)
        if read.view is not None:
            name, result = read.view
            temporary[name] = result
        for table in statement.args.get("tables") or () if isinstance(statement, exp.Drop) else ():
            question = _forgotten(question, table, temporary)
        if (chosen := chosen_database(question.database, statement)) is not None:
            question = replace(question, database=chosen)


def _opened(statement: exp.Expr, dialect: str) -> Iterator[exp.Expr]:
    """Yield the statement, or the statements in a block or a procedure, which run when the procedure is called.

    The parser turns BEGIN … END into a block in some dialects, and in others into a command with the text after BEGIN.
    In IF and WHILE, only the blocks count.
    """
    if isinstance(statement, exp.Create) and statement.kind == "PROCEDURE":
        body = statement.expression
        if isinstance(body, exp.Block) or (
            isinstance(body, exp.Command) and str(body.this).upper() == "BEGIN"
        ):
            yield from _opened(body, dialect)
        else:
            raise NotUnderstood("its procedure is not understood")
    elif isinstance(statement, exp.Command) and str(statement.this).upper() == "BEGIN":
        for each in parse(statement.text("expression"), dialect):
            yield from _opened(each, dialect)
    elif isinstance(statement, exp.Block):
        if statement.find(exp.Command) is not None:
            # An unknown statement may have swallowed those after it.
            raise NotUnderstood("a statement in a block of it is not understood")
        for each in statement.expressions:
            yield from _opened(each, dialect)
    elif isinstance(statement, exp.IfBlock | exp.WhileBlock):
        for each in statement.iter_expressions():
            if isinstance(each, exp.Block):
                yield from _opened(each, dialect)
    else:
        yield statement


def _forgotten(
    question: TextToRead, table: exp.Table, temporary: dict[tuple[str, ...], QueryResult]
) -> TextToRead:
    """Return the question without a dropped table. If a temporary view has the name, only the view is dropped, because
    it takes precedence over a table."""
    if temporary.pop(tuple(part.name.lower() for part in table.parts), None) is not None:
        return question
    name = ".".join(name_of(table, question.database).folded)
    return replace(
        question, schema={each: columns for each, columns in question.schema.items() if each != name}
    )


def _learned(question: TextToRead, statement: exp.Expr, made: ParsedStatement) -> TextToRead:
    """Return the question with the columns of a table that this statement makes, for later statements of the text. An
    ALTER that adds columns is not followed."""
    if not isinstance(statement, exp.Create) or made.target is None:
        return question
    if statement.args.get("exists") and ".".join(made.target.folded) in question.schema:
        return question  # CREATE TABLE IF NOT EXISTS: the table exists
    columns = [column.name for column in made.columns]
    if statement.expression is None and isinstance(statement.this, exp.Schema):
        columns = [each.name for each in (*statement.this.expressions, *_partitions_with_types(statement))]
    elif statement.expression is None and (like := statement.find(exp.LikeProperty)) is not None:
        columns = list(question.schema.get(".".join(name_of(like.this, question.database).folded), ()))
    if not columns or not all(columns):
        return question
    return replace(question, schema={**question.schema, ".".join(made.target.folded): columns})


def _partitions_with_types(statement: exp.Create) -> Iterator[exp.ColumnDef]:
    """Yield the columns of ``PARTITIONED BY (ds STRING)``, which come after the table's other columns (Hive). A name
    without a type refers to a column in the table's own list (Spark)."""
    partitioned = statement.find(exp.PartitionedByProperty)
    if partitioned is not None and isinstance(partitioned.this, exp.Schema):
        yield from (each for each in partitioned.this.expressions if isinstance(each, exp.ColumnDef))
