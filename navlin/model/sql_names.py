"""Names of tables and columns as databases quote them, in one of the ways of SQL: ``"a"``, ```a``` or ``[a]``."""

from __future__ import annotations

from typing import Final

MAX_CHARS: Final = 1 << 16
"""Maximum length of a text that is read. The list of a table's columns is shorter."""
_CLOSING: Final = {'"': '"', "`": "`", "[": "]"}
_NOT_BARE: Final = frozenset("()'\"`[];=*/+<>\\")
"""Characters that an unquoted name cannot have. A text with one of them is an expression or a query."""


def table_parts(text: str) -> tuple[str, ...]:
    """Return the parts of a table's name without their quotes: ``"app"."my.t"`` is (``app``, ``my.t``). Return an
    empty tuple if the text is not the name of a table.
    """
    parts = _split(text, ".")
    if parts is None or not all(name for name, _ in parts):
        return ()
    bare = (name for name, quoted in parts if not quoted)
    if any(_NOT_BARE.intersection(name) or any(map(str.isspace, name)) for name in bare):
        return ()
    return tuple(name for name, _ in parts)


def listed_names(text: str) -> tuple[str, ...]:
    """Return the names in a list without their quotes: ``"ID","a,b"`` is (``ID``, ``a,b``). Return an empty tuple if the
    text is not a list of names.
    """
    names = _split(text, ",")
    if names is None or not all(name for name, _ in names):
        return ()
    return tuple(name for name, _ in names)


def joined_name(parts: tuple[str, ...]) -> str:
    """Join the parts of a name. A part with a dot keeps its quotes, because it would seem to be two parts."""
    return ".".join(f'"{part}"' if "." in part else part for part in parts)


def _split(text: str, separator: str) -> list[tuple[str, bool]] | None:
    """Split a text at separators outside quotes, into (name without quotes, whether it was quoted). Return None if the
    text is too long, or a quoted name does not end.
    """
    text = text.strip()
    if len(text) > MAX_CHARS:
        return None
    found: list[tuple[str, bool]] = []
    place = 0
    while True:
        while place < len(text) and text[place].isspace():
            place += 1
        closing = _CLOSING.get(text[place : place + 1], "")
        if closing:
            ended = _quoted(text, place + 1, closing, separator)
            if ended is None:
                return None
            name, place = ended
        else:
            end = text.find(separator, place)
            end = len(text) if end < 0 else end
            name, place = text[place:end].strip(), end
        found.append((name, bool(closing)))
        if place >= len(text):
            return found
        place += 1


def _quoted(text: str, start: int, closing: str, separator: str) -> tuple[str, int] | None:
    """Return (name, place of the separator or the end after it) of a quoted name. A doubled quote is one quote. A quote
    that neither a separator nor the end follows belongs to the name, because Sqoop does not double quotes for HSQLDB.
    """
    name: list[str] = []
    place = start
    while (end := text.find(closing, place)) >= 0:
        name.append(text[place:end])
        after = end + 1
        if text.startswith(closing, after):
            name.append(closing)
            place = after + 1
            continue
        while after < len(text) and text[after].isspace():
            after += 1
        if after >= len(text) or text[after] == separator:
            return "".join(name), after
        name.append(text[end:after])
        place = after
    return None
