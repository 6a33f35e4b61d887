"""The printed plan: its tree of names and the block of each operator, of the formatted mode (the default since 3.1).

String literals print unquoted, so a plan's text may hold lines that look like blocks. A block counts only if its number
and its name are the header tree's, and only if the text can be read in one way: where some number's block occurs twice,
only the command's own block is believed, which stands before anything that a literal could reach.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

MAX_CHARS: Final = 8 << 20
_FORMATTED: Final = re.compile(r"\A\s*== Physical Plan ==\n")
_HEADER: Final = re.compile(
    r"^(?P<indent>[ :+|*-]*?)(?:\* )?(?P<name>[^\s:+|*-].*?) \((?P<number>\d+)\)(?:[ ,].*)?$"
)
_BLOCK: Final = re.compile(r"^\((\d+)\) (.*?)(?: \[codegen id : \d+\])?$", re.MULTILINE)
_ARGUMENTS: Final = re.compile(r"^Arguments: ", re.MULTILINE)
_LOCATION: Final = re.compile(r"^Location: (.*)$", re.MULTILINE)
_CUT_OFF: Final = re.compile(r"\.\.\. \d+ more characters\s*\Z")
COMMAND_BLOCKS: Final = 2
"""``(1) Execute X`` and ``(2) X`` come first, and (1) prints nothing of the statement."""
_EXTENDED: Final = re.compile(r"^== Optimized Logical Plan ==\n(.*)$", re.MULTILINE)
_PHYSICAL: Final = "\n\n== Physical Plan ==\n"
_BRANCH: Final = re.compile(r"(?P<indent>[ :]*[+:]- )(?P<name>\w+)(?P<rest>.*)$")
_RELATION: Final = re.compile(r" (?P<table>[^\s\[\]()`]+)\[")


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of the printed plan: its place in the header tree and its block's text."""

    number: int
    name: str
    indent: int
    block: str

    @property
    def arguments(self) -> str:
        """What stands behind ``Arguments:``, to the block's end."""
        match = _ARGUMENTS.search(self.block)
        return self.block[match.end() :].strip() if match else ""

    @property
    def location(self) -> str:
        """The line ``Location:`` of a scan."""
        match = _LOCATION.search(self.block)
        return match[1] if match else ""


@dataclass(frozen=True, slots=True)
class PlanText:
    """The operators in the header tree's order, root first. ``verified`` is False where the text can be read twice."""

    operators: tuple[Operator, ...] = ()
    verified: bool = True
    command: str = ""
    by_name: Mapping[str, tuple[Operator, ...]] = field(default_factory=dict)


def read_text(printed: str) -> PlanText:
    """The operators of a formatted plan; of an extended one those of its optimized logical plan, below ``command``."""
    printed = printed[:MAX_CHARS]
    if not _FORMATTED.match(printed):
        return _extended(printed)
    header = list(_header(printed))
    blocks, verified = _blocks(printed, {number: name for number, name, _ in header})
    operators = tuple(
        Operator(number, name, indent, blocks.get(number, "")) for number, name, indent in header
    )
    by_name: dict[str, list[Operator]] = {}
    for operator in operators:
        by_name.setdefault(operator.name, []).append(operator)
    return PlanText(operators, verified, by_name={name: tuple(found) for name, found in by_name.items()})


def _extended(printed: str) -> PlanText:
    match = _EXTENDED.search(printed)
    if match is None:
        return PlanText(verified=False)
    stop = printed.find(_PHYSICAL, match.end())
    lines = printed[match.end() : stop].split("\n")[1:] if stop >= 0 else [""]
    branches = [_BRANCH.match(line) for line in lines]
    operators = tuple(_branch(number, branch) for number, branch in enumerate(branches, 2) if branch)
    # A line that is no operator is the rest of a literal or of a statement: who knows what else is.
    return PlanText(operators, verified=len(operators) == len(lines), command=match[1])


def _branch(number: int, match: re.Match[str]) -> Operator:
    """An operator as the formatted mode would name it and print its arguments."""
    name, rest = match["name"], match["rest"]
    if name == "Relation":
        relation = _RELATION.match(rest)
        table = "`.`".join(relation["table"].split(".")) if relation else ""
        name, rest = "LogicalRelation", f"relation, `{table}`" if table else "relation"
    elif name in ("View", "HiveTableRelation"):
        rest = rest.strip().lstrip("([")
    return Operator(number, name, len(match["indent"]), f"Arguments: {rest}")


def _header(printed: str) -> Iterator[tuple[int, str, int]]:
    """Number, name and indent of the main tree's operators; it ends at the first empty line."""
    position = printed.index("\n", printed.index("== Physical Plan ==")) + 1
    stop = printed.find("\n\n", position)
    for line in printed[position : stop if stop >= 0 else len(printed)].split("\n"):
        match = _HEADER.match(line)
        if match:
            yield int(match["number"]), match["name"].strip(), len(match["indent"])


def _blocks(printed: str, names: Mapping[int, str]) -> tuple[dict[int, str], bool]:
    starts: dict[int, tuple[int, int]] = {}
    # Of a text that was cut off, nobody can tell whether the true block would have come later.
    verified = _CUT_OFF.search(printed, max(0, len(printed) - 100)) is None
    for match in _BLOCK.finditer(printed):
        number = int(match[1]) if len(match[1]) < 10 else -1
        if names.get(number) != match[2].strip():
            continue
        if number in starts:
            verified = False
        else:
            starts[number] = (match.start(), match.end())
    order = sorted(starts.items(), key=lambda item: item[1][0])
    blocks: dict[int, str] = {}
    for position, (number, (_, end)) in enumerate(order):
        if not verified and number > COMMAND_BLOCKS:
            continue
        stop = order[position + 1][1][0] if position + 1 < len(order) else printed.find("\n===== ", end)
        blocks[number] = printed[end : stop if stop >= 0 else len(printed)]
    return blocks, verified
