"""Patterns for names of databases and tables, like the options ``-d``, ``-t`` and ``-f`` of Atlas's import-hive.sh.

A pattern has the syntax of a metastore: case-insensitive names, ``*`` for any text, ``|`` between alternatives, or a
regular expression. It must match the whole name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from navlin.model.refusal import Refusal

_ANY: Final = re.compile(r"(?<![.\])])\*")
"""A star that means any text, because it does not follow ``.``, ``]`` or ``)``, which it would repeat as in a regular
expression."""


class BadPattern(Refusal):
    """A pattern is not a valid regular expression, or a line names no database."""


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A pattern for databases, and a pattern for tables in these databases; "" matches all. Raises `BadPattern`."""

    database: str = ""
    table: str = ""

    def __post_init__(self) -> None:
        for pattern in (self.database, self.table):
            _matcher(pattern)

    def admits_database(self, database: str) -> bool:
        return not self.database or bool(_matcher(self.database)(database))

    def admits(self, database: str, table: str) -> bool:
        """Whether a table and its database match."""
        named = not self.table or bool(_matcher(self.table)(table))
        return named and self.admits_database(database)


def patterns_of_lines(lines: Iterable[str]) -> Iterator[NamePattern]:
    """Yield the patterns in the lines of a file, each ``database:table`` or ``database``. Raises `BadPattern`."""
    for number, line in enumerate(lines, start=1):
        if not (text := line.strip()):
            continue
        database, _, table = text.partition(":")
        if not database.strip():
            raise BadPattern(f"line {number} names no database: {text!r}")
        yield NamePattern(database.strip(), table.strip())


@lru_cache(maxsize=4_096)
def _matcher(pattern: str) -> Callable[[str], object]:
    # Any user with read access may send a pattern. RE2 takes time linear in the length of a name, whatever the pattern.
    import re2

    options = re2.Options()
    options.log_errors, options.case_sensitive = False, False
    try:
        match: Callable[[str], object] = re2.compile(_ANY.sub(".*", pattern), options).fullmatch
    except re2.error as error:
        reason = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        raise BadPattern(f"{pattern!r:.80} is not a valid pattern of names: {reason}") from error
    return match
