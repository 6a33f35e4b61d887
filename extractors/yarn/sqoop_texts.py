"""Remove literals from SQL texts. Quotes are read as databases do: ``"a"`` is a name, except in MySQL, where it is a
string."""

from __future__ import annotations

import re
from typing import Final

from navlin.model.redaction import redact
from navlin.model.redaction.literals import masks_literals, without_literals

_ODD_QUOTES: Final = re.compile(r"\$\w*\$|\b[qx]'|\\'", re.IGNORECASE)
_STRING: Final = r"'(?:[^']|'')*'"
_NUMBER: Final = r"(?<![\w\"`$.\]])\d+(?:\.\d+)?(?![\w\"`\]])"
_NAME: Final = r'"(?:[^"]|"")*"|`[^`]*`|\[[^\[\]]*\]'
_COMMENT: Final = r"--[^\n]*|/\*.*?\*/"
_PIECES: Final = re.compile(
    rf"(?P<comment>{_COMMENT})|(?P<string>{_STRING})|{_NAME}|(?P<number>{_NUMBER})", re.DOTALL
)
_PIECES_OF_MYSQL: Final = re.compile(
    rf"(?P<comment>{_COMMENT}|\#[^\n]*)|(?P<string>{_STRING}|\"(?:[^\"]|\"\")*\")|`[^`]*`|(?P<number>{_NUMBER})",
    re.DOTALL,
)


def steady(text: str, namespace: str) -> str:
    """Return a text without comments and with the same value for all literals, so that it is the same in each run of an
    incremental import. It can still be parsed. ``namespace`` is that of the database.
    """
    pieces = _PIECES_OF_MYSQL if namespace.startswith(("mysql:", "mariadb:")) else _PIECES
    return " ".join(pieces.sub(_replaced, text).split())


def kept(text: str, namespace: str) -> str:
    """Return a text that may be stored: with secrets masked and, if the estate masks literals, without literals."""
    if not masks_literals():
        return redact(text)
    return without_literals(text) if _ODD_QUOTES.search(text) else redact(steady(text, namespace))


def _replaced(match: re.Match[str]) -> str:
    if match["comment"] is not None:
        return " "
    if match["string"] is not None:
        return "'?'"
    return "0" if match["number"] is not None else match[0]
