"""Parse a printed plan. In the formatted mode (the default since Spark 3.1), it consists of the tree of operators and
a block for each operator. In the extended mode, the operators of the optimized logical plan are used.

String literals are printed without quotes, so the text of a plan may contain lines that look like blocks. A block
counts only if its number and name are in the header tree, and only if the text is unambiguous. If two blocks have the
same number, only the command's own block is trusted, because it precedes anything that a literal could imitate.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from extractors.spark.incomplete import Incomplete
from extractors.spark.plan.tree import plain_name

MAX_CHARS: Final = 32 << 20
_FORMATTED: Final = re.compile(r"\A\s*== Physical Plan ==\n")
_HEADER: Final = re.compile(
    r"^(?P<indent>[ :+|*-]*?)(?:\* )?(?P<name>[^\s:+|*-].*?) \((?P<number>\d{1,9})\)(?:[ ,].*)?$"
)
_ADAPTIVE: Final = re.compile(r"[ :+|*-]*== (Final|Current|Initial) Plan ==$")
_BLOCK: Final = re.compile(r"^\((\d{1,9})\) (.*?)(?: \[codegen id : \d+\])?$", re.MULTILINE)
_STAGE: Final = re.compile(r"^\((\d{1,9})\) WholeStageCodegenTransformer \(\w+\)$", re.MULTILINE)
_OFFLOADED: Final = re.compile(r"^[ :+|*-]*\^ ", re.MULTILINE)
_SUBQUERY: Final = re.compile(
    r"^Subquery:(\d+) Hosting operator id = (\d+) Hosting Expression = ", re.MULTILINE
)
_SUBQUERIES: Final = "\n===== Subqueries =====\n"
_HOSTED: Final = re.compile(r"(?:subquery|dynamicpruning)#(\d{1,18})")
_ARGUMENTS: Final = re.compile(r"^Arguments: ", re.MULTILINE)
_LOCATION: Final = re.compile(r"^Location: (.*)$", re.MULTILINE)
_FIELD: Final = re.compile(
    r"^(Output|Input|Keys|Functions|Aggregate Attributes|Results|Left keys|Right keys|Join type|Join condition"
    r"|Condition|Arguments|Location|PartitionFilters|PushedFilters|PushedAggregation|PushedGroupBy|ReadSchema|Loop id)"
    r"(?: \[(\d{1,9})\])? ?: ?",
    re.MULTILINE,
)
_CUT_OFF: Final = re.compile(r"\.\.\. \d+ more characters\s*\Z")
COMMAND_BLOCKS: Final = 2
"""Number of blocks of a command. ``(1) Execute X`` and ``(2) X`` come first. Block (1) does not print any of the
statement.
"""
_EXTENDED: Final = re.compile(r"^== Optimized Logical Plan ==\n(.*)$", re.MULTILINE)
_STATISTICS: Final = re.compile(r", Statistics\(sizeInBytes=[^()\n]{1,200}\)$", re.MULTILINE)
"""Suffix of each operator in the mode ``cost``."""
_PHYSICAL: Final = "\n\n== Physical Plan ==\n"
_BRANCH: Final = re.compile(r"(?P<indent>[ :]*[+:]- )(?:\*\(\d+\) )?(?P<name>\w+)(?P<rest>.*)$")
_RELATION: Final = re.compile(r" (?P<table>[^\s\[\]()`]+)\[")
INNER: Final = 3
"""Additional indent of an ordinary child. Cached plans, plans of commands and subqueries are indented further."""


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of the printed plan: its position in the header tree and the text of its block.

    ``title`` is the operator's name in the block, which may be shorter or longer than the name in the tree.
    """

    number: int
    name: str
    indent: int
    block: str
    title: str = ""
    children: tuple[Operator, ...] = ()

    @property
    def arguments(self) -> str:
        """Text after ``Arguments:``, to the end of the block."""
        match = _ARGUMENTS.search(self.block)
        return self.block[match.end() :].strip() if match else ""

    @property
    def location(self) -> str:
        """Value of the line ``Location:`` of a scan; "" if there is none."""
        match = _LOCATION.search(self.block)
        return match[1] if match else ""

    @property
    def inner(self) -> tuple[Operator, ...]:
        """Plans that the operator contains without taking their rows as input: cached plans, plans of commands, and
        subqueries.
        """
        return tuple(child for child in self.children if child.indent - self.indent > INNER)

    @property
    def inputs(self) -> tuple[Operator, ...]:
        """Operators whose rows this operator takes as input."""
        return tuple(child for child in self.children if child.indent - self.indent <= INNER)

    def walk(self) -> Iterator[Operator]:
        """Yield this operator and all operators below it, from top to bottom."""
        waiting = [self]
        while waiting:
            yield (operator := waiting.pop())
            waiting.extend(reversed(operator.children))

    def fields(self) -> dict[str, BlockField] | None:
        """Return the fields of the block, keyed by the word before the colon. Return None if a word occurs twice,
        because a literal may have printed it, unless the order of the fields shows which one is real.
        """
        block = self.block
        if block.startswith("\nArguments: "):
            return {"Arguments": BlockField(self.arguments, -1)}
        matches = list(_FIELD.finditer(block))
        if len({match[1] for match in matches}) < len(matches):
            matches = _unforged(self.name, matches)
        found: dict[str, BlockField] = {}
        for position, match in enumerate(matches):
            stop = matches[position + 1].start() if position + 1 < len(matches) else len(block)
            value = block[match.end() : stop].strip()
            count = int(match[2]) if match[2] else -1
            computed = match[1] in ("Keys", "Functions", "Results") or self.name.startswith("Project")
            if count >= 0 and not computed and (end := value.find("]\n")) >= 0:
                value = value[: end + 1]  # the rest is an unused field
            elif count < 0 and match[1] not in ("Arguments", "Condition"):
                value = value.partition("\n\n")[0]
            found[match[1]] = BlockField(value, count)
        return found if matches or not block.strip() else None


def _unforged(name: str, matches: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return the real fields of a block in which a literal also looks like a field; [] if they are uncertain. A
    literal cannot come before the first field.
    """
    first = {match[1]: match for match in reversed(matches)}
    last = {match[1]: match for match in matches}
    if name.startswith("Project") and matches[0] is first.get("Output") and matches[-1] is last.get("Input"):
        return [matches[0], matches[-1]]
    if (
        name.startswith("Filter")
        and matches[0] is first.get("Input")
        and matches[1] is first.get("Condition")
    ):
        return matches[:2]
    if "Scan" in name and matches[0][1] == "Output":
        return [
            matches[0],
            *(
                match
                for match in matches
                if match[1] in ("Location", "PartitionFilters", "PushedAggregation")
                and first[match[1]] is last[match[1]]
            ),
        ]
    return []


@dataclass(frozen=True, slots=True)
class BlockField:
    """A field of a block. ``count`` is the number of elements in the field's list, or -1 if it is not printed."""

    text: str
    count: int


@dataclass(frozen=True, slots=True)
class PlanText:
    """A parsed plan, with the operators in the order of the header tree, root first. ``verified`` is False if the text
    is ambiguous, was cut, or has no operators; ``uncertainty`` gives the reason.

    ``by_name`` maps a name to the operators with that name. ``subqueries`` maps the number of a subquery's expression,
    such as ``#335``, to the root of the subquery.
    """

    operators: tuple[Operator, ...] = ()
    uncertainty: Incomplete | None = None
    command: str = ""
    by_name: Mapping[str, tuple[Operator, ...]] = field(default_factory=dict)
    subqueries: Mapping[int, Operator] = field(default_factory=dict)

    @property
    def arguments(self) -> str:
        """Arguments of the topmost operators. The arguments of a command may be in the block below the operator that
        executes it.
        """
        return " ".join(operator.arguments for operator in self.operators[:COMMAND_BLOCKS])

    @property
    def verified(self) -> bool:
        return self.uncertainty is None

    @property
    def root(self) -> Operator | None:
        return self.operators[0] if self.operators else None


def read_text(printed: str) -> PlanText:
    """Parse a printed plan. In the extended mode, only the optimized logical plan is parsed, and ``command`` is the
    plan's first line.
    """
    cut = len(printed) > MAX_CHARS
    printed = printed[:MAX_CHARS]
    if not _FORMATTED.match(printed):
        return _extended(printed)
    header = list(_header(printed, printed.index("\n", printed.index("== Physical Plan ==")) + 1))
    if not header:
        return PlanText(uncertainty=Incomplete.EXPLAIN_MODE)
    sections, ordered = _sections(printed)
    trees = [header, *(lines for _, lines in sections)]
    cut = cut or _CUT_OFF.search(printed, max(0, len(printed) - 100)) is not None
    blocks, verified = _blocks(
        printed, not cut, {line.number: line.name for lines in trees for line in lines}
    )
    operators = _tree(header, blocks)
    by_name: dict[str, list[Operator]] = {}
    for operator in operators:
        by_name.setdefault(operator.name, []).append(operator)
    subqueries: dict[int, Operator] = {}
    for number, lines in sections:
        if lines and number >= 0:
            subqueries.setdefault(number, _tree(lines, blocks)[0])
    uncertainty = Incomplete.PLAN_CUT if cut else None if verified and ordered else Incomplete.AMBIGUOUS
    return PlanText(
        operators,
        uncertainty,
        by_name={name: tuple(found) for name, found in by_name.items()},
        subqueries=subqueries,
    )


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    name: str
    indent: int
    ran: bool = False
    """Whether the line belongs to a plan that ran and whose initial plan is printed as well."""


def _tree(lines: list[_Line], blocks: Mapping[int, tuple[str, str]]) -> tuple[Operator, ...]:
    """Return the operators in the order of the lines, each with its direct children."""
    built: list[Operator] = []
    open_below: list[Operator] = []
    for line in reversed(lines):
        if line.ran:
            continue
        children = []
        while open_below and open_below[-1].indent > line.indent:
            children.append(open_below.pop())
        title, block = blocks.get(line.number, ("", ""))
        operator = Operator(line.number, line.name, line.indent, block, title, tuple(children))
        open_below.append(operator)
        built.append(operator)
    return tuple(reversed(built))


def _extended(printed: str) -> PlanText:
    match = _EXTENDED.search(printed)
    if match is None:
        return PlanText(uncertainty=Incomplete.EXPLAIN_MODE)
    stop = printed.find(_PHYSICAL, match.end())
    tree = _STATISTICS.sub("", printed[match.end() : stop])
    lines = tree.split("\n")[1:] if stop >= 0 else [""]
    branches = [_BRANCH.match(line) for line in lines]
    # A line that is not an operator is the rest of a literal or statement. In that case, other lines may be as well.
    uncertainty = None if all(branches) else Incomplete.AMBIGUOUS
    command = _STATISTICS.sub("", match[1])
    name, _, rest = command.partition(" ")
    operators = [_Line(1, name, 0)]
    blocks = {1: (name, f"Arguments: {rest}")}
    for number, branch in enumerate(branches, 2):
        if branch:
            operators.append(_Line(number, *_branch_name(branch)))
            blocks[number] = (branch["name"], f"Arguments: {_branch_arguments(branch)}")
    return PlanText(_tree(operators, blocks), uncertainty, command=command)


def _branch_name(match: re.Match[str]) -> tuple[str, int]:
    name = "LogicalRelation" if match["name"] == "Relation" else match["name"]
    return name, len(match["indent"])


def _branch_arguments(match: re.Match[str]) -> str:
    """Return an operator's arguments in the form of the formatted mode."""
    rest = match["rest"]
    if match["name"] == "Relation":
        relation = _RELATION.match(rest)
        table = relation["table"].replace(".", "`.`") if relation else ""
        columns = rest[rest.find("[") :]
        return f"relation, `{table}`, {columns}" if table else f"relation, {columns}"
    if match["name"] in ("View", "HiveTableRelation"):
        return rest.strip().lstrip("([")
    return rest.strip()


def _header(printed: str, position: int) -> Iterator[_Line]:
    """Yield a line with number, name and indent for each operator of a tree, up to the first empty line.

    If a cached plan ran, its initial plan is used, because the scans may be missing from the final plan. The indent of
    both plans is arbitrary; each plan follows its line ``AdaptiveSparkPlan (n)``.
    """
    stop = printed.find("\n\n", position)
    sections: list[_AdaptivePlan] = []
    before = 0
    for line in printed[position : stop if stop >= 0 else len(printed)].split("\n"):
        if marker := _ADAPTIVE.match(line):
            if marker[1] != "Initial":
                sections.append(_AdaptivePlan(before))
            else:
                while len(sections) > 1 and sections[-1].initial:
                    sections.pop()
                if sections:
                    sections[-1] = _AdaptivePlan(sections[-1].indent, initial=True)
            continue
        match = _HEADER.match(line)
        if match is None:
            continue
        indent = len(match["indent"])
        while sections and sections[-1].initial and 0 <= indent < sections[-1].first:
            sections.pop()
        if sections:
            if sections[-1].first < 0:
                sections[-1] = replace(sections[-1], first=indent)
            indent += sections[-1].indent + INNER - sections[-1].first
        before = indent
        ran = not all(section.initial for section in sections)
        yield _Line(int(match["number"]), plain_name(match["name"].strip()), indent, ran)


@dataclass(frozen=True, slots=True)
class _AdaptivePlan:
    """A plan that ran, or its initial plan. ``indent`` is the indent of the line before the plan. ``first`` is the
    indent of the plan's root, -1 before it has been read.
    """

    indent: int
    initial: bool = False
    first: int = -1


def _sections(printed: str) -> tuple[list[tuple[int, list[_Line]]], bool]:
    """Return (number of the expression, tree) of each subquery, with -1 for an unknown number; and whether the
    subqueries form one consecutive sequence.
    """
    begin = printed.find(_SUBQUERIES)
    if begin < 0:
        return [], True
    found = list(_SUBQUERY.finditer(printed, begin))
    sections = []
    for match in found:
        stop = printed.find("\n", match.end())
        if stop < 0:
            break
        hosted = _HOSTED.search(printed, match.end(), stop)
        sections.append((int(hosted[1]) if hosted else -1, list(_header(printed, stop + 1))))
    ordered = printed.find(_SUBQUERIES, begin + 1) < 0
    return sections, ordered and [int(match[1]) for match in found] == list(range(1, len(found) + 1))


def _blocks(
    printed: str, verified: bool, names: Mapping[int, str]
) -> tuple[dict[int, tuple[str, str]], bool]:
    """Return operator number → (title, text) for the blocks of operators in the trees; and whether all blocks
    certainly belong to their operators.
    """
    starts: dict[int, tuple[int, int, str]] = {}
    # If the text was cut off (not ``verified``), the real block may have been in the missing part.
    for match in _BLOCK.finditer(printed):
        number = int(match[1])
        name = names.get(number)
        title = plain_name(match[2].strip())
        if name is None or not _is_title(title, name):
            continue
        if number in starts:
            verified = False
        else:
            starts[number] = (match.start(), match.end(), title)
    order = sorted(starts.items(), key=lambda item: item[1][0])
    stages, once = _stage_blocks(printed, names)
    verified = verified and once
    blocks: dict[int, tuple[str, str]] = {}
    for position, (number, (_, end, title)) in enumerate(order):
        if not verified and number > COMMAND_BLOCKS:
            continue
        next_block = order[position + 1][1][0] if position + 1 < len(order) else len(printed)
        stop = min(
            (at for mark in ("\n===== ", "\nSubquery:") if (at := printed.find(mark, end, next_block)) >= 0),
            default=next_block,
        )
        if (stage := bisect(stages, end)) < len(stages):
            stop = min(stop, stages[stage])
        blocks[number] = title, printed[end:stop]
    return blocks, verified


def _stage_blocks(printed: str, names: Mapping[int, str]) -> tuple[list[int], bool]:
    """Return the positions of the blocks of Gluten's stages, which have numbers but no line in a tree; and whether
    each number occurs only once.
    """
    if _OFFLOADED.search(printed, 0, max(0, printed.find("\n\n"))) is None:
        return [], True
    last = max(names, default=0)
    found = [
        match for match in _STAGE.finditer(printed) if int(match[1]) not in names and int(match[1]) < last
    ]
    return [match.start() for match in found], len({match[1] for match in found}) == len(found)


def _is_title(title: str, name: str) -> bool:
    """Whether a block's title fits a name in the tree. The tree adds details to the name of a join, and the block adds
    details to the name of a reused operator.
    """
    return title == name or name.startswith(f"{title} ") or title.startswith(f"{name} [Reuses ")
