"""Executions of a micro-batch: the scans in their plans, and the columns of the rows that the batch passes to its
sink.

A batch's plan scans newly arrived data (single files, or rows of a nameless class), and names neither the stream's
sources nor its sink. Therefore each nameless scan in the printed plan is given a name before the plan is read. The
scan is matched to a source once the stream's progress has named the sources.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from extractors.spark.columns.lists import attributes
from extractors.spark.columns.written import WrittenColumns, unknown_columns, written_columns
from extractors.spark.events import integer, text
from extractors.spark.incomplete import Incomplete
from extractors.spark.plan.names import dotted_table, is_bookkeeping, location
from extractors.spark.plan.reads import EndKind, PlanEnd, path_end, physical_reads, table_end
from extractors.spark.plan.text import Operator, PlanText, read_text
from extractors.spark.plan.tree import OperatorNode, walk
from extractors.spark.plan.writes import Write
from navlin.model.redaction import redact, without_credentials

_DESCRIBED: Final = re.compile(
    r"(?P<name>[^\n]{0,400}?)(?:\n|<br/>)?id = (?P<id>[0-9a-f-]{36})(?P<break>\n|<br/>)runId = (?P<run>[0-9a-f-]{36})"
    r"(?P=break)batch = (?P<batch>\w{1,20})"
)
_NAMELESS: Final = r"Scan (?!hive )\w+ ?|MicroBatchScan\b[^\n(]*?|ContinuousScan\b[^\n(]*?|LogicalRDD"
_HEADER: Final = re.compile(
    rf"^(?P<lead>[ :+|*-]*?(?:\* )?)(?P<name>{_NAMELESS}) (?P<number>\(\d{{1,9}}\))(?P<rest>[ ,].*)?$",
    re.MULTILINE,
)
_BLOCK: Final = re.compile(
    rf"^\((?P<number>\d{{1,9}})\) (?P<name>{_NAMELESS})(?P<rest> \[codegen id : \d+\])?$", re.MULTILINE
)
_PROGRAM: Final = re.compile(
    r"^(\(\d{1,9}\) |[ :+|*-]*?(?:\* )?)(?:TransformWithState|FlatMapGroupsInPandasWithState)\w*",
    re.MULTILINE,
)
_KEEPER: Final = "FlatMapGroupsWithState"
_KEPT: Final = re.compile(
    rf"^(\(\d{{1,9}}\) {_KEEPER}\b.*\n(?:(?!Arguments: ).+\n)*Arguments: )(.*)$", re.MULTILINE
)
_HANDED_ON: Final = re.compile(r".*?\)#\d+, \[[^\[\]]*\], \[[^\[\]]*\](?=, )")
_MADE_UP: Final = re.compile(r"Scan (?:OneRowRelation|LocalTable|LocalRelation|Range)\b")
_LISTED: Final = re.compile(r"^(?:Output(?: \[\d+\])?|Arguments): (\[[^\n]*?\])(?:$|, )", re.MULTILINE)
_FIRST_ID: Final = re.compile(r"\[[^\[\]]*?#(\d{1,18})")
_ICEBERG: Final = re.compile(r"\bIceberg\w*\(table=([^,)\s]+)")
_BEHIND_COLUMNS: Final = re.compile(r"\w*Scan[^\[]*\[[^\]]*\] (.*)", re.DOTALL)
_LOCATION: Final = re.compile(r"\bLocation: (\w+(?:\(\d+ paths\))? ?\[.*)", re.DOTALL)
_OF_BATCH: Final = "SQLExecutionRDD["
_DELTA_LOG: Final = "DeltaLogFileIndex"
MARK: Final = "#"
"""Prefix of the names that are given to nameless scans. No database name has it."""


class ScanKind(StrEnum):
    """Information by which a scan identifies its source. TABLE: a name. PATH: a location. CUT_PATH: the first of
    several locations. ROWS: only columns. BATCH_ROWS: only columns, of rows that another Spark plan computed. STREAM:
    a class.
    """

    TABLE = "table"
    PATH = "path"
    CUT_PATH = "cut"
    ROWS = "rows"
    BATCH_ROWS = "batch"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class ScanSource:
    """The source of one scan. ``name`` is a path, a class, or the column names, one per line; for a table, ``end`` is the
    table and ``name`` its path, if known.

    ``streams`` is true if the scan certainly reads the stream, and not another table or file.
    """

    kind: ScanKind
    name: str = ""
    end: PlanEnd | None = None
    streams: bool = False


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """One execution of a micro-batch. ``event`` is the start event, with names inserted for nameless scans. ``names`` maps
    each inserted name to the printed name of its scan.

    ``query``, ``run``, ``name`` and ``batch`` come from the event's description. ``inner`` is true if another
    execution started this one.
    """

    event: Mapping[str, Any]
    names: Mapping[str, str]
    query: str = ""
    run: str = ""
    name: str = ""
    batch: str = ""
    inner: bool = False

    @property
    def _nodes(self) -> tuple[OperatorNode, ...]:
        return tuple(walk(self.event.get("sparkPlanInfo")))

    def scans(self) -> tuple[ScanSource, ...]:
        """Return the distinct scans of the plan, without local rows and named RDDs."""
        found: dict[ScanSource, None] = {}
        hidden_below = -1
        for node in self._nodes:
            if 0 <= hidden_below < node.depth:
                continue
            hidden_below = node.depth if node.name.startswith("Scan ExistingRDD Delta Table State") else -1
            if node.name.startswith("Scan ExistingRDD"):
                found |= {ScanSource(ScanKind.ROWS): None} if node.name == "Scan ExistingRDD" else {}
            elif "Scan" in node.name:
                found |= dict.fromkeys(_scanned(node))
        return tuple(found)

    def named(self, ends: Iterable[PlanEnd]) -> dict[PlanEnd, tuple[ScanSource, ...]]:
        """Return end → scans, for each of ``ends`` that represents nameless scans of this execution."""
        given = {end for end in ends if end.database.startswith(MARK)}
        if not given:
            return {}
        by_id: dict[int, OperatorNode] = {}
        for node in self._nodes:
            if "Scan" in node.name and (match := _FIRST_ID.search(node.text, 0, 4000)):
                by_id.setdefault(int(match[1]), node)
        printed = text(self.event.get("physicalPlanDescription"))
        return {
            end: tuple(self._named(end, printed, by_id))
            for end in given
            if end.readable in self.names  # else the end belongs to another execution
        }

    def _named(self, end: PlanEnd, printed: str, by_id: Mapping[int, OperatorNode]) -> Iterator[ScanSource]:
        block = re.search(
            rf"^\(\d+\) BatchScan {re.escape(end.readable)}\b.*\n((?:.+\n)*)", printed, re.MULTILINE
        )
        body = block[1] if block else ""
        listed = _LISTED.search(body)
        columns = (attributes(listed[1]) if listed else None) or ()
        if self.names[end.readable].startswith(("Scan ExistingRDD", "LogicalRDD")):
            kind = ScanKind.BATCH_ROWS if _OF_BATCH in body else ScanKind.ROWS
            yield ScanSource(kind, "\n".join(column.name for column in columns))
            return
        node = by_id.get(columns[0].id) if columns else None
        yield from _scanned(node) if node else ()

    def columns(self) -> WrittenColumns:
        """Return the columns that the batch passes to its sink. ``complete`` of the result is False if they are
        unknown.
        """
        printed = read_text(text(self.event.get("physicalPlanDescription")))
        if printed.root is None or printed.command:
            # Extended plans print the input, not the output.
            return unknown_columns(printed.uncertainty or Incomplete.EXPLAIN_MODE)
        # Add a command for the sink, as in the plan of an ordinary write.
        command = Operator(-1, _SINK.name, printed.root.indent - 3, "", children=(printed.root,))
        whole = PlanText((command, *printed.operators), printed.uncertainty, subqueries=printed.subqueries)
        return written_columns([(_SINK, _WRITE)], whole, self._nodes)[0]


_SINK: Final = OperatorNode("Sink", "Sink", {}, 0)
_WRITE: Final = Write("Sink", "STREAM", PlanEnd(EndKind.PATH, "/"))


def micro_batch(event: Mapping[str, Any], *, within: bool = False) -> MicroBatch | None:
    """Return the execution that a start event describes; None if it does not belong to a micro-batch. ``within`` is
    true if its root is known to belong to one.
    """
    described = _DESCRIBED.match(text(event.get("description")))
    if described is None and not within:
        return None
    number = integer(event.get("executionId"))
    names: dict[str, str] = {}

    def given(match: re.Match[str], place: str) -> str:
        name = f"{MARK}{number}.{place}"
        # The first occurrence is used, because literals are printed after the operators.
        names.setdefault(name, match["name"].strip())
        return f"BatchScan {name}"

    def header(match: re.Match[str]) -> str:
        if _MADE_UP.match(match["name"]):
            return match[0]
        return f"{match['lead']}{given(match, match['number'][1:-1])} {match['number']}{match['rest'] or ''}"

    def block(match: re.Match[str]) -> str:
        if _MADE_UP.match(match["name"]):
            return match[0]
        return f"({match['number']}) {given(match, match['number'])}{match['rest'] or ''}"

    printed = _BLOCK.sub(block, _HEADER.sub(header, text(event.get("physicalPlanDescription"))))
    printed = _KEPT.sub(_without_state, _PROGRAM.sub(rf"\1{_KEEPER}", printed))
    inner = integer(event.get("rootExecutionId"), number) != number
    ids = described.groupdict() if described else {}
    return MicroBatch(
        {**event, "physicalPlanDescription": printed},
        names,
        ids.get("id", ""),
        ids.get("run", ""),
        ids.get("name", ""),
        ids.get("batch", ""),
        inner,
    )


def _without_state(block: re.Match[str]) -> str:
    """Keep the arguments of a stateful operator up to its output columns, which follow its function and keys, and drop
    the lists after the output columns. If the arguments have another form, drop them all.
    """
    found = _HANDED_ON.match(block[2])
    return f"{block[1]}{found[0] if found else ''}"


def _scanned(node: OperatorNode) -> Iterator[ScanSource]:
    streams = node.name.startswith(("MicroBatchScan", "ContinuousScan"))
    if streams:
        yield _of_stream(node)
        return
    reads = physical_reads((node,), PlanText())
    printed = node.metadata.get("Location", "") or next(iter(_LOCATION.findall(node.text)), "")
    where = location(printed) if printed else None
    if where and (where.index == _DELTA_LOG or any(map(is_bookkeeping, where.paths))):
        return
    # A stream's source lists single files. Keep the path of the file, which is matched to the source's directory or
    # glob.
    files = {path_end(path): without_credentials(path) for path in where.paths} if where else {}
    for end in reads.ends:
        if end.kind is EndKind.PATH:
            yield ScanSource(ScanKind.PATH if reads.complete else ScanKind.CUT_PATH, files.get(end, end.name))
        else:
            yield ScanSource(
                ScanKind.TABLE, path_end(where.paths[0]).name if where and where.paths else "", end
            )
    if not reads.complete and not any(end.kind is EndKind.PATH for end in reads.ends):
        yield ScanSource(ScanKind.STREAM, redact(node.name)[:200])


def _of_stream(node: OperatorNode) -> ScanSource:
    if (found := _ICEBERG.search(node.text)) and (table := dotted_table(found[1])):
        return ScanSource(ScanKind.TABLE, "", table_end(table), streams=True)
    behind = _BEHIND_COLUMNS.match(node.text)
    described = behind[1].strip() if behind else node.text
    # Older versions of Iceberg print no class: ``local.db.t [filters=]``.
    first = described.partition(" ")[0]
    if "." in first and not described.startswith(("class ", "org.")) and (table := dotted_table(first)):
        return ScanSource(ScanKind.TABLE, "", table_end(table), streams=True)
    return ScanSource(ScanKind.STREAM, redact(described)[:300], streams=True)
