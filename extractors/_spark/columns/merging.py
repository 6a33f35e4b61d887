"""Row-level changes of tables: MERGE, UPDATE and DELETE."""

from __future__ import annotations

from extractors._spark.columns.expressions import flow_of
from extractors._spark.columns.flow import Flow, merged
from extractors._spark.columns.lists import elements, split
from extractors._spark.columns.relations import Relation, made
from extractors._spark.columns.steps import Step


def merge_rows(step: Step) -> Relation:
    """Iceberg's MergeRows: ``[keep(Update, cond, n, exprs…), …]``, each with one expression for each column of the table."""
    over = step.input
    wanted = step.wanted
    if wanted is None:
        return made(None, {}, {}, over)
    names = {column.id: column.name for column in wanted}
    reader = step.reader()
    found: dict[int, list[Flow]] = {column.id: [] for column in wanted}
    rows, doubt = over.rows, over.doubt
    told = False
    for text in step.arguments:
        for instruction in elements(text).texts if text.startswith("[") else ():
            name, _, rest = instruction.partition("(")
            if name not in ("keep", "split", "discard") or not rest.endswith(")"):
                continue
            parts = list(split(rest[:-1]))
            outputs = parts[-len(wanted) :]
            condition = reader.read(", ".join(parts[: -len(wanted)] if name == "keep" else parts))
            rows, doubt = rows | condition.all, doubt | condition.doubt
            if name == "keep" and len(parts) > len(wanted):
                told = True
                for column, expression in zip(wanted, outputs, strict=True):
                    found[column.id].append(flow_of(expression, reader)[0])
    if not told:
        return step.result(made(None, {}, {}, over))
    flows = {number: merged(each) for number, each in found.items()}
    return Relation(wanted, flows, names, rows, doubt)
