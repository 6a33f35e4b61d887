"""Statements that are programs and not SQL (``bench/statements/**/*.py``). Their truth stands in their docstrings."""

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
    """Keeps a statement; its name is the function's. It gets the session, the table to write, the directory for files."""
    _KEPT[run.__module__].append(run)
    return run


def table_format(spark: SparkSession) -> str:
    """That of the part, for programs that run in several."""
    return spark.conf.get("spark.referee.format") or ""


def read_programs(directory: Path = STATEMENTS, place: Place = TABLE, part: str = "") -> list[Statement]:
    """All programs of a directory, with their truth for a part."""
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
