"""Hive's ALTER statements that bring data into a table or view, and that sqlglot leaves unparsed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from navlin.sql.sources import NotUnderstood, spell_out

_QUOTED: Final = frozenset({TokenType.IDENTIFIER, TokenType.STRING})


def exchanged_tables(text: str) -> tuple[exp.Table, exp.Table] | None:
    """Return the target and the source of ``TABLE t EXCHANGE PARTITION (…) WITH TABLE s`` (Hive); None for any other
    text."""
    tokens, words = _words(text)
    if words[:1] != ["TABLE"] or (found := _exchange(words)) is None:
        return None
    first, behind = found
    return _table_in(text, tokens[1:first]), _table_in(text, tokens[behind:])


def rebuilt_view(text: str) -> exp.Table | None:
    """Return the view of ``MATERIALIZED VIEW v REBUILD`` (Hive); None for any other text."""
    tokens, words = _words(text)
    if words[:2] != ["MATERIALIZED", "VIEW"] or words[-1] != "REBUILD":
        return None
    return _table_in(text, tokens[2:-1])


def _words(text: str) -> tuple[list[Token], list[str]]:
    """Return the tokens of a text, and the text of each token in capitals, "" for a quoted token."""
    tokens = sqlglot.tokenize(text, read="hive")
    return tokens, ["" if each.token_type in _QUOTED else each.text.upper() for each in tokens]


def _exchange(words: Sequence[str]) -> tuple[int, int] | None:
    """Return the start and end indices of ``EXCHANGE PARTITION (…) WITH TABLE`` in the words of an ALTER TABLE; None if
    it is missing."""
    first = next((at for at, pair in enumerate(pairwise(words)) if pair == ("EXCHANGE", "PARTITION")), None)
    if (
        first is None
        or (end := next((at for at in range(first, len(words)) if words[at] == ")"), None)) is None
    ):
        return None
    return (first, end + 3) if words[end + 1 : end + 3] == ["WITH", "TABLE"] else None


def _table_in(text: str, tokens: Sequence[Token]) -> exp.Table:
    """Return the table named by consecutive tokens of a text. Raises `NotUnderstood` and sqlglot's errors."""
    if not tokens:
        raise NotUnderstood("its ALTER is not understood")
    table = sqlglot.parse_one(text[tokens[0].start : tokens[-1].end + 1], read="spark", into=exp.Table)
    query = exp.select("*").from_(table)
    spell_out(query)
    found: exp.Table = query.args["from_"].this
    return found
