"""Rules for operators that introduce columns: scans, relations of logical plans, views, and rows without a source.
Each rule returns the output of an operator.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from extractors.spark.columns.databases import ROWS, catalog_scan
from extractors.spark.columns.flow import (
    CONSTANT,
    FROM_PROGRAM,
    UNKNOWN,
    FlowKind,
    OperatorColumn,
    PlanColumn,
    Uncertainty,
)
from extractors.spark.columns.lists import Attribute, attributes
from extractors.spark.columns.relations import Hidden, RowSet, made
from extractors.spark.columns.steps import OperatorStep
from extractors.spark.incomplete import Incomplete
from extractors.spark.plan.jdbc import CATALOG_SCAN
from extractors.spark.plan.names import is_kept, leading_table
from extractors.spark.plan.reads import MATERIALIZED, EndKind, Reads, physical_reads, view_end
from extractors.spark.plan.text import Operator, PlanText
from extractors.spark.plan.tree import OperatorNode

_FIRST_ID: Final = re.compile(r"\[[^\[\]]*?#(\d{1,18})")
_HIVE_COLUMNS: Final = re.compile(r"(?:Data|Partition) Cols: (\[[^\[\]]*\])")
_LISTED: Final = re.compile(r"\[[^\[\]]*\]")
_PUSHED: Final = re.compile(
    r"\b(?:EqualTo|EqualNullSafe|(?:Greater|Less)Than(?:OrEqual)?|In|Is(?:Not)?Null|String\w+)\((\w+)[,)]"
)
_SCAN_FILTERS: Final = re.compile(r"\bfilters=(.*?), (?:runtimeFilters|groupedBy|case_sensitive)=")
_LITERAL: Final = re.compile(r"'(?:[^']|'')*'")
_COMPARED: Final = re.compile(r"(?:\A|[,(] ?)([\w.]+) (?:IS|=|!=|<|>|<=|>=|IN|NOT IN|LIKE|NOT LIKE)(?= )")
_BEHIND_COLUMNS: Final = re.compile(r"\](?=, (?:`|true|false)|\Z)")
_ID: Final = re.compile(r"#\d")
_ANY_ID: Final = re.compile(r"#\d{1,18}L?(?=,|\]|\Z)")
_MORE: Final = re.compile(r"\.\.\. (\d{1,9}) more fields")
_FUNCTION: Final = re.compile(r"(?:MAX|MIN|SUM|AVG|COUNT)\((?:DISTINCT )?(\w+|\*)\)")
_PRUNED: Final = re.compile(r"Scan (?:hive |JDBCRelation\()")
_FILE_METADATA: Final = frozenset(
    {
        "_metadata",
        "file_path",
        "file_name",
        "file_size",
        "file_block_start",
        "file_block_length",
        "file_modification_time",
    }
)

Ends = Callable[[Operator], Reads]


class Scans:
    """The reads of the scans in a printed plan. They are taken from the tree node with the same columns, because it
    shows more of the paths than the printed block.
    """

    def __init__(self, nodes: Iterable[OperatorNode], text: PlanText) -> None:
        self._text = text
        self._by_id: dict[int, dict[str, OperatorNode]] = {}
        for node in nodes:
            # A cached table has the same ids as the table below it, but reads nothing itself.
            cached = node.name.startswith(("InMemory", "Scan In-memory", "Scan ExistingRDD"))
            if "Scan" in node.name and not cached and (match := _FIRST_ID.search(node.text, 0, 4000)):
                self._by_id.setdefault(int(match[1]), {}).setdefault(node.name.strip(), node)

    def reads(self, operator: Operator, first: int) -> Reads:
        """Return the reads of a scan. ``first`` is the id of the scan's first column."""
        node = self._by_id.get(first, {}).get(operator.name)
        if node is None or operator.name.startswith(CATALOG_SCAN):
            node = OperatorNode(operator.name, f"{operator.name} {operator.block}", {}, 0)
        return physical_reads((node,), self._text)

    def of_relation(self, ids: Iterable[int]) -> Reads | None:
        """Return the reads of a scan of the same columns, for a relation of a logical plan that does not name a table.
        Return None if no scan has these columns.
        """
        for number in ids:
            if (node := next(iter(self._by_id.get(number, {}).values()), None)) is not None:
                return physical_reads((node,), self._text)
        return None


def scan(step: OperatorStep, scans: Scans) -> RowSet:
    """Return the output of a scan, as in ``Output [2]: [id#1, k#2]``. Only the scan's own block has the partition
    filters.
    """
    columns = step.columns("Output") or None
    if columns is None and "Output" not in step.fields:
        lists = [found for text in step.arguments[:1] if (found := attributes(text))]
        columns = lists[0] if lists else None
    if columns is None:
        nothing = "Output" in step.fields and step.text("Output") == "[]"
        return step.result(RowSet(() if nothing else None, {}, {}))
    reads = scans.reads(step.operator, columns[0].id)
    if step.operator.name.startswith(CATALOG_SCAN):
        return step.result(catalog_scan(step, columns, reads).all_needed())
    pushed = step.text("PushedAggregation") not in ("", "[]")
    given = _computed(step, columns, reads) if pushed else _read(step, columns, reads)
    texts = [step.text("PartitionFilters")]
    known = given
    if "HiveTableRelation" in step.text("Arguments"):
        # Partition filters may use columns that are not output.
        texts += step.arguments[2:]
        listed = [
            each
            for text in _HIVE_COLUMNS.findall(step.text("Arguments"))
            for each in attributes(_spaced(text)) or ()
        ]
        known = _read(step, tuple(listed), reads)
        known = replace(known, flows={**known.flows, **given.flows}, names={**known.names, **given.names})
    filtered = step.reader(known).read(" ".join(texts))
    rows, uncertainty = filtered.all, filtered.uncertainty
    # Iceberg filters partitions itself, and these filters are not repeated in any operator above.
    for printed in _SCAN_FILTERS.findall(step.operator.block):
        for name in _COMPARED.findall(_LITERAL.sub("", printed)):
            for end in reads.ends:
                rows |= step.sources.bit(PlanColumn(end, name.partition(".")[0]))
    for name in _PUSHED.findall(step.text("PushedFilters")):
        # The source filters the rows itself, so the column may not be read at all.
        for end in reads.ends:
            if end.kind in (EndKind.JDBC, EndKind.QUERY):
                rows |= step.sources.bit(PlanColumn(end, name))
    for end in reads.ends:
        if end.kind is EndKind.QUERY:
            rows |= step.sources.bit(PlanColumn(end, ROWS))
    read = given.with_rows(rows, uncertainty)
    # A pruned scan outputs only requested columns, so all of them are needed. Other sources may output more.
    pruned = "Location" in step.fields or _PRUNED.match(step.operator.name)
    return step.result(read.all_needed() if pruned and step.name in ("Scan", "FileScan") else read)


def _computed(step: OperatorStep, columns: tuple[Attribute, ...], reads: Reads) -> RowSet:
    """Return the columns of a source that aggregates rows itself. They are named like functions, such as ``MAX(v)``."""
    read = _read(step, columns, reads)
    flows: dict[int, OperatorColumn] = {}
    for column in columns:
        function = _FUNCTION.fullmatch(column.name)
        if function:
            bits = 0
            for end in reads.ends if function[1] != "*" else ():
                bits |= step.sources.bit(PlanColumn(end, function[1]))
            rows = function[1] == "*"
            flows[column.id] = OperatorColumn(
                bits, 0, FlowKind.AGGREGATION, Uncertainty.INFERRED, column.name, literal=rows
            )
        else:
            flows[column.id] = UNKNOWN if "(" in column.name else read.flows[column.id]
    return replace(read, flows=flows)


def _read(step: OperatorStep, columns: tuple[Attribute, ...], reads: Reads) -> RowSet:
    ends = reads.ends
    uncertainty = Uncertainty.NONE if reads.complete and ends else Uncertainty.INCOMPLETE | Uncertainty.INPUT
    if Incomplete.PATHS_CUT in reads.reasons:
        uncertainty = Uncertainty.INCOMPLETE | Uncertainty.PATHS
    flows: dict[int, OperatorColumn] = {}
    metadata = "_metadata" in step.text("Output")
    schema = step.text("ReadSchema")
    for column in columns:
        files = "ReadSchema" in step.fields and ends and ends[0].kind not in (EndKind.JDBC, EndKind.QUERY)
        if column.name == "_metadata" or (
            column.name in _FILE_METADATA and files and (metadata or f"{column.name}:" not in schema)
        ):
            flows[column.id] = CONSTANT
            continue
        bits = 0
        for end in ends:
            bits |= step.sources.bit(PlanColumn(end, column.name))
        flows[column.id] = OperatorColumn(bits, uncertainty=uncertainty, expression=column.name)
    return RowSet(columns, flows, {column.id: column.name for column in columns})


def relation(step: OperatorStep, scans: Scans, ends_of: Ends) -> RowSet:
    """Return the output of a relation in a logical plan, as in ``parquet, [id#1, k#2], `cat`.`db`.`t`, …``. Columns
    that were cut off have consecutive ids.
    """
    text = step.text("Arguments")
    lists = _HIVE_COLUMNS.findall(text) or _relation_columns(step.operator.name, text)
    columns: list[Attribute] = []
    more = 0
    for printed in lists:
        given = attributes(_spaced(printed))
        if given is None:
            return step.result(RowSet(None, {}, {}))
        columns += given
        more += sum(int(count) for count in _MORE.findall(printed))
    if not columns or len(_ANY_ID.findall(text)) != len(columns):
        return step.result(RowSet(None, {}, {}))  # no list, or a name looks like one
    reads = ends_of(step.operator)
    if not reads.ends:
        reads = scans.of_relation(column.id for column in columns) or reads
    relation = _read(step, tuple(columns), reads)
    if more and columns:
        last = columns[-1].id
        relation = replace(relation, columns=None, hidden=(Hidden(last + 1, last + more, reads.ends),))
    return step.result(relation)


def _relation_columns(name: str, text: str) -> list[str]:
    """Return the lists of columns among a relation's arguments. The list of a LogicalRelation ends before the table's
    name or a flag, or at the end of the arguments.
    """
    start = text.find(", [")
    if name == "LogicalRelation" and start >= 0 and (end := _BEHIND_COLUMNS.search(text, start)):
        return [text[start + 2 : end.start() + 1]]
    found = [each for each in _LISTED.findall(text) if _ID.search(each)]
    return found if name == "HiveTableRelation" else found[:1]


def _spaced(printed: str) -> str:
    """Convert ``[a#1L,b#2,... 3 more fields]`` to the format of other lists, with a space after each comma and without
    a truncation note.
    """
    body = re.sub(r"(#\d+L?),(?! )", r"\1, ", printed[1:-1])
    return f"[{re.sub(r', [.][.][.] [0-9]+ more fields', '', body)}]"


def view(step: OperatorStep) -> RowSet:
    """Return the output of a view. A view in the catalogue counts as the source itself, in place of its tables. A
    temporary view is only a name.
    """
    over = step.input
    arguments = step.text("Arguments")
    table = leading_table(arguments)
    if table is None or not is_kept(arguments):
        return step.result(over)
    if over.columns is None:
        return step.result(RowSet(None, {}, {}))
    end = view_end(table)
    flows = {
        column.id: OperatorColumn(step.sources.bit(PlanColumn(end, column.name)), expression=column.name)
        for column in over.columns
    }
    return step.result(RowSet(over.columns, flows, {column.id: column.name for column in over.columns}))


def made_up(step: OperatorStep) -> RowSet:
    """Return rows that the statement itself generates: a range, or the one row of a query without FROM."""
    return _without_source(step, CONSTANT)


def local_rows(step: OperatorStep) -> RowSet:
    """Return rows that are in the plan itself. They come from VALUES or a program, or are aggregates that a source
    computed.
    """
    if step.text("Arguments").startswith("<empty>"):
        return _without_source(step, CONSTANT)
    columns = step.columns("Output") or ()
    if any(_FUNCTION.fullmatch(column.name.upper()) for column in columns):
        return _without_source(step, UNKNOWN)
    return _without_source(step, FROM_PROGRAM if step.sources.driver_rows else CONSTANT)


def of_step(step: OperatorStep) -> RowSet:
    """Return rows that an earlier execution kept; see `extractors.spark.carried`."""
    columns = step.columns("Output") or None
    if columns is None:
        return from_program(step)
    flows = {
        each.id: OperatorColumn(
            step.sources.bit(PlanColumn(MATERIALIZED, f"{each.name}#{each.id}")), expression=each.name
        )
        for each in columns
    }
    return step.result(RowSet(columns, flows, {each.id: each.name for each in columns}))


def from_program(step: OperatorStep) -> RowSet:
    """Return rows that a program created from unknown sources."""
    return _without_source(step, FROM_PROGRAM)


def _without_source(step: OperatorStep, flow: OperatorColumn) -> RowSet:
    columns = step.columns("Output") or None
    if columns is None:
        given = [found for text in step.arguments if text.startswith("[") and (found := attributes(text))]
        columns = given[0] if given else None
    if columns is None:
        columns = step.wanted or ()
    names = {column.id: column.name for column in columns}
    return step.result(made(columns, dict.fromkeys(names, flow), names, RowSet((), {}, {})), flow)
