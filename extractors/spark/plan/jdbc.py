"""Tables and queries of databases, as plans print JDBC reads and writes.

JDBCRelation("app"."people")                                    a table, as `dbtable` names it
JDBCRelation((select …) SPARK_GEN_SUBQ_7)                       a query; the counter is Spark's own
Scan JDBC v1 Relation from v2 scan pg.app.people                a table of the catalogue `pg`
JDBCTable(app.people,StructType(…),…)                           a table of a catalogue that is not named
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_PART: Final = r'(?:"(?:[^"]|"")+"|`(?:[^`]|``)+`|\[[^\[\]]+\]|[^\W\d][\w$#@]*)'
_NAME: Final = re.compile(rf"{_PART}(?:\s*\.\s*{_PART}){{0,2}}")
_PARTS: Final = re.compile(_PART)
_COUNTER: Final = re.compile(r"\b(SPARK_GEN_SUBQ|join_subquery)_(\d{1,18})\b")
_TABLE: Final = re.compile(r"JDBCTable\(([^\s,()]+),")
_OPTIONS: Final = re.compile(r"\bJ(?:DBCOptions|dbcOptionsInWrite)@([0-9a-f]{1,8})\b")
_LITERAL: Final = re.compile(r"'(?:[^']|'')*'")
_JOINED: Final = re.compile(r"^(?:\[[LR]\]:)?[ ]*(?:\[[LR]\]: )?Relation: (\S+)$", re.MULTILINE)
_SENT: Final = re.compile(r"^External engine query: (.*)\Z", re.MULTILINE | re.DOTALL)
CATALOG_CLASS: Final = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"
CATALOG_SCAN_CLASS: Final = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCScan"
CATALOG_SCAN: Final = "Scan JDBC v1 Relation from v2 scan"


_LINE: Final = "\x1f"
"""Placeholder for a line end in a query. The line end itself would end the operator's line in a plan's text."""


def on_one_line(name: str) -> str:
    """Return an operator's name on one line, even if a query in the name has several lines."""
    return name.replace("\n", _LINE)


def table_name(text: str) -> str:
    """Return the table that a `dbtable` names, as one to three identifiers without quotes; "" if it is not the name of
    a table.
    """
    if not _NAME.fullmatch(text.strip()):
        return ""
    return ".".join(map(_unquoted, _PARTS.findall(text)))


def _unquoted(part: str) -> str:
    if part[0] not in '"`[':
        return part
    bare = part[1:-1].replace(part[0] * 2, part[0]) if part[0] != "[" else part[1:-1]
    return part if "." in bare else bare  # a quoted dot does not separate parts


def without_counters(query: str) -> str:
    """Renumber the subqueries of a query from 0, because Spark's counters continue from one run to the next."""
    numbers: dict[str, int] = {}
    text = query.strip().replace(_LINE, "\n")
    return _COUNTER.sub(lambda match: f"{match[1]}_{numbers.setdefault(match[0], len(numbers))}", text)


def catalog_table(printed: str) -> tuple[str, str]:
    """Split ``pg.app.people`` into (catalogue, table)."""
    catalog, _, name = printed.strip().partition(".")
    return catalog, table_name(name) or name


def written_table(arguments: str) -> str:
    """Return the table of a write through a catalogue, such as ``JDBCTable(app.people,StructType(…),…)``; "" for any
    other write.
    """
    match = _TABLE.match(arguments)
    return match[1] if match else ""


def written_catalog(arguments: str) -> str:
    """Return the catalogue of a write, as far as it is printed. This is ``class(table, hash)``, with the hash of the
    table's options, or only the class.
    """
    match = _OPTIONS.search(arguments)
    return f"{CATALOG_CLASS}({written_table(arguments)}, {match[1]})" if match else CATALOG_CLASS


def joined_tables(block: str) -> Iterator[str]:
    """Yield the full names of the tables in a join that the database performs."""
    pushed = _LITERAL.sub("''", block).partition("PushedJoins: ")[2]
    return (match[1] for match in _JOINED.finditer(pushed.partition("\nReadSchema: ")[0]))


def sent_query(block: str) -> str:
    """Return the query that Spark sends to the database for a scan; "" if the block does not contain it (before Spark
    4.2).
    """
    match = _SENT.search(block)
    return without_counters(match[1]) if match else ""


def question(text: str, columns: list[str]) -> str:
    """Return the SELECT of columns from a `dbtable` or `query`, as Spark builds it."""
    quote = "`" if "`" in text else '"'
    listed = ", ".join(f"{quote}{name.replace(quote, quote * 2)}{quote}" for name in columns) or "1"
    # A `prepareQuery` precedes the query: `with t as (…) (select * from t) x`.
    before = _before_last_bracket(text) if text[:5].lower() == "with " else ""
    return f"{before}SELECT {listed} FROM {text[len(before) :]}"  # noqa: S608 — it is parsed, never sent


def _before_last_bracket(text: str) -> str:
    depth, start, quote = 0, 0, ""
    for place, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"`":
            quote = char
        elif char == "(":
            start = place if depth == 0 else start
            depth += 1
        elif char == ")":
            depth -= 1
    return text[:start]
