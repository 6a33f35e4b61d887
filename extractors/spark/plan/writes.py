"""Find the targets of a plan's commands, and the kinds of their statements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from extractors.spark.plan import jdbc
from extractors.spark.plan.delta import delta_target, path_of_name
from extractors.spark.plan.hudi import HUDI_CREATES, hudi_table, is_hudis_own
from extractors.spark.plan.kinds import WRITING, is_without_data
from extractors.spark.plan.names import (
    PlannedTable,
    argument_table,
    described_table,
    dotted_table,
    is_bookkeeping,
    is_kept,
    is_path,
    leading_table,
    split_arguments,
)
from extractors.spark.plan.reads import EndKind, PlanEnd, jdbc_end, named_end, path_end, table_end, view_end
from extractors.spark.plan.text import Operator, PlanText
from extractors.spark.plan.tree import OperatorNode


@dataclass(frozen=True, slots=True)
class Write:
    """The effect of one command. ``operation`` is Navigator's operationType.

    ``end`` is the command's target, ``path`` the location of the target table's files, as printed. ``subject`` is an
    object that is named without writing data, such as a table that the command drops, renames or creates empty.
    ``reads`` are paths that the command itself loads. ``query_text`` is the statement's SQL if the plan certainly
    contains it.
    """

    command: str
    operation: str
    end: PlanEnd | None = None
    path: str = ""
    reads: tuple[PlanEnd, ...] = ()
    subject: str = ""
    query_text: str = ""
    logical: bool = False
    """Whether the command's inputs are in the logical plan of the printed text."""
    moves_data: bool = False
    """Whether the command writes data. True also for an unknown ``Execute`` command, false for the noop sink and for
    internal steps of Hudi. If it is true and ``end`` is None, an output is missing.
    """
    carried: bool = False
    """Whether the rows come from a separate execution below this one."""
    keeps_rows: bool = False
    """In a row change, whether certainly no rows are added or removed, so that a column set to its own value is
    unchanged.
    """
    catalog: str = ""
    """Printed form of the catalogue of ``end`` or ``subject``, such as a class, if the plan does not print the name of
    the catalogue.
    """

    hides_reads: bool = False
    """Whether the command has inputs that the plan does not show."""
    unread: bool = False
    """Whether the command is known, but navlin does not read its target."""

    @property
    def changes_rows(self) -> bool:
        """Whether the command changes existing rows. Values that the command keeps do not flow."""
        return self.operation in (MERGE, UPDATE, DELETE)

    @property
    def creates(self) -> bool:
        """Whether the command creates a table and leaves the writing to a separate execution."""
        return (
            self.operation == CREATE_AS_SELECT
            and not self.carried
            and not self.command.startswith(HUDI_CREATES)
        )


_EXECUTE: Final = re.compile(r"(?:Execute )?(?P<command>\w+)")
_INSERT_PATH: Final = re.compile(r", (?:true|false), ")
_LOAD_PATH: Final = re.compile(
    r"\s*,\s*(?P<path>.*?), (?P<local>true|false), (?:true|false)(?:, .*)?", re.DOTALL
)
_MODE: Final = re.compile(r", (Append|Overwrite|ErrorIfExists|Ignore)(?:, |$)")
_HIVE_PATH: Final = re.compile(r"HiveTempPath\(([^)]+)\)")
_STORAGE: Final = re.compile(
    r"Storage\(Location: (.{1,4000}?)(?:, (?:Serde Library|InputFormat|OutputFormat|Compressed|Storage Properties)\b"
    r"|\)(?:, |$))"
)
_OPTION: Final = r"(?i)[\[(, ]{}(?:=| -> )(?!, )"
_OPTION_ENDS: Final = re.compile(
    r"(?i), [^\s,=]+(?:=| -> )|, \.\.\. \d|[\])](?:, (?:Append|Overwrite|ErrorIfExists|Ignore)\b|$)"
)
"""End of an option's value, which may contain commas and brackets. It is before the next name, or before the bracket
after the last value.
"""
_OPTION_CHARS: Final = 4_000
"""Longest option value that is read. A longer value counts as not printed."""
_VIEW: Final = re.compile(
    r"(?P<before>.*), (?:true|false), (?P<replace>true|false), (?P<kind>PersistedView|LocalTempView|GlobalTempView)\b",
    re.DOTALL,
)
_ALTER_VIEW: Final = re.compile(r"(?P<before>.*), (?:true|false)$", re.DOTALL)
_STATEMENT: Final = re.compile(
    r"(?:^|, )(\(*\s*(?:select|with|from|values|table)\b.*)$", re.IGNORECASE | re.DOTALL
)
_ICEBERG: Final = re.compile(r"\bIcebergWrite\(table=([^,)]+)")
_SCANNED: Final = re.compile(r"^(\S+) (?:\(branch=[^()\n]*\) )?\[filters=", re.MULTILINE)
_CATALOG: Final = re.compile(r"\w[\w.$]*(?:Catalog\w*(?:\(\w+\))?|@[0-9a-f]+|Proxy@[0-9a-f]+)$")
MERGE: Final = "MERGE"
UPDATE: Final = "UPDATE"
DELETE: Final = "DELETE"
_V2_WRITES: Final = {
    "AppendData": "INSERT_INTO",
    "OverwriteByExpression": "INSERT_OVERWRITE",
    "OverwritePartitionsDynamic": "INSERT_OVERWRITE",
    "InsertOnlyMerge": MERGE,
    "ReplaceData": MERGE,
    "WriteDelta": MERGE,
    "DeleteFromTable": DELETE,
    "WriteToDataSourceV2": "SAVE",
    "WriteToContinuousDataSource": "SAVE",
}
_PROCEDURE: Final = re.compile(r"\.(AddFiles|SnapshotTable|MigrateTable)Procedure@")
_V1_OF_V2: Final = re.compile(r"(AppendData|OverwriteByExpression)ExecV1$")
_DELTA: Final = {
    "MergeInto": MERGE,
    "Update": UPDATE,
    "Delete": DELETE,
    "WriteIntoDelta": "INSERT_INTO",
    "DeltaDynamicPartitionOverwrite": "INSERT_OVERWRITE",
    "DeltaInsertReplaceOnOrUsing": "INSERT_OVERWRITE",
}
"""Delta's own commands, without ``Execute`` and ``Command``, and their operations."""
_RELATION: Final = re.compile(r"Relation ([^\s\[\]()]+)\[")
_OUTPUT_SPEC: Final = re.compile(r"OutputSpec\(([^,]+),")
_CREATES_WITH_QUERY: Final = re.compile(r", (?:Append|Overwrite|ErrorIfExists|Ignore), Some\(")
_V2_CREATES: Final = re.compile(r"(?:Atomic)?(?:Create|Replace)TableAsSelect$")
_UPDATED_ON_READ: Final = re.compile(r"\], \[__row_operation#\d|\[2 AS __row_operation#\d")
"""An Expand that gives the deleted row and its replacement, or updated rows (2 in Spark's RowDeltaUtils)."""
_UPDATES: Final = re.compile(r"\bkeep\(Update,|\bsplit\(|\bUpdate \[")
_ROWS_COME_OR_GO: Final = re.compile(r"\bkeep\((?!Update,|Copy,)|\bdiscard\(|\b(?:Delete|Insert) \[")
"""Clauses that add or remove rows, as printed by Spark's MergeRows and by Delta."""
_ALIAS: Final = re.compile(r" AS ([^#,\[\]()]{1,400})#\d")
_WORDS: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z][a-z0-9]*|[A-Z]+|[a-z0-9]+")


def write_of(node: OperatorNode, text: PlanText) -> Write | None:
    """Return the write or other command that an operator carries out; None for an operator that only computes.
    ``text`` is empty if the printed plan is not needed.
    """
    if node.name == "ExecutedCommand":
        # In Spark 2.2, only the printed text has the command.
        name, _, rest = text.command.partition(" ")
        node = replace(node, name=f"Execute {name or node.name}", text=f"{name} {rest}")
    match = _EXECUTE.match(node.name)
    command = match["command"] if match else ""
    executed = node.name.startswith("Execute ")
    command = command.removesuffix("Edge")
    is_write = command in _V2_WRITES or command in WRITING or node.name == "Call"
    if not (executed or is_write or _is_ddl(node)):
        return None
    arguments = _arguments(node, command, text)
    bare = command.removeprefix("Optimized").removesuffix("Command")
    write = _data_write(bare, command, node, arguments, text)
    if write is not None:
        nowhere = "noop" in node.name or "NoopWrite" in arguments or is_hudis_own(command, text)
        return replace(write, moves_data=not nowhere)
    match bare:
        case "CreateView":
            return _create_view(command, arguments, text)
        case "AlterViewAs":
            return _alter_view(command, arguments, text)
        case _:
            return Write(
                command,
                in_words(bare),
                subject=_subject(arguments),
                catalog=next((each for each in split_arguments(arguments) if _CATALOG.match(each)), "")
                if bare == "CreateTable"
                else "",
                moves_data=executed and not is_without_data(node.name),
            )


def _data_write(bare: str, command: str, node: OperatorNode, arguments: str, text: PlanText) -> Write | None:
    """Return the write of a command that moves data; None for any other command."""
    match bare:
        case "InsertIntoHadoopFsRelation":
            return _insert(command, arguments)
        case "InsertIntoHiveTable":
            return _insert_hive(command, arguments)
        case "InsertIntoHiveDir" | "InsertIntoDataSourceDir":
            return _insert_directory(command, arguments)
        case "CreateDataSourceTableAsSelect" | "CreateHiveTableAsSelect" | "SaveAsV1Table":
            table = leading_table(arguments) or described_table(arguments)
            return Write(command, CREATE_AS_SELECT, _end(table), logical=True)
        case "LoadData":
            return _load(command, arguments)
        case "SaveIntoDataSource":
            return _save(command, arguments)
        case "InsertIntoDataSource" | "InsertIntoHoodieTable":
            return _insert_relation(command, arguments)
        case "CreateHoodieTableAsSelect":
            return Write(command, CREATE_AS_SELECT, _end(leading_table(arguments)))
        case "UpdateHoodieTable":
            return Write(command, UPDATE, hudi_table(text), keeps_rows=True)
        case "MergeIntoHoodieTable":
            return Write(command, MERGE, hides_reads=True)
        case "DeleteHoodieTable":
            return Write(command, DELETE, hudi_table(text))
        case "CreateDeltaTable" if "CloneTableCommand" in arguments:
            # The source of a clone is printed as an object without a name, except with time travel.
            return Write(command, "CLONE", _end(leading_table(arguments)), logical=True)
        case "CreateDeltaTable" if _CREATES_WITH_QUERY.search(arguments):
            end, path = delta_target(arguments)
            return Write(command, CREATE_AS_SELECT, end, path, carried=True)
        case _ if (match := _V1_OF_V2.match(command)) and (written := jdbc.written_table(arguments)):
            end = PlanEnd(EndKind.JDBC, written)
            return Write(
                command, _V2_WRITES[match[1]], end, carried=True, catalog=jdbc.written_catalog(arguments)
            )
        case _ if match := _V1_OF_V2.match(command):
            end, path = delta_target(arguments)
            return Write(command, _V2_WRITES[match[1]], end, path, carried=True)
        case "WriteIntoDelta" if found := _OUTPUT_SPEC.search(arguments):
            return Write(command, "INSERT_INTO", path_end(found[1]), carried=True)
        case _ if (bare in _DELTA and command.endswith("Command")) or command == "WriteIntoDelta":
            end, path = delta_target(arguments)
            end = end or _aliased_path(text)
            operation = _DELTA[bare]
            return Write(
                command, operation, end, path, carried=True, keeps_rows=_keeps_rows(operation, arguments)
            )
        case "OrcInsert" | "ParquetInsert":
            return Write(command, "INSERT_INTO", _end(dotted_table(node.name.partition(" ")[2])))
        case _ if command in ("ReplaceData", "WriteDelta"):
            operation = _row_change(text)
            instructions = " ".join(
                each.arguments for each in text.operators if each.name.startswith("MergeRows")
            )
            return Write(
                command,
                operation,
                _v2_end(node, arguments) or _read_for_change(text),
                keeps_rows=_keeps_rows(operation, instructions),
            )
        case "DeleteFromTable":
            described = dotted_table(arguments.partition(", ")[0])
            return Write(command, DELETE, _v2_end(node, arguments) or _end(described))
        case _ if command in _V2_WRITES:
            return Write(command, _V2_WRITES[command], _v2_end(node, arguments))
        case _ if _V2_CREATES.match(command):
            return _v2_created(command, arguments)
        case "CreateV2View" | "CreateV2ViewExec" | "AlterV2View":
            return _v2_view(command, arguments)
        case "Call" if procedure := _PROCEDURE.search(arguments):
            # The files of one table become files of another. Only the positions of the arguments show which tables
            # these are.
            return Write(command, procedure[1].upper())
        case _ if command in WRITING:
            end = _iceberg_end(arguments)
            return Write(command, in_words(bare), end, unread=end is None and bare != "CreateDeltaTable")
        case _:
            return None


def _iceberg_end(arguments: str) -> PlanEnd | None:
    found = _ICEBERG.search(arguments)
    return named_end(found[1]) if found else None


def _v2_view(command: str, arguments: str) -> Write:
    """Return the write of a V2 view, which has a text but no plan: ``catalog@hash, db.v, SELECT …, [StructField(…)],
    …``.
    """
    created = _v2_created(command, arguments)
    end = view_end(PlannedTable(created.end.database, created.end.name)) if created.end else None
    text = arguments.partition(f"{created.end.readable}, ")[2] if created.end else ""
    query_text = text[: text.find(", [StructField(")] if ", [StructField(" in text else ""
    return replace(created, operation=CREATE_VIEW, end=end, query_text=query_text)


def _row_change(text: PlanText) -> str:
    """Return the kind of statement that a row-level operation of Spark carries out. Only a MERGE has MergeRows. Of
    DELETE and UPDATE, only UPDATE computes columns. Without printed operators, assume MERGE, the most general.
    """
    if not text.operators or any(each.name.startswith("MergeRows") for each in text.operators):
        return MERGE
    above = list(_above_joins(text.root))
    if any(_UPDATED_ON_READ.search(block) for block in above):
        return UPDATE
    computed = {name.strip() for block in above for name in _ALIAS.findall(block)}
    return UPDATE if any(not name.startswith("_") for name in computed) else DELETE


def _keeps_rows(operation: str, clauses: str) -> bool:
    """Return `Write.keeps_rows` for an operation. ``clauses`` are the instructions of MergeRows, or the arguments of
    Delta's command.
    """
    if operation == MERGE:
        return _UPDATES.search(clauses) is not None and _ROWS_COME_OR_GO.search(clauses) is None
    return operation == UPDATE


def _above_joins(operator: Operator | None) -> Iterator[str]:
    """Yield the blocks that compute the rows of a changed table. Blocks of a subquery are below a join and are left
    out.
    """
    if operator is None:
        return
    if operator.name.startswith(("Project", "Expand")):
        yield operator.block
    if len(operator.inputs) == 1 or operator.name.startswith("Union"):
        for each in operator.inputs:
            yield from _above_joins(each)


def _read_for_change(text: PlanText) -> PlanEnd | None:
    """Return the table whose rows a merge-on-read operation reads in order to change them, recognized by the file and
    position in the output of its scan. Return None unless there is exactly one.

    Before Spark 3.4, the table is not in the scan's name, but only in the block: ``local.db.t (branch=null)
    [filters=``.
    """
    ends = set()
    for each in text.operators:
        if not (each.name.startswith("BatchScan") and "_file#" in each.block and "_pos#" in each.block):
            continue
        named = _SCANNED.search(each.block)
        table = dotted_table(each.name.removeprefix("BatchScan").strip() or (named[1] if named else ""))
        if table:
            ends.add(table_end(table))
    return ends.pop() if len(ends) == 1 else None


def _aliased_path(text: PlanText) -> PlanEnd | None:
    """Return the path below a command that names its table only by path, as in ``SubqueryAlias
    spark_catalog.delta.`/x` ``. Return None unless there is exactly one.
    """
    paths = {
        path
        for each in text.operators
        if each.name == "SubqueryAlias" and (path := path_of_name(each.arguments))
    }
    return path_end(paths.pop()) if len(paths) == 1 else None


CREATE_AS_SELECT: Final = "CREATETABLE_AS_SELECT"
CREATE_VIEW: Final = "CREATEVIEW"
SELECT: Final = "SELECT"


def in_words(command: str) -> str:
    """Convert a command's name to an operation type: ``DropTable`` to DROPTABLE, as in Navigator (likewise Create, Alter
    and Truncate), any other to words such as DESCRIBE_TABLE. ``DataSource`` and ``Hoodie`` are left out.
    """
    words = [word.upper() for word in _WORDS.findall(command.replace("DataSource", "").replace("Hoodie", ""))]
    if words[:1] in (["CREATE"], ["DROP"], ["ALTER"], ["TRUNCATE"]) and len(words) > 1:
        return "_".join(["".join(words[:2]), *words[2:]])
    return "_".join(words)


def _is_ddl(node: OperatorNode) -> bool:
    """Whether a node is a V2 command that is printed without ``Execute``, such as ``CreateNamespace``, ``DropTable``
    or ``ShowTables``.
    """
    return (
        node.depth == 0
        and re.match(
            r"(?:Create|Drop|Alter|Rename|Truncate|Set|Add|Show|Describe|Replace|Refresh)"
            r"[A-Z]\w+$",
            node.name,
        )
        is not None
    )


def _arguments(node: OperatorNode, command: str, text: PlanText) -> str:
    """Return the command's arguments. They are taken from the tree if it has them, else from the only block of the
    text that can belong to the command.
    """
    start = node.text.find(command)
    own = node.text[start + len(command) :].strip() if start >= 0 else ""
    own = own.removeprefix("Command").strip()
    # Iceberg's nodes print other words at this position: `CallExec[…] AddFiles`, `CreateV2ViewExec: db.v`.
    if own and not own.startswith("Exec"):
        return own
    for name in (command, node.name.strip()):
        found = text.by_name.get(name, ())
        if len(found) == 1 and found[0].arguments:
            return found[0].arguments
    if text.command.startswith(command):
        return text.command[len(command) :].strip()
    return ""


def _end(table: PlannedTable | None) -> PlanEnd | None:
    return table_end(table) if table else None


def _insert(command: str, arguments: str) -> Write:
    match = _INSERT_PATH.search(arguments)
    # The first flag follows the path and, if they are fixed, the values of the partition: `/x, [ds=1], false, …`.
    path = arguments[: match.start() if match else len(arguments)].partition(", [")[0]
    rest = arguments[match.end() :] if match else ""
    mode = _MODE.search(arguments)
    operation = "INSERT_OVERWRITE" if mode and mode[1] == "Overwrite" else "INSERT_INTO"
    table = argument_table(rest)
    path = path.strip()
    if not is_path(path) or is_bookkeeping(path):
        path = ""
    end = table_end(table) if table else path_end(path) if path else None
    return Write(command, operation, end, path if table else "")


def _insert_hive(command: str, arguments: str) -> Write:
    flags = [piece for piece in split_arguments(arguments) if piece in ("true", "false")]
    operation = "INSERT_OVERWRITE" if flags[:1] == ["true"] else "INSERT_INTO"
    found = _HIVE_PATH.search(arguments)
    path = found[1] if found and is_path(found[1]) else ""
    return Write(command, operation, _end(argument_table(arguments)), path)


def _insert_directory(command: str, arguments: str) -> Write:
    found = _STORAGE.search(arguments)
    path = found[1].strip() if found else ""
    local = command.startswith("InsertIntoHive") and next(split_arguments(arguments), "") == "true"
    if local and path.startswith("/"):
        path = f"file:{path}"
    return Write(
        command, "INSERT_OVERWRITE_DIRECTORY", path_end(path) if is_path(path) else None, logical=True
    )


def _create_view(command: str, arguments: str, text: PlanText) -> Write:
    match = _VIEW.match(arguments)
    table = leading_table(arguments)
    if not (match["kind"] == "PersistedView" if match else is_kept(arguments)):
        # A temporary view is only a name for a query. A read of the view is a read of the query's sources.
        return Write(command, "CREATE_TEMPORARY_VIEW", subject=table.name if table else "")
    query_text = _statement(match["before"]) if match and text.verified else ""
    return Write(
        command, CREATE_VIEW, view_end(table) if table else None, query_text=query_text, logical=True
    )


def _alter_view(command: str, arguments: str, text: PlanText) -> Write:
    match = _ALTER_VIEW.match(arguments)
    table = leading_table(arguments)
    query_text = _statement(match["before"]) if match and text.verified else ""
    return Write(
        command, "ALTERVIEW_AS", view_end(table) if table else None, query_text=query_text, logical=True
    )


def _statement(before: str) -> str:
    """Return the SQL among a view's arguments, which follows the view's name, columns, comment and properties."""
    match = _STATEMENT.search(before)
    return match[1].strip() if match else ""


def _load(command: str, arguments: str) -> Write:
    table = next(split_arguments(arguments))
    # A path may contain commas, so its end is recognized only by the two flags.
    found = _LOAD_PATH.fullmatch(arguments.lstrip()[len(table) :])
    path = found["path"] if found else ""
    if found and path.startswith("/") and found["local"] == "true":
        path = f"file:{path}"
    reads = (path_end(path),) if is_path(path) else ()
    return Write(command, "LOAD", _end(leading_table(arguments)), reads=reads)


def _save(command: str, arguments: str) -> Write:
    options = {}
    for name in ("dbtable", "url", "path", "topic"):
        if found := re.search(_OPTION.format(name), arguments):
            begin = found.end()
            if ends := _OPTION_ENDS.search(arguments, begin, begin + _OPTION_CHARS):
                options[name] = arguments[begin : ends.start()].strip()
    mode = _MODE.search(arguments)
    operation = "INSERT_OVERWRITE" if mode and mode[1] == "Overwrite" else "INSERT_INTO"
    url = options.get("url", "")
    end: PlanEnd | None = argument_end(arguments)
    if "dbtable" in options and "jdbc" in arguments.partition(",")[0].lower():
        end = jdbc_end(options["dbtable"], "" if "redacted" in url else url)
        end = end if end.kind is EndKind.JDBC else None
    elif "topic" in options and "afka" in arguments:
        end = PlanEnd(EndKind.TOPIC, options["topic"])
    elif end is None and is_path(options.get("path", "")):
        end = path_end(options["path"])
    return Write(command, operation, end, logical=True)


def _insert_relation(command: str, arguments: str) -> Write:
    """Return the write to the table in ``Relation spark_catalog.db.t[id#1,name#2] parquet, [ds=Some(1)], true``. The
    last argument is true if the table is overwritten.
    """
    found = _RELATION.match(arguments)
    operation = "INSERT_OVERWRITE" if arguments.endswith(", true") else "INSERT_INTO"
    end = _end(dotted_table(found[1])) if found else argument_end(arguments)
    return Write(command, operation, end, logical=command.startswith("InsertIntoDataSource"))


def argument_end(arguments: str) -> PlanEnd | None:
    table = argument_table(arguments)
    return table_end(table) if table else None


def _v2_end(node: OperatorNode, arguments: str) -> PlanEnd | None:
    if end := _iceberg_end(arguments):
        return end
    named = node.name.partition(" ")[2].strip()
    if is_path(named):
        return path_end(named)
    if "." in named:
        return _end(dotted_table(named))
    return next(_v2_names(arguments), None)


def _v2_names(arguments: str) -> Iterator[PlanEnd]:
    for piece in split_arguments(arguments):
        if found := re.match(r"(?:RelationV2|DataSourceV2Relation)\[.*?\] (\S+)", piece):
            table = dotted_table(found[1])
            if table:
                yield table_end(table)


def _v2_created(command: str, arguments: str) -> Write:
    """Return the write of a CREATE TABLE … AS, printed as ``[…], catalog@hash, db.t, Relation …``. The name of the
    table follows the catalogue, which is printed only as a class.
    """
    write = Write(command, CREATE_AS_SELECT)
    pieces = split_arguments(arguments)
    for piece in pieces:
        if _CATALOG.match(piece):
            name = next(pieces, "")
            if path := path_of_name(name):
                return replace(write, end=path_end(path))
            if piece.startswith(jdbc.CATALOG_CLASS):
                return replace(write, end=PlanEnd(EndKind.JDBC, name), catalog=piece)
            return replace(write, end=_end(dotted_table(name)), catalog=piece)
    return write


def _subject(arguments: str) -> str:
    """Return the object that a command without data flow names: the first table or name among the command's arguments."""
    table = leading_table(arguments) or described_table(arguments)
    if table:
        return table.readable
    pieces = split_arguments(arguments)
    for piece in pieces:
        if _CATALOG.match(piece):
            named = next(pieces, "").strip("[]")
            return named if named and len(named) < 400 and not named.startswith("org.") else ""
    return ""
