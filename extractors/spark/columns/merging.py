"""Rules for MergeRows, which computes the rows of a MERGE. The operator is Spark's own or, before Spark 3.5,
Iceberg's.
"""

from __future__ import annotations

from collections.abc import Iterator

from extractors.spark.columns.changes import kept_as_it_is
from extractors.spark.columns.expressions import flow_of
from extractors.spark.columns.flow import CONSTANT, CUT_OFF, OperatorColumn, merged
from extractors.spark.columns.lists import Attribute, attributes, cuts, elements, split
from extractors.spark.columns.relations import RowSet, made
from extractors.spark.columns.steps import OperatorStep


def merge_rows(step: OperatorStep) -> RowSet:
    """Return the output of MergeRows. Spark prints it as ``[keep(Update, cond, n, exprs…), …]``, and each instruction
    has one expression per column of the table.

    Before Spark 3.5, the operator is Iceberg's and has lists instead; see `_merged_lists`.
    """
    over = step.input
    wanted = step.wanted or _outputs(step)
    if wanted is None:
        return made(None, {}, {}, over)
    if any(text.startswith("[[") for text in step.arguments):
        return _merged_lists(step, wanted)
    names = {column.id: column.name for column in wanted}
    reader = step.reader()
    found: dict[int, list[OperatorColumn]] = {column.id: [] for column in wanted}
    rows, uncertainty = over.rows, over.uncertainty
    assigned = False
    for text in step.arguments:
        for instruction in elements(text).texts if text.startswith("[") else ():
            name, _, rest = instruction.partition("(")
            if name not in ("keep", "split", "discard") or not rest.endswith(")"):
                continue
            parts = list(split(rest[:-1]))
            outputs = parts[-len(wanted) :]
            # `split` deletes a row and inserts another one. Its last expressions belong to the new row.
            printed = {"keep": 1, "split": 2, "discard": 0}[name] * len(wanted)
            condition = reader.read(", ".join(parts[: len(parts) - printed]))
            rows, uncertainty = rows | condition.all, uncertainty | condition.uncertainty
            if printed and cuts(instruction):
                assigned = True
                for each in found.values():
                    each.append(CUT_OFF)
            elif 0 < printed < len(parts):
                assigned = True
                for column, expression in zip(wanted, outputs, strict=True):
                    flow = flow_of(expression, reader)[0]
                    found[column.id].append(kept_as_it_is(column.name, flow))
    if not assigned:
        return step.result(made(None, {}, {}, over))
    flows = {number: merged(each) for number, each in found.items()}
    return RowSet(wanted, flows, names, rows, uncertainty)


def _merged_lists(step: OperatorStep, wanted: tuple[Attribute, ...]) -> RowSet:
    """Return the output of Iceberg's own MergeRows: ``source, target, [cond, …], [[row], …], [cond], [[row]], [row],
    true, true, [columns]``.

    A list of conditions is followed by a list with one row per condition, first for rows that match, then for rows
    that do not. A list of expressions after these lists is for a row of the table to which no clause applies. In a
    merge-on-read, each row begins with its operation; a row with 1 (delete) gives no values.
    """
    over, reader = step.input, step.reader()
    rows, uncertainty = over.rows, over.uncertainty
    found: dict[int, list[OperatorColumn]] = {column.id: [] for column in wanted}
    lists = [text for text in step.arguments if text.startswith("[")][:-1]
    for text, following in zip(lists, [*lists[1:], ""], strict=True):
        if not text.startswith("[[") and following.startswith("[["):
            condition = reader.read(text)
            rows, uncertainty = rows | condition.all, uncertainty | condition.uncertainty
            continue
        for row in _rows_in(text):
            expressions = elements(row)
            if wanted[0].name == "__row_operation" and expressions.texts[:1] == ("1",):
                continue
            known = expressions.whole and len(expressions.texts) == len(wanted)
            for at, column in enumerate(wanted):
                flow = flow_of(expressions.texts[at], reader)[0] if known else step.unknown
                found[column.id].append(kept_as_it_is(column.name, flow))
    flows = {number: merged(each) if each else CONSTANT for number, each in found.items()}
    return RowSet(wanted, flows, {column.id: column.name for column in wanted}, rows, uncertainty)


def _rows_in(text: str) -> Iterator[str]:
    """Yield the lists of expressions in nested lists, at any depth. Empty lists, which delete rows, are left out."""
    if not text.startswith("[["):
        yield from [text] if text != "[]" else []
        return
    inner = elements(text)
    if not inner.whole:
        yield "[... 1 more fields]"
    for each in inner.texts:
        yield from _rows_in(each)


def _outputs(step: OperatorStep) -> tuple[Attribute, ...] | None:
    """Return the output columns, which are the last list among the step's arguments. Return None if there is no list
    or it was truncated.
    """
    lists = [text for text in step.arguments if text.startswith("[")]
    return attributes(lists[-1]) if lists else None
