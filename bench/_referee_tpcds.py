"""TPC-DS queries, their variants and their tables, from the jar of Spark's own tests."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Final
from zipfile import ZipFile

from bench._class_files import literals_of
from bench._referee_statements import Statement

_FOLDERS: Final = {"tpcds": "", "tpcds-v2.7.0": "_v2_7", "tpcds-modifiedQueries": "_modified"}
_TABLES: Final = "org/apache/spark/sql/TPCDSSchema.class"


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
        literals = literals_of(archive.read(_TABLES))
    return [
        f"CREATE TABLE src.{name} ({re.sub(r'^ *[|]', '', columns.strip(), flags=re.MULTILINE)}) USING parquet"
        for name, columns in pairwise(literals)
        if re.fullmatch(r"\w+", name) and re.match(r"\s*\|`\w+` ", columns)
    ]
