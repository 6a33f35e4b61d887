"""Printed plans with random damage such as logs may contain."""

# ruff: noqa: E501 - plans as Spark prints them

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator

from tests.support.spark_plans import (
    Op,
    commanded,
    grouped,
    inserting,
    join,
    op,
    printed,
    project,
    scan,
    unary,
    where,
)

_FRAGMENTS = (
    "(3) Project",
    "\n\n(2) Filter\nInput [1]: [n#4]\nCondition : (n#4 > 1)\n\n",
    "Output [1]: [n#4]",
    "\nInput [2]: [id#1L, k#2]\n",
    "k#2 AS id#1L",
    "#4",
    "... 12 more fields",
    "... 1439 more characters",
    "\n===== Subqueries =====\n\nSubquery:1 Hosting operator id = 3 Hosting Expression = Subquery subquery#50, [id=#7]\n",
    "Subquery subquery#50, [id=#7].x",
    "+- == Initial Plan ==\n",
    "+- == Final Plan ==\n",
    "ReusedExchange [Reuses operator id: 2]",
    "windowspecdefinition(",
    " FILTER (WHERE ",
    "named_struct(",
    "[[[[",
    "))))",
    "`",
    "\x00",
    "\ud800",
    "  " * 200,
)  # fmt: skip


def plans() -> list[tuple[str, str]]:
    """Complete plans with many kinds of operators, as (printed plan, the command's arguments)."""
    columns = "id#1L, k#2, v#3, n#4"
    a, b = scan("d.a", columns), scan("d.b", "id#11L, k#12, v#13, n#14")
    total = grouped("k#2", "sum", "v#3", "k#2, sum(v#3)#900 AS s#9", where("(n#4 > 1)", a, columns), columns)
    cached = op("InMemoryRelation", "Arguments: [k#72, s#73], StorageLevel(disk, 1 replicas)", inner=(total,))
    use = op("InMemoryTableScan", "Output [2]: [k#72, s#73]\nArguments: [k#72, s#73]", inner=(cached,))
    joined = join("LeftOuter", "k#72", "k#12", use, b)
    window = unary(
        "Window",
        "[rank(s#73) windowspecdefinition(k#72, s#73 ASC) AS r#80], [k#72], [s#73 ASC]",
        joined,
        "k#72, s#73, id#11L, k#12, v#13, n#14",
    )
    query = op(
        "Project",
        "Output [3]: [k#72, (s#73 + Subquery subquery#50, [id=#7]) AS x#81, r#80]\nInput [7]: [k#72, s#73, id#11L, k#12, v#13, n#14, r#80]",
        window,
    )
    wide = [f"c{each}#{1000 + each}" for each in range(120)]
    listed, shown = ", ".join(wide), ", ".join(wide[:24])
    hashed = op(
        "Project",
        f"Output [121]: [{listed}, md5(cast(concat_ws(|, {shown}, ... 96 more fields) as binary)) AS h#2000]\nInput [120]: [{listed}]",
        scan("d.w", listed),
    )
    exploded = unary("Generate", "explode(split(k#2, ,, -1)), [id#1L], false, [e#9]", a, columns)
    sets = unary(
        "Expand", "[[id#1L, e#9, 0], [id#1L, null, 1]], [id#1L, e#19, gid#20]", exploded, "id#1L, e#9"
    )
    both = op(
        "Union",
        "",
        sets,
        unary("TakeOrderedAndProject", "10, [v#13 ASC], [id#11L, k#12, n#14]", b, "id#11L, k#12, v#13, n#14"),
    )
    logical = op("LogicalRelation", f"Arguments: parquet, [{columns}], `c`.`d`.`a`, serde, false")
    view = op(
        "Project",
        "Arguments: [k#2, scalar-subquery#50 [] AS m#9]",
        logical,
        inner=(op("Aggregate", "Arguments: [max(v#3) AS max(v)#10]", logical),),
    )
    subquery = project("v#13 AS m#90", b, "id#11L, k#12, v#13, n#14")
    roots: list[tuple[Op, dict[int, Op]]] = [
        (inserting(query, "k, x, r", "k#72, x#81, r#80"), {50: subquery}),
        (inserting(hashed, f"{', '.join(f'c{each}' for each in range(25))}, ... 96 more fields", f"{listed}, h#2000"), {}),
        (inserting(both, "id, e, g", "id#1L, e#19, gid#20"), {}),
        (commanded("CreateViewCommand", "`c`.`d`.`v`, [(x,None), (y,None)], select 1, false, false, PersistedView, X", view), {}),
    ]  # fmt: skip
    return [(printed(root, subqueries), root.block.partition("Arguments: ")[2]) for root, subqueries in roots]


def mutations(texts: list[str], seed: int | str) -> Iterator[str]:
    """Yield damaged texts without end."""
    dice = random.Random(seed)
    while True:
        text = dice.choice(texts)
        for _ in range(dice.choice((1, 1, 1, 2, 3, 8))):
            text = dice.choice(_DAMAGES)(text, dice)
        yield text


def _cut(text: str, dice: random.Random) -> str:
    return text[: dice.randrange(len(text) + 1)]


def _without_a_piece(text: str, dice: random.Random) -> str:
    start = dice.randrange(len(text) + 1)
    return text[:start] + text[start + dice.choice((1, 2, 5, 40, 400)) :]


def _with_a_fragment(text: str, dice: random.Random) -> str:
    at = dice.randrange(len(text) + 1)
    return text[:at] + dice.choice(_FRAGMENTS) + text[at:]


def _lines_swapped(text: str, dice: random.Random) -> str:
    lines = text.split("\n")
    one, other = dice.randrange(len(lines)), dice.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


def _a_line_twice(text: str, dice: random.Random) -> str:
    lines = text.split("\n")
    at = dice.randrange(len(lines))
    return "\n".join([*lines[:at], lines[at], *lines[at:]])


def _without_a_line(text: str, dice: random.Random) -> str:
    lines = text.split("\n")
    del lines[dice.randrange(len(lines))]
    return "\n".join(lines)


def _blocks_swapped(text: str, dice: random.Random) -> str:
    blocks = text.split("\n\n")
    one, other = dice.randrange(len(blocks)), dice.randrange(len(blocks))
    blocks[one], blocks[other] = blocks[other], blocks[one]
    return "\n\n".join(blocks)


def _ids_changed(text: str, dice: random.Random) -> str:
    return re.sub(r"#\d+", lambda match: f"#{dice.randrange(20)}" if dice.random() < 0.1 else match[0], text)


def _numbers_changed(text: str, dice: random.Random) -> str:
    return re.sub(
        r"\(\d+\)", lambda match: f"({dice.randrange(12)})" if dice.random() < 0.1 else match[0], text
    )


def _a_piece_many_times(text: str, dice: random.Random) -> str:
    start = dice.randrange(len(text) + 1)
    piece = text[start : start + dice.choice((1, 3, 20, 60))]
    return text[:start] + piece * dice.choice((2, 10, 200)) + text[start:]


def _characters_changed(text: str, dice: random.Random) -> str:
    found = list(text)
    for _ in range(dice.choice((1, 4, 16))):
        if found:
            found[dice.randrange(len(found))] = dice.choice("()[]{},#:+-| \n`'ASx0")
    return "".join(found)


_DAMAGES: tuple[Callable[[str, random.Random], str], ...] = (
    _cut,
    _without_a_piece,
    _with_a_fragment,
    _lines_swapped,
    _a_line_twice,
    _without_a_line,
    _blocks_swapped,
    _ids_changed,
    _numbers_changed,
    _a_piece_many_times,
    _characters_changed,
)


def monsters(size: int) -> dict[str, str]:
    """Texts of about ``size`` characters, constructed to be slow to read, by name."""
    head = "== Physical Plan ==\nExecute InsertIntoHadoopFsRelationCommand (3)\n+- Project (2)\n   +- Scan parquet spark_catalog.d.a (1)\n\n\n(1) Scan parquet spark_catalog.d.a\nOutput [2]: [id#1L, k#2]\n\n"
    last = "\n\n(3) Execute InsertIntoHadoopFsRelationCommand\nInput: []\nArguments: file:/w, false, Parquet, [], Append, `c`.`d`.`o`, serde, [x]\n"

    def projected(expression: str) -> str:
        return f"{head}(2) Project\nOutput [1]: [{expression} AS x#9]\nInput [2]: [id#1L, k#2]{last}"

    pieces = {
        "references": "k#2 + ",
        "brackets": "(" * 10,
        "closing brackets": ")" * 10,
        "square brackets": "[" * 10,
        "windows": " windowspecdefinition(k#2)",
        "filters": " FILTER (WHERE k#2)",
        "structs": "named_struct(a, ",
        "subqueries": "Subquery subquery#5, [id=#6], ",
        "subquery words": "Subquery ",
        "aliases": " AS y#8, ",
        "cuts": "f(... 3 more fields), ",
        "hive columns": "Data Cols: [",
        "lines like blocks": "\n(2) Proj",
        "fields": "\nInput [2]: [id#1L]",
        "subquery headings": "\nSubquery:7 Hosting operator id = 1 Hosting Expression = x",
        "wrappers": "empty2null(",
        "flags": ", false, [",
        "spaces": " " * 10,
    }
    texts = {name: projected(piece * (size // len(piece))) for name, piece in pieces.items()}
    columns = [f"column_number_{each}#{each}" for each in range(size // 60)]
    listed = ", ".join(columns)
    texts["columns"] = (
        f"{head.partition('(1) Scan')[0]}(1) Scan parquet spark_catalog.d.a\nOutput [{len(columns)}]: [{listed}]\n\n(2) Project\nOutput [{len(columns)}]: [{listed}]\nInput [{len(columns)}]: [{listed}]{last}"
    )
    depth = size // 150
    tree = "".join(f"+- Sample ({number})\n" for number in range(depth, 1, -1))
    texts["operators at one depth"] = (
        f"== Physical Plan ==\nExecute InsertIntoHadoopFsRelationCommand ({depth + 1})\n{tree}\n\n"
        + "".join(f"({number}) Sample\nInput [1]: [k#2]\nArguments: 0.0\n\n" for number in range(1, depth))
        + last
    )
    return texts
