"""Extract the filters, joins and groups of a plan, and the formats of its files, as readable text.

The texts come from the lines of the tree, in which Spark cuts long lists. Expression ids and the null checks that
Spark adds are removed. Literals are as printed, without quotation marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Final, Self

from extractors.spark.plan.secrets import without_secrets
from extractors.spark.plan.tree import OperatorNode

MOST: Final = 50
"""Maximum number of texts of each kind in one run."""
MAX_TEXT: Final = 20_000
_ID: Final = re.compile(r"#\d+L?\b")
_NOT_NULL: Final = re.compile(r"isnotnull\([\w.#`]+\) AND | AND isnotnull\([\w.#`]+\)")
_ONLY_NOT_NULL: Final = re.compile(r"\(*isnotnull\([\w.#`]+\)\)*")
_JOIN: Final = re.compile(r"(\w*Join|CartesianProduct)\b")
_KEYS: Final = re.compile(r"\[(?P<left>[^\[\]]*)\], \[(?P<right>[^\[\]]*)\], (?P<kind>\w+)")
_KIND: Final = re.compile(r"\b(Inner|Cross|LeftOuter|RightOuter|FullOuter|LeftSemi|LeftAnti|ExistenceJoin)\b")
_CONDITION: Final = re.compile(r"(?:^|, )(\(.*\))(?:, (?:true|false))*$", re.DOTALL)
_GROUPS: Final = re.compile(r"keys?=\[(.*?)\], functions=", re.DOTALL)
_SCAN: Final = re.compile(r"(?:File|Batch)?Scan (?!ExistingRDD|OneRowRelation|JDBC|hive )([A-Za-z]\w*) ")
_WRITTEN: Final = re.compile(
    r"(?:Execute )?InsertIntoHadoopFsRelationCommand .*?, (?:true|false), (?:\[[^\[\]]*\], )?(?:\d+ buckets, .*?, )?"
    r"(\w+), \[",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Conditions:
    """The texts of each kind, in the plan's order from the top. Each element of ``groups`` has the keys of one
    aggregate, separated by commas. ``reads`` and ``writes`` are file formats.
    """

    filters: tuple[str, ...] = ()
    joins: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    @classmethod
    def of(cls, nodes: Iterable[OperatorNode]) -> Self:
        listed = tuple(nodes)
        return cls(*(_first(found(listed)) for found in (_filters, _joins, _groups, _reads, _writes)))

    @classmethod
    def together(cls, several: Iterable[Conditions]) -> Self:
        """Return the combined conditions of all plans of one run."""
        every = tuple(several)
        return cls(
            *(_first(text for each in every for text in getattr(each, kind.name)) for kind in fields(cls))
        )


def _first(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, texts)))[:MOST]


def _filters(nodes: Iterable[OperatorNode]) -> Iterator[str]:
    for node in nodes:
        if node.name.startswith("Filter"):
            yield _plain(node.text[:MAX_TEXT].partition(" ")[2])
        elif "Scan" in node.name:
            # Partition filters are printed only in the scan, and not repeated above it.
            for each in _elements(node.metadata.get("PartitionFilters", "")[:MAX_TEXT]):
                yield _plain(each)


def _joins(nodes: Iterable[OperatorNode]) -> Iterator[str]:
    for node in nodes:
        if _JOIN.match(node.name):
            yield _join(node.text[:MAX_TEXT])


def _join(text: str) -> str:
    arguments = text.partition(" ")[2]
    keys, condition, kind = _KEYS.match(arguments), _CONDITION.search(arguments), _KIND.search(arguments)
    pairs = zip(_elements(keys["left"]), _elements(keys["right"]), strict=False) if keys else ()
    said = [f"{left} = {right}" for left, right in pairs]
    if condition:
        said.append(condition[1])
    return f"{_plain(' AND '.join(said)) or 'all rows'} ({kind[1] if kind else 'Inner'})"


def _groups(nodes: Iterable[OperatorNode]) -> Iterator[str]:
    within = False
    for node in nodes:
        if node.wraps:
            continue
        aggregate = "Aggregate" in node.name
        # The lower steps of an aggregate repeat its keys.
        if aggregate and not within and (keys := _GROUPS.search(node.text[:MAX_TEXT])):
            yield _plain(keys[1])
        within = aggregate


def _reads(nodes: Iterable[OperatorNode]) -> Iterator[str]:
    for node in nodes:
        if scan := _SCAN.match(node.name + " "):
            yield scan[1].lower()


def _writes(nodes: Iterable[OperatorNode]) -> Iterator[str]:
    for node in nodes:
        if written := _WRITTEN.match(node.text[:MAX_TEXT]):
            yield written[1].lower()


def _plain(text: str) -> str:
    """Return the text without ids, secrets and null checks; "" if it consists only of null checks."""
    bare = _NOT_NULL.sub("", text.strip())
    if _ONLY_NOT_NULL.fullmatch(bare):
        return ""
    bare = _ID.sub("", without_secrets(bare))
    while bare.startswith("(") and bare.endswith(")") and _closes_last(bare):
        bare = bare[1:-1]
    return bare


def _closes_last(text: str) -> bool:
    """Whether the last character closes the first parenthesis."""
    depth = 0
    for place, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth <= 0:
            return place == len(text) - 1
    return False


def _elements(text: str) -> Iterator[str]:
    """Split ``[a#1, f(b#2, c#3)]`` into elements, with or without its brackets."""
    depth, start = 0, 0
    text = text.removeprefix("[").removesuffix("]")
    for place, char in enumerate(text):
        depth += (char in "([") - (char in ")]")
        if char == "," and not depth:
            yield text[start:place].strip()
            start = place + 1
    yield text[start:].strip()
