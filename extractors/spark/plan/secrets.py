"""Hide literals that a plan prints next to columns whose names look secret. Nothing in a plan is quoted, so an SQL
parser would not find them, as in ``(password#3 = s3cret)``.
"""

from __future__ import annotations

import re
from typing import Final

from navlin.model.redaction import MASK, is_secret

_COLUMN: Final = re.compile(r"([^\s#,()\[\]{}]+)#\d{1,18}L?")
_WORD: Final = re.compile(r"\w+")
_NO_LITERAL: Final = re.compile(
    r"\w+(?=\()|\b(?:AND|OR|NOT|IN|LIKE|RLIKE|IS|NULL|CASE|WHEN|THEN|ELSE|END|if|else|as|true|false|null"
    r"|string|binary|int|bigint|double|date|timestamp|boolean)\b|[\s()\[\],=<>!+*/%|&.-]"
)


def without_secrets(expression: str) -> str:
    """Return the expression unchanged, or only its columns if one of its words looks secret and it contains a literal.
    The word may be the name of a column, a field (``login#3.password``), or a key (``login#3[password]``).
    """
    names = _COLUMN.findall(expression)
    if not names or not any(map(is_secret, _WORD.findall(expression))):
        return expression
    if not _NO_LITERAL.sub("", _COLUMN.sub("", expression)):
        return expression
    return f"{MASK} ({', '.join(dict.fromkeys(names))})"


def of_column(name: str, expression: str) -> str:
    """Return the expression that computes a column, or only the mask if the column's own name looks secret."""
    return MASK if is_secret(name) and expression.lower() != name.lower() else expression
