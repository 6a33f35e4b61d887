"""The line of a TOML text on which a key stands. tomllib keeps no positions, so it parses ever longer beginnings."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any

KeyPath = Sequence[str | int]
"""Where a value stands: ``("source", 1, "interval_s")`` is a key of the second ``[[source]]``."""

_POSITION = re.compile(r" \(at line (\d+), column \d+\)$")


def line_of(text: str, path: KeyPath) -> int:
    """The line, from 1, of the statement that first gives ``path``; of its nearest table if the key is not there.

    A beginning of the text that parses ends where a statement ends. So the key stands in the lines between the last
    beginning without it and the first with it, however its value is spread over them. It takes one parse a line, so it is
    called only if something is wrong.
    """
    lines = text.splitlines()
    statement, found, depth = 1, 1, 0
    for end in range(1, len(lines) + 1):
        try:
            table = tomllib.loads("\n".join(lines[:end]) + "\n")
        except tomllib.TOMLDecodeError:
            continue
        known = _known(table, path)
        if known > depth:
            found, depth = statement, known
        if known == len(path):
            break
        statement = end + 1
    return found


def _known(table: Any, path: KeyPath) -> int:
    """How many components of ``path`` lead somewhere."""
    known = 0
    for component in path:
        try:
            table = table[component]
        except (KeyError, IndexError, TypeError):
            break
        known += 1
    return known


def syntax_error(error: tomllib.TOMLDecodeError, text: str) -> tuple[int, str]:
    """The line and the text of tomllib's own error."""
    message = str(error)
    if position := _POSITION.search(message):
        return int(position[1]), message[: position.start()]
    return max(1, len(text.splitlines())), message.removesuffix(" (at end of document)")
