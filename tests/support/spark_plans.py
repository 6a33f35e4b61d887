"""Plans as Spark prints them, built operator by operator, and the columns that navlin reads from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from extractors.spark.columns.flow import PlanColumn
from extractors.spark.columns.written import ColumnFlow, WrittenColumns
from extractors.spark.plan.reading import read_plan
from tests.support.spark_logs import FORMATTED, node, start


@dataclass(frozen=True)
class Op:
    """An operator: its name in the tree, the lines of its block, and its children.

    ``inner`` children are indented deeper, like those of cached plans, commands and subqueries of logical plans.
    ``title`` is the name in the block if it differs from the name in the tree. An operator that occurs twice has one
    number, as in Spark.
    """

    name: str
    block: str = ""
    children: tuple[Op, ...] = ()
    inner: tuple[Op, ...] = ()
    title: str = ""


def op(name: str, block: str, *children: Op, inner: tuple[Op, ...] = (), title: str = "") -> Op:
    return Op(name, block, children, inner, title)


def scan(table: str, columns: str, more: str = "") -> Op:
    """A scan of ``db.table`` with columns such as ``id#1, k#2``."""
    place = f"\nLocation: InMemoryFileIndex [file:/w/{table}]"
    return op(f"Scan parquet spark_catalog.{table}", f"{_listed('Output', columns)}{place}{more}")


def project(columns: str, below: Op, given: str) -> Op:
    return op("Project", f"{_listed('Output', columns)}\n{_listed('Input', given)}", below)


def where(condition: str, below: Op, given: str) -> Op:
    return op("Filter", f"{_listed('Input', given)}\nCondition : {condition}", below)


def unary(name: str, arguments: str, below: Op, given: str) -> Op:
    return op(name, f"{_listed('Input', given)}\nArguments: {arguments}", below)


def join(kind: str, left_keys: str, right_keys: str, left: Op, right: Op, condition: str = "None") -> Op:
    block = (
        f"{_listed('Left keys', left_keys)}\n{_listed('Right keys', right_keys)}\n"
        f"Join type: {kind}\nJoin condition: {condition}"
    )
    return op(f"SortMergeJoin {kind}", block, left, right, title="SortMergeJoin")


def aggregate(keys: str, functions: str, results: str, below: Op, given: str, of: str = "") -> Op:
    """One step of an aggregation; ``of`` lists the aggregate attributes."""
    lists = {
        "Input": given,
        "Keys": keys,
        "Functions": functions,
        "Aggregate Attributes": of,
        "Results": results,
    }
    return op("HashAggregate", "\n".join(_listed(name, columns) for name, columns in lists.items()), below)


def grouped(
    keys: str, function: str, argument: str, results: str, below: Op, given: str, more: str = ""
) -> Op:
    """Both steps of an aggregation with one function, whose attribute is #900. ``more`` is appended to the function in
    the first step.
    """
    comma = f"{keys}, " if keys else ""
    text = f"{function}({argument})"
    first = aggregate(keys, f"partial_{text}{more}", f"{comma}buffer#901", below, given, "buffer#902")
    exchanged = unary("Exchange", "hashpartitioning(1)", first, f"{comma}buffer#901")
    return aggregate(keys, text, results, exchanged, f"{comma}buffer#901", f"{text}#900")


def _listed(field: str, columns: str) -> str:
    depth, count = 0, 1
    for position, char in enumerate(columns):
        depth += (char in "([") - (char in ")]")
        count += depth == 0 and columns.startswith(", ", position)
    return counted(field, count, columns) if columns else f"{field}: []"


def counted(field: str, count: int, columns: str) -> str:
    """Format a list with a given number of elements, which may contain commas."""
    return f"{field} [{count}]: [{columns}]"


def printed(root: Op, subqueries: dict[int, Op] | None = None) -> str:
    """Print the formatted plan. ``subqueries`` maps the number of the expression that uses a subquery to the subquery."""
    numbers: dict[int, int] = {}
    blocks: list[str] = []
    main = "\n".join(_tree(root, "", "", numbers, blocks))
    text = f"{FORMATTED}{main}\n\n\n" + "".join(blocks)
    if subqueries:
        text += "===== Subqueries =====\n\n"
    for count, (number, query) in enumerate((subqueries or {}).items(), 1):
        blocks.clear()
        tree = "\n".join(_tree(query, "", "", numbers, blocks))
        text += f"Subquery:{count} Hosting operator id = 1 Hosting Expression = Subquery subquery#{number}, [id=#7]\n"
        text += f"{tree}\n\n\n" + "".join(blocks)
    return text


def _tree(each: Op, lead: str, below: str, numbers: dict[int, int], blocks: list[str]) -> list[str]:
    lines: list[str] = []
    for within, children in ((":  " if each.children else "   ", each.inner), ("", each.children)):
        for position, child in enumerate(children):
            mark, rest = ("+- ", "   ") if position == len(children) - 1 else (":- ", ":  ")
            lines += _tree(child, below + within + mark, below + within + rest, numbers, blocks)
    if id(each) not in numbers:
        numbers[id(each)] = len(numbers) + 1
        blocks.append(f"({numbers[id(each)]}) {each.title or each.name}\n{each.block}\n\n")
    return [f"{lead}{each.name} ({numbers[id(each)]})", *lines]


WRITE = "Execute InsertIntoHadoopFsRelationCommand"


def inserting(query: Op, names: str, given: str = "") -> Op:
    """Write the query's rows to ``d.out``. ``given`` lists the input columns of the write."""
    arguments = f"file:/w/out, false, Parquet, [path=file:/w/out], Append, `spark_catalog`.`d`.`out`, serde, [{names}]"
    below = op("WriteFiles", _listed("Input", given), query) if given else query
    return op(WRITE, f"Input: []\nArguments: {arguments}", below)


def commanded(command: str, arguments: str, query: Op) -> Op:
    """A command on a logical plan, as Spark 4.x prints it."""
    inner = op(command, f"Arguments: {arguments}", inner=(query,))
    return op(f"Execute {command}", "Output: []", inner=(inner,))


def written(root: Op, subqueries: dict[int, Op] | None = None) -> WrittenColumns:
    """The columns that navlin reads from the only command of a plan."""
    return written_of(printed(root, subqueries), root.name, root.block)


def written_of(text: str, command: str = WRITE, block: str = "") -> WrittenColumns:
    """The columns that navlin reads from the only command of a printed plan."""
    arguments = block.partition("Arguments: ")[2]
    tree: dict[str, Any] = node(command, f"{command} {arguments}".strip())
    reading = read_plan(start(0, (tree, text)))
    [columns] = reading.columns
    return columns


def flow(each: ColumnFlow) -> str:
    """Format as ``data | control``, each sorted, followed by flags. Columns copied unchanged count as data."""
    data = (*each.data, *each.kept)
    text = f"{_named(data)} | {_named(tuple(one for one in each.control if one not in data))}".strip(" ")
    flags = [name for name in ("inferred", "opaque", "incomplete") if getattr(each, name)]
    return " ".join((text, *flags))


def _named(columns: tuple[PlanColumn, ...]) -> str:
    return ", ".join(sorted(f"{each.end.name}.{each.name}" for each in columns))


def flows(root: Op, subqueries: dict[int, Op] | None = None) -> dict[str, str]:
    """Map each written column to its sources as ``data | control``."""
    return {each.output: flow(each) for each in written(root, subqueries).flows}
