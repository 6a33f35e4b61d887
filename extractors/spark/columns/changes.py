"""Changes of existing rows: the values that a column gets, and the conditions that only decide whether it gets them.

Spark and Delta write UPDATE as ``if (condition) value else column AS column``. Delta writes MERGE as CASEs over marker
columns that name the side from which a row comes. These conditions belong to the statement, so they are control flow,
not data.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from extractors.spark.columns.expressions import ReferenceFinder, flow_of
from extractors.spark.columns.flow import FlowKind, OperatorColumn, merged
from extractors.spark.columns.lists import attribute, closing

MARKER: Final = re.compile(
    r"\b_(?:source|target)_row_present_#|\b_(?:Update|Delete|Insert|NotMatchedBySource\w*)_condition_\d+_#"
)
"""Columns of Delta's MERGE that mark the side of the join in which a row was found, and the clause that applies to the
row.
"""
_WORDS: Final = re.compile(r"[()\[\]{}]|\b(?:CASE|WHEN|THEN|ELSE|END)\b")
_RAISES: Final = re.compile(r"(?:cast\()?raise_error\(")
"""Delta's value after the last clause, which is never used."""
MAX_DEPTH: Final = 3


def changed(name: str, expression: str, reader: ReferenceFinder, *, merges: bool) -> OperatorColumn:
    """Return the flow of a column that a row change computes with an expression. ``merges`` is true if the change is
    Delta's MERGE.
    """
    if merges and expression.startswith("CASE WHEN ") and MARKER.search(expression):
        return _chosen(name, expression, reader, MAX_DEPTH)
    parts = conditional(expression)
    if not merges and parts and _is_column(name, parts[2]):
        condition, value, _ = parts
        flow = flow_of(value, reader)[0]
        kept = kept_as_it_is(name, flow_of(parts[2], reader)[0])
        control = flow.control | reader.read(condition).all
        return replace(merged((replace(flow, control=control), kept)), kind=flow.kind)
    return kept_as_it_is(name, flow_of(expression, reader)[0])


def kept_as_it_is(name: str, flow: OperatorColumn) -> OperatorColumn:
    """Move the source of a column from ``data`` to ``kept`` if the column is copied under its own name, because
    nothing flows if that source is the changed table itself.
    """
    one = flow.data.bit_count() == 1 and not flow.kept
    if one and flow.kind is FlowKind.IDENTITY and flow.expression.lower() == name.lower():
        return replace(flow, data=0, kept=flow.data)
    return flow


def _chosen(name: str, expression: str, reader: ReferenceFinder, depth: int) -> OperatorColumn:
    parts = cases(expression) if depth else None
    # Delta 3.3 prints the last clause that has its own condition as an IF.
    clause = conditional(expression) if depth and parts is None else None
    if clause and MARKER.search(clause[0]):
        condition, value, other = clause
        parts = [condition], [value, other]
    if parts is None:
        return kept_as_it_is(name, flow_of(expression, reader)[0])
    conditions, values = parts
    control = 0
    for condition in conditions:
        control |= reader.read(condition).all
    flow = merged(_chosen(name, value, reader, depth - 1) for value in values if not _RAISES.match(value))
    return replace(flow, control=flow.control | control)


def _is_column(name: str, text: str) -> bool:
    column = attribute(text)
    return column is not None and column.name.lower() == name.lower()


def conditional(text: str) -> tuple[str, str, str] | None:
    """Split ``if ((id#1 > 1)) value else other`` into (condition, value, other); None for any other text."""
    if not text.startswith("if ("):
        return None
    end = closing(text, 3)
    start = text.find(" else ", end)
    depth = 0
    for match in re.finditer(r"[()]|\bif \(| else ", text[end:]):
        mark = match[0]
        if mark == "if (":
            depth += 1
        elif mark == " else ":
            if depth == 0:
                start = end + match.start()
                break
            depth -= 1
    if start < 0:
        return None
    return text[4 : end - 1], text[end:start].strip(), text[start + len(" else ") :].strip()


def cases(text: str) -> tuple[list[str], list[str]] | None:
    """Split ``CASE WHEN a THEN x ELSE y END`` into (conditions, values); None for any other text."""
    if not (text.startswith("CASE WHEN ") and text.endswith(" END")):
        return None
    conditions: list[str] = []
    values: list[str] = []
    depth = nested = start = 0
    state = ""
    for match in _WORDS.finditer(text):
        word = match[0]
        if word in "([{":
            depth += 1
        elif word in ")]}":
            depth -= 1
        elif depth:
            continue
        elif word == "CASE":
            nested += 1
        elif word == "END":
            nested -= 1
            if nested == 0:
                values.append(text[start : match.start()].strip())
                return (conditions, values) if match.end() == len(text) else None
        elif nested == 1:
            part = text[start : match.start()].strip()
            if state == "WHEN":
                conditions.append(part)
            elif state in ("THEN", "ELSE"):
                values.append(part)
            state, start = word, match.end()
    return None
