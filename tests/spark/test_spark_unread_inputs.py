"""An input that cannot be read never becomes an unflagged constant, whatever operators are above it.

The plans come from real runs, in every mode in which Spark prints operators. Each is damaged in one place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from extractors.spark.columns.plans import RULES
from extractors.spark.columns.written import ColumnFlow
from extractors.spark.plan.reading import read_plan
from tests.support.plan_node_logs import PROJECTS, names_in, starts_of

_HEAD = re.compile(r"^(?P<lead>[ :+|*-]*)(?P<name>[A-Z][^\n(]*?) \((?P<number>\d+)\)$", re.MULTILINE)
_LOGICAL = re.compile(r"^(?P<lead>[ :]*[+:]- )(?P<name>\w+)(?P<rest>[^\n]*)$", re.MULTILINE)
_EXTENDED = "== Optimized Logical Plan =="


def flows(event: dict[str, Any], text: str) -> dict[tuple[int, str], ColumnFlow] | None:
    """Map (write number, column) to flow; None if the reader itself reports a write as unknown."""
    reading = read_plan(event | {"physicalPlanDescription": text})
    found = [*reading.columns, *([reading.result] if reading.result else [])]
    if any(columns.reasons and not columns.flows for columns in found):
        return None
    return {(at, each.output): each for at, columns in enumerate(found) for each in columns.flows}


def without_a_block(text: str) -> Iterator[str]:
    """For each operator's block, or line of a logical plan, yield the text with that block made unreadable."""
    if text.startswith("== Physical Plan =="):
        for match in _HEAD.finditer(text):
            if not match["name"].startswith("Execute "):
                start = text.find(f"\n({match['number']}) ")
                first = text.find("\n", start + 1)
                stop = text.find("\n\n(", first)
                yield f"{text[:first]}\nArguments: mystery{text[stop if stop >= 0 else len(text) :]}"
    elif (begin := text.find(_EXTENDED)) >= 0:
        stop = text.find("\n\n== Physical", begin)
        for match in _LOGICAL.finditer(text, begin, stop):
            yield f"{text[: match.start('rest')]} mystery{text[match.end('rest') :]}"


def with_a_word_behind(text: str) -> Iterator[str]:
    """Yield the text with an unknown word after each operator's lists."""
    yield re.sub(r"^(Arguments: .*\])$", r"\1, Puzzle(x=1)", text, flags=re.MULTILINE)
    if (begin := text.find(_EXTENDED)) >= 0:
        yield text[:begin] + re.sub(r"\]$", "], Puzzle(x=1)", text[begin:], flags=re.MULTILINE)


def of_an_unknown_kind(text: str) -> Iterator[str]:
    """For each scan, relation or other operator, yield the text with that operator renamed to one that has no row
    in the table."""
    for match in _HEAD.finditer(text):
        if not match["name"].startswith("Execute "):
            name, number = match["name"], match["number"]
            changed = text.replace(f"{name} ({number})", f"WarpDrive ({number})")
            yield re.sub(rf"^\({number}\) [^\n]*$", f"({number}) WarpDrive", changed, flags=re.MULTILINE)
    if (begin := text.find(_EXTENDED)) >= 0:
        for match in _LOGICAL.finditer(text, begin, text.find("\n\n== Physical", begin)):
            yield f"{text[: match.start('name')]}WarpDrive{text[match.end('name') :]}"


@pytest.mark.parametrize("damage", [without_a_block, with_a_word_behind, of_an_unknown_kind])
@pytest.mark.parametrize("log", ["spark-4.3", "formats-3.5"])
def test_an_unreadable_input_is_never_a_constant(log: str, damage: Any) -> None:
    silent: dict[str, str] = {}
    seen: set[frozenset[str]] = set()
    for event, names in zip(starts_of(log), names_in(log), strict=True):
        text = event["physicalPlanDescription"]
        if (names.tree in seen and _EXTENDED not in text) or not (known := flows(event, text)):
            continue
        seen.add(names.tree)
        for damaged in damage(text):
            for place, each in (flows(event, damaged) or {}).items():
                before = known.get(place)
                if before and before.data and not (each.data or each.kept or each.incomplete):
                    silent.setdefault(f"{event['executionId']} {event['description']} {each.output}", damaged)
    assert {name: text[:3000] for name, text in silent.items()} == {}


def test_the_plans_cover_nearly_every_rule() -> None:
    shown = {name for log in PROJECTS for names in names_in(log) for name in names.tree | names.text}
    older = {"AggregateInPandas", "WindowInPandas", "FilterExec", "ProjectExec"}
    not_run = {
        "EmptyRelation",
        "ExceptAll",
        "IntersectAll",
        "ExternalRDD",
    }
    assert set(RULES) - shown == older | not_run
