"""Look up the role of each plan node by name, in the table ``nodes.tsv`` next to this module.

The table was collected from the sources and jars of Spark, of the table formats and of connectors and accelerators. A
node that is not in the table makes its operation incomplete, because the node may read, compute or write something
that navlin does not see.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from extractors.spark.plan.tree import OperatorNode, plain_name


@dataclass(frozen=True, slots=True)
class PlanNode:
    """A row of the table. ``name`` is the node's printed name, without the text that follows it. ``versions`` are the
    first and last versions of the project with the node.

    ``shown`` is the log of a real run whose plans have the node, stored with the tests; "not run" if there is none.
    """

    project: str
    name: str
    versions: str
    kind: str
    carries: str
    note: str
    shown: str


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


def read_table(lines: Iterable[str]) -> Iterator[PlanNode]:
    for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
        yield PlanNode(**row)


PLAN_NODES: Final = tuple(
    read_table((files(__package__) / "nodes.tsv").read_text(encoding="utf-8").splitlines())
)


def _named(*carries: str) -> frozenset[str]:
    return frozenset(plain_name(node.name) for node in PLAN_NODES if node.carries in carries)


_WITHOUT_DATA: Final = _named("maintains", "defines", "answers", "session") - _named("writes")
READING: Final = frozenset(name.partition(" ")[0] for name in _named("reads"))
"""Operators that read rows from outside the plan."""
WRITING: Final = _named("writes") - _named("maintains", "defines", "answers", "session")
"""Operators and commands that write data."""
PASSING: Final = _named("wraps", "rows") - _named("computes", "program", "reads", "values")
"""Operators that pass on the columns of their input."""
_OF_SPARK: Final = {plain_name(node.name) for node in PLAN_NODES if node.project == "Spark"}
_READ_HERE: Final = ("Spark", "JDBC", "Kafka", "Kudu", "Hive ACID", "Delta")
"""Projects whose relations print the names of their sources in a form that navlin reads. Hudi is left out, because its
commands do not print any.
"""
_OWN_NAMES: Final = sorted(
    {
        plain_name(node.name)
        for node in PLAN_NODES
        if node.carries in ("reads", "writes") and node.project not in _READ_HERE
    }
    - _OF_SPARK,
    key=len,
    reverse=True,
)
"""Names of the nodes with which formats, connectors and accelerators read and write, longest first."""
_KNOWN: Final = _named(*CARRIES)
_FIRST_WORDS: Final = frozenset(name.partition(" ")[0] for name in _KNOWN)
_DECORATION: Final = re.compile(r"\* ?|Execute ")


def is_without_data(name: str) -> bool:
    """Whether a command has no data flow, judging by its name. The text after the name is ignored, because it differs
    between plans.
    """
    bare = _DECORATION.sub("", name.strip(), count=1)
    return bare.partition(" ")[0] in _WITHOUT_DATA or any(
        bare.startswith(f"{each} ") or bare == each for each in _WITHOUT_DATA if " " in each
    )


def own_name(name: str) -> str:
    """Return the name in the table of a node that reads or writes and is not Spark's own; "" if there is none. The
    text after the name is ignored, because it differs between plans.
    """
    bare = _DECORATION.sub("", name.strip(), count=1)
    return next(
        (
            row.removesuffix(".")
            for row in _OWN_NAMES
            if bare.startswith(row) and (row.endswith(".") or not bare[len(row) :][:1].isalnum())
        ),
        "",
    )


def unknown_operators(nodes: Iterable[OperatorNode]) -> tuple[str, ...]:
    """Return the names of a plan's nodes that are not in the table."""
    found = dict.fromkeys(node.name for node in nodes if not is_known(node.name))
    return tuple(name[:200] for name in found)


def is_known(name: str) -> bool:
    """Whether a node of this name is in the table. Only the first word is compared, because the text after it differs
    between plans.
    """
    bare = _DECORATION.sub("", name.strip(), count=1)
    first = re.split(r"[ (\[]", bare, maxsplit=1)[0]
    return not first or first in _FIRST_WORDS
