"""Evaluate a plan from the scans up, to find the output of each operator."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from extractors.spark.columns import grouping, rows, sources
from extractors.spark.columns.expressions import ReferenceFinder
from extractors.spark.columns.flow import UNKNOWN, Sources, TooManyColumns, merged
from extractors.spark.columns.lists import Attribute, attributes
from extractors.spark.columns.merging import merge_rows
from extractors.spark.columns.relations import RowSet
from extractors.spark.columns.steps import OperatorStep, beside
from extractors.spark.plan.jdbc import written_table
from extractors.spark.plan.kinds import PASSING
from extractors.spark.plan.reads import MATERIALIZED, Reads, logical_reads
from extractors.spark.plan.text import BlockField, Operator, PlanText
from extractors.spark.plan.tree import OperatorNode

MAX_WORK: Final = 10_000_000
"""Maximum number of columns that all operators of a plan list and receive in total. Beyond it, the plan is not read at
column level.
"""
_REUSED: Final = re.compile(r"\[Reuses operator id: (\d{1,9})\]")
MAX_NESTED: Final = 50
"""Maximum depth of nested plans. Beyond it, `TooManyColumns` is raised."""

RULES: Final[Mapping[str, Callable[[OperatorStep], RowSet]]] = {
    "Project": rows.project,
    "ProjectExec": rows.project,
    "Filter": rows.select,
    "FilterExec": rows.select,
    "Sort": rows.sort,
    "TakeOrderedAndProject": rows.take_ordered,
    "Union": rows.union,
    "Expand": rows.expand,
    "InMemoryTableScan": rows.in_memory_scan,
    "InMemoryRelation": rows.in_memory_relation,
    "Aggregate": grouping.aggregate,
    "HashAggregate": grouping.aggregate,
    "ObjectHashAggregate": grouping.aggregate,
    "SortAggregate": grouping.aggregate,
    "Window": grouping.window,
    "WindowInPandas": grouping.window,
    "ArrowWindowPython": grouping.window,
    "Generate": grouping.generate,
    "BatchEvalPython": grouping.evaluate_python,
    "ArrowEvalPython": grouping.evaluate_python,
    "AggregateInPandas": grouping.aggregate_python,
    "ArrowAggregatePython": grouping.aggregate_python,
    "Intersect": rows.set_difference,
    "IntersectAll": rows.set_difference,
    "Except": rows.set_difference,
    "ExceptAll": rows.set_difference,
    "LateralJoin": rows.lateral_join,
    "WithCTE": rows.last_of_several,
    "Deduplicate": rows.distinct_by,
    "MergeRows": merge_rows,
    "AttachDistributedSequence": rows.with_sequence,
    "BinBy": rows.bin_by,
    "View": sources.view,
    "Range": sources.made_up,
    "LocalTableScan": sources.local_rows,
    "LocalRelation": sources.local_rows,
    "Transpose": sources.from_program,
    "OneRowRelation": sources.made_up,
    "EmptyRelation": sources.from_program,
    "LogicalRDD": sources.from_program,
    "ExternalRDD": sources.from_program,
    "CommandResult": sources.from_program,
}
_JOIN: Final = re.compile(r"\w*Join\Z|CartesianProduct\Z")
_SCANS: Final = frozenset(
    {"Scan", "FileScan", "FileSourceScan", "BatchScan", "HiveTableScan", "MicroBatchScan"}
    | {"DeltaScan", "HudiScan", "IcebergScan", "PaimonScan"}
)
_PROGRAM: Final = re.compile(
    r"DeserializeToObject|SerializeFromObject|Map(?:Elements|Partitions|InPandas|InArrow|Groups)\w*|AppendColumns\w*"
    r"|(?:Flat)?(?:Co|Map)Groups\w*|PythonMapIn\w+|\w*ScriptTransformation\w*|\w*EvalPython\w*UDTF|FlatMap\w+|TypedFilter|TransformWithState\w*"
)
_RELATIONS: Final = frozenset(
    {
        "LogicalRelation",
        "HiveTableRelation",
        "UnresolvedCatalogRelation",
        "RelationV2",
        "DataSourceV2Relation",
        "DataSourceV2ScanRelation",
    }
)
_NO_ROWS_OF_ITS_OWN: Final = frozenset({"ExistingRDD", "ReferenceSort"})
_MADE_UP: Final = frozenset({"OneRowRelation", "Range"})
_LOCAL_ROWS: Final = frozenset({"LocalTable", "LocalRelation"})


class Plans:
    """Evaluates the operators of one printed plan, each operator once.

    ``changes_rows`` is true if the plan changes existing rows, as MERGE does. ``driver_rows`` is true if the plan's
    local rows may come from a program rather than from VALUES.
    """

    def __init__(
        self,
        text: PlanText,
        nodes: Iterable[OperatorNode],
        *,
        changes_rows: bool = False,
        driver_rows: bool = False,
    ) -> None:
        self.sources = Sources(changes_rows=changes_rows, driver_rows=driver_rows)
        self._text = text
        self._scans = sources.Scans(nodes, text)
        self._done: dict[int, RowSet] = {}
        self._subqueries: dict[int, RowSet | None] = {}
        self._operators: dict[int, Operator] = {}
        self._work = 0
        self._nested = 0
        self._fields: dict[int, Mapping[str, BlockField] | None] = {}
        self._ctes: dict[str, RowSet] = {}
        self._aliases: dict[int, Operator] | None = None
        self._reusing: set[int] = set()
        self._loops: list[RowSet] = []
        self._outer: list[RowSet] = []

    def relation(self, root: Operator, wanted: tuple[Attribute, ...] | None = None) -> RowSet:
        """Return the output of an operator. ``wanted`` are the columns that the operator above lists as its input; None
        if it lists none. Raises `TooManyColumns`, after which this object must not be used again."""
        self._nested += 1
        if self._nested > MAX_NESTED:
            raise TooManyColumns
        found = self._relation(root, wanted)
        self._nested -= 1
        return found

    def _relation(self, root: Operator, wanted: tuple[Attribute, ...] | None) -> RowSet:
        # Iterative instead of recursive, because a plan may be thousands of operators deep.
        results: list[RowSet] = []
        stack = [(root, wanted, False)]
        while stack:
            operator, listed, ready = stack.pop()
            if (done := self._done.get(operator.number)) is not None:
                results.append(done)
            elif operator.name == "UnionLoop" and len(operator.children) == 2:
                results.append(self._loop(operator))
                self._done[operator.number] = results[-1]
            elif ready:
                count = len(_given(operator))
                given = results[len(results) - count :]
                del results[len(results) - count :]
                results.append(self._step(operator, listed, given))
                self._done[operator.number] = results[-1]
            else:
                stack.append((operator, listed, True))
                given_columns = self.listed_input(operator)
                stack += [(child, given_columns, False) for child in reversed(_given(operator))]
        return results[0]

    def listed_input(self, operator: Operator) -> tuple[Attribute, ...] | None:
        """Return the columns that an operator lists for its only input. Return None if it lists none."""
        outputs = ("InMemoryTableScan", "Scan In-memory table", "AdaptiveSparkPlan")
        name = "Output" if operator.name.startswith(outputs) else "Input"
        if operator.name.startswith("Execute ") or len(operator.children) != 1:
            return None
        fields = self._fields_of(operator)
        found = fields.get(name) if fields else None
        if found is None:
            return None
        return attributes(found.text, found.count) if found.text != "[]" else ()

    def _fields_of(self, operator: Operator) -> Mapping[str, BlockField] | None:
        if operator.number not in self._fields:
            self._fields[operator.number] = operator.fields()
        return self._fields[operator.number]

    def subquery(self, number: int) -> RowSet | None:
        """Return the output of the subquery with this number; None if the number is unknown."""
        if number not in self._subqueries:
            self._subqueries[number] = None  # a self-reference comes from a literal
            root = self._text.subqueries.get(number)
            if root is not None:
                self._subqueries[number] = self.relation(root)
        return self._subqueries[number]

    def reader(self, relation: RowSet) -> ReferenceFinder:
        return ReferenceFinder(relation, self.sources, self.subquery)

    def _step(self, operator: Operator, wanted: tuple[Attribute, ...] | None, given: list[RowSet]) -> RowSet:
        fields = self._fields_of(operator)
        name = operator.name
        inputs = list(given)
        inner = self._inner(operator, inputs)
        self._work += 1 + len(wanted or ()) + sum(len(each.flows) for each in inputs)
        if self._work > MAX_WORK:
            raise TooManyColumns
        subquery = self._with_inner(operator, inner, readable=fields is not None)
        step = OperatorStep(
            operator,
            name.split(" ")[0],
            fields or {},
            tuple(inputs),
            tuple(inner),
            wanted,
            self.sources,
            subquery,
            self._outer[-1] if self._outer else None,
        )
        if fields is None:
            # A literal of the operator looks like a field, so the real fields are unknown.
            return step.result(RowSet(None, {}, {}, step.input.rows, uncertainty=UNKNOWN.uncertainty))
        return self._rule(step)

    def _inner(self, operator: Operator, inputs: list[RowSet]) -> list[RowSet]:
        """Return the outputs of the plans within an operator. These are a cached plan, or subqueries, which may refer
        to the input of the operator.
        """
        relations = []
        for child in operator.inner:
            self._outer.append(beside(inputs))
            relations.append(self.relation(child, self.listed_input(operator)))
            self._outer.pop()
        return relations

    def _loop(self, operator: Operator) -> RowSet:
        """Return the output of a recursive query. Its second plan reads the output of both plans, and is evaluated
        repeatedly until no new sources are found.
        """
        start, again = operator.children
        anchor = self.relation(start)
        fields = self._fields_of(operator) or {}
        listed = fields.get("Output")
        columns = (
            attributes(listed.text, listed.count) if listed else None
        )  # a logical plan does not print the ids
        flows = anchor.in_order()
        if flows is None or columns is None or len(flows) != len(columns):
            return RowSet(None, {}, {}, anchor.rows, anchor.uncertainty | UNKNOWN.uncertainty)
        names = {column.id: column.name for column in columns}
        rows, uncertainty = anchor.rows, anchor.uncertainty
        for _ in range(len(columns) + 1):
            by_id = {column.id: flow for column, flow in zip(columns, flows, strict=True)}
            self._loops.append(RowSet(columns, by_id, names, rows, uncertainty))
            for each in again.walk():
                self._done.pop(each.number, None)
            found = self.relation(again)
            self._loops.pop()
            more = found.in_order()
            if more is None or len(more) != len(flows):
                return RowSet(columns, dict.fromkeys(names, UNKNOWN), names, rows, uncertainty)
            rows, uncertainty = rows | found.rows, uncertainty | found.uncertainty
            added = [merged(pair) for pair in zip(flows, more, strict=True)]
            if [each.data | each.control for each in added] == [each.data | each.control for each in flows]:
                break
            flows = added
        by_id = {column.id: flow for column, flow in zip(columns, flows, strict=True)}
        return RowSet(columns, by_id, names, rows, uncertainty)

    def _renamed(
        self, step: OperatorStep, source: RowSet | None, columns: tuple[Attribute, ...] | None
    ) -> RowSet:
        """Return the output of a step that repeats ``source`` under new ids. Columns are matched by position."""
        if columns is None:
            return step.result(RowSet(None, {}, {}))
        names = {column.id: column.name for column in columns}
        flows = source.in_order() if source else None
        if source is None or flows is None or len(flows) != len(columns):
            rows, uncertainty = (source.rows, source.uncertainty) if source else (0, UNKNOWN.uncertainty)
            return RowSet(columns, dict.fromkeys(names, UNKNOWN), names, rows, uncertainty)
        by_id = {column.id: flow for column, flow in zip(columns, flows, strict=True)}
        # All other fields stay, because the operator above may be the last step of an aggregate.
        return replace(source, columns=columns, flows=by_id, names=names)

    def _rule(self, step: OperatorStep) -> RowSet:
        first, name = step.name, step.operator.name
        if name.startswith("Scan In-memory table"):
            return rows.in_memory_scan(step)
        if rule := RULES.get(first):
            return rule(step)
        if _JOIN.match(first):
            return rows.join(step)
        if first in _SCANS:
            relation = name.split(" ")[1].partition("(")[0] if " " in name else ""
            if name == f"Scan ExistingRDD {MATERIALIZED.name}":
                return sources.of_step(step)
            if first == "Scan" and relation in _MADE_UP:
                return sources.made_up(step)
            if first == "Scan" and relation in _LOCAL_ROWS:
                return sources.local_rows(step)
            if first == "Scan" and (
                relation in _NO_ROWS_OF_ITS_OWN or not relation or relation.startswith("[")
            ):
                return sources.from_program(step)
            return sources.scan(step, self._scans)
        if first in _RELATIONS:
            return sources.relation(step, self._scans, self._named)
        if first == "ReusedExchange":
            return self._reused(step)
        if first == "UnionLoopRef":
            return self._renamed(step, self._loops[-1] if self._loops else None, step.columns("Output"))
        if first == "CTERelationDef":
            self._ctes[step.arguments[0]] = step.input
            return step.result(step.input)
        if first == "CTERelationRef":
            listed = next((text for text in step.arguments if text.startswith("[")), "")
            return self._renamed(step, self._ctes.get(step.arguments[0]), attributes(listed))
        if _PROGRAM.match(first):
            return rows.by_program(step)
        if "Union" in first and len(step.inputs) > 1:
            return rows.union(step)  # an accelerator's union
        return rows.passing(step) if first in PASSING else rows.unknown(step)

    def _named(self, operator: Operator) -> Reads:
        """Return the reads of a relation in a logical plan. A table of a JDBC catalogue is read with the alias above
        it, because only the alias names the catalogue."""
        if not written_table(operator.arguments):
            return logical_reads(PlanText((operator,)))
        if self._aliases is None:
            aliases = (each for each in self._text.operators if each.name == "SubqueryAlias")
            self._aliases = {id(child): each for each in aliases for child in each.children}
        above = self._aliases.get(id(operator))
        return logical_reads(PlanText((above, operator) if above else (operator,)))

    def _reused(self, step: OperatorStep) -> RowSet:
        """Return the output of the operator that a ReusedExchange refers to, as in ``(12) ReusedExchange [Reuses
        operator id: 5]``. Columns are matched by position.
        """
        match = _REUSED.search(step.operator.title)
        used = self._operator(int(match[1])) if match else None
        if used is None or used.number == step.operator.number or used.number in self._reusing:
            return step.result(RowSet(None, {}, {}))
        self._reusing.add(used.number)
        relation = self.relation(used)
        self._reusing.discard(used.number)
        return self._renamed(step, relation, step.columns("Output"))

    def _operator(self, number: int) -> Operator | None:
        if not self._operators:
            for root in (*self._text.operators[:1], *self._text.subqueries.values()):
                for each in root.walk():
                    self._operators.setdefault(each.number, each)
        return self._operators.get(number)

    def _with_inner(
        self, operator: Operator, inner: list[RowSet], *, readable: bool
    ) -> Callable[[int], RowSet | None]:
        """Return a function that maps the number of a subquery to its output. In a logical plan, subqueries are below
        their operator, in the order of the expressions that use them.
        """
        if not inner or not readable:
            return self.subquery
        numbers = [int(found) for found in _LOGICAL.findall(operator.arguments)]
        if len(numbers) != len(inner):
            numbers = list(dict.fromkeys(numbers))
        if len(numbers) != len(inner):
            return self.subquery
        known = dict(zip(numbers, inner, strict=True))
        return lambda number: known.get(number) or self.subquery(number)


_LOGICAL: Final = re.compile(r"(?:subquery|exists|list)#(\d{1,18}) \[")


def _given(operator: Operator) -> tuple[Operator, ...]:
    """Return the operators to evaluate before this one. For an adaptive plan that ran, this is the initial plan,
    because scans may be missing from the final one.
    """
    if operator.name.startswith("AdaptiveSparkPlan"):
        return operator.children[-1:]
    return operator.inputs
