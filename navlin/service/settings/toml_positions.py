"""Finds the line of a key in a TOML text. tomllib keeps no positions, so ever longer prefixes of the text are
parsed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from typing import Any

KeyPath = Sequence[str | int]
"""The path of a value: ``("source", 1, "interval_s")`` is a key of the second ``[[source]]``."""

_POSITION = re.compile(r" \(at line (\d+), column \d+\)$")


def line_of(text: str, path: KeyPath) -> int:
    """Return the line, counted from 1, of the statement that first defines ``path``; if the key is missing, return the
    line of the nearest table.

    A prefix that can be parsed ends with a complete statement. So the key is in the lines between the last prefix
    without it and the first prefix with it, however many lines the value has. This parses the text once per line, so it
    is called only to report a problem.
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
    """Return the number of leading components of ``path`` that exist."""
    known = 0
    for component in path:
        try:
            table = table[component]
        except (KeyError, IndexError, TypeError):
            break
        known += 1
    return known


def syntax_error(error: tomllib.TOMLDecodeError, text: str) -> tuple[int, str]:
    """Split an error of tomllib into line and message."""
    message = str(error)
    if position := _POSITION.search(message):
        return int(position[1]), message[: position.start()]
    return max(1, len(text.splitlines())), message.removesuffix(" (at end of document)")
