"""Find the targets of Delta's commands in their printed arguments.

Delta 2 to 4 print ``DeltaTableV2(session,path,Some(CatalogTable(…)),…)`` for writes that Spark hands to Delta, and
`` `cat`.`db`.`t`, serde, Delta[version=0, path] `` or ``Delta[version=0, path]`` alone for Delta's own UPDATE and
MERGE.
"""

from __future__ import annotations

import re
from typing import Final

from extractors.spark.plan.names import argument_table, described_table, is_path
from extractors.spark.plan.reads import PlanEnd, path_end, table_end

_TABLE_V2: Final = re.compile(r"DeltaTableV2\([^,]*,([^,]+),(?:None|Some\(CatalogTable\()")
_VERSION: Final = re.compile(r"\bDelta\[version=-?\d+, ([^\]]+)\]")
_BY_PATH: Final = re.compile(r"(?:^|\.)\w+\.`(/[^`]*|[A-Za-z][A-Za-z0-9+.-]*:/[^`]*)`$")


def delta_target(arguments: str) -> tuple[PlanEnd | None, str]:
    """Return (target, path). The target is the table that a Delta command's arguments name with its database, otherwise
    the path of the table's files; None if neither is printed. The path is that of a named table's files; "" if it is
    not printed, or if it is the target.
    """
    if found := _TABLE_V2.search(arguments):
        path = found[1].strip()
        table = described_table(arguments)
        if table is not None and table.database:
            return table_end(table), path
        return (path_end(path), "") if is_path(path) else (None, "")
    version = _VERSION.search(arguments)
    path = version[1].strip() if version else ""
    table = argument_table(arguments)
    if table is not None and table.database:
        return table_end(table), path
    return (path_end(path), "") if is_path(path) else (None, "")


def path_of_name(name: str) -> str:
    """Return the path in a name such as ``delta.`/x` `` or ``spark_catalog.parquet.`/x` ``; "" for any other name."""
    match = _BY_PATH.search(name.strip())
    return match[1] if match else ""
