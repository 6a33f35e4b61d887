"""Tables, paths and argument lists as printed in plans. They are recognized by their form, because argument positions
differ between versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

SESSION_CATALOG: Final = "spark_catalog"

_QUOTED: Final = r"`(?:[^`]|``)+`"
QUOTED_NAME: Final = re.compile(rf"{_QUOTED}(?:\.{_QUOTED}){{0,3}}")
_QUOTED_PART: Final = re.compile(_QUOTED)
_DOTTED: Final = re.compile(r"[^\s.,()\[\]{}@`]+(?:\.[^\s.,()\[\]{}@`]+)*")
_CATALOG_TABLE: Final = re.compile(r"\bDatabase: ?(\S{1,400})\s{1,40}Table: ?(\S{1,400})")
_HIVE_CTAS: Final = re.compile(r"Database: ?([^,\]}]{1,400})\}?, TableName: ?([^,\]]{1,400})")
_PARTITION_DIRECTORY: Final = re.compile(r"[^/=]+=[^/]*$")
_PART_FILE: Final = re.compile(r"/part-(?:[mr]-)?\d{5,}(?:[-.][^/]*)?$")
"""A file that a job wrote into a directory. Spark lists these files by name if it infers the columns of CSV files."""
_LOCATION: Final = re.compile(r"(\w+)(?:\((\d+) paths\))? ?\[(.*)", re.DOTALL)
_MARKS: Final = re.compile(r"[`(\[{)\]},]")
_BETWEEN_PATHS: Final = re.compile(r", ?(?=\.\.\.|/|[A-Za-z][A-Za-z0-9+.-]*:/)")
_CUT: Final = re.compile(r"\.\.\.(?: \d+ entries)?$")


@dataclass(frozen=True, slots=True)
class PlannedTable:
    """A table or view as a plan names it. A catalogue other than Spark's own precedes the database: ``cat.db``.

    ``database`` is empty if the plan prints only the name. In that case it is the session's current database, which is
    unknown.
    """

    database: str
    name: str

    @property
    def readable(self) -> str:
        return f"{self.database}.{self.name}" if self.database else self.name


def table_of_parts(parts: list[str]) -> PlannedTable | None:
    """Return the table whose name has these parts: ``t``, ``db.t`` or ``cat.db.t``. Return None if a part is missing
    or empty.
    """
    if parts[:1] == [SESSION_CATALOG]:
        parts = parts[1:]
    if not parts or not all(parts):
        return None
    return PlannedTable(".".join(parts[:-1]), parts[-1])


def quoted_table(text: str) -> PlannedTable | None:
    """Parse the name of a table in back quotes, such as `` `cat`.`db`.`t` ``."""
    parts = [part[1:-1].replace("``", "`") for part in _QUOTED_PART.findall(text)]
    return table_of_parts(parts)


def dotted_table(text: str) -> PlannedTable | None:
    """Parse the name of a table without quotes, such as ``cat.db.t``. Return None if the text cannot be a name."""
    text = text.strip()
    return table_of_parts(text.split(".")) if _DOTTED.fullmatch(text) else None


def described_table(text: str) -> PlannedTable | None:
    """Return the table in a description, ``CatalogTable(… Database: d … Table: t …)`` or, in Spark 2, ``[Database:d},
    TableName: t``.
    """
    match = _CATALOG_TABLE.search(text) or _HIVE_CTAS.search(text)
    if match is None:
        return None
    database, name = (part.strip().strip("`,") for part in match.groups())
    return table_of_parts([database, name])


def leading_table(text: str) -> PlannedTable | None:
    """Return the table at the beginning of a command's arguments."""
    match = QUOTED_NAME.match(text)
    return quoted_table(match[0]) if match else None


def argument_table(arguments: str) -> PlannedTable | None:
    """Return the table among a command's arguments: a name in back quotes that is a whole argument, or a description."""
    for piece in split_arguments(arguments):
        if QUOTED_NAME.fullmatch(piece):
            return quoted_table(piece)
    return described_table(arguments)


def split_arguments(text: str) -> Iterator[str]:
    """Split arguments at the top level, ignoring commas within brackets or back quotes."""
    depth, start, quoted = 0, 0, False
    for match in _MARKS.finditer(text):
        mark = match[0]
        if mark == "`":
            quoted = not quoted
        elif quoted:
            continue
        elif mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth = max(0, depth - 1)
        elif depth == 0:
            yield text[start : match.start()].strip()
            start = match.end()
    yield text[start:].strip()


@dataclass(frozen=True, slots=True)
class Location:
    """The paths of a scan that were printed completely. ``complete`` is False if paths were cut off."""

    index: str
    paths: tuple[str, ...]
    complete: bool


def location(printed: str) -> Location | None:
    """Parse ``InMemoryFileIndex(7 paths)[p1, p2, ...]`` and its older and newer forms. Return None for any other text.

    ``printed`` may continue after the closing bracket. A path that was cut in the middle is left out.
    """
    match = _LOCATION.match(printed.strip())
    if match is None:
        return None
    index, count, rest = match[1], match[2], match[3]
    body, closed = _to_bracket(rest)
    paths: list[str] = []
    complete = closed
    # A single path may contain the separator.
    for path in [body] if closed and count == "1" else _BETWEEN_PATHS.split(body):
        if _CUT.search(path):
            complete = False
        elif path:
            paths.append(path)
    if not closed and paths and not _CUT.search(body):
        paths.pop()  # the text ends within this path
    if count is not None and int(count) != len(paths):
        complete = False
    return Location(index, tuple(paths), complete)


def _to_bracket(text: str) -> tuple[str, bool]:
    depth = 0
    for match in re.finditer(r"[\[\]]|, (?:PartitionFilters|PushedFilters|PushedFilers|ReadSchema): ", text):
        if match[0] == "[":
            depth += 1
        elif match[0] == "]":
            if depth == 0:
                return text[: match.start()], True
            depth -= 1
        else:
            return text[: match.start()], False
    return text, False


def without_partitions(path: str) -> str:
    """Remove the ``k=v`` directories from the end of a path. The result is the root of the dataset."""
    path = path.rstrip("/") or path
    while (last := path.rfind("/")) > 0 and _PARTITION_DIRECTORY.fullmatch(path, last + 1):
        path = path[:last]
    return path


def without_part_file(path: str) -> str:
    """Return the directory of a part file. Other paths are returned unchanged."""
    return _PART_FILE.sub("", path) or path


def is_kept(arguments: str) -> bool:
    """Whether a command's arguments name a view in the catalogue. A temporary view has no database, or the database
    `global_temp`.
    """
    match = QUOTED_NAME.match(arguments)
    return match is not None and "`.`" in match[0] and not match[0].startswith("`global_temp`")


def is_path(text: str) -> bool:
    """Whether a text is an absolute path or a URI with an absolute path."""
    return bool(re.match(r"/|[A-Za-z][A-Za-z0-9+.-]*:/", text))


def is_bookkeeping(path: str) -> bool:
    """Whether a path belongs to a table format's own log, which is not read or written as data."""
    return "/_delta_log" in path or "/_spark_metadata" in path
