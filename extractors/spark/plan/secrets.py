"""Literals that a plan prints beside columns whose names look secret. Nothing in a plan is quoted, so that no reader of SQL
finds them there: ``(password#3 = s3cret)``."""

from __future__ import annotations

import re
from typing import Final

from navlin.model.redaction import MASK, is_secret

_COLUMN: Final = re.compile(r"([^\s#,()\[\]{}]+)#\d{1,18}L?")
_NO_LITERAL: Final = re.compile(
    r"\w+(?=\()|\b(?:AND|OR|NOT|IN|LIKE|RLIKE|IS|NULL|CASE|WHEN|THEN|ELSE|END|if|else|as|true|false|null"
    r"|string|binary|int|bigint|double|date|timestamp|boolean)\b|[\s()\[\],=<>!+*/%|&.-]"
)


def without_secrets(expression: str) -> str:
    """An expression as it is, with its columns alone if one of them looks secret and it has a literal."""
    if not (names := _COLUMN.findall(expression)) or not any(map(is_secret, names)):
        return expression
    if not _NO_LITERAL.sub("", _COLUMN.sub("", expression)):
        return expression
    return f"{MASK} ({', '.join(dict.fromkeys(names))})"


def of_column(name: str, expression: str) -> str:
    """What a column is computed as; nothing of it if the column's own name looks secret."""
    return MASK if is_secret(name) and expression.lower() != name.lower() else expression
