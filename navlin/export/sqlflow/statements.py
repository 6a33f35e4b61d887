"""Statements as SQLFlow describes them: the process, the effect of the relations, and the clause of conditions."""

from __future__ import annotations

import hashlib
import re
from typing import Final, NamedTuple

from navlin.export.sqlflow.model import NOWHERE, Coordinate, Process, TextPosition, number
from navlin.export.values import ExportedOperation


class StatementType(NamedTuple):
    """A kind of statement: the effect of the relations, and the type of the process."""

    effect: str
    process: str


INSERTS: Final = "insert"
"""Effect of an insert. It is also used for kinds of statements that are unknown or have no effect of their own, because
readers drop relations with an effect that they do not know."""
STATEMENTS: Final = {
    "SELECT": StatementType("select", "Select"),
    "EXECUTE": StatementType(INSERTS, "Execute"),
    "INSERT": StatementType(INSERTS, "Insert"),
    "INSERT_INTO": StatementType(INSERTS, "Insert"),
    "INSERT_OVERWRITE": StatementType(INSERTS, "Insert Overwrite"),
    "INSERT_OVERWRITE_DIRECTORY": StatementType(INSERTS, "Insert Overwrite"),
    "UPSERT": StatementType("merge", "Upsert"),
    "UPDATE": StatementType("update", "Update"),
    "DELETE": StatementType("delete", "Delete"),
    "MERGE": StatementType("merge", "Merge"),
    "LOAD": StatementType(INSERTS, "Hive Load"),
    "IMPORT": StatementType(INSERTS, "Import"),
    "EXPORT": StatementType(INSERTS, "Export"),
    "REPLLOAD": StatementType(INSERTS, "Repl Load"),
    "REPLDUMP": StatementType(INSERTS, "Repl Dump"),
    "CREATETABLE": StatementType("create_table", "Create Table"),
    "CREATETABLE_AS_SELECT": StatementType("create_table", "Create Table"),
    "CLONE": StatementType("create_table", "Create Table"),
    "CREATEVIEW": StatementType("create_view", "Create View"),
    "CREATE_TEMPORARY_VIEW": StatementType("create_view", "Create View"),
    "ALTERVIEW_AS": StatementType("create_view", "Alter View"),
    "ALTER_MATERIALIZED_VIEW_REBUILD": StatementType(INSERTS, "Alter View"),
    "ALTERINDEX_REBUILD": StatementType(INSERTS, "Alter Index"),
    "ALTERTABLE_RENAME": StatementType("rename_table", "Alter Table"),
    "ALTERVIEW_RENAME": StatementType("rename_table", "Alter View"),
    "ALTERTABLE_EXCHANGEPARTITION": StatementType(INSERTS, "Alter Table"),
}
"""Navigator's operationType → kind of statement. Jobs without SQL (streams, MapReduce jobs) are missing."""
RENAMES: Final = frozenset(
    name for name, statement in STATEMENTS.items() if statement.effect == "rename_table"
)
EXTERNAL: Final = StatementType("create_table", "Create External Table")

_QUOTED: Final = re.compile(
    r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\"|`[^`]*+`|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/", re.DOTALL
)
_CONDITIONS: Final = re.compile(
    r"\b(where|join|on|using|having|group|over|order|sort|distribute|cluster|qualify|window|distinct|limit|case|if"
    r"|exists|except|intersect|minus|merge|when)\b",
    re.IGNORECASE,
)


def process_of(operation: ExportedOperation) -> Process:
    statement = STATEMENTS.get(operation.statement.type)
    kind = statement.process if statement else operation.statement.type or operation.statement.engine or "Job"
    # For a type that is not in STATEMENTS, such as a job without SQL, the name of the operation itself is shown.
    name = f"Query {kind}" if statement else operation.name or kind
    return Process(number(operation.id, "process"), name, kind, coordinate_of(operation.statement.text))


def external_process(table_id: str) -> Process:
    """Return a made-up process, without text, that relates an external table to the paths of its data."""
    return Process(number(table_id, "external table"), f"Query {EXTERNAL.process}", EXTERNAL.process)


def effect_of(operation: ExportedOperation) -> str:
    """Return the effect of the relations of an operation."""
    statement = STATEMENTS.get(operation.statement.type)
    return statement.effect if statement else INSERTS


def coordinate_of(text: str) -> Coordinate:
    """Return the coordinate of a statement, from beginning to end; a final line break is not counted. Each statement is a
    separate text."""
    if not text:
        return NOWHERE
    text_hash = hashlib.md5(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
    lines = text.splitlines() or [text]
    return TextPosition(1, 1, text_hash), TextPosition(len(lines), len(lines[-1]) + 1, text_hash)


def clause_of(text: str) -> str:
    """Return "where" if all conditions in a statement are in WHERE. Return "" if there are other conditions, or
    none."""
    found = {each[1].lower() for each in _CONDITIONS.finditer(_QUOTED.sub(" ", text))}
    return "where" if found == {"where"} else ""
