"""Name resolution in SQL as tables of cases: SQL texts with their expected lineage, written before navlin could read
them.

The expected lineage follows rules on which Hive, Impala and Spark agree. If they disagree, or if a table with unknown
columns leaves the result open, the expected lineage is marked as unknown. A case is a text, whose continuation lines
are indented, followed by its lineage:

    => column: sources ~ control of this column only; … / control of the rows / tables

``refunds.amount?`` is a column known only from the text, where its name cannot mean anything else. A single ``?`` means
unknown. ``…`` after the columns means that there are more. ``~`` before a table means that it is control flow only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from navlin.sql.bounded import SqlReader
from navlin.sql.reading import MadeColumn, SourceColumn, TextToRead

SCHEMA: Final[Mapping[str, Sequence[str]]] = {
    "s.orders": ("id", "customer", "amount", "region", "items", "detail"),
    "s.customers": ("id", "name", "region"),
    "s.payments": ("order_id", "paid", "amount", "kind"),
    "s.events": ("region", "id", "ts", "day", "year", "value", "key", "pos", "col", "props"),
    "k.items": ("part",),
}
"""Known tables and their columns. The columns of ``refunds`` and ``returns``, which the cases use too, are unknown."""


@dataclass(frozen=True, slots=True)
class Truth:
    """An SQL text and its lineage, either expected or as read."""

    text: str
    columns: tuple[str, ...]
    rows: frozenset[str]
    tables: frozenset[str]
    complete: bool
    more: bool = False


def truths(table: str) -> Iterator[Truth]:
    """Yield the cases in a table."""
    text: list[str] = []
    truth = ""
    for line in table.splitlines():
        if truth or line.startswith("  => "):
            truth += line.strip().removeprefix("=>")
            if truth.count("/") == 2:
                yield _truth(" ".join(text), *truth.split("/"))
                text, truth = [], ""
        elif line.strip() and not line.startswith("--"):
            text.append(line.strip())
    assert not text, f"no truth for {text}"


def _truth(text: str, columns: str, rows: str, tables: str) -> Truth:
    named = [" ".join(each.split()) for each in columns.split(";") if each.strip()]
    return Truth(
        text,
        tuple(each for each in named if each != "…"),
        frozenset(re.findall(r"[^ ,?]+\??", rows)),
        frozenset(tables.split()),
        complete=not re.search(r"(?:^|\s)\?", columns + rows) and "…" not in named,
        more="…" in named,
    )


def read(reader: SqlReader, text: str, dialects: tuple[str, ...] = ("hive", "spark")) -> Truth:
    """Return the lineage that navlin reads from a text."""
    answer = reader.read(TextToRead(text, SCHEMA, "s", dialects))
    assert answer.problem == "", answer.problem
    (made,) = answer.made
    return Truth(
        text,
        tuple(_column(each) for each in made.columns),
        frozenset(_named(made.control)),
        frozenset(("~" if each.control else "") + _table(each.name) for each in made.tables),
        complete=made.complete,
        more=not made.whole,
    )


def _column(column: MadeColumn) -> str:
    data, control = _named(column.data), _named(column.control)
    words = [
        f"{column.output}:",
        ", ".join(data),
        "" if column.complete else "?",
        f"~ {', '.join(control)}" if control else "",
    ]
    return " ".join(filter(None, words))


def _named(sources: Sequence[SourceColumn]) -> list[str]:
    return sorted(
        f"{_table(each.table)}.{each.column.lower()}{'' if each.known else '?'}" for each in sources
    )


def _table(name: object) -> str:
    return str(name).lower().removeprefix("s.")
