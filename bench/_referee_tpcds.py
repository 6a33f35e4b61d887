"""TPC-DS queries, their variants and their tables, from the jar of Spark's own tests."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final
from zipfile import ZipFile

from bench._referee_statements import Statement

_FOLDERS: Final = {"tpcds": "", "tpcds-v2.7.0": "_v2_7", "tpcds-modifiedQueries": "_modified"}
_TABLES: Final = "org/apache/spark/sql/TPCDSSchema.class"
_TEXT, _LITERAL, _TWO_PLACES = 1, 8, (5, 6)
_BYTES: Final = {
    3: 4,
    4: 4,
    5: 8,
    6: 8,
    7: 2,
    8: 2,
    9: 4,
    10: 4,
    11: 4,
    12: 4,
    15: 3,
    16: 2,
    17: 4,
    18: 4,
    19: 2,
    20: 2,
}


def queries(jar: Path) -> list[Statement]:
    """Return the queries. A query is named ``q5``, and a variant ``q5a_v2_7`` or ``q10_modified``."""
    found = []
    with ZipFile(jar) as archive:
        for entry in archive.namelist():
            folder, _, file = entry.rpartition("/")
            if folder in _FOLDERS and file.endswith(".sql"):
                name = file.removesuffix(".sql") + _FOLDERS[folder]
                found.append(Statement(name, (archive.read(entry).decode().strip().rstrip(";"),)))
    return sorted(
        found,
        key=lambda each: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", each.name)],
    )


def table_definitions(jar: Path) -> list[str]:
    """Return a CREATE TABLE for each table. Table names and columns are alternating literals in a class file."""
    with ZipFile(jar) as archive:
        literals = list(_literals(archive.read(_TABLES)))
    return [
        f"CREATE TABLE src.{name} ({re.sub(r'^ *[|]', '', columns.strip(), flags=re.MULTILINE)}) USING parquet"
        for name, columns in pairwise(literals)
        if re.fullmatch(r"\w+", name) and re.match(r"\s*\|`\w+` ", columns)
    ]


def _literals(data: bytes) -> Iterator[str]:
    """Yield the string literals of a class file, in the order of its constant pool."""
    (count,) = struct.unpack_from(">H", data, 8)
    at, place = 10, 1
    texts: dict[int, str] = {}
    literals: list[int] = []
    while place < count:
        kind = data[at]
        at += 1
        if kind == _TEXT:
            (length,) = struct.unpack_from(">H", data, at)
            texts[place] = data[at + 2 : at + 2 + length].decode("utf-8", "replace")
            at += 2 + length
        else:
            if kind == _LITERAL:
                literals.extend(struct.unpack_from(">H", data, at))
            at += _BYTES[kind]
        place += 2 if kind in _TWO_PLACES else 1
    yield from (texts[each] for each in literals)
