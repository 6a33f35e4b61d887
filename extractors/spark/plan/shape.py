"""Identify a plan by its operators and the columns they use.

Differences between two runs of a job are left out: expression ids, literals, partition values, temporary names,
numbers of files, and the way in which an operator is executed (a broadcast or sort-merge join, the steps of an
aggregate, with or without adaptive execution).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from extractors.spark.plan.tree import OperatorNode

MAX_TEXT: Final = 20_000
_COLUMN: Final = re.compile(r"(?<![\w.$])([A-Za-z_][\w.$]*+)#\d+|(?<!\w)(\w++)\(")
_OWN_NAME: Final = re.compile(r"\w*")
_TEMPORARY: Final = re.compile(r"\d+")
_KINDS: Final = (
    (re.compile(r".*Join\b|CartesianProduct"), "Join"),
    (re.compile(r".*Aggregate\b"), "Aggregate"),
    (re.compile(r"(?:CollectLimit|GlobalLimit|LocalLimit|TakeOrderedAndProject|CollectTail)\b"), "Limit"),
    (re.compile(r".*Scan\b|HiveTableScan"), "Scan"),
    (re.compile(r"Subquery|ReusedSubquery"), "Subquery"),
)
_JOIN_TYPE: Final = re.compile(
    r"\b(Inner|Cross|LeftOuter|RightOuter|FullOuter|LeftSemi|LeftAnti|ExistenceJoin)\b"
)
_WRITTEN_COLUMNS: Final = re.compile(r"\[([^\[\]]*)\]$")
_COMPUTED: Final = frozenset(
    {"Project", "Filter", "Join", "Aggregate", "Window", "Expand", "Generate", "Limit"}
)


def shape(nodes: Iterable[OperatorNode]) -> Iterator[str]:
    """Yield one text per operator, from the root down. Equal plans of two runs yield equal texts."""
    above = ""
    for node in nodes:
        if node.wraps:
            continue
        kind = _kind(node.name)
        # Skip the lower steps of an aggregate, because their presence depends on how the data is partitioned.
        if kind == "Aggregate" and above == "Aggregate":
            continue
        above = kind
        yield f"{kind}({','.join(_columns(kind, node.text[:MAX_TEXT]))})"


def _kind(name: str) -> str:
    for pattern, kind in _KINDS:
        if pattern.match(name):
            return kind
    return name.partition(" ")[0] if not name.startswith("Execute ") else name


def _columns(kind: str, text: str) -> Iterator[str]:
    if kind.startswith("Execute "):
        # The written names follow the path, the options and the table, which are among the inputs and outputs.
        if written := _WRITTEN_COLUMNS.search(text):
            yield written[1]
        return
    if kind == "Scan":
        # Pushed filters are repeated above the scan or are literals.
        text = text.partition("]")[0]
    elif kind == "Join":
        yield from _JOIN_TYPE.findall(text)[:1]
    elif kind not in _COMPUTED:
        text = text[:2000]
    # Leave out the operator's own name, so that `HashAggregate(keys=…` and `SortAggregate(key=…` are equal.
    own_name = _OWN_NAME.match(text)
    for column, function in _COLUMN.findall(text, own_name.end() if own_name else 0):
        name = column or f"{function}()"
        yield _TEMPORARY.sub("", name) if name.startswith("_") else name
