"""Options of a Sqoop command, as far as the configuration of its job has them.

A job's configuration has no options of the command, such as the directory to which Sqoop moves the data, or the Hive
table. There are two exceptions:

    oozie.sqoop.args.0, .1, …    the arguments, if an action of Oozie ran the command
    sqoop.opt.hdfs.target.dir    the options, if sqoop.jobbase.serialize.sqoopoptions is true (Sqoop 1.4.5 and newer)

Only the options named here are read. None holds a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

OPTIONS: Final = "sqoop.opt."
ARGUMENTS: Final = "oozie.sqoop.args."
MAX_ARGUMENTS: Final = 1_000
MAX_VALUE_CHARS: Final = 4_096

_VALUES: Final[Mapping[str, tuple[str, str]]] = {
    "table": ("table", "db.table"),
    "target": ("target-dir", "hdfs.target.dir"),
    "warehouse": ("warehouse-dir", "hdfs.warehouse.dir"),
    "staging_table": ("staging-table", "db.export.staging.table"),
    "hive_database": ("hive-database", "hive.database.name"),
    "hive_table": ("hive-table", "hive.table.name"),
    "catalog_database": ("hcatalog-database", "hcatalog.database.name"),
    "catalog_table": ("hcatalog-table", "hcatalog.table.name"),
}
"""Name of an option here → (argument, property)."""
_HIVE_IMPORT: Final = ("hive-import", "hive.import")
_TOOLS: Final = frozenset({"import", "import-all-tables", "export", "merge"})
_OF_A_FILE: Final = "options-file"
_OF_ARGUMENT: Final = {argument: name for name, (argument, _) in _VALUES.items()}


@dataclass(frozen=True, slots=True)
class SqoopOptions:
    """Options of a command; "" if not given. ``hive_import`` is true if Sqoop loads the data into a Hive table
    afterwards. ``whole`` is true if all options of the command are known, so that one that is not given has its
    default.
    """

    table: str = ""
    target: str = ""
    warehouse: str = ""
    staging_table: str = ""
    hive_database: str = ""
    hive_table: str = ""
    catalog_database: str = ""
    catalog_table: str = ""
    hive_import: bool = False
    whole: bool = False


def is_option(name: str) -> bool:
    """Whether a property is read for the options."""
    return name.startswith(ARGUMENTS) or name in _PROPERTIES


_PROPERTIES: Final = frozenset(OPTIONS + key for _, key in (*_VALUES.values(), _HIVE_IMPORT))


def options_of(properties: Mapping[str, str]) -> SqoopOptions:
    """Return the options in the properties of a job's configuration."""
    hive_import = properties.get(OPTIONS + _HIVE_IMPORT[1])
    if hive_import is not None:
        # Sqoop writes this option whenever it writes any.
        values = {name: properties.get(OPTIONS + key, "") for name, (_, key) in _VALUES.items()}
        return SqoopOptions(**_short(values), hive_import=hive_import.lower() == "true", whole=True)
    return _of_arguments(_arguments(properties))


def _arguments(properties: Mapping[str, str]) -> list[str]:
    """Return the arguments that Oozie gave to Sqoop, in order; none if there are too many or some are missing."""
    size = properties.get(f"{ARGUMENTS}size", "")
    if not size.isdecimal() or not 0 < len(size) <= 4 or int(size) > MAX_ARGUMENTS:
        return []
    # An empty or redacted value is not in the properties.
    return [properties.get(f"{ARGUMENTS}{place}", "") for place in range(int(size))]


def _of_arguments(arguments: list[str]) -> SqoopOptions:
    given: dict[str, str] = {}
    flags: set[str] = set()
    tool, whole = "", True
    place = 0
    while place < len(arguments):
        argument = arguments[place]
        place += 1
        if not argument.startswith("-") or argument == "--":
            tool = tool or argument
            whole = whole and bool(argument)
            continue
        name, equals, value = argument.lstrip("-").partition("=")
        flags.add(name)
        if (option := _OF_ARGUMENT.get(name)) is not None:
            if not equals and place < len(arguments):
                value = arguments[place]
                place += 1
            given[option] = value
        elif name in _WITH_VALUES and not equals:
            place += 1
    if tool not in _TOOLS:
        return SqoopOptions()
    return SqoopOptions(
        **_short({name: given.get(name, "") for name in _VALUES}),
        hive_import=_HIVE_IMPORT[0] in flags,
        # A file of options may hold any of them.
        whole=whole and _OF_A_FILE not in flags,
    )


def _short(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value if len(value) <= MAX_VALUE_CHARS else "" for name, value in values.items()}


_WITH_VALUES: Final = frozenset(
    "connect username password password-file password-alias driver connection-manager connection-param-file query e"
    " columns where split-by boundary-query m num-mappers export-dir update-key update-mode check-column incremental"
    " last-value merge-key call hive-partition-key hive-partition-value map-column-hive map-column-java null-string"
    " null-non-string fields-terminated-by lines-terminated-by escaped-by enclosed-by class-name package-name"
    " mapreduce-job-name temporary-rootdir compression-codec hbase-table column-family hbase-row-key exclude-tables"
    " options-file D conf jt fs files libjars archives".split()
)
"""Arguments followed by a value, which could begin with ``-`` or look like the name of a tool."""
