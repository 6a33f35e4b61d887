"""Checks of user-visible text for misleading content: flows from an entity to itself, sub-operations, and internal
field names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from navlin.index.search.query_fields import field_names
from tests.console.test_console import Document

LOOPS = {"shop.loop", "shop.loop.x"}
"""Entities that really have a flow to themselves."""
_QUALIFIED = re.compile(r"^(\w[\w-]*(\.\w+)+|/\S+)$")
_ARROW = re.compile(r"([\w./]+) (?:→|-->|<--|\.\.>|<\.\.) ([\w./]+)")
_PART = re.compile(r"sub[ _-]?operation", re.IGNORECASE)
_OPTION = re.compile(r"(?<!\S)\(?--[a-z]{3,}[\w-]*")
_WORD = re.compile(r"[A-Za-z_]\w*")
_OTHER_WORDS = re.compile(
    "never captured|named only|waited for|waits? for an end|only decide|decides only|steers|steered"
)
"""Words for placeholders, unlinked relations and control flow, which have one word each."""
_COLUMNS_OF_TERMINAL = re.compile(r"\s{2,}")


def fields_that_are_no_words() -> set[str]:
    """Names of index fields that are not ordinary words, because they contain capitals or underscores."""
    return {name for name in field_names() if re.search(r"[a-z][A-Z]|_", name)}


class Page(Document):
    """A page without statements and other code, which may contain any text."""

    def __init__(self, text: str) -> None:
        self.said = ""
        super().__init__(text)

    def handle_data(self, data: str) -> None:
        if not any(tag in ("pre", "code", "style", "script", "textarea") for tag, _ in self._open):
            self.said += data + " "
        super().handle_data(data)


def misleading_page(text: str) -> list[str]:
    page = Page(text)
    rows = ([" ".join(cell.split()) for cell in row] for table in page.tables.values() for row in table)
    options = [f"an option of the command line: {each}" for each in _OPTION.findall(page.said)]
    return [*_equal_ends(rows), *_raw(page.said), *options]


def misleading_output(text: str) -> list[str]:
    rows = (_COLUMNS_OF_TERMINAL.split(line.strip()) for line in text.splitlines())
    return [*_equal_ends(rows), *_raw(text)]


def _equal_ends(rows: Iterable[list[str]]) -> Iterator[str]:
    for row in rows:
        names = [cell for cell in row if _QUALIFIED.match(cell) and cell not in LOOPS]
        if len(names) > len(set(names)):
            yield f"equal ends: {row}"
        for cell in row:
            for one, other in _ARROW.findall(cell):
                if one == other and one not in LOOPS:
                    yield f"equal ends: {cell}"


def _raw(text: str) -> Iterator[str]:
    for found in _PART.finditer(text):
        yield f"a part of a statement: …{text[max(0, found.start() - 40) : found.end() + 40]}…"
    yield from (f"another word: {each}" for each in _OTHER_WORDS.findall(text))
    words = set(_WORD.findall(text))
    for name in sorted(words & fields_that_are_no_words()):
        yield f"a field's name: {name}"
    yield from (f"a field's name: {name}" for name in sorted(words) if re.match(r"(tp|up)_\w", name))
