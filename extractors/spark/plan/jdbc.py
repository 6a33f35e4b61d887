"""Tables and queries of databases, as plans print what is read and written by JDBC.

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
"""What keeps a line's end in a query, which would end the line of its operator in a plan's text."""


def on_one_line(name: str) -> str:
    """An operator's name where a query in it has lines of its own."""
    return name.replace("\n", _LINE)


def table_name(text: str) -> str:
    """The name in a `dbtable` that is one: one to three identifiers, without their quotes. "" for anything else."""
    if not _NAME.fullmatch(text.strip()):
        return ""
    return ".".join(map(_unquoted, _PARTS.findall(text)))


def _unquoted(part: str) -> str:
    if part[0] not in '"`[':
        return part
    bare = part[1:-1].replace(part[0] * 2, part[0]) if part[0] != "[" else part[1:-1]
    return part if "." in bare else bare  # two parts are not one that has a dot


def without_counters(query: str) -> str:
    """The same query without the numbers that Spark gives its subqueries: they go on from one run to the next."""
    numbers: dict[str, int] = {}
    text = query.strip().replace(_LINE, "\n")
    return _COUNTER.sub(lambda match: f"{match[1]}_{numbers.setdefault(match[0], len(numbers))}", text)


def catalog_table(printed: str) -> tuple[str, str]:
    """The catalogue and the table in ``pg.app.people``."""
    catalog, _, name = printed.strip().partition(".")
    return catalog, table_name(name) or name


def written_table(arguments: str) -> str:
    """The table of a catalogue's write, ``JDBCTable(app.people,StructType(…),…)``; "" for any other."""
    match = _TABLE.match(arguments)
    return match[1] if match else ""


def written_catalog(arguments: str) -> str:
    """The catalogue of a catalogue's write as far as it is printed: its class, and the table with its options' hash."""
    match = _OPTIONS.search(arguments)
    return f"{CATALOG_CLASS}({written_table(arguments)}, {match[1]})" if match else CATALOG_CLASS


def joined_tables(block: str) -> Iterator[str]:
    """The tables of a join that the database carries out, by their whole names."""
    pushed = _LITERAL.sub("''", block).partition("PushedJoins: ")[2]
    return (match[1] for match in _JOINED.finditer(pushed.partition("\nReadSchema: ")[0]))


def sent_query(block: str) -> str:
    """The query that Spark sends to the database for a scan; "" where the block does not have it (before Spark 4.2)."""
    match = _SENT.search(block)
    return without_counters(match[1]) if match else ""


def question(text: str, columns: list[str]) -> str:
    """The SELECT of columns from what a `dbtable` or `query` holds, as Spark puts it."""
    quote = "`" if "`" in text else '"'
    listed = ", ".join(f"{quote}{name.replace(quote, quote * 2)}{quote}" for name in columns) or "1"
    # A `prepareQuery` stands before the query: `with t as (…) (select * from t) x`.
    before = _before_last_bracket(text) if text[:5].lower() == "with " else ""
    return f"{before}SELECT {listed} FROM {text[len(before) :]}"  # noqa: S608 — it is read, and sent to nobody


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
