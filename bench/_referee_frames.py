"""Statements written as Python programs instead of SQL (``bench/statements/**/*.py``). Their docstrings hold the
expected lineage."""

from __future__ import annotations

from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench._referee_parts import TABLE, Place
from bench._referee_statements import STATEMENTS, Run, Statement, read_truth

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KEPT: Final[dict[str, list[Run]]] = defaultdict(list)


def frame(run: Run) -> Run:
    """Register a function as a statement under the function's name. The function is called with the session, the
    table to write and a directory for files."""
    _KEPT[run.__module__].append(run)
    return run


def table_format(spark: SparkSession) -> str:
    """Return the table format of the running part, for programs that run in several parts."""
    return spark.conf.get("spark.referee.format") or ""


def read_programs(directory: Path = STATEMENTS, place: Place = TABLE, part: str = "") -> list[Statement]:
    """Return the programs of a directory, with their expected lineage in this part."""
    found = []
    for path in sorted(directory.glob("*.py")):
        parts = path.relative_to(STATEMENTS).with_suffix("").parts
        module = ".".join(("bench", "statements", *parts))
        import_module(module)
        for run in _KEPT[module]:
            name = run.__name__ + place.suffix
            lines = (each.strip() for each in (run.__doc__ or "").splitlines())
            found.append(Statement(name, (), read_truth(name, lines, place, part), run, place))
    return found
