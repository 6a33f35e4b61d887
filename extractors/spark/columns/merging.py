"""Row-level changes of tables: MERGE, UPDATE and DELETE."""

from __future__ import annotations

from extractors.spark.columns.changes import kept_as_it_is
from extractors.spark.columns.expressions import flow_of
from extractors.spark.columns.flow import CUT_OFF, Flow, merged
from extractors.spark.columns.lists import Attribute, attributes, cuts, elements, split
from extractors.spark.columns.relations import Relation, made
from extractors.spark.columns.steps import Step


def merge_rows(step: Step) -> Relation:
    """Iceberg's MergeRows: ``[keep(Update, cond, n, exprs…), …]``, each with one expression for each column of the table."""
    over = step.input
    wanted = step.wanted or _outputs(step)
    if wanted is None:
        return made(None, {}, {}, over)
    names = {column.id: column.name for column in wanted}
    reader = step.reader()
    found: dict[int, list[Flow]] = {column.id: [] for column in wanted}
    rows, doubt = over.rows, over.doubt
    assigned = False
    for text in step.arguments:
        for instruction in elements(text).texts if text.startswith("[") else ():
            name, _, rest = instruction.partition("(")
            if name not in ("keep", "split", "discard") or not rest.endswith(")"):
                continue
            parts = list(split(rest[:-1]))
            outputs = parts[-len(wanted) :]
            # `split` deletes a row and inserts another: its last expressions are the new row's.
            printed = {"keep": 1, "split": 2, "discard": 0}[name] * len(wanted)
            condition = reader.read(", ".join(parts[: len(parts) - printed]))
            rows, doubt = rows | condition.all, doubt | condition.doubt
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
    return Relation(wanted, flows, names, rows, doubt)


def _outputs(step: Step) -> tuple[Attribute, ...] | None:
    """The columns that it hands on: its last list; None where that was cut."""
    lists = [text for text in step.arguments if text.startswith("[")]
    return attributes(lists[-1]) if lists else None
