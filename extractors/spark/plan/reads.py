"""Find the inputs of a plan's operators."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from typing import Final

from extractors.spark.incomplete import Incomplete
from extractors.spark.plan import jdbc
from extractors.spark.plan.kinds import READING
from extractors.spark.plan.names import (
    Location,
    PlannedTable,
    argument_table,
    dotted_table,
    is_bookkeeping,
    is_kept,
    is_path,
    leading_table,
    location,
    quoted_table,
    split_arguments,
    without_part_file,
    without_partitions,
)
from extractors.spark.plan.text import Operator, PlanText
from extractors.spark.plan.tree import OperatorNode
from navlin.model.redaction import redact, without_credentials


class EndKind(StrEnum):
    TABLE = "table"
    VIEW = "view"
    PATH = "path"
    JDBC = "jdbc"
    QUERY = "query"
    STEP = "step"
    TOPIC = "topic"


@dataclass(frozen=True, slots=True)
class PlanEnd:
    """An input or output. A table or view is identified by ``database`` and ``name``, anything else by ``name``.

    For a JDBC table, ``url`` is the URL of its database, if known, and ``database`` is the catalogue through which it is
    accessed, if there is one. A QUERY is a text sent to a database: the whole text if it has a catalogue, else the part
    after FROM. A STEP is the result of an earlier execution of the same run, whose columns are named with their expression
    ids.
    """

    kind: EndKind
    name: str
    database: str = ""
    url: str = ""

    @property
    def readable(self) -> str:
        return f"{self.database}.{self.name}" if self.database else self.name


MATERIALIZED: Final = PlanEnd(EndKind.STEP, "mergeMaterializedSource")
"""The source of Delta's MERGE if it is not a Delta table. The rows of the source are kept by an execution that runs
before the others.
"""


def table_end(table: PlannedTable) -> PlanEnd:
    return PlanEnd(EndKind.TABLE, table.name, table.database)


def named_end(name: str) -> PlanEnd | None:
    """Return the end for the full name of a table or for a path; None for any other text."""
    if is_path(name):
        return path_end(name)
    table = dotted_table(name)
    return table_end(table) if table is not None and table.database else None


def view_end(table: PlannedTable) -> PlanEnd:
    return PlanEnd(EndKind.VIEW, table.name, table.database)


def jdbc_end(printed: str, url: str = "") -> PlanEnd:
    """Return the end for a `dbtable`, which is a table or a query."""
    if name := jdbc.table_name(printed):
        return PlanEnd(EndKind.JDBC, name, url=url)
    return PlanEnd(EndKind.QUERY, jdbc.without_counters(printed), url=url)


def catalog_end(printed: str) -> PlanEnd:
    """Return the end for a table of a JDBC catalogue, named like ``pg.app.people``."""
    catalog, name = jdbc.catalog_table(printed)
    return PlanEnd(EndKind.JDBC, name, catalog)


def path_end(path: str) -> PlanEnd:
    return PlanEnd(EndKind.PATH, without_partitions(without_part_file(without_credentials(path))))


@dataclass(frozen=True, slots=True)
class Reads:
    """The distinct inputs of a plan. ``unknown`` are operators whose source is unknown. ``reasons`` explain why inputs
    are missing.
    """

    ends: tuple[PlanEnd, ...]
    reasons: tuple[Incomplete, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        return not self.reasons

    def and_those(self, more: Reads) -> Reads:
        """Return these reads together with ``more``, without duplicates."""
        pairs = ((self.ends, more.ends), (self.reasons, more.reasons), (self.unknown, more.unknown))
        return Reads(*(tuple(dict.fromkeys((*one, *other))) for one, other in pairs))


_SCAN: Final = re.compile(
    r"(?:File|FileSource|FileGpu|Native|Delta|Hudi)?Scan "
    r"(?P<relation>[\w.$-]+(?:\(.*\))?(?: \[[^\]]*\])?)(?: (?P<table>.*))?$",
    re.DOTALL,
)
_JDBC: Final = re.compile(r"JDBCRelation\((.*)\)(?: \[numPartitions=\d+\])?\s*$", re.DOTALL)
_FIRST_ID: Final = re.compile(r"\[[^\[\]]*?#(\d{1,18})")
_CHANGE_FEED: Final = re.compile(r"Snapshot\(path=([^,]+)/_delta_log,")
_HUDI: Final = re.compile(
    r"(?:MergeOnRead|HoodieBootstrap|BaseFileOnly)\w*\(.*?\bHoodieTableMetaClient\{basePath='([^']+)'",
    re.DOTALL,
)
_KUDU: Final = re.compile(r"Kudu impala::(\S+)")
_ACID: Final = re.compile(r"HiveAcidRelation\([^,]*,([\w.]+),")
_KAFKA: Final = re.compile(r"KafkaRelation\(strategy=Subscribe\[([^\]]*)\]")
_HIVE: Final = re.compile(r"HiveTableRelation \[?(`[^\s,]+`)")
_METASTORE: Final = re.compile(r"MetastoreRelation (\w+), (\w+)")
_LOCATION: Final = re.compile(r"\bLocation: (\w+(?:\(\d+ paths\))? ?\[.*)", re.DOTALL)
_LOG_INDEXES: Final = frozenset({"DeltaLogFileIndex", "MetadataLogFileIndex"})
"""Indexes that read a table format's own log."""
_NO_SOURCE: Final = frozenset(
    {
        "ExistingRDD",
        "OneRowRelation",
        "LocalTable",
        "LocalRelation",
        "Range",
        "ReferenceSort",
        "EmptyRelation",
    }
)
_V2_SCAN: Final = re.compile(
    r"(?:BatchScan|MicroBatchScan|ContinuousScan|RealTimeStreamScan|DataSourceV2Scan|ScanV2|StreamingRelation"
    r"|Iceberg(?:Table|Native)?Scan|Paimon(?:V2)?(?:Table)?Scan)\b ?(?P<rest>.*)$",
    re.DOTALL,
)
_V2_OLD: Final = re.compile(r"\w+\[.*?\] (?P<name>\S+)")
_CHANGELOG: Final = ".changes"
"""Iceberg's suffix of a table's name if the table's changes are read. A table whose own name ends with the suffix is
distinguished by its scan, because only a scan of changes names the table without the suffix: ``cat.db.t
[fromSnapshotId=``, in later versions ``IcebergChangelogScan(table=cat.db.t,``.
"""
_CACHED: Final = ("InMemoryTableScan", "Scan In-memory table")
_V2_PATHS: Final = re.compile(r"(?P<format>[\w-]+) (?P<paths>[A-Za-z][A-Za-z0-9+.-]*:/.*|/.*)$", re.DOTALL)


def physical_reads(nodes: Iterable[OperatorNode], text: PlanText) -> Reads:
    """Return the inputs of a physical plan's scans, including scans below cached frames and in subqueries."""
    gathered = _Gathered()
    hidden_below = -1
    for node in nodes:
        if 0 <= hidden_below < node.depth:
            continue
        hidden_below = -1
        if node.name.startswith("Scan ExistingRDD Delta Table State"):
            hidden_below = node.depth
        elif match := _V2_SCAN.match(node.name):
            _v2_scan(node, match["rest"].strip(), text, gathered)
        elif node.name.startswith("HiveTableScan"):
            gathered.add_table(_hive_table(node.text), node.name)
        elif node.name.startswith(jdbc.CATALOG_SCAN):
            _catalog_scan(node, text, gathered)
        elif node.name.partition(" ")[0] in READING:
            _scan(node, gathered)
    return gathered.reads()


def cached_reads(nodes: Sequence[OperatorNode], text: PlanText) -> Reads:
    """Return the inputs of cached frames whose plans are not in the tree. Older releases of Spark leave these plans
    out of the tree (SparkPlanInfo), but print them in the text.
    """
    reads, nowhere = Reads(()), _Gathered()
    cached = list(_cached(text)) if text.verified else []
    looked_at: set[int] = set()
    for operator in cached:
        if operator.number in looked_at:
            continue  # below another cached one
        _, *operators = operator.walk()
        looked_at.update(each.number for each in operators)
        below = [OperatorNode(each.name, f"{each.name} {each.block}", {}, each.indent) for each in operators]
        reads = reads.and_those(physical_reads(below, text))
        for each in (operator, *operators):
            if each.name.startswith(_CACHED) and not each.children:
                nowhere.add_unknown(each.name)
    for node in without_plan(nodes) if not cached else ():
        nowhere.add_unknown(node.name)
    return reads.and_those(nowhere.reads())


def without_plan(nodes: Sequence[OperatorNode]) -> list[OperatorNode]:
    """Return the cached frames without a plan below them in the tree."""
    return [
        node
        for node, after in zip_longest(nodes, nodes[1:])
        if node.name.startswith(_CACHED) and (after is None or after.depth <= node.depth)
    ]


def _cached(text: PlanText) -> Iterator[Operator]:
    for operators in (text.operators, *(root.walk() for root in text.subqueries.values())):
        yield from (each for each in operators if each.name.startswith(_CACHED))


def logical_reads(text: PlanText) -> Reads:
    """Return the inputs that the logical plan below a command names. A view counts as an input itself, in place of the
    view's sources.
    """
    gathered = _Gathered()
    hidden_below, alias = -1, ""
    if not text.verified:
        return Reads((), (text.uncertainty or Incomplete.AMBIGUOUS,))
    for operator in text.operators:
        if 0 <= hidden_below < operator.indent:
            continue
        hidden_below = -1
        arguments = operator.arguments
        match operator.name:
            case "View":
                view = leading_table(arguments)
                # A temporary view is only a name for a query, so the sources of the query are the inputs.
                if view is not None and is_kept(arguments):
                    gathered.add(view_end(view))
                    hidden_below = operator.indent
            case "LogicalRelation":
                _logical_relation(arguments, gathered)
            case "HiveTableRelation" | "UnresolvedCatalogRelation":
                gathered.add_table(leading_table(arguments), operator.name)
            case "SubqueryAlias":
                alias = arguments
            case "RelationV2" | "DataSourceV2Relation" | "DataSourceV2ScanRelation":
                written = jdbc.written_table(arguments)
                if written and alias.endswith(f".{written}"):
                    gathered.add(catalog_end(alias))  # only the alias above it names the catalogue
                else:
                    gathered.add_table(_v2_relation(arguments), operator.name)
            case name if name in READING:
                gathered.add_unknown(f"{name} {arguments}")
            case _:
                pass
    return gathered.reads()


class _Gathered:
    def __init__(self) -> None:
        self._ends: dict[PlanEnd, None] = {}
        self._unknown: dict[str, None] = {}
        self._reasons: dict[Incomplete, None] = {}

    def add(self, end: PlanEnd) -> None:
        self._ends[end] = None

    def add_table(self, table: PlannedTable | None, what: str) -> None:
        # A name without a database belongs to the session's current database, which the log does not show.
        if table is None or not table.database:
            self.add_unknown(what)
        else:
            self.add(table_end(table))

    def add_location(self, found: Location | None, what: str) -> None:
        if found is None:
            self.add_unknown(what)
            return
        paths = [path for path in found.paths if not is_bookkeeping(path)]
        if found.index in _LOG_INDEXES or (found.paths and not paths):
            return
        for path in paths:
            self.add(path_end(path))
        if not found.complete:
            self._reasons[Incomplete.PATHS_CUT] = None

    def add_unknown(self, what: str) -> None:
        self._unknown[redact(what)[:200]] = None
        self._reasons[Incomplete.UNKNOWN_INPUT] = None

    def reads(self) -> Reads:
        return Reads(tuple(self._ends), tuple(self._reasons), tuple(self._unknown))


def _scan(node: OperatorNode, gathered: _Gathered) -> None:
    if node.name.startswith(_CACHED) or node.name.strip() == "Scan":
        return  # a cached table, whose plan is below the scan, or rows that the program itself made
    match = _SCAN.match(node.name)
    if match is None:
        # A scan of an accelerator or connector: `ParquetScan db.t`, `DeltaScan parquet db.t`, or no name at all.
        table = dotted_table(node.name.split(" ")[-1]) if " " in node.name else None
        printed = node.metadata.get("Location", "")
        if table is None and (place := location(printed)) is not None:
            gathered.add_location(place, node.name)
        else:
            gathered.add_table(table, node.name)
        return
    relation, named = match["relation"], (match["table"] or "").strip()
    if relation.split("(")[0] in _NO_SOURCE:
        return
    if relation == "hive":
        gathered.add_table(_hive_table(node.text) or dotted_table(named), node.name)
        return
    if _relation(node.name.removeprefix("Scan "), gathered):
        return
    if named and (table := dotted_table(named)) and table.database:
        gathered.add(table_end(table))
        return
    printed = node.metadata.get("Location", "")
    if not printed and (found := _LOCATION.search(node.text)):
        printed = found[1]
    gathered.add_location(location(printed), node.name)


def _catalog_scan(node: OperatorNode, text: PlanText, gathered: _Gathered) -> None:
    """Add a scan of a JDBC catalogue's table, or of several tables that the database joins. The list of tables is
    taken from the block, because the tree cuts it.
    """
    blocks = [each.block for each in text.by_name.get(node.name.strip(), ())]
    own = [each for each in blocks if _first_id(each) == _first_id(node.text)]
    block = own[0] if own else node.text
    named = node.name.removeprefix(jdbc.CATALOG_SCAN).strip()
    ends = {catalog_end(each) for each in (*jdbc.joined_tables(block), *filter(None, [named]))}
    if not ends or ("PushedJoins: " in block and "\n ..." in block):
        gathered.add_unknown(node.name)
    for each in sorted(ends, key=lambda end: end.readable):
        gathered.add(each)


def _first_id(printed: str) -> str:
    match = _FIRST_ID.search(printed)
    return match[1] if match else ""


def _relation(printed: str, gathered: _Gathered) -> bool:
    """Add a relation of another system, recognized by its printed form. Return False if it is not such a relation."""
    if match := _JDBC.match(printed):
        gathered.add(jdbc_end(match[1]))
    elif match := _HUDI.match(printed) or (
        _CHANGE_FEED.search(printed) if printed.startswith("DeltaCDFRelation(") else None
    ):
        table = dotted_table(printed.rpartition(" ")[2]) if not printed.endswith(")") else None
        gathered.add(table_end(table) if table and table.database else path_end(match[1]))
    elif match := _KUDU.match(printed) or _ACID.match(printed):
        gathered.add_table(dotted_table(match[1]), printed)
    elif match := _KAFKA.search(printed):
        for topic in match[1].split(","):
            if topic.strip():
                gathered.add(PlanEnd(EndKind.TOPIC, topic.strip()))
    else:
        return False
    return True


def _hive_table(printed: str) -> PlannedTable | None:
    if match := _HIVE.search(printed):
        return quoted_table(match[1])
    if match := _METASTORE.search(printed):
        return PlannedTable(match[1], match[2])
    return None


def _v2_scan(node: OperatorNode, rest: str, text: PlanText, gathered: _Gathered) -> None:
    changed = rest.removesuffix(_CHANGELOG)
    if changed != rest and any(
        f"{before}{changed}{after}" in node.text
        for before, after in (
            (" ", " [fromSnapshotId="),
            ("\n", " [fromSnapshotId="),
            ("ChangelogScan(table=", ","),
        )
    ):
        rest = changed  # the rows are those added to or removed from the table
    if match := _V2_PATHS.match(rest):
        paths = re.split(r",(?=[A-Za-z][A-Za-z0-9+.-]*:/)", match["paths"])
        for path in paths:
            gathered.add(path_end(path))
        return
    if ("." in rest or is_path(rest)) and (end := named_end(rest)):
        gathered.add(end)
        return
    if found := _LOCATION.search(node.text):
        printed = location(found[1])
        if printed is not None and not printed.complete:
            # The tree cuts a long path. The operator's block, if it is unambiguous, has the complete first path.
            block = _only(text.by_name.get(node.name.strip(), ()))
            printed = (location(block.location) if block else None) or printed
        gathered.add_location(printed, node.name)
        return
    if (
        (match := _V2_OLD.match(node.text))
        and (table := dotted_table(match["name"]))
        and "." in match["name"]
    ):
        gathered.add(table_end(table))
        return
    if not _relation(node.text, gathered):
        gathered.add_unknown(node.name)


def _only(operators: tuple[Operator, ...]) -> Operator | None:
    return operators[0] if len(operators) == 1 else None


def _logical_relation(arguments: str, gathered: _Gathered) -> None:
    first = next(split_arguments(arguments), "")
    if _relation(first, gathered):
        return
    table = argument_table(arguments)
    if table is not None and table.database:
        gathered.add(table_end(table))
    else:
        gathered.add_unknown(f"LogicalRelation {first}")  # read by path, which a logical plan does not print


def _v2_relation(arguments: str) -> PlannedTable | None:
    for piece in split_arguments(arguments):
        if not piece.startswith("[") and "." in piece and not is_path(piece):
            return dotted_table(piece) or quoted_table(piece)
    return None
