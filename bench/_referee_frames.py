"""Statements that are programs and not SQL (``bench/statements/*.py``). Their truth stands in their docstrings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

from bench._referee_statements import STATEMENTS, Statement, read_truth

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Run = Callable[["SparkSession", str, str], None]


@dataclass(frozen=True, slots=True)
class Frame:
    """``run`` gets the session, the table to write, and the directory for files."""

    statement: Statement
    run: Run


_KEPT: Final[dict[str, Frame]] = {}


def frame(run: Run) -> Run:
    """Keeps a statement; its name is the function's."""
    lines = (each.strip() for each in (run.__doc__ or "").splitlines())
    _KEPT[run.__name__] = Frame(Statement(run.__name__, (), read_truth(run.__name__, lines)), run)
    return run


def frames() -> dict[str, Frame]:
    """All of them, by name."""
    for path in sorted(STATEMENTS.glob("*.py")):
        import_module(f"bench.statements.{path.stem}")
    return _KEPT
