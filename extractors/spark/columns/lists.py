"""Lists as printed in the blocks of a plan, such as ``[id#38L, (v#40 * 2.0) AS v2#535]``.

Nothing is quoted, so names and literals may contain commas, brackets and text that looks like an id. A list is split
only if the result is certain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_MARKS: Final = re.compile(r"subquery#\d+, \[id=#\d+\]|[()\[\]{}]|, ")
ID: Final = r"#(\d{1,18})L?(?:-T\d+ms)?"
_TAIL: Final = re.compile(rf"{ID}\Z")
_PLAIN: Final = re.compile(r"(?:[^#,()\[\]{}]+#\d{1,18}L?(?:, (?!\Z)|\Z))+")
_PLAIN_COLUMN: Final = re.compile(r"([^#,()\[\]{}]+)#(\d{1,18})L?(?:, |\Z)")
_LAST: Final = re.compile(rf"{ID}(?=, |\]?\Z)")
MAX_SEARCHED: Final = 20_000_000
_BRACKET: Final = re.compile(r"[()]")
_BRACKET_OR_MORE: Final = re.compile(r"[()]|\.\.\. (\d{1,9}) more fields")
_FUNCTION: Final = re.compile(r"\w+\Z")
_CUT_TAIL: Final = re.compile(r"(?:\A|, )\.\.\. (\d{1,9}) more fields\Z")


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column of one operator, identified only by its id."""

    name: str
    id: int


def attribute(text: str) -> Attribute | None:
    """Parse ``name#38L``. Return None if the text does not end like a column."""
    place = text.rfind("#")
    match = _TAIL.match(text, place) if place >= 0 else None
    return Attribute(text[:place], int(match[1])) if match else None


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements of a list. ``more`` is the number of elements that were cut off at the end, or -1 if the text
    cannot be split.
    """

    texts: tuple[str, ...]
    more: int = 0

    @property
    def whole(self) -> bool:
        return self.more == 0


UNREADABLE: Final = Elements((), -1)


def elements(text: str, count: int = -1) -> Elements:
    """Split ``[a, b]`` into elements. The list is `UNREADABLE` if the number of elements is not ``count``, unless
    ``count`` is -1.
    """
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return UNREADABLE
    body = text[1:-1]
    if not body:
        return Elements(()) if count <= 0 else UNREADABLE
    cut = _CUT_TAIL.search(body)
    if cut and count < 0:
        body = body[: cut.start()]
    pieces = tuple(split(body)) if body else ()
    if count >= 0 and len(pieces) != count:
        return UNREADABLE
    return Elements(pieces, int(cut[1]) if cut and count < 0 else 0)


def attributes(text: str, count: int = -1) -> tuple[Attribute, ...] | None:
    """Return the columns of a list that contains only columns; None if they cannot be separated or some were cut off."""
    body = text.strip()[1:-1]
    if _PLAIN.fullmatch(body):
        plain = tuple(Attribute(name, int(number)) for name, number in _PLAIN_COLUMN.findall(body))
        return plain if count < 0 or len(plain) == count else None
    found = elements(text, count)
    if found.whole:
        named = [attribute(piece) for piece in found.texts]
        if all(named):
            return tuple(each for each in named if each)
    # Names may contain commas or single brackets, but each column still ends with an id.
    ends = list(_LAST.finditer(body))
    if count < 0 or len(ends) != count or not body or ends[-1].end() != len(body):
        return None
    starts = [0, *(match.end() + 2 for match in ends[:-1])]
    return tuple(
        Attribute(body[start : match.start()], int(match[1]))
        for start, match in zip(starts, ends, strict=True)
    )


def expressions(text: str, count: int, wanted: Sequence[Attribute] = ()) -> Elements:
    """Split a list in which each element defines or passes a column, and therefore ends with an id. ``wanted`` are
    these columns, if known.
    """
    found = elements(text, count)
    if found.whole and _each_is_named(found.texts, wanted):
        return found
    if found.more > 0 and _each_is_named(found.texts, ()):
        return found
    if count >= 0 and len(wanted) == count and (pieces := _by_names(text.strip()[1:-1], wanted)):
        return Elements(pieces)
    return UNREADABLE


def _each_is_named(texts: Sequence[str], wanted: Sequence[Attribute]) -> bool:
    ids = [_TAIL.search(piece) for piece in texts]
    if not all(ids):
        return False
    return len(wanted) != len(ids) or all(
        int(match[1]) == column.id for match, column in zip(ids, wanted, strict=True) if match
    )


def _by_names(body: str, wanted: Sequence[Attribute]) -> tuple[str, ...] | None:
    """Split a list after each wanted column. Return None unless each column occurs exactly once after the previous
    one.
    """
    pieces: list[str] = []
    start = 0
    if len(body) * len(wanted) > MAX_SEARCHED:
        return None
    for position, column in enumerate(wanted):
        last = position == len(wanted) - 1
        mark = re.compile(
            re.escape(f"{column.name}#{column.id}") + r"L?(?:-T\d+ms)?" + (r"\Z" if last else ", ")
        )
        match = mark.search(body, start)
        if match is None or mark.search(body, match.end()):
            return None
        stop = match.end() if last else match.end() - 2
        pieces.append(body[start:stop])
        start = match.end()
    return tuple(pieces)


def split(text: str) -> Iterator[str]:
    """Split a text at the commas outside brackets."""
    depth, start = 0, 0
    for match in _MARKS.finditer(text):
        mark = match[0]
        if mark == ", ":
            if depth == 0:
                yield text[start : match.start()]
                start = match.end()
        elif mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth = max(0, depth - 1)
    yield text[start:]


@dataclass(frozen=True, slots=True)
class CutArguments:
    """Arguments of a function that were cut off. ``count`` is the number of arguments, ``columns`` the number of them
    that may be columns.
    """

    function: str
    count: int

    @property
    def columns(self) -> int:
        if self.function in ("hash", "xxhash64"):
            return self.count - 1  # the last one is the seed
        if self.function in ("named_struct", "struct", "map"):
            return (self.count + 1) // 2
        return self.count


_NO_COLUMNS: Final = frozenset({"pivotfirst", "IN", "INSET", ""})


def cuts(text: str) -> list[CutArguments]:
    """Return the cuts within the functions of a text, ignoring lists of literals."""
    if " more fields" not in text:
        return []
    found: list[CutArguments] = []
    opened: list[int] = []
    for match in _BRACKET_OR_MORE.finditer(text):
        mark = match[0]
        if mark == "(":
            opened.append(match.start())
        elif mark == ")":
            if opened:
                opened.pop()
        elif match[1] and opened:
            function = _FUNCTION.search(text, max(0, opened[-1] - 100), opened[-1])
            name = function[0] if function else ""
            if name not in _NO_COLUMNS:
                found.append(CutArguments(name, int(match[1])))
    return found


def closing(text: str, start: int) -> int:
    """Return the position after the bracket that closes the bracket at ``start``, or the end of the text if there is
    none.
    """
    depth = 0
    for match in _BRACKET.finditer(text, start):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.end()
    return len(text)
