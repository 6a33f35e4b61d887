"""Statements with lineage written by hand, so that the expected lineage comes from the SQL and not from a tool.

A file of ``bench/statements`` holds statements, each after a line ``--- name``. The lines ``-- …`` that follow hold
its expected lineage (the truth). The rest is, in ``*.sql``, one or more SQL statements, each ended by ``;`` at the end
of a line, and in ``*.programs`` a program in Python; the lines before the first name precede each program of the file.
A program knows ``spark`` (the session), ``out`` (the table to write), ``files`` (a directory for files), ``form`` (the
table format of the part), and ``F`` and ``Window`` of ``pyspark.sql``. In SQL, ``{out}`` is the table ``out.name``,
``{out_b}`` another table of the statement, ``{dir}`` a directory for files, and ``{format}`` the table format. In a
truth, ``{out}`` and ``{out_b}`` are the same tables. In both, ``{name}`` is the statement's name. If
statements only vary a shape, a table ``| heading | …`` above the first name has a row for each of them, and
``{heading}`` becomes the row's value.

The lines of a truth are:

    a, b = orders.x, (orders.y)     columns of the output and their sources; nothing after ``=`` means no source
    id, note == orders              each column comes from the column of the same name
    * ~ orders.id                   control sources; * is every column of this output that the truth names
    -> v_orders                     the lines below are about this output and not about ``out.name``
    <- orders, [items]              tables that flow into this output, beyond those of its columns
    @ delta-4 iceberg-1.12          only these parts can run the statement
    @ iceberg-1.9: <- orders        a line for these parts alone
    ! opaque                        or ``unknown``: required flags; with ``unknown`` no edge counts as missed
    # words                         a remark

A source in parentheses decides a value without being part of the value, such as the condition of a CASE. It is
required, but may be data (in the model of Navigator and of Hive's and Impala's records) or control (in the agent's
model). After ``~``, parentheses mark control that may be reported as data, such as the condition of a row-level
change. A source in brackets is optional, and so is the flow of a column into itself.

``table.column`` is in the database ``src``, an unqualified output in ``out`` (or in the databases of the target),
and ``<files/x>.column`` in a path below ``{dir}``. A name with dots or spaces is in backticks. A catalog name may
precede the database; ``spark_catalog`` may be omitted. ``c{1..119} = wide.c{@+1}`` expands to 119 lines. In SQL,
``{1..120| max(c@) AS m@}`` expands to a list of 120 items, and ``{1..120+ c@}`` to a sum.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Final, NamedTuple

from bench._referee_parts import TABLE, Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATEMENTS: Final = Path(__file__).parent / "statements"
SETUP: Final = "setup"
_OUT: Final = re.compile(r"\{out(_\w+)?\}")
_RANGE: Final = re.compile(r"\{(\d+)\.\.(\d+)\}")
_SHIFTED: Final = re.compile(r"\{@([+-]\d+)\}")
_LIST: Final = re.compile(r"\{(\d+)\.\.(\d+)([|+])([^}]*)\}")
_NAME: Final = re.compile(r"<([^>]*)>|`((?:[^`]|``)*)`|([^\s.,`<>()\[\]]+)")


class Column(NamedTuple):
    """A column of ``database.table``, or of a path below the scratch directory as ``<path>``. Names are in lower
    case, as Spark compares them."""

    of: str
    name: str

    def __str__(self) -> str:
        return f"{self.of}.{self.name}"


class Edge(NamedTuple):
    """A source column, and the column that it flows into or controls."""

    source: Column
    target: Column

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"

    @property
    def is_loop(self) -> bool:
        """Whether a column flows into itself, which is ignored."""
        return self.source == self.target

    @property
    def of_tables(self) -> Flow:
        return Flow(self.source.of, self.target.of)


class Flow(NamedTuple):
    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


@dataclass(slots=True)
class Truth:
    """The expected edges of a statement. ``deciding`` may be data or control; ``optional`` may also be missing."""

    data: set[Edge] = field(default_factory=set)
    control: set[Edge] = field(default_factory=set)
    deciding: set[Edge] = field(default_factory=set)
    optional: set[Edge] = field(default_factory=set)
    targets: set[Column] = field(default_factory=set)
    flags: set[str] = field(default_factory=set)
    tables: set[Flow] = field(default_factory=set)
    optional_tables: set[Flow] = field(default_factory=set)
    parts: set[str] = field(default_factory=set)

    @property
    def may_flow(self) -> set[Edge]:
        return self.data | self.deciding | self.optional

    @property
    def table_flows(self) -> set[Flow]:
        """Flows between tables: those of the column edges, and those that the truth gives for tables alone.

        A table flows into itself if one of its columns flows into another. Control of a table's own rows is not a
        flow.
        """
        data = {edge.of_tables for edge in self.data | self.deciding if not edge.is_loop}
        control = {edge.of_tables for edge in self.control if edge.source.of != edge.target.of}
        return self.tables | data | control

    @property
    def may_flow_of_tables(self) -> set[Flow]:
        return self.table_flows | self.optional_tables | {edge.of_tables for edge in self.optional}


@dataclass(frozen=True, slots=True)
class Program:
    """A program in Python. ``shared`` is the text that precedes each program of its file."""

    name: str
    shared: str
    text: str

    @property
    def code(self) -> CodeType:
        """The compiled program. Annotations are values, from which pandas functions get their kind."""
        return compile(f"{self.shared}\n{self.text}", self.name, "exec", dont_inherit=True)

    def run(self, spark: SparkSession, out: str, files: str, form: str) -> None:
        from pyspark.sql import Window, functions

        # Spark's workers have no module of these functions: those of __main__ are sent with their code.
        names = {"__name__": "__main__", "spark": spark, "out": out, "files": files, "form": form}
        exec(self.code, {**names, "F": functions, "Window": Window})  # noqa: S102 - programs of this repository


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement: either ``sql`` to run in order, or a ``program``. ``truth`` is None if the lineage was not
    written by hand."""

    name: str
    sql: tuple[str, ...]
    truth: Truth | None = None
    program: Program | None = None
    place: Place = TABLE

    def outputs_named(self, text: str, files: str) -> str:
        """Insert the names of the statement's tables and the directory for files into SQL."""
        named = _OUT.sub(
            lambda found: self.place.sql.format(name=f"{self.name}{found[1] or ''}", dir=files), text
        )
        return named.replace("{dir}", files).replace("{name}", self.name)


class BadStatement(Exception):
    """A file of statements is invalid. The message says where."""


def read_statements(directory: Path = STATEMENTS, place: Place = TABLE, part: str = "") -> list[Statement]:
    """Return the statements of a directory, except those in ``setup.sql``, with their expected lineage in this
    part. Programs are the last, and are left out if the place has none."""
    paths = [path for path in sorted(directory.glob("*.sql")) if path.stem != SETUP]
    paths += sorted(directory.glob("*.programs")) if place.programs else []
    found = [statement for path in paths for statement in _of_file(path, place, part)]
    if len(names := {each.name for each in found}) != len(found):
        twice = sorted(each for each in names if sum(one.name == each for one in found) > 1)
        raise BadStatement(f"two statements are named {', '.join(twice)}")
    return found


def setup_statements(directory: Path = STATEMENTS) -> tuple[str, ...]:
    """Return the SQL that creates the source tables."""
    path = directory / f"{SETUP}.sql"
    return tuple(_split(path.read_text())) if path.exists() else ()


def _of_file(path: Path, place: Place, part: str) -> Iterator[Statement]:
    shared, *blocks = re.split(r"^--- ", path.read_text(), flags=re.MULTILINE)
    for block in (varied for each in blocks for varied in _varied(each, shared)):
        head, _, rest = block.partition("\n")
        name = head.strip() + place.suffix
        lines = rest.splitlines()
        at = next((at for at, line in enumerate(lines) if not line.startswith("--")), len(lines))
        try:
            truth = read_truth(name, (line[2:].strip() for line in lines[:at]), place, part)
        except ValueError as error:
            raise BadStatement(f"{path.name}, {name}: {error}") from error
        text = "\n".join(lines[at:])
        if path.suffix == ".sql":
            yield Statement(name, tuple(_split(text)), truth, place=place)
        else:
            yield Statement(name, (), truth, Program(name, shared, text), place)


def _varied(block: str, shared: str) -> Iterator[str]:
    """Yield a statement for each row of the table above the statements, or as it is if there is none."""
    lines = [line.strip("|").split("|") for line in shared.splitlines() if line.startswith("|")]
    headings, *rows = lines or [[], []]
    for row in rows:
        varied = block
        for heading, value in zip(headings, row, strict=True):
            varied = varied.replace(f"{{{heading.strip()}}}", value.strip())
        yield varied


def _split(text: str) -> Iterator[str]:
    for sql in re.split(r";[ ]*$", text, flags=re.MULTILINE):
        if sql.strip():
            yield _LIST.sub(_written_out, sql.strip())


def _written_out(found: re.Match[str]) -> str:
    first, last, sign, item = found.groups()
    return (", " if sign == "|" else " + ").join(
        item.strip().replace("@", str(number)) for number in range(int(first), int(last) + 1)
    )


# -- The notation -----------------------------------------------------------------------------------------------------


def read_truth(name: str, lines: Iterator[str], place: Place = TABLE, part: str = "") -> Truth:
    """Parse the expected lineage of the statement ``name``. Raises ValueError for a line that is not in the
    notation."""
    truth = Truth()

    def output_named(found: re.Match[str]) -> str:
        return place.output.format(name=f"{name}{found[1] or ''}".lower())

    output = place.output.format(name=name.lower())
    outputs = output.rpartition(".")[0] or "out"
    of_all: list[tuple[str, str, str]] = []
    for line in (each for written in lines for each in _expanded(written)):
        line = _OUT.sub(output_named, line).replace("{name}", name.lower())
        if found := re.fullmatch(r"@ ([^:]+): (.*)", line):
            line = found[2] if part in found[1].split() else ""
        if not line or line.startswith("#"):
            continue
        if line.startswith("!"):
            truth.flags |= set(line[1:].split())
        elif line.startswith("@"):
            truth.parts |= set(line[1:].split())
        elif line.startswith("->"):
            output = _table(_parts(line[2:].strip()), outputs)
        elif line.startswith("<-"):
            for table in _listed(line[2:]):
                flow = Flow(_table(_parts(table.strip("[]")), place.source), output)
                (truth.optional_tables if table[0] == "[" else truth.tables).add(flow)
        elif found := re.fullmatch(r"(.*?)(==|=|~)(.*)", line):
            left, sign, right = (each.strip() for each in found.groups())
            if left == "*":
                of_all.append((output, sign, right))
                continue
            targets = [Column(output, _parts(each)[0].lower()) for each in _listed(left)]
            truth.targets |= set(targets)
            for target in targets:
                escaped = target.name.replace("`", "``")
                sources = f"{right}.`{escaped}`" if sign == "==" else right
                _add(truth, sign, target, sources, place.source)
        else:
            raise ValueError(f"{line!r} is no line of truth")
    for output, sign, right in of_all:
        for target in truth.targets:
            if target.of == output:
                _add(truth, sign, target, right, place.source)
    truth.control -= truth.data
    return truth


def _add(truth: Truth, sign: str, target: Column, sources: str, database: str) -> None:
    for source in _listed(sources):
        column = source.strip("()[]")
        *table, name = _parts(column)
        edge = Edge(Column(_table(table, database), name.lower()), target)
        match source[0]:
            case "(" if sign == "~":
                truth.control.add(edge)
                truth.optional.add(edge)
            case "(":
                truth.deciding.add(edge)
            case "[":
                truth.optional.add(edge)
            case _:
                (truth.control if sign == "~" else truth.data).add(edge)


def _expanded(line: str) -> Iterator[str]:
    ranges = set(_RANGE.findall(line))
    if not ranges:
        yield line
        return
    if len(ranges) > 1:
        raise ValueError(f"{line!r} has ranges that differ")
    first, last = map(int, ranges.pop())
    for number in range(first, last + 1):
        yield _SHIFTED.sub(lambda found: str(number + int(found[1])), _RANGE.sub(str(number), line))  # noqa: B023


def _listed(text: str) -> list[str]:
    return [each.strip() for each in re.findall(r"(?:`(?:[^`]|``)*`|<[^>]*>|[^,`<])+", text) if each.strip()]


def _parts(text: str) -> list[str]:
    """Split a dotted name into its parts. A path keeps its angle brackets. Raises ValueError."""
    parts, at = [], 0
    while at < len(text):
        found = _NAME.match(text, at)
        if found is None:
            raise ValueError(f"{text!r} is no name")
        path, quoted, plain = found.groups()
        parts.append(f"<{path}>" if path is not None else (plain or quoted.replace("``", "`")))
        at = found.end()
        if at < len(text) and text[at] != ".":
            raise ValueError(f"{text!r} is no name")
        at += 1
    if not parts:
        raise ValueError("a name is missing")
    return parts


def _table(parts: list[str], database: str) -> str:
    match parts:
        case [path] if path.startswith("<"):
            return path
        case [table]:
            return f"{database}.{table}".lower()
        case ["spark_catalog", *named] | named:
            return ".".join(named).lower()
