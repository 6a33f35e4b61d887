"""Checks the fallback SQL parser against a corpus of texts, at table and at column level, and lists failures with reasons.

    python -m bench sql_texts [--corpus ../shared/corpora/sql/cases.jsonl]

Columns are compared in three ways: as navlin has them, with the schema that comes with the text, which seldom has the target
table (navlin assumes no columns for an unknown table); assuming that such a table names its columns as the query does; and
with the columns that the expected lineage itself names, as a metastore would know them.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

from navlin.sql.bounded import SqlReader
from navlin.sql.reading import Answer
from tests.support.sql_texts import Case, cases, columns_of, read, tables_of

CORPUS = Path(__file__).parents[1].parent / "shared" / "corpora" / "sql" / "cases.jsonl"


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--corpus", type=Path, default=CORPUS)
    given = arguments.parse_args()
    totals: Counter[tuple[str, bool]] = Counter()
    failures = Table(
        "level", "dialect", "text", "why", box=None, title="not as expected", title_justify="left"
    )
    began = time.perf_counter()
    with SqlReader() as reader:
        for case in cases(given.corpus):
            for level, why in judged(reader, case):
                totals[(level, not why)] += 1
                if why:
                    failures.add_row(level, case.dialect, case.name.rpartition("::")[2][:60], why)
    took_s = time.perf_counter() - began
    console = Console(width=200)
    console.print(failures, markup=False)
    table = Table("level", "texts", "as expected", box=None)
    for level in sorted({level for level, _ in totals}):
        right, wrong = totals[(level, True)], totals[(level, False)]
        table.add_row(level, str(right + wrong), str(right))
    console.print(table)
    console.print(f"{took_s:.1f} s, the child's start included")


def judged(reader: SqlReader, case: Case) -> list[tuple[str, str]]:
    """Return (level, difference from the expected lineage, or "" if none) for each level compared."""
    answer = read(reader, case, case.schema)
    if case.columns is None:
        return [("tables", difference(answer, tables_of(answer), case.tables))]
    expected = frozenset(case.columns)
    implied = read(reader, case, case.implied_schema)
    return [
        ("columns", difference(answer, columns_of(answer), expected)),
        ("columns, targets unknown", difference(answer, columns_of(answer, own_names=True), expected)),
        ("columns, all tables known", difference(implied, columns_of(implied), expected)),
    ]


def difference(answer: Answer, found: object, expected: object) -> str:
    """Return the difference from the expected lineage, or "" if there is none."""
    if found == expected:
        return ""
    if answer.problem:
        return answer.problem
    if isinstance(found, frozenset) and isinstance(expected, frozenset):
        incomplete = "" if all(made.complete for made in answer.made) else " (says that it is incomplete)"
        return f"missing {_few(expected - found)}; beyond {_few(found - expected)}{incomplete}"
    return f"found {_sides(found)}, expected {_sides(expected)}"


def _few(pairs: frozenset[object]) -> str:
    shown = [" → ".join(pair) for pair in sorted(pairs)[:3] if isinstance(pair, tuple)]  # type: ignore[type-var]
    return ", ".join(shown) + (f" and {len(pairs) - 3} more" if len(pairs) > 3 else "") or "none"


def _sides(both: object) -> str:
    assert isinstance(both, tuple)
    return " → ".join(", ".join(sorted(side)) or "nothing" for side in both)
