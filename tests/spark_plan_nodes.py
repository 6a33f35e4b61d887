"""The nodes and commands that Spark, table formats, connectors and accelerators print in plans, and what each carries.

The table stands beside this module. ``python -m bench.plan_nodes JAR…`` lists what jars have and it has not.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TABLE: Final = Path(__file__).with_suffix(".tsv")
KINDS: Final = ("physical", "logical", "command")
CARRIES: Final = {
    "reads": "rows from a storage, a table, a topic or a database",
    "values": "rows that the statement itself holds, or that a command answered",
    "program": "rows or columns that a program makes or changes",
    "computes": "columns that it defines",
    "rows": "its input's columns; it chooses, orders, joins or unites rows",
    "wraps": "nothing of its own",
    "writes": "data into a target",
    "maintains": "a table's files or metadata, without data flow",
    "defines": "a table, a view, a function, a namespace",
    "answers": "what somebody asked about the catalogue or the session",
    "session": "a setting, a variable, a cache, a resource of the session",
    "unresolved": "what analysis replaces: it stands in parsed plans, some in analyzed ones",
}


@dataclass(frozen=True, slots=True)
class Node:
    """A row: ``name`` as it is printed, without what follows it; ``versions`` of the project, the first and the last."""

    project: str
    name: str
    versions: str
    kind: str
    carries: str
    note: str


def _rows() -> Iterator[Node]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            yield Node(**row)


NODES: Final = tuple(_rows())
