"""Columns that the commands of a plan write, each with its sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from extractors.spark.columns.changes import kept_as_it_is
from extractors.spark.columns.delta import DELETE, UPDATE, command_columns
from extractors.spark.columns.flow import (
    FlowKind,
    OperatorColumn,
    PlanColumn,
    Sources,
    TooManyColumns,
    Uncertainty,
    reasons_of,
)
from extractors.spark.columns.lists import elements, split
from extractors.spark.columns.plans import Plans
from extractors.spark.columns.relations import RowSet
from extractors.spark.incomplete import Incomplete
from extractors.spark.plan.jdbc import written_table
from extractors.spark.plan.secrets import of_column
from extractors.spark.plan.text import Operator, PlanText
from extractors.spark.plan.tree import OperatorNode
from extractors.spark.plan.writes import Write

MAX_SOURCES: Final = 200_000
"""Maximum number of data sources of all columns in one write. It is also the maximum number of control sources, apart
from those that all columns share. Further control sources are left out, and the columns are incomplete."""
_VIEW_COLUMNS: Final = re.compile(r", \[(\([^\[\]]*\))\], ")
_VIEW_COLUMN: Final = re.compile(r"\(([^,()]+),(?:None|Some\()")
_RELATION_COLUMNS: Final = re.compile(r"Relation [^\s\[\]()]+\[([^\[\]]*)\]")
_RELATION_COLUMN: Final = re.compile(r"(?:\A|,)([^#]+)#\d+L?")
_FLAGS: Final = re.compile(r", (?:true|false), (?:true|false), (?=\[)")
_ROW_CHANGES: Final = frozenset({"ReplaceData", "WriteDelta"})
ROW_BOOKKEEPING: Final = frozenset(
    {
        "__row_operation",
        "_file",
        "_pos",
        "_spec_id",
        "_partition",
        "_operation",
        "_row_id",
        "_last_updated_sequence_number",
    }
)


@dataclass(frozen=True, slots=True)
class ColumnFlow:
    """One written column. ``data`` and ``control`` have no columns in common."""

    output: str
    data: tuple[PlanColumn, ...]
    control: tuple[PlanColumn, ...]
    kind: FlowKind
    expression: str
    inferred: bool = False
    opaque: bool = False
    incomplete: bool = False
    parsed: bool = False
    """Whether the flow comes from the text of a query."""
    kept: tuple[PlanColumn, ...] = ()
    """In a row change, the source columns of the same name that are copied unchanged, including the changed table's
    own column.
    """


@dataclass(frozen=True, slots=True)
class WrittenColumns:
    """The columns that one command writes. ``reasons`` explain why some of the columns or their sources are unknown."""

    flows: tuple[ColumnFlow, ...] = ()
    reasons: tuple[Incomplete, ...] = ()

    @property
    def complete(self) -> bool:
        return not self.reasons


NO_COLUMNS: Final = WrittenColumns()


def unknown_columns(reason: Incomplete) -> WrittenColumns:
    """Return a result in which all columns are unknown for this reason."""
    return WrittenColumns((), (reason,))


def written_columns(
    writes: Sequence[tuple[OperatorNode, Write]],
    text: PlanText,
    nodes: Iterable[OperatorNode],
    *,
    has_root: bool = False,
    driver_rows: bool = False,
) -> tuple[WrittenColumns, ...]:
    """Return the columns of each write, in the order of the writes.

    ``has_root`` is true if executions name their root. In that case, a table created from a query is written by a
    later execution, except in Spark 3.4, whose command has the query below it.
    """
    # The logical plan is needed in two cases, because only it shows columns as in the statement. If a condition
    # equates columns of an outer query with columns of a lateral subquery, Spark replaces the former with the latter.
    # Also, a database may compute columns itself.
    whole = any(each.name == "LateralJoin" or written_table(each.arguments) for each in text.operators)
    named = [
        write.end is not None
        and not (has_root and write.creates and not whole and not _has_query(node, text))
        for node, write in writes
    ]
    if not any(named):
        return tuple(NO_COLUMNS for _ in writes)
    changes = any(write.changes_rows for _, write in writes)
    plans = Plans(text, nodes, changes_rows=changes, driver_rows=driver_rows)
    commands = _Commands(text)
    return tuple(
        _written(commands.next(node.name), write, text, plans) if known else NO_COLUMNS
        for (node, write), known in zip(writes, named, strict=True)
    )


def result_columns(
    text: PlanText, nodes: Iterable[OperatorNode], *, changes_rows: bool, driver_rows: bool = False
) -> tuple[WrittenColumns, Mapping[int, str]]:
    """Return the output columns of a plan without a command, which a command above may write; and expression id →
    column name.
    """
    if not text.verified or text.root is None:
        return unknown_columns(text.uncertainty or Incomplete.AMBIGUOUS), {}
    plans = Plans(text, nodes, changes_rows=changes_rows, driver_rows=driver_rows)
    root = text.root
    if root.name == "AdaptiveSparkPlan" and len(root.inputs) == 1:
        root = root.inputs[0]
    if root.name == "DeserializeToObject" and len(root.inputs) == 1:
        root = root.inputs[0]  # a row writer receives the rows one by one, unchanged
    try:
        relation = plans.relation(root)
    except TooManyColumns:
        return unknown_columns(Incomplete.TOO_MANY), {}
    given = relation.in_order()
    if given is None or relation.columns is None:
        return unknown_columns(_of_relation(relation)), {}
    flows: dict[str, OperatorColumn] = {}
    names: dict[int, str] = {}
    for column, flow in zip(relation.columns, given, strict=True):
        # If several columns have the same name, the name refers to the first of them.
        if column.name not in flows:
            flows[column.name] = kept_as_it_is(column.name, flow) if changes_rows else flow
            names[column.id] = column.name
    return _columns_written(flows, relation, plans.sources), names


def _has_query(command: OperatorNode, text: PlanText) -> bool:
    return any(_is(each, command.name.strip()) and each.inputs for each in text.operators)


class _Commands:
    """Operators of a plan's commands, in the order of the tree."""

    def __init__(self, text: PlanText) -> None:
        self._left: dict[str, Iterator[Operator]] = {}
        self._text = text

    def next(self, name: str) -> Operator | None:
        name = name.strip()
        left = self._left.setdefault(name, (each for each in self._text.operators if _is(each, name)))
        return next(left, None)


def _is(operator: Operator, name: str) -> bool:
    return operator.name == name or (f"Execute {operator.name}" == name and operator.indent == 0)


def _written(operator: Operator | None, write: Write, text: PlanText, plans: Plans) -> WrittenColumns:
    if write.end is None or write.reads or write.command == "DeleteFromTable":
        return NO_COLUMNS  # nothing flows into a table that only loses files
    if not text.verified:
        return unknown_columns(text.uncertainty or Incomplete.AMBIGUOUS)
    if operator is None:
        return unknown_columns(Incomplete.NO_COLUMNS)
    if operator.inner and operator.inner[0].name in (UPDATE, DELETE):
        try:
            flows = command_columns(operator.inner[0], write.end, plans)
        except TooManyColumns:
            return unknown_columns(Incomplete.TOO_MANY)
        if flows is None:
            return unknown_columns(Incomplete.FIELDS_CUT)
        return _columns_written(flows, RowSet((), {}, {}), plans.sources)
    if write.carried:
        return NO_COLUMNS
    logical = operator.inner or operator.inputs
    while len(logical) == 1 and logical[0].name == write.command and logical[0].children:
        operator, logical = logical[0], logical[0].children
    if len(logical) != 1:
        return unknown_columns(Incomplete.NO_COLUMNS)
    try:
        relation = plans.relation(logical[0], plans.listed_input(operator))
    except TooManyColumns:
        return unknown_columns(Incomplete.TOO_MANY)
    if relation.columns is None and write.logical and not write.moves_data:
        return _shown(operator, write, logical[0], relation, plans.sources)
    return _named(operator, write, relation, plans.sources)


def _shown(
    operator: Operator, write: Write, query: Operator, relation: RowSet, sources: Sources
) -> WrittenColumns:
    """Return the columns that the list of a logical plan names before its cut. `Incomplete.FIELDS_CUT` covers the
    remaining columns.
    """
    unknown = unknown_columns(_of_relation(relation))
    listed = elements(next(split(query.arguments), "")) if query.name == "Project" else elements("")
    # A column that is listed twice has one id, so positions after it are uncertain.
    if listed.more <= 0 or len(relation.names) != len(listed.texts) or -1 in relation.names:
        return unknown
    names = _names(operator.arguments, write) or list(relation.names.values())
    if len(names) not in (len(listed.texts), len(listed.texts) + listed.more) or not all(names):
        return unknown
    flows: dict[str, OperatorColumn] = {}
    for name, number in zip(names, relation.names, strict=False):
        flows.setdefault(name, relation.flows[number])
    found = _columns_written(flows, relation, sources)
    return WrittenColumns(found.flows, tuple(dict.fromkeys((*found.reasons, Incomplete.FIELDS_CUT))))


def _named(operator: Operator, write: Write, relation: RowSet, sources: Sources) -> WrittenColumns:
    given = relation.in_order()
    if given is None or relation.columns is None:
        return unknown_columns(_of_relation(relation))
    names = _names(operator.arguments, write) or [column.name for column in relation.columns]
    if len(names) != len(given):
        return unknown_columns(Incomplete.NO_COLUMNS)
    row_change = write.command in _ROW_CHANGES
    flows: dict[str, OperatorColumn] = {}
    for name, flow in zip(names, given, strict=True):
        if row_change and name in ROW_BOOKKEEPING:
            continue
        if not name:
            return unknown_columns(Incomplete.NO_COLUMNS)
        flows.setdefault(name, kept_as_it_is(name, flow) if write.changes_rows else flow)
    if not flows:
        return unknown_columns(Incomplete.NO_COLUMNS)
    return _columns_written(flows, relation, sources)


def _columns_written(flows: dict[str, OperatorColumn], relation: RowSet, sources: Sources) -> WrittenColumns:
    written: list[ColumnFlow] = []
    expanded: dict[int, tuple[PlanColumn, ...]] = {}
    reasons: dict[Incomplete, None] = {}
    count = 0
    kept_control = _kept_control(flows, relation)
    if kept_control is not None:
        reasons[Incomplete.TOO_MANY] = None

    def columns(bits: int) -> tuple[PlanColumn, ...]:
        if bits not in expanded:
            expanded[bits] = tuple(sources.columns(bits))
        return expanded[bits]

    for name, flow in flows.items():
        uncertainty = relation.uncertainty | (
            Uncertainty.INCOMPLETE if flow.unexplained else flow.uncertainty
        )
        control_bits = (flow.control | relation.rows) & ~flow.data
        if kept_control is not None:
            control_bits &= kept_control
        data, control = columns(flow.data), columns(control_bits)
        count += len(data)
        if count > MAX_SOURCES:
            return unknown_columns(Incomplete.TOO_MANY)
        written.append(
            ColumnFlow(
                name,
                data,
                control,
                flow.kind,
                of_column(name, flow.expression),
                inferred=bool(uncertainty & Uncertainty.INFERRED),
                opaque=bool(uncertainty & Uncertainty.OPAQUE),
                incomplete=bool(uncertainty & Uncertainty.INCOMPLETE) or kept_control is not None,
                kept=columns(flow.kept & ~flow.data),
            )
        )
        reasons |= dict.fromkeys(reasons_of(uncertainty))
    return WrittenColumns(tuple(written), tuple(reasons))


def _kept_control(flows: Mapping[str, OperatorColumn], relation: RowSet) -> int | None:
    """Return the set of control sources that all columns share, if the columns have more than `MAX_SOURCES` others;
    None if they have fewer."""
    own = [(flow.control | relation.rows) & ~flow.data for flow in flows.values()]
    if sum(map(int.bit_count, own)) <= MAX_SOURCES:
        return None
    shared = -1
    for flow in flows.values():
        shared &= flow.control | relation.rows | flow.data
    return shared if sum((each & ~shared).bit_count() for each in own) > MAX_SOURCES else None


def _of_relation(relation: RowSet) -> Incomplete:
    """Return the reason why the order of a query's columns is unknown."""
    return next(iter(reasons_of(relation.uncertainty)), Incomplete.NO_COLUMNS)


def _names(arguments: str, write: Write) -> list[str]:
    """Return the names under which the columns are written; [] if the command does not list all names."""
    match write.command.removeprefix("Optimized").removesuffix("Command"):
        case "InsertIntoHiveTable":
            found = _FLAGS.search(arguments)
            return _list(next(split(arguments[found.end() :]), "")) if found else []
        case "InsertIntoHoodieTable" | "InsertIntoDataSource":
            table = _RELATION_COLUMNS.match(arguments)
            listed = _RELATION_COLUMN.findall(table[1]) if table and " more fields" not in table[1] else []
            return [name for name in listed if not name.startswith("_hoodie_")]
        case "CreateView" | "AlterViewAs":
            named = _VIEW_COLUMNS.search(arguments)
            return _VIEW_COLUMN.findall(named[1]) if named else []
        case "InsertIntoHadoopFsRelation" | "CreateDataSourceTableAsSelect" | "InsertIntoHiveDir":
            start = arguments.rfind(", [")
            return _list(arguments[start + 2 :]) if start >= 0 else []
        case _:
            return []


def _list(text: str) -> list[str]:
    found = elements(text)
    return list(found.texts) if found.whole else []
